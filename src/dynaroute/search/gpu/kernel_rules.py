"""Rules beyond capacity in the form the kernels need."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from dynaroute.base.errors import UnsupportedError
from dynaroute.batch import InstanceBatch
from dynaroute.batch.fleet import has_kinds, split_by_kind
from dynaroute.batch.instances import KINDS
from dynaroute.batch.rules import NEVER, RULE_WORDS, find_rules
from dynaroute.problem.instance import Instance

RULES_ON_GPU = (frozenset(RULE_WORDS) - {"types", "depots"}) | {KINDS}  # of the rules that batches know


def can_search(instance: Instance) -> bool:
    """Whether the kernels know all rules of an instance."""
    if instance.is_plain:
        return True
    try:
        shown = [view.instance for view in split_by_kind(instance)] if has_kinds(instance) else [instance]
        return instance.coordinates is not None and all(find_rules(each) <= RULES_ON_GPU for each in shown)
    except UnsupportedError:
        return False


@dataclass(frozen=True)
class KernelRules:
    """The rules of I instances with M nodes, all int32; times and distances are ticks (`RuleBatch`).

    If vehicles differ, there is a row for each kind of each instance instead.

    Attributes
    ----------
    legs, durations
        (I, M, M) ticks between nodes.
    early, late, service, pickups
        (I, M) first and last start of service, its length, and what is brought back.
    longest_distances, longest_durations
        (I,) `NEVER` without a limit.
    open_routes, pickups_last
        (I,) 1 or 0: whether routes end at their last customers, and whether nothing is delivered after a pickup.
    has_kinds
        Whether vehicles differ.
    """

    legs: Tensor
    durations: Tensor
    early: Tensor
    late: Tensor
    service: Tensor
    pickups: Tensor
    longest_distances: Tensor
    longest_durations: Tensor
    open_routes: Tensor
    pickups_last: Tensor
    has_kinds: bool = False

    @classmethod
    def prepare(cls, batch: InstanceBatch) -> KernelRules | None:
        """Gather the rules of a batch; None if it has none."""
        rules = batch.rules if batch.kinds is None else batch.kinds.rules
        if rules is None:
            return None
        return cls(
            legs=rules.legs[rules.row].contiguous(),
            durations=rules.durations[rules.row].contiguous(),
            early=rules.early.contiguous(),
            late=rules.late.contiguous(),
            service=rules.service.contiguous(),
            pickups=rules.pickups.contiguous(),
            longest_distances=rules.longest_distance.contiguous(),
            longest_durations=rules.longest_duration.contiguous(),
            open_routes=rules.is_open.int().contiguous(),
            pickups_last=rules.is_last.int().contiguous(),
            has_kinds=batch.kinds is not None,
        )

    @property
    def switches(self) -> int:
        """The bits of RULES in rules.cuh: what some instance needs is compiled, and nothing else."""
        is_used = (
            bool((self.early > 0).any() or (self.late < NEVER).any()),
            bool((self.longest_durations < NEVER).any()),
            bool((self.longest_distances < NEVER).any()),
            bool((self.pickups > 0).any()),
            bool(self.open_routes.any()),
            self.has_kinds,
        )
        return sum(flag << place for place, flag in enumerate(is_used))

    def list_addresses(self) -> dict[str, int]:
        """The address of each tensor, by its name in `Launch`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        assert all(tensor.dtype == torch.int32 for tensor in tensors.values())
        return {name: tensor.data_ptr() for name, tensor in tensors.items()}
