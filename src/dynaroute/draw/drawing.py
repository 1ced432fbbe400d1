"""Drawing instances of a distribution as tensors on the device, without waiting for the host.

The X kinds follow the published files, which differ from the text of Uchoa et al. (2017): a seed's attraction halves
every 40 units instead of falling to 1/e; with many small demands, 1.5 customers per route have large ones; and the
capacity for unit demands is rounded down. This was measured on the files, and agrees with the generator of XML100
(Queiroga et al. 2022). Two things differ from that generator: the outermost rows of the grid are half as likely; and a
place near a seed that falls off the grid three times in a row is reflected into it instead of drawn again. In training,
two customers may share a place too; in files they do not.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.batch import InstanceBatch
from dynaroute.draw.distribution import (
    CLUSTER_DECAY,
    DEMAND_RANGES,
    GRID,
    LARGE_DEMANDS,
    MOST_SEEDS,
    RICH_QUADRANTS,
    ROUTE_LENGTHS,
    Distribution,
    Part,
)
from dynaroute.draw.paper import usual_capacity

_PROPOSALS = 3  # draws of a place near a seed before it is reflected
_DECAY = CLUSTER_DECAY / math.log(2) / GRID
_LARGE_PER_ROUTE = 1.5
_UNIFORM, _CLUSTERED, _MIXED = (get_args(CustomerPositions).index(kind) for kind in ("uniform", "clustered", "mixed"))
_CENTRE, _CORNER = (get_args(DepotPosition).index(kind) for kind in ("centre", "corner"))
_UNITARY, _QUADRANT, _MANY_SMALL = (get_args(DemandKind).index(kind) for kind in ("unitary", "quadrant", "many-small"))
_TRIANGULAR, _RANGE, _USUAL, _FIXED = range(4)  # rules for the capacity
_NO_RANGE = (6.0, 25.0)  # of route lengths, for parts where only the number of large demands depends on them


def draw_instances(distribution: Distribution, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
    """Draw instances on the generator's device, padded to the distribution's largest size.

    Parameters
    ----------
    distribution
        What they look like.
    count
        How many.
    generator
        Source of the instances.
    first_key
        Key of the first instance's random stream; the others follow.
    """
    tables = _Tables.of(distribution, str(generator.device))
    random = _Random(generator, count)
    part, sizes = _draw_sizes(tables, random)
    places = _draw_nodes(tables, part, sizes, distribution.largest + 1, random)  # (B, M, 2)
    is_node = torch.arange(places.shape[1], device=generator.device) <= sizes[:, None]  # (B, M)
    demands, capacity = _draw_loads(tables, part, sizes, places, is_node, random)
    is_grid = tables.is_grid[part][:, None, None]  # (B, 1, 1)
    locations = torch.where(is_grid, fill_unit_square(places, is_node), places)
    return make_training_batch(locations * is_node[..., None], demands, capacity, sizes, first_key)


def draw_on_grid(part: Part, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw instances of one size for a file, where no two nodes share a place.

    Parameters
    ----------
    part
        What they look like; its places are on the grid, and its size is fixed.
    count
        How many.
    generator
        Source of the instances, on the CPU.

    Returns
    -------
    tuple
        (B, n + 1, 2) int64 places on the grid, the depot first; (B, n + 1) int64 demands; and (B,) int64 capacities.
    """
    tables, random = _Tables.of(Distribution((part,)), "cpu"), _Random(generator, count)
    drawn, sizes = _draw_sizes(tables, random)
    points = _separate((_draw_nodes(tables, drawn, sizes, part.sizes[1] + 1, random) * GRID).round().long(), random)
    is_node = torch.ones(points.shape[:2], dtype=torch.bool)
    demands, capacity = _draw_loads(tables, drawn, sizes, points / GRID, is_node, random)
    return points, demands, capacity.long()


def make_training_batch(
    locations: Tensor, demands: Tensor, capacity: Tensor, sizes: Tensor, first_key: int
) -> InstanceBatch:
    """Make a batch whose lengths are measured as the policy sees positions; keys are consecutive.

    Parameters
    ----------
    locations, demands, capacity, sizes
        As in `InstanceBatch`.
    first_key
        Key of the first instance's random stream; the others follow.
    """
    return InstanceBatch(
        locations=locations,
        demands=demands.int(),
        capacity=capacity.int(),
        sizes=sizes,
        keys=torch.arange(first_key, first_key + len(sizes), device=sizes.device),
        coordinates=locations,
        rounding=torch.zeros(len(sizes), dtype=torch.int8, device=sizes.device),
    )


