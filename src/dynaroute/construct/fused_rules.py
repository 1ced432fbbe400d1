"""What kernels that build routes read where there are rules beyond capacity."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.batch.rules import RuleBatch
from dynaroute.model.policy import Policy
from dynaroute.model.rules import SegmentRules


class RuleTables(NamedTuple):
    """What the kernel reads where there are rules beyond capacity; see `dynaroute.kernels.rule_moves`.

    Attributes
    ----------
    vectors
        Float32: the further columns (128, 6) of the customers' embedding and the depot's, the weights of states
        (256, 6) and of moves (9, 10).
    features
        (B, N, 6) float32, further features of eq 2.
    stops
        (B, N, 8) int32: pickup, first and last start, service, time and length home, depot and reach.
    facts
        (B, 9) int32: when the depot closes, the longest distance and duration, whether backhauls are last, times are
        limited and there are pickups, the row of the tables of ways, the number of further depots, and whether routes
        return.
    scales
        (B, 3) float32: the day, and ticks per unit of length and of time.
    durations, legs
        (I, N, N) int32.
    """

    vectors: Tensor
    features: Tensor
    stops: Tensor
    facts: Tensor
    scales: Tensor
    durations: Tensor
    legs: Tensor

    @classmethod
    def of(cls, policy: Policy, batch: InstanceBatch, rules: RuleBatch) -> RuleTables:
        """List what a batch needs."""
        encoder, decoder = policy.encoder, policy.decoder
        assert decoder.states is not None
        assert decoder.moves is not None
        matrices = (encoder.embed_customer.weight[:, 3:], encoder.embed_depot.weight[:, 3:])
        owner, node = torch.arange(len(batch), device=batch.device), torch.arange(batch.nodes, device=batch.device)
        nodes = node.expand(len(batch), -1)  # (B, N)
        of_all = SegmentRules.of(rules, owner, nodes, batch.demands, batch.capacity, batch.sizes, torch.float32)
        flat = owner.repeat_interleave(batch.nodes), nodes.flatten()
        features = rules.features(*flat, batch.capacity[flat[0]])  # (B N, 6)
        stops, facts = of_all.stops, of_all.facts
        limits = (facts.closing, facts.longest_distance, facts.longest_duration)
        marks = (facts.is_last, facts.has_times, facts.has_pickups, rules.row)
        of_depots = (rules.is_further_depot.sum(1), ~rules.is_open)
        return cls(
            vectors=torch.cat(
                [each.reshape(-1) for each in (*matrices, decoder.states.weight, decoder.moves.weight)]
            ).float(),
            features=features.float().view(len(batch), batch.nodes, -1),
            stops=torch.stack(stops[1:9], -1).int(),
            facts=torch.stack([each.int() for each in (*limits, *marks, *of_depots)], -1),
            scales=torch.stack([rules.day, rules.per_length, rules.per_time], -1).float(),
            durations=rules.durations.contiguous(),
            legs=rules.legs.contiguous(),
        )

    def name(self) -> dict[str, Any]:
        """Name them as the kernel does that builds whole solutions."""
        return {"rules": True, **{f"rule_{name}": table for name, table in self._asdict().items()}}

    def name_features(self, customer_table: Tensor, depot_table: Tensor) -> dict[str, Any]:
        """Name what the kernel needs that lays out segments of any size."""
        tables = {"rule_customer_table": customer_table, "rule_depot_table": depot_table}
        return {"RULES": True, "rule_features": self.features, **tables}

    def name_moves(self) -> dict[str, Any]:
        """Name what the kernel needs that drives routes of any size."""
        tables = {name: table for name, table in self.name().items() if name not in ("rules", "rule_features")}
        return {"RULES": True, **tables}


def name_depots(rules: RuleBatch, depot: Tensor) -> dict[str, Any]:
    """Name what the kernel needs where there are several depots.

    Parameters
    ----------
    rules
        The rules of the instances.
    depot
        (B, N) int32 room for where each customer's route starts.
    """
    return {"depots": rules.depots, "rule_depot": depot}
