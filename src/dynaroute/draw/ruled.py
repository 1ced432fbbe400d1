"""Adding rules beyond capacity to random instances, each instance its own, as tensors on the device.

Most instances have the windows, services and limits of RouteFinder's sets (`dynaroute.draw.variants`). So that a policy
does not only know one generator, some have windows as in MVMoE's sets (wide ones, a day of 3 units), and some windows
like Solomon's: only a part of the customers has one, days are short or long, services too. Limits may be wider, and
more customers may give something back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import PolicyRule
from dynaroute.batch import InstanceBatch
from dynaroute.batch.rules import Limits, measure_rules
from dynaroute.draw.variants import MOST_DEPOTS, VARIANTS, Variant

ALL_VARIANTS = "all"  # every rule drawn for itself: all variants, with some longest durations
_SHARE_OF_DEPOTS = 1 / 4  # of all variants
_SHARE_OF_DURATIONS = 1 / 8
_SHARES_OF_WINDOWS = (0.6, 0.8)  # RouteFinder's below the first, MVMoE's below the second, Solomon's kind above
_SHARE_OF_OTHERS = 0.3  # of limits and of pickups that differ from RouteFinder's


def find_variants(names: Sequence[str]) -> tuple[Variant, ...]:
    """Find variants by name; "all" are those of one depot, to which several are added.

    Parameters
    ----------
    names
        Names such as "vrptw".
    """
    if tuple(names) == (ALL_VARIANTS,):
        return tuple(variant for variant in VARIANTS.values() if variant.depots == 1)
    for name in names:
        if name not in VARIANTS:
            remedy = f"Write all, or some of {', '.join(VARIANTS)}."
            raise OptionError.about("variants", f"the variant {name!r} is unknown.", remedy)
    return tuple(VARIANTS[name] for name in names)


def list_rules(names: Sequence[str]) -> tuple[PolicyRule, ...]:
    """List the rules that a policy must know for these variants, in alphabetical order.

    Parameters
    ----------
    names
        See `find_variants`.
    """
    variants = find_variants(names)
    found: dict[PolicyRule, bool] = {
        "depots": tuple(names) == (ALL_VARIANTS,) or any(each.depots > 1 for each in variants),
        "backhauls": any(each.backhauls == "last" for each in variants),
        "distance": any(each.has_limit for each in variants),
        "duration": tuple(names) == (ALL_VARIANTS,),
        "open": any(each.is_open for each in variants),
        "pickups": any(each.backhauls == "mixed" for each in variants),
        "types": tuple(names) == (ALL_VARIANTS,),
        "windows": any(each.has_windows for each in variants),
    }
    return tuple(sorted(name for name, is_there in found.items() if is_there))


def add_rules(batch: InstanceBatch, names: Sequence[str], generator: torch.Generator) -> InstanceBatch:
    """Give each instance the rules of one of the variants, all equally likely.

    Parameters
    ----------
    batch
        Plain instances in the unit square, on the generator's device.
    names
        See `find_variants`.
    generator
        Source of randomness.
    """
    return _Adding(batch, generator).add(names)


class _Adding:
    """Draws rules for a batch of plain instances."""

    def __init__(self, batch: InstanceBatch, generator: torch.Generator) -> None:
        self.batch, self.generator = batch, generator
        # (B, M): the vehicle type that starts at a node
        self.depot = torch.where(torch.arange(batch.nodes, device=batch.device) > 0, -1, 0).expand(batch.demands.shape)

    def add(self, names: Sequence[str]) -> InstanceBatch:
        variants, rules = find_variants(names), list_rules(names)
        which = (self._row() * len(variants)).long()[:, 0]  # (B,)
        is_open, is_last, is_mixed, has_limit, has_windows, has_depots = (
            self._list(flags)[which]
            for flags in zip(
                *(
                    (v.is_open, v.backhauls == "last", v.backhauls == "mixed", v.has_limit, v.has_windows, v.depots > 1)
                    for v in variants
                ),
                strict=True,
            )
        )  # (B,) each
        if "depots" in rules:
            is_all = tuple(names) == (ALL_VARIANTS,)
            self._add_depots(self._row()[:, 0] < _SHARE_OF_DEPOTS if is_all else has_depots)
        batch = self.batch
        places = batch.coordinates.double()  # (B, M, 2)
        self.legs = (places[:, :, None] - places[:, None]).square().sum(-1).sqrt()  # (B, M, M)
        self.away = self.legs[:, 0] * batch.is_customer  # (B, M)
        pickups = self._draw_pickups(is_last | is_mixed)  # (B, M)
        windows, service = self._draw_windows(has_windows, is_open)  # (B, M, 2), (B, M)
        furthest = 2 * self.away.amax(1)  # (B,)
        busiest = (2 * self.away + service).amax(1)  # (B,)
        has_duration = (self._row()[:, 0] < _SHARE_OF_DURATIONS) & (tuple(names) == (ALL_VARIANTS,))
        limits = Limits(
            legs=self.legs,
            durations=None,
            windows=windows,
            service=service,
            pickups=pickups,
            longest_distance=torch.where(has_limit, self._draw_limit(furthest), torch.inf),
            longest_duration=torch.where(has_duration, busiest + 1e-6 + 2 * self._row()[:, 0], torch.inf),
            is_open=is_open,
            is_last=is_last,
            extent=torch.ones_like(furthest),
            depot=self.depot.int(),
        )
        measured = measure_rules(limits, batch.is_customer, rules, MOST_DEPOTS if "depots" in rules else 1)
        return replace(batch, demands=batch.demands * (pickups == 0), rules=measured)

    def _add_depots(self, has_depots: Tensor) -> None:
        """Add further depots anywhere to some instances, behind their customers."""
        batch, more = self.batch, MOST_DEPOTS - 1
        drawn = self._unit(2 * more).view(-1, more, 2).to(batch.locations.dtype)  # (B, D - 1, 2)
        node = torch.arange(batch.nodes + more, device=batch.device)
        number = node - batch.sizes[:, None]  # (B, M + D - 1): 1, 2, ... behind the customers
        is_there = (number > 0) & (number <= more) & has_depots[:, None]
        place = (number - 1).clamp(0, more - 1)[..., None].expand(-1, -1, 2)
        locations = torch.where(is_there[..., None], drawn.gather(1, place), pad(batch.locations, (0, 0, 0, more)))
        demands = pad(batch.demands, (0, more))
        self.batch = replace(batch, locations=locations, coordinates=locations, demands=demands)
        self.depot = torch.where(is_there, number, torch.where(node > 0, -1, 0))

    def _draw_limit(self, furthest: Tensor) -> Tensor:
        """(B,) longest distances, RouteFinder's or wider ones."""
        most = torch.where(self._is_other(), furthest + 3, furthest.clamp(min=2.8))
        return furthest + 1e-6 + self._row()[:, 0] * (most - furthest)

    def _draw_pickups(self, has_pickups: Tensor) -> Tensor:
        """(B, M) demands that are brought back instead, a fifth of all or another part."""
        share = torch.where(self._is_other(), 0.1 + 0.4 * self._row()[:, 0], 0.2)  # (B,)
        is_pickup = (self._nodes() < share[:, None]) & has_pickups[:, None]  # (B, M)
        return self.batch.demands * is_pickup

    def _draw_windows(self, has_windows: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
        """(B, M, 2) windows and (B, M) services, in which every customer can be served alone."""
        kind = self._row()  # (B, 1)
        is_first, is_second = (kind < share for share in _SHARES_OF_WINDOWS)

        def choose(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
            return torch.where(is_first, first, torch.where(is_second, second, third))

        away, place = self.away.clamp(min=1e-4), self._nodes()  # (B, M) each
        long_day = ((12 / 2.2) ** self._row()) * 2.2  # (B, 1)
        day = choose(torch.full_like(kind, 4.6), torch.full_like(kind, 3.0), long_day)  # (B, 1)
        service = choose(
            0.15 + 0.03 * self._nodes(), torch.full_like(away, 0.2), (0.02 + 0.28 * self._row()).expand_as(away)
        )  # (B, M)
        day = day.maximum((2 * away + service).amax(1, keepdim=True) + 0.01)
        room = day - service - 2 * away  # (B, M): the latest start that is back in time, less the way there
        width = choose(
            0.18 + 0.02 * self._nodes(),
            2 * (1 - 0.9 * self._nodes()),
            day * (0.02 + 0.38 * self._row()) * (0.5 + self._nodes()),
        )  # (B, M)
        # RouteFinder's windows begin, the others are centred, between the way there and the last start
        begin = away + place * torch.where(is_first, (room - width).clamp(min=0), room) - width / 2 * ~is_first
        early = begin.clamp(min=0).minimum(day - service - away)
        late = (begin + width).maximum(early).maximum(away + 1e-6)
        is_there = is_first | is_second | (self._nodes() < (self._row() * 4).ceil() / 4)  # (B, M)
        is_there = is_there & has_windows[:, None] & self.batch.is_customer
        early, late = torch.where(is_there, early, 0.0), torch.where(is_there, late, torch.inf)
        late[:, 0] = torch.where(has_windows & ~is_open, day[:, 0] + 1e-6, torch.inf)
        return torch.stack([early, late], -1), service * (has_windows[:, None] & self.batch.is_customer)

    def _is_other(self) -> Tensor:
        return self._row()[:, 0] < _SHARE_OF_OTHERS

    def _row(self) -> Tensor:
        """(B, 1) from 0 to 1, without 1."""
        return self._unit(1)

    def _nodes(self) -> Tensor:
        """(B, M) from 0 to 1, without 1."""
        return self._unit(self.batch.nodes)

    def _unit(self, columns: int) -> Tensor:
        device = self.generator.device
        return torch.rand(len(self.batch), columns, generator=self.generator, device=device, dtype=torch.float64)

    def _list(self, flags: Sequence[bool]) -> Tensor:
        """(V,) flags on the device, filled without a copy from the host, which would wait for it."""
        listed = torch.zeros(len(flags), dtype=torch.bool, device=self.generator.device)
        for place, flag in enumerate(flags):
            if flag:
                listed[place] = True
        return listed