def fill_unit_square(places: Tensor, is_node: Tensor) -> Tensor:
    """Move and scale (B, M, 2) positions into the unit square, as for files.

    Twin of `dynaroute.batch.policy_view.locate_in_unit_square`.

    Parameters
    ----------
    places
        (B, M, 2) positions.
    is_node
        (B, M) false for padding.
    """
    there = is_node[..., None]  # (B, M, 1)
    low = torch.where(there, places, torch.inf).amin(1, keepdim=True)  # (B, 1, 2)
    high = torch.where(there, places, -torch.inf).amax(1, keepdim=True)  # (B, 1, 2)
    extent = (high - low).amax(2, keepdim=True)  # (B, 1, 1)
    return (places - low) / torch.where(extent > 0, extent, 1.0)


class _Random(NamedTuple):
    """Random numbers with one row per instance."""

    generator: torch.Generator
    rows: int

    def unit(self, *shape: int) -> Tensor:
        """(B, ...) from 0 to 1, without 1."""
        return torch.rand(self.rows, *shape, generator=self.generator, device=self.generator.device)

    def spread(self) -> Tensor:
        """(B,) from 0 to 1 in random order, one in each of B equal intervals."""
        return (self.unit().argsort() + self.unit()) / self.rows

    def whole(self, low: Tensor, high: Tensor, *shape: int) -> Tensor:
        """Draw (B, ...) int64 from low to high, which are (B,) or of the whole shape."""
        wide = [limit if limit.dim() > 1 else limit.view(-1, *(1 for _ in shape)) for limit in (low, high)]
        return _find_whole(wide[0], wide[1], self.unit(*shape))


def _find_whole(low: Tensor, high: Tensor, share: Tensor) -> Tensor:
    """Turn a share from 0 to 1 into one of the whole numbers from low to high."""
    found = low + (share * (high - low + 1)).long()
    return torch.minimum(found, high)  # rounding may have gone one too far


def _draw_sizes(tables: _Tables, random: _Random) -> tuple[Tensor, Tensor]:
    """Draw (B,) parts and sizes, spread evenly over a batch, so that it has about as much work as any other."""
    share = random.spread()  # (B,)
    part = (share[:, None] >= tables.begins[1:]).sum(1)  # (B,)
    share_of_part = (share - tables.begins[part]) / tables.widths[part]  # (B,)
    return part, _find_whole(tables.smallest[part], tables.largest[part], share_of_part)


# Places


def _draw_nodes(tables: _Tables, part: Tensor, sizes: Tensor, nodes: int, random: _Random) -> Tensor:
    """Draw (B, M, 2) places in the unit square, the depot's first; on the grid where the part says so."""
    seed_count = random.whole(tables.fewest_seeds[part], tables.most_seeds[part])  # (B,)
    places = _draw_places(tables.customers.pick(part, random), sizes, seed_count, nodes, random)
    places[:, 0] = _draw_depots(tables.depots.pick(part, random), random)
    return torch.where(tables.is_grid[part][:, None, None], (places * GRID).round() / GRID, places)


def _separate(points: Tensor, random: _Random) -> Tensor:
    """Move those of (B, M, 2) nodes that share a point of the grid with an earlier one to a free one nearby."""
    reach = torch.ones(len(points), dtype=torch.int64)
    while True:
        in_order, order = (points[..., 0] * (GRID + 1) + points[..., 1]).sort(dim=1, stable=True)  # (B, M)
        is_again = torch.zeros_like(order, dtype=torch.bool)
        is_again.scatter_(1, order[:, 1:], in_order[:, 1:] == in_order[:, :-1])
        if not bool(is_again.any()):
            return points
        moved = points + random.whole(-reach, reach, *points.shape[1:])
        points = torch.where(is_again[..., None], moved.clamp(0, GRID), points)
        reach = (2 * reach).clamp(max=GRID)


