"""Training on the user's own instances: rotated, mirrored, and with shuffled demands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dynaroute.base.errors import InstanceError, OptionError, TrainingError, Where
from dynaroute.batch import InstanceBatch
from dynaroute.draw.drawing import fill_unit_square, make_training_batch

if TYPE_CHECKING:
    from dynaroute.formats.collection import Collection

_AS_THEY_ARE, _PERMUTED = 0, 1  # rules for demands; 2: resampled from the instance's own


@dataclass(frozen=True)
class InstanceFiles:
    """The files of a run's instances, and a hash to detect changes.

    Attributes
    ----------
    path
        A folder of .vrp files, or a set file.
    digest
        Hash of the contents when the run began.
    best
        A table of best known costs, or None.
    """

    path: str
    digest: str
    best: str | None = None

    def __post_init__(self) -> None:
        for field in ("path", "digest"):
            if not isinstance(getattr(self, field), str):
                raise OptionError.about(field, f"{field} is {getattr(self, field)!r}.", "Give a string.")
        if not isinstance(self.best, str | None):
            raise OptionError.about("best", f"best is {self.best!r}.", "Give the path of a table.")

    @classmethod
    def at(cls, path: Path, best: Path | None = None) -> InstanceFiles:
        """Describe the files as they are now.

        Parameters
        ----------
        path
            A folder of .vrp files, or a set file.
        best
            A table of best known costs.
        """
        from dynaroute.formats.collection import hash_collection

        return cls(str(path.absolute()), hash_collection(path), None if best is None else str(best.absolute()))

    def read(self) -> Collection:
        """Read all instances.

        Raises
        ------
        TrainingError
            If they have changed since the run began.
        """
        from dynaroute.formats.collection import hash_collection, read_collection

        if hash_collection(self.path) != self.digest:
            raise TrainingError(
                "the instances have changed since the run began.",
                where=Where(file=self.path),
                remedy="Restore them, or start another run from this one's model (the option init).",
            )
        collection = read_collection(self.path)
        for name, instance in zip(collection.names, collection.instances, strict=True):
            if instance.coordinates is None:
                message = f"{name or 'an instance'} has no coordinates, which a policy needs."
                raise InstanceError(message, where=Where(file=self.path), remedy="Leave it out.")
        return collection

    def read_best(self, collection: Collection) -> list[float] | None:
        """Read the best known cost of each instance, if there is a table."""
        from dynaroute.formats.collection import read_best_costs

        return None if self.best is None else read_best_costs(self.best, collection).costs


@dataclass(frozen=True, eq=False)
class OwnInstancesTask:
    """Draws the given instances, rotated by a random angle and possibly mirrored.

    Their demands are kept (a third of the draws), permuted among the customers (a third), or resampled from the
    instance's own (a third). Lengths are straight lines between the positions that the policy sees.

    Attributes
    ----------
    instances
        The instances, on the device that draws.
    """

    instances: InstanceBatch

    @classmethod
    def of(cls, collection: Collection, device: torch.device) -> OwnInstancesTask:
        """Make the task from a collection."""
        for name, instance in zip(collection.names, collection.instances, strict=True):
            if instance.distances is not None:
                message = f"{name or 'an instance'} has its own distances, which cannot be rotated."
                raise InstanceError.about("distances", message, "Leave it out.")
        batch = replace(InstanceBatch.from_instances(collection.instances), distances=None)
        return cls(batch.to(device))

    def draw(self, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
        """Draw instances, padded to the largest: see `dynaroute.training.step.instances.InstanceSource`."""
        device = generator.device
        index = torch.randint(len(self.instances), (count,), generator=generator, device=device)
        chosen = self.instances[index]
        is_node = torch.arange(chosen.nodes, device=device) <= chosen.sizes[:, None]  # (B, M)
        turned = _turn(chosen.locations.float(), generator)
        locations = fill_unit_square(turned, is_node) * is_node[..., None]
        demands = _deal_demands(chosen, generator)
        return make_training_batch(locations, demands, chosen.capacity, chosen.sizes, first_key)


def _turn(places: Tensor, generator: torch.Generator) -> Tensor:
    """Rotate each instance by a random angle, and mirror half of them: (B, M, 2)."""
    count, device = len(places), generator.device
    angle = torch.rand(count, generator=generator, device=device) * (2 * math.pi)
    mirror = torch.where(torch.rand(count, generator=generator, device=device) < 0.5, -1.0, 1.0)
    cosine, sine = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([cosine, -sine * mirror], 1), torch.stack([sine, cosine * mirror], 1)], 1)
    return places @ turn.transpose(1, 2)


def _deal_demands(batch: InstanceBatch, generator: torch.Generator) -> Tensor:
    """Keep, permute or resample the demands: (B, M)."""
    shape, device, is_customer = batch.demands.shape, generator.device, batch.is_customer
    rule = torch.randint(3, (shape[0], 1), generator=generator, device=device)
    unit = torch.rand(shape, generator=generator, device=device)
    slot = torch.arange(shape[1], device=device).expand(shape)
    # the depot first, then the customers in random order, then padding
    order = torch.where(slot == 0, -1.0, torch.where(is_customer, unit, 2.0)).argsort(1)
    any_customer = 1 + torch.minimum((unit * batch.sizes[:, None]).long(), batch.sizes[:, None] - 1)
    source = torch.where(rule == _AS_THEY_ARE, slot, torch.where(rule == _PERMUTED, order, any_customer))
    return batch.demands.gather(1, source) * is_customer