def _draw_places(kind: Tensor, sizes: Tensor, seed_count: Tensor, nodes: int, random: _Random) -> Tensor:
    """Draw (B, M, 2) places in the unit square: first scattered ones, then seeds, then those near seeds."""
    scattered = torch.where(kind == _UNIFORM, sizes, torch.where(kind == _MIXED, sizes // 2, 0))  # (B,)
    seeds = random.unit(MOST_SEEDS, 2)  # (B, S, 2)
    seed_count = torch.minimum(seed_count, (sizes - scattered).clamp(min=1))  # (B,)
    number = torch.arange(-1, nodes - 1, device=sizes.device) - scattered[:, None]  # (B, M) after the scattered ones
    places = _draw_near(seeds, seed_count, nodes, random)
    places = torch.where((number < seed_count[:, None])[..., None], _take(seeds, number), places)
    return torch.where((number < 0)[..., None], random.unit(nodes, 2), places)


def _draw_near(seeds: Tensor, seed_count: Tensor, nodes: int, random: _Random) -> Tensor:
    """Draw (B, M, 2) places near seeds: radii are Gamma(2, decay) distributed."""
    none = torch.zeros_like(seed_count)
    places = torch.full((len(seeds), nodes, 2), -1.0, device=seeds.device)
    for _ in range(_PROPOSALS):
        centre = _take(seeds, random.whole(none, seed_count - 1, nodes))
        # 1 - u is never 0
        radius = -(torch.log1p(-random.unit(nodes)) + torch.log1p(-random.unit(nodes))) * _DECAY
        angle = random.unit(nodes) * (2 * math.pi)
        proposed = centre + torch.stack([radius * angle.cos(), radius * angle.sin()], 2)
        is_inside = ((places >= 0) & (places <= 1)).all(2, keepdim=True)
        places = torch.where(is_inside, places, proposed)
    places = places.abs()
    return (1 - (1 - places).abs()).clamp(0, 1)


def _take(seeds: Tensor, index: Tensor) -> Tensor:
    """Select (B, M, 2) seeds by index."""
    return seeds.gather(1, index.clamp(0, seeds.shape[1] - 1)[..., None].expand(-1, -1, 2))


def _draw_depots(kind: Tensor, random: _Random) -> Tensor:
    anywhere = random.unit(2)  # (B, 2)
    at_corner = torch.where((kind == _CORNER)[:, None], 0.0, anywhere)
    return torch.where((kind == _CENTRE)[:, None], 0.5, at_corner)


# Demands and capacities


def _draw_loads(
    tables: _Tables, part: Tensor, sizes: Tensor, places: Tensor, is_node: Tensor, random: _Random
) -> tuple[Tensor, Tensor]:
    """Draw (B, M) demands, 0 for depots and padding, and (B,) capacities."""
    is_customer = is_node & (torch.arange(places.shape[1], device=places.device) > 0)
    kind, length = tables.demands.pick(part, random), _draw_route_lengths(tables, part, random)  # (B,) each
    demands = _draw_demands(tables, kind, length, places, random) * is_customer  # (B, M)
    mean = demands.sum(1) / sizes.double()  # (B,)
    fitted = torch.where(kind == _UNITARY, length.floor(), (length * mean).ceil())
    capacity = _settle_capacities(tables, part, sizes, fitted, random)
    return demands, torch.maximum(capacity, demands.amax(1))


def _draw_route_lengths(tables: _Tables, part: Tensor, random: _Random) -> Tensor:
    """Draw (B,) float64 route lengths, for parts that use them."""
    unit = random.unit().double()
    shortest, longest = tables.shortest[part], tables.longest[part]
    return torch.where(tables.rule[part] == _TRIANGULAR, _triangular(unit), shortest + unit * (longest - shortest))


def _draw_demands(tables: _Tables, kind: Tensor, length: Tensor, places: Tensor, random: _Random) -> Tensor:
    """Draw (B, M) int64 demands for all slots."""
    nodes = places.shape[1]
    low, high = tables.demand_low[kind], tables.demand_high[kind]  # (B,)
    large_part = (_LARGE_PER_ROUTE / length).float()[:, None]  # (B, 1)
    is_large = (kind == _MANY_SMALL)[:, None] & (random.unit(nodes) < large_part)  # (B, M)
    drawn = random.whole(
        torch.where(is_large, LARGE_DEMANDS[0], low[:, None]),
        torch.where(is_large, LARGE_DEMANDS[1], high[:, None]),
        nodes,
    )
    right, upper = (places >= 0.5).unbind(2)  # (B, M)
    is_rich = (kind == _QUADRANT)[:, None] & (right == upper)
    return drawn + RICH_QUADRANTS * is_rich


def _settle_capacities(tables: _Tables, part: Tensor, sizes: Tensor, fitted: Tensor, random: _Random) -> Tensor:
    """Choose (B,) int64 capacities: from the route length, the usual one, or from a list."""
    rule = tables.rule[part]
    capacity = torch.where(rule == _USUAL, tables.usual[sizes], fitted.long())
    return torch.where(rule == _FIXED, tables.capacities.pick(part, random), capacity)


def _triangular(unit: Tensor) -> Tensor:
    """Convert numbers between 0 and 1 to the X set's route lengths."""
    least, likely, most = ROUTE_LENGTHS
    rising = least + (unit * (most - least) * (likely - least)).sqrt()
    falling = most - ((1 - unit) * (most - least) * (most - likely)).sqrt()
    return torch.where(unit < (likely - least) / (most - least), rising, falling)


# The parts as tensors


class _CodeTable(NamedTuple):
    """For each part, (P, K) codes to choose from and their (P,) number."""

    codes: Tensor
    numbers: Tensor

    @classmethod
    def of(cls, choices: list[list[int]], device: str) -> _CodeTable:
        longest = max(map(len, choices))
        padded = [[*row, *([0] * (longest - len(row)))] for row in choices]
        return cls(torch.tensor(padded, device=device), torch.tensor([len(row) for row in choices], device=device))

    def pick(self, part: Tensor, random: _Random) -> Tensor:
        """Pick (B,) codes, one for each instance's part."""
        last = self.numbers[part] - 1
        return self.codes[part, random.whole(torch.zeros_like(last), last)]


class _Tables(NamedTuple):
    """A distribution as tensors, P parts; each has its interval of the numbers from 0 to 1."""

    begins: Tensor
    widths: Tensor
    smallest: Tensor
    largest: Tensor
    customers: _CodeTable
    depots: _CodeTable
    demands: _CodeTable
    capacities: _CodeTable
    fewest_seeds: Tensor
    most_seeds: Tensor
    rule: Tensor
    shortest: Tensor
    longest: Tensor
    is_grid: Tensor
    usual: Tensor
    demand_low: Tensor
    demand_high: Tensor

    @classmethod
    @lru_cache(maxsize=32)  # copied to a device once, not at each draw
    def of(cls, distribution: Distribution, device: str) -> _Tables:
        parts = distribution.parts
        weights = torch.tensor([part.weight for part in parts], dtype=torch.float64)
        widths = weights / weights.sum()
        ranges = [part.route_lengths if isinstance(part.route_lengths, tuple) else _NO_RANGE for part in parts]
        limits = [DEMAND_RANGES[kind] for kind in get_args(DemandKind)]

        def codes(field: str, kinds: tuple[str, ...]) -> _CodeTable:
            return _CodeTable.of([[kinds.index(kind) for kind in getattr(part, field)] for part in parts], device)

        return cls(
            begins=(widths.cumsum(0) - widths).float().to(device),
            widths=widths.float().to(device),
            smallest=torch.tensor([part.sizes[0] for part in parts], device=device),
            largest=torch.tensor([part.sizes[1] for part in parts], device=device),
            customers=codes("customers", get_args(CustomerPositions)),
            depots=codes("depots", get_args(DepotPosition)),
            demands=codes("demands", get_args(DemandKind)),
            capacities=_CodeTable.of([list(part.capacities) or [0] for part in parts], device),
            fewest_seeds=torch.tensor([part.cluster_seeds[0] for part in parts], device=device),
            most_seeds=torch.tensor([part.cluster_seeds[1] for part in parts], device=device),
            rule=torch.tensor([_find_rule(part) for part in parts], device=device),
            shortest=torch.tensor([low for low, _ in ranges], dtype=torch.float64, device=device),
            longest=torch.tensor([high for _, high in ranges], dtype=torch.float64, device=device),
            is_grid=torch.tensor([part.coordinates == "grid" for part in parts], device=device),
            usual=torch.tensor(
                [usual_capacity(max(1, size)) for size in range(distribution.largest + 1)], device=device
            ),
            demand_low=torch.tensor([low for low, _ in limits], device=device),
            demand_high=torch.tensor([high for _, high in limits], device=device),
        )


def _find_rule(part: Part) -> int:
    if part.capacities:
        return _FIXED
    if isinstance(part.route_lengths, tuple):
        return _RANGE
    return _TRIANGULAR if part.route_lengths == "x" else _USUAL
