"""One routing problem in exact integers, validated on creation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaroute.base.decimals import unscale
from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.base.errors import InstanceError
from dynaroute.base.limits import memory_for_all_legs, require_memory
from dynaroute.base.vocabulary import Backhauls, Language, Metric, Rounding
from dynaroute.problem.checks.alternatives import refuse_split_shipments
from dynaroute.problem.checks.customers import (
    find_optional,
    find_pickups,
    read_amounts_or_infinity,
    read_balance,
    read_buffer,
    read_change_cost,
    read_labels,
    read_lifo,
    read_locked,
    read_partners,
    read_priorities,
    read_release,
    read_several_windows,
    read_usual_vehicles,
    read_word_sets,
    refuse_beginnings,
    refuse_other_dimensions,
    refuse_unknown_places,
    refuse_unknown_vehicles,
)
from dynaroute.problem.checks.fields import (
    LARGEST_INTEGER,
    find_common_power_of_ten,
    find_largest_capacities,
    freeze,
    read_capacity,
    read_coordinates,
    read_customer_names,
    read_demands,
    read_distances,
    read_durations,
    read_name,
    read_scale,
    read_service,
    read_speed,
    read_vehicles,
    read_windows,
    refuse_overlarge_demand,
    refuse_unknown_choice,
    refuse_vanishing_lengths,
)
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import AlikeTypes, VehicleType, merge_alike
from dynaroute.problem.lengths import great_circle, round_lengths, straight_line
from dynaroute.problem.places import DEPOT, Place, read_places
from dynaroute.problem.profiles import Profile, Speeds, read_profiles
from dynaroute.problem.sketch import Sketch, draw_sketch
from dynaroute.problem.times import format_clock, format_duration
from dynaroute.problem.working_day import Balance, read_amount

__all__ = ["LARGEST_INTEGER", "Instance"]

_LABELS = ("same_vehicle", "one_of", "not_together")
_COMPARED = (
    "dimensions",
    "backhauls",
    "places",
    "skills",
    "vehicles_allowed",
    "vehicles_forbidden",
    *_LABELS,
    "locked",
    "change_cost",
    "balance",
    "profiles",
    "buffer",
    "compactness",
)
_WISHES = ("pickups", "partners", "max_ride", "prizes", "priorities", "late_costs", "release", "usual_vehicles", "lifo")
_RELAXING = ("reload", "shipments", "one_of")  # with these a vehicle may serve more than it holds, or need not


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A vehicle routing problem.

    Node 0 is the (first) depot; customers are 1 to n, and m further places, if any, are n + 1 to n + m. Arrays are
    copied and made read-only. By default there are as many vehicles as needed, and only their capacity limits a route.

    Parameters
    ----------
    coordinates
        (n + 1, 2) positions, the depot first: x and y, or latitude and longitude in degrees
        for the great-circle metric. None if only `distances` are known. Those of places are appended, or given too.
    demands
        (n + 1,) whole numbers, or (n + 1, k) for loads of k dimensions: what is delivered; the depot's is 0.
    capacity
        Capacity of a vehicle, in the same unit as the demands; with `vehicles`, that of the largest in the first
        dimension.
    name
        A label; comparisons ignore it.
    distances
        (n + 1, n + 1) matrix, from row to column, used instead of the metric. Its diagonal is taken as 0, and
        `rounding` is applied to it once, here.
    rounding
        How the length of each leg is rounded: "none"; "nearest" integer (halves up, as in CVRPLIB's EUC_2D); or "up"
        (CEIL_2D).
    metric
        Straight lines in the plane, or great circles in metres.
    customer_names
        n distinct names, customer 1 first. None means "1", "2", ...
    demand_scale
        How many stored units make one unit of the user's file: 10 if demands had one decimal.
    vehicles
        The vehicle types. None: any number of vehicles of one type, limited only by capacity.
    service
        (n + 1,) service times in seconds; the depot's is 0.
    windows
        (n + 1, 2) earliest and latest start of service, in seconds. A vehicle that is early waits. The first row holds
        the depot's earliest departure and latest return. 0 and infinity mean no bound. (n + 1, w, 2) for up to w
        windows of a customer, one after the other, the last repeated if there are fewer.
    durations
        (n + 1, n + 1) travel times in seconds, from row to column.
    speed
        Distance units per second, for travel times if there are no `durations`.
    details
        Extra columns of the file, such as addresses; comparisons ignore them.
    depot_name
        The depot's name in the file; comparisons ignore it.
    dimensions
        Names of the dimensions of loads.
    pickups
        What is brought back, in the form of `demands`. At a stop, deliveries leave the vehicle first. What is
        picked up stays on board until the vehicle loads again or ends.
    backhauls
        "last": in every trip nothing is delivered after a pickup. "strict": moreover something is delivered.
    places
        Further depots, homes and places to load again, as nodes n + 1, n + 2, ... Matrices have rows for them.
    partners
        (n + 1,) for the pickup of a shipment the number of its delivery and vice versa, else 0. The same amount is a
        pickup of the one and a demand of the other; one vehicle drives both, the pickup first, in the same trip.
    max_ride
        (n + 1,) at a pickup: most seconds from its end to the start of the delivery; infinity for no limit.
    prizes
        (n + 1,) what is lost, in the unit of the cost, if a customer is not served; infinity if it must be served.
    priorities
        (n + 1,) 0 to 100, or nan for none. A customer with a priority may be left out, those with lower ones first.
    late_costs
        (n + 1,) price of a second of lateness after the (last) window; infinity if nobody may be late.
    release
        (n + 1,) seconds before which a vehicle with the customer's goods may not depart on its trip or, if it has to
        load again, not begin to load.
    skills
        For each node the skills that a vehicle needs to serve it.
    vehicles_allowed, vehicles_forbidden
        For each node the names of vehicle types that alone may serve it, if any, and of those that may not.
    same_vehicle, one_of, not_together
        For each node a label: equal ones are on the same route; alternatives of which one is served; on different
        routes. Empty for none. Both stops of a shipment have the same label of alternatives.
    locked
        Pairs of customers of whom the second follows directly after the first, on the same route.
    usual_vehicles
        (n + 1,) index of the vehicle type that served each customer in the plan before; -1 for none.
    change_cost
        Price of each customer that is served by another type than before.
    balance
        Price of routes with more work than others.
    profiles
        Distances and durations of their own for vehicle types that name them.
    matrix_unit
        "m" if `distances` are metres; None if that is not known.
    language
        The language of the file, for drivers' sheets; comparisons ignore it.
    buffer
        Seconds before the end of a customer's window after which service no longer begins.
    compactness
        Price of each unit of distance of a stop from the centre of its route: of the customers there, the one from whom
        the distances to all others add up to the least.
    lifo
        (n + 1,) for a shipment's pickup whether what was loaded after it, and is lifo too, leaves before it does.

    Raises
    ------
    InstanceError
        If the values are not a valid problem; the error names the field and, if any, the customer.
    """

    coordinates: NDArray[np.float64] | None
    demands: NDArray[np.int64]
    capacity: int
    name: str = ""
    distances: NDArray[np.float64] | None = None
    rounding: Rounding = "none"
    metric: Metric = "euclidean"
    customer_names: tuple[str, ...] | None = None
    demand_scale: int = 1
    vehicles: tuple[VehicleType, ...] | None = None
    service: NDArray[np.float64] | None = None
    windows: NDArray[np.float64] | None = None
    durations: NDArray[np.float64] | None = None
    speed: float | None = None
    details: Details | None = None
    depot_name: str = ""
    dimensions: tuple[str, ...] | None = None
    pickups: NDArray[np.int64] | None = None
    backhauls: Backhauls = "mixed"
    places: tuple[Place, ...] = ()
    partners: NDArray[np.intp] | None = None
    max_ride: NDArray[np.float64] | None = None
    prizes: NDArray[np.float64] | None = None
    priorities: NDArray[np.float64] | None = None
    late_costs: NDArray[np.float64] | None = None
    release: NDArray[np.float64] | None = None
    skills: tuple[frozenset[str], ...] | None = None
    vehicles_allowed: tuple[frozenset[str], ...] | None = None
    vehicles_forbidden: tuple[frozenset[str], ...] | None = None
    same_vehicle: tuple[str, ...] | None = None
    one_of: tuple[str, ...] | None = None
    not_together: tuple[str, ...] | None = None
    locked: tuple[tuple[int, int], ...] = ()
    usual_vehicles: NDArray[np.intp] | None = None
    change_cost: float = 0.0
    balance: Balance | None = None
    profiles: tuple[Profile, ...] = ()
    matrix_unit: Literal["m"] | None = None
    language: Language = "en"
    buffer: float = 0.0
    lifo: NDArray[np.bool_] | None = None
    compactness: float = 0.0

    def __post_init__(self) -> None:
        refuse_unknown_choice(self.rounding, get_args(Rounding), "rounding")
        refuse_unknown_choice(self.metric, get_args(Metric), "metric")
        refuse_unknown_choice(self.language, get_args(Language), "language")
        refuse_unknown_choice(self.backhauls, get_args(Backhauls), "backhauls")
        demands = read_demands(self.demands)
        count = len(demands) - 1
        customer_names = read_customer_names(self.customer_names, count)
        given = self.vehicles
        if given is None and isinstance(self.capacity, tuple):  # several dimensions
            given = (VehicleType(tuple(self.capacity)),)
        vehicles = None if given is None else read_vehicles(given)
        refuse_other_dimensions(given or (), demands.shape[1] if demands.ndim == 2 else 1)
        capacities = (read_capacity(self.capacity),) if given is None else find_largest_capacities(given)
        if given is None and demands.ndim == 2:
            refuse_other_dimensions((VehicleType(capacities),), demands.shape[1])
        scale = read_scale(self.demand_scale)
        pickups = self._read_pickups(demands)
        is_optional = find_optional(self.prizes, self.priorities, count)
        refuse_overlarge_demand(demands, capacities, customer_names, scale, is_optional)
        if pickups is not None:
            refuse_overlarge_demand(pickups, capacities, customer_names, scale, is_optional, "pickups")
        places = read_places(self.places)
        coordinates = None
        if self.coordinates is not None:
            coordinates, places = read_coordinates(self.coordinates, count, self.metric, places)
        nodes = count + len(places)
        distances = None if self.distances is None else read_distances(self.distances, nodes, self.rounding)
        if coordinates is None and distances is None:
            raise InstanceError.about(
                "coordinates", "there are neither coordinates nor distances.", "Give one of the two."
            )
        if distances is None and coordinates is not None and self.metric == "euclidean":
            refuse_vanishing_lengths(coordinates)
        if self.details is not None and len(self.details.rows) != count + 1:
            message = f"there are details for {len(self.details.rows)} nodes, not {count + 1}."
            raise InstanceError.about("details", message, "Give one row for the depot and one per customer.")
        types = vehicles or (VehicleType(capacities),)
        refuse_unknown_places(types, places)
        amounts = [*demands.flat, *(() if pickups is None else pickups.flat)]
        held = [amount for kind in types for amount in (*kind.capacities, *kind.initial_loads)]
        factor = find_common_power_of_ten(list(map(int, amounts)), held, scale)

        self._set("demands", freeze(demands // factor))
        self._set("pickups", None if pickups is None else freeze(pickups // factor))
        self._set("dimensions", self._read_dimensions(demands))
        self._set("capacity", capacities[0] // factor)
        self._set("demand_scale", scale // factor)
        self._set("coordinates", None if coordinates is None else freeze(coordinates))
        self._set("places", places)
        self._set("distances", None if distances is None else freeze(distances))
        self._set("rounding", self.rounding if distances is None else "none")  # already applied to the matrix
        self._set("metric", self.metric if coordinates is not None else "euclidean")
        self._set("name", read_name(self.name))
        self._set("depot_name", read_name(self.depot_name))
        self._set("customer_names", customer_names)
        if vehicles is not None and factor > 1:
            vehicles = tuple(_divide_amounts(vehicle, factor) for vehicle in vehicles)
        self._set("vehicles", vehicles)
        self._set("profiles", read_profiles(self.profiles, nodes, types))
        self._set_times(count, nodes)
        self._set_wishes(count)

    def _read_pickups(self, demands: NDArray[np.int64]) -> NDArray[np.int64] | None:
        if self.pickups is None:
            return None
        pickups = read_demands(self.pickups, "pickups")
        if pickups.shape != demands.shape:
            message = f"the pickups have shape {pickups.shape}, the demands {demands.shape}."
            raise InstanceError.about("pickups", message, "Give them the same shape.")
        return pickups if pickups.any() else None

    def _read_dimensions(self, demands: NDArray[np.int64]) -> tuple[str, ...] | None:
        count = demands.shape[1] if demands.ndim == 2 else 1
        if self.dimensions is None:
            return tuple(f"load {number}" for number in range(1, count + 1)) if count > 1 else None
        names = tuple(map(read_name, self.dimensions))
        if len(set(names)) != count or len(names) != count:
            message = f"there are {len(set(names))} names for {count} dimensions of loads."
            raise InstanceError.about("dimensions", message, "Give each a name of its own.")
        return names

    def _set_times(self, count: int, nodes: int) -> None:
        service = None if self.service is None else read_service(self.service, count)
        durations = None if self.durations is None else read_durations(self.durations, nodes)
        self._set("service", None if service is None else freeze(service))
        self._set("durations", None if durations is None else freeze(durations))
        self._set("speed", None if self.speed is None else read_speed(self.speed))
        windows = (
            None if self.windows is None else read_several_windows(self.windows, count, self.shown_time, read_windows)
        )
        self._set("windows", None if windows is None else freeze(windows))

    def _set_wishes(self, count: int) -> None:
        """Read what customers ask for beyond demand, service and windows."""
        arrays: dict[str, Callable[[object], NDArray[Any] | None]] = {
            "partners": lambda values: read_partners(values, count),
            "max_ride": lambda values: read_amounts_or_infinity(values, count, "max_ride"),
            "prizes": lambda values: read_amounts_or_infinity(values, count, "prizes"),
            "priorities": lambda values: read_priorities(values, count),
            "late_costs": lambda values: read_amounts_or_infinity(values, count, "late_costs"),
            "release": lambda values: read_release(values, count),
        }
        for field, read in arrays.items():
            values = getattr(self, field)
            array = None if values is None else read(values)
            self._set(field, None if array is None else freeze(array))
        for field in ("skills", "vehicles_allowed", "vehicles_forbidden"):
            sets = None if getattr(self, field) is None else read_word_sets(getattr(self, field), count, field)
            self._set(field, sets)
            if field != "skills":
                refuse_unknown_vehicles(sets, self.vehicles or (), field)
        for field in _LABELS:
            labels = getattr(self, field)
            self._set(field, None if labels is None else read_labels(labels, count, field))
        refuse_split_shipments(self.one_of, self.partners)
        self._set_what_was_before(count)
        self._set("buffer", read_buffer(self.buffer, self.windows))
        lifo = None if self.lifo is None else read_lifo(self.lifo, self.is_pickup, count)
        self._set("lifo", None if lifo is None else freeze(lifo))
        _ = self.is_pickup  # refuses shipments whose amounts differ

    def _set_what_was_before(self, count: int) -> None:
        """Read what a plan before fixes or makes dearer to change."""
        fleet = self.vehicles or (VehicleType(self.capacity),)
        self._set("locked", read_locked(self.locked, count))
        refuse_beginnings(fleet, count, self.places, self.locked)
        usual = None if self.usual_vehicles is None else read_usual_vehicles(self.usual_vehicles, count, fleet)
        self._set("usual_vehicles", None if usual is None else freeze(usual))
        self._set("change_cost", read_change_cost(self.change_cost))
        self._set("balance", read_balance(self.balance))
        self._set("compactness", read_amount(self.compactness, "compactness"))

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen, but its constructor may still set fields

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - 1

    @property
    def node_count(self) -> int:
        """Number of nodes: the depot, the customers and the places."""
        return len(self.demands) + len(self.places)

    @property
    def minimum_routes(self) -> int:
        """Lower bound on the number of routes: the fewest vehicles, largest first, that hold all demand."""
        least = max(1, sum(vehicle.min_vehicles for vehicle in self.vehicles or ()))
        if self.optional is not None or not self.rules.isdisjoint(_RELAXING):
            return least
        demand, routes = int(self.demands.reshape(len(self.demands), -1)[:, 0].sum()), 0
        for vehicle in sorted(self.vehicles or (), key=lambda vehicle: -vehicle.capacities[0]):
            capacity = vehicle.capacities[0]
            needed = -(-demand // capacity)
            if vehicle.count is None or needed <= vehicle.count:
                return max(least, routes + needed)
            demand, routes = demand - vehicle.count * capacity, routes + vehicle.count
        return max(least, routes + -(-demand // self.capacity))

    @cached_property
    def fleet(self) -> tuple[VehicleType, ...]:
        """The vehicle types; if none were given, one type with as many vehicles as needed."""
        return (VehicleType(self.capacity),) if self.vehicles is None else self.vehicles

    @property
    def parts_of_fleet(self) -> tuple[str, ...]:
        """Names of the given optional fields: vehicles, service, windows, durations, speed, and those of rules."""
        names = ("vehicles", "service", "windows", "durations", "speed")
        given = tuple(name for name in names if getattr(self, name) is not None)
        return (*given, *sorted(self.rules.difference(given)))

    @cached_property
    def rules(self) -> frozenset[str]:
        """Names of the rules that it uses, of those in `dynaroute.problem.rules`."""
        found = {
            "dimensions": self.demands.ndim == 2,
            "pickups": self.pickups is not None and self.partners is None,
            "backhauls": self.backhauls == "strict" and self.pickups is not None,
            "backhauls_last": self.backhauls == "last" and self.pickups is not None,
            "shipments": self.partners is not None,
            "windows": self.windows is not None and self.windows.ndim == 3,
            "skills": self.allowed is not None,
            "places": bool(self.places),
            "locked": bool(self.locked),
            "balance": self.balance is not None,
            "buffer": self.buffer > 0 and self.windows is not None,
            "lifo": self.lifo is not None,
            "compactness": self.compactness > 0,
            "speed_by_hour": any(self.speeds_of(kind.profile) is not None for kind in self.vehicles or ()),
            "usual_vehicles": self.prices_changes,
        }
        if self.partners is not None and self.pickups is not None:
            found["pickups"] = bool(self.pickups[self.partners == 0].any())
        for name in ("max_ride", "prizes", "priorities", "late_costs", "release", *_LABELS):
            found[name] = getattr(self, name) is not None
        return frozenset(name for name, is_there in found.items() if is_there).union(
            *(vehicle.rules for vehicle in self.vehicles or ())
        )

    @cached_property
    def is_priced(self) -> bool:
        """Whether the cost is money: there is a price of a vehicle, of lateness or of a customer left out."""
        is_priced = self.prizes is not None or self.late_costs is not None or self.balance is not None
        return (
            is_priced
            or self.compactness > 0
            or self.prices_changes
            or any(vehicle.is_priced for vehicle in self.vehicles or ())
        )

    @property
    def prices_changes(self) -> bool:
        """Whether it costs something if another type of vehicle serves a customer than before."""
        return self.usual_vehicles is not None and self.change_cost > 0

    @cached_property
    def optional(self) -> NDArray[np.bool_] | None:
        """For each node whether it may be left out, because of its prize or priority; None if all must be served."""
        if self.prizes is None and self.priorities is None:
            return None
        is_optional = np.zeros(self.size + 1, dtype=bool)
        if self.prizes is not None:
            is_optional |= np.isfinite(self.prizes)
        if self.priorities is not None:
            is_optional |= ~np.isnan(self.priorities)
        return freeze(is_optional)

    @cached_property
    def is_pickup(self) -> NDArray[np.bool_] | None:
        """For each node whether it is the pickup of a shipment; None without shipments."""
        if self.partners is None:
            return None
        return freeze(find_pickups(self.partners, self.demands, self.pickups))

    @cached_property
    def allowed(self) -> NDArray[np.bool_] | None:
        """For each node and vehicle type whether the one may serve the other, (n + 1, types); None if all may."""
        if self.skills is None and self.vehicles_allowed is None and self.vehicles_forbidden is None:
            return None
        fleet, table = self.fleet, np.ones((self.size + 1, len(self.fleet)), dtype=bool)
        for node, needed in enumerate(self.skills or ()):
            if needed:
                table[node] &= [needed <= kind.skills for kind in fleet]
        for node, names in enumerate(self.vehicles_allowed or ()):
            if names:
                table[node] &= [kind.name in names for kind in fleet]
        for node, names in enumerate(self.vehicles_forbidden or ()):
            if names:
                table[node] &= [kind.name not in names for kind in fleet]
        return None if table.all() else freeze(table)

    def node_of(self, place: str) -> int:
        """The node of a place by its name; "depot" is node 0.

        Parameters
        ----------
        place
            A name that vehicles use as start, end or place to load again.
        """
        return 0 if place == DEPOT else self._nodes_of_places[place]

    @cached_property
    def _nodes_of_places(self) -> dict[str, int]:
        return {place.name: node for node, place in enumerate(self.places, start=self.size + 1)}

    @cached_property
    def start_nodes(self) -> tuple[int, ...]:
        """The node where each vehicle type starts."""
        return tuple(self.node_of(kind.start) for kind in self.fleet)

    @cached_property
    def end_nodes(self) -> tuple[int, ...]:
        """The node where each vehicle type ends; -1 for open routes."""
        return tuple(-1 if kind.end == "open" else self.node_of(kind.end) for kind in self.fleet)

    @cached_property
    def alike_types(self) -> tuple[AlikeTypes, ...]:
        """The vehicle types, those that differ only in name and number as one, unless a least number is used."""
        allowed = np.ones((1, len(self.fleet)), dtype=bool) if self.allowed is None else self.allowed
        used = set(self.usual_vehicles.tolist()) if self.usual_vehicles is not None and self.prices_changes else set()
        used |= {index for index, kind in enumerate(self.fleet) if kind.min_vehicles > 0}
        usual = (index if index in used else -1 for index in range(len(self.fleet)))
        return merge_alike(self.fleet, list(zip(map(np.ndarray.tobytes, allowed.T), usual, strict=True)))

    @cached_property
    def has_times(self) -> bool:
        """Whether times are limited or have a price: by windows, releases, rides, shifts, durations or breaks."""
        given = (self.windows, self.release, self.max_ride)
        return (
            any(field is not None for field in given)
            or (self.balance is not None and self.balance.of == "hours")
            or any(vehicle.limits_time for vehicle in self.vehicles or ())
            or any(place.window is not None for place in self.places)
        )

    @property
    def knows_times(self) -> bool:
        """Whether travel times are known, from durations or a speed."""
        return self.durations is not None or self.speed is not None

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every leg has the same length and duration in both directions."""
        return self._has_symmetric_distances and (self.durations is None or _is_symmetric(self.durations))

    @cached_property
    def _has_symmetric_distances(self) -> bool:
        return self.distances is None or _is_symmetric(self.distances)

    @property
    def is_plain(self) -> bool:
        """Whether only capacity limits routes.

        Service times, durations and a speed do not count: without windows or limits they only affect timetables.
        """
        types = self.vehicles
        is_usual_fleet = types is None or (len(types) == 1 and types[0].is_plain)
        return is_usual_fleet and self.windows is None and self._has_symmetric_distances and not self.rules

    @property
    def unit(self) -> Literal["m"] | None:
        """Unit of lengths and costs: "m" if they come from degrees or roads, else None (unknown)."""
        if self.distances is not None:
            return self.matrix_unit
        return "m" if self.metric == "great_circle" else None

    def customer_name(self, customer: int) -> str:
        """The user's name for customer 1..n, or its number; a depot or place in a route has its own."""
        if not 1 <= customer <= self.size:
            return DEPOT if customer == 0 else self.places[customer - self.size - 1].name
        return str(customer) if self.customer_names is None else self.customer_names[customer - 1]

    def called(self, node: int) -> str:
        """The name of a node in messages: the depot, or a customer's number and, if it has one, its name."""
        if node == 0:
            return "the depot"
        if node > self.size:
            return show_text(self.places[node - self.size - 1].name, LONGEST_ITEM)
        name = "" if self.customer_names is None else f" ({show_text(self.customer_names[node - 1], LONGEST_ITEM)})"
        return f"customer {node}{name}"

    def shown_demand(self, load: int) -> int | Decimal:
        """Convert stored units to the user's unit, exactly.

        Parameters
        ----------
        load
            A demand, a load or the capacity, as stored.
        """
        return unscale(load, self.demand_scale)

    def shown_amounts(self, amounts: Sequence[int]) -> str:
        """Write an amount in every dimension: 4, or 3.5 kg, 1 pallets.

        Parameters
        ----------
        amounts
            Stored amounts, one for each dimension.
        """
        shown = [str(self.shown_demand(int(amount))) for amount in amounts]
        if self.demands.ndim == 1:
            return shown[0]
        return ", ".join(f"{amount} {name}" for amount, name in zip(shown, self.dimensions or (), strict=True))

    def windows_of(self, node: int) -> list[tuple[float, float]]:
        """The time windows of a customer, the depot or a place, in order; none if it is always open.

        Parameters
        ----------
        node
            The node.
        """
        if node > self.size:
            windows = [self.places[node - self.size - 1].bounds]
        elif self.windows is None:
            return []
        else:
            windows = [(opens, closes) for opens, closes in self.windows[node].reshape(-1, 2).tolist()]
        return [window for window in dict.fromkeys(windows) if window != (0.0, np.inf)]

    @property
    def cost_unit(self) -> Literal["m"] | None:
        """Unit of costs: that of lengths, unless they are money."""
        return None if self.is_priced else self.unit

    def shown_time(self, seconds: float) -> str:
        """Write a time as on a clock, or as a plain number where time is distance, as in Solomon's instances.

        Parameters
        ----------
        seconds
            Seconds since midnight, or since the start.
        """
        return f"{round(seconds, 2):.10g}" if self._counts_in_distance else format_clock(seconds)

    def shown_duration(self, seconds: float) -> str:
        """Write a duration in hours, minutes and seconds, or as a plain number where time is distance.

        Parameters
        ----------
        seconds
            The duration.
        """
        return f"{float(f'{seconds:.6g}'):.10g}" if self._counts_in_distance else format_duration(seconds)

    @property
    def _counts_in_distance(self) -> bool:
        return self.speed == 1 and self.durations is None  # no vehicle drives one metre per second

    def leg_lengths(self, origins: ArrayLike, destinations: ArrayLike, profile: str = "") -> NDArray[np.float64]:
        """Lengths of legs between pairs of nodes, under this instance's metric and rounding.

        Parameters
        ----------
        origins, destinations
            Node numbers, in shapes that broadcast.
        profile
            That of a vehicle type, whose legs may differ.
        """
        start, end = np.asarray(origins, dtype=np.intp), np.asarray(destinations, dtype=np.intp)
        own = next((each.distances for each in self.profiles if each.name == profile), None)
        distances = self.distances if own is None else own
        if distances is not None:
            return np.asarray(distances[start, end], dtype=np.float64)
        assert self.coordinates is not None  # checked by __post_init__
        measure = great_circle if self.metric == "great_circle" else straight_line
        return round_lengths(measure(self.coordinates[start], self.coordinates[end]), self.rounding)

    def leg_durations(self, origins: ArrayLike, destinations: ArrayLike, profile: str = "") -> NDArray[np.float64]:
        """Seconds of legs between pairs of nodes: from `durations`, or length divided by `speed`.

        Parameters
        ----------
        origins, destinations
            Node numbers, in shapes that broadcast.
        profile
            That of a vehicle type, whose legs may differ.

        Raises
        ------
        InstanceError
            If there are neither durations nor a speed.
        """
        self.require_times()
        own = next((each.durations for each in self.profiles if each.name == profile), None)
        durations = self.durations if own is None else own
        if durations is not None:
            start, end = np.asarray(origins, dtype=np.intp), np.asarray(destinations, dtype=np.intp)
            return np.asarray(durations[start, end], dtype=np.float64)
        assert self.speed is not None  # checked by require_times
        return np.asarray(self.leg_lengths(origins, destinations, profile) / self.speed, dtype=np.float64)

    def speeds_of(self, profile: str) -> Speeds | None:
        """How the speed of a vehicle's profile depends on the hour; None if it does not.

        Parameters
        ----------
        profile
            That of a vehicle type.
        """
        own = next((each.speed_by_hour for each in self.profiles if each.name == profile), ())
        return Speeds(own) if own else None

    def require_times(self) -> None:
        """Raise unless travel times are known."""
        if self.knows_times:
            return
        what = "time windows" if self.windows is not None else "limits of time" if self.has_times else "no times"
        raise InstanceError.about(
            "speed",
            f"there are {what}, but neither a speed nor durations tell how long a leg takes.",
            'Give a speed (--speed 40km/h; "speed" in JSON, distance units per second), or a matrix of durations.',
        )

    @cached_property
    def distance_matrix(self) -> NDArray[np.float64]:
        """All leg lengths as an (n + 1, n + 1) matrix, computed once."""
        if self.distances is not None:
            return self.distances
        require_memory(memory_for_all_legs(self.size))
        nodes = np.arange(self.node_count)
        return freeze(self.leg_lengths(nodes[:, None], nodes[None, :]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (
            self.capacity == other.capacity
            and self.rounding == other.rounding
            and self.metric == other.metric
            and self.demand_scale == other.demand_scale
            and self.customer_names == other.customer_names
            and np.array_equal(self.demands, other.demands)
            and _equal_or_none(self.coordinates, other.coordinates)
            and _equal_or_none(self.distances, other.distances)
            and self.vehicles == other.vehicles
            and self.speed == other.speed
            and _equal_or_none(self.service, other.service)
            and _equal_or_none(self.windows, other.windows)
            and _equal_or_none(self.durations, other.durations)
            and all(getattr(self, field) == getattr(other, field) for field in _COMPARED)
            and all(_equal_or_none(getattr(self, field), getattr(other, field)) for field in _WISHES)
        )

    def __hash__(self) -> int:
        return hash((self.capacity, self.rounding, self.demands.tobytes()))

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Instance({name}{self.size} customers, capacity {self.shown_demand(self.capacity)})"

    def _repr_html_(self) -> str:
        return self.sketch()._repr_html_()

    def sketch(self, routes: Sequence[Sequence[int]] = (), words: str = "") -> Sketch:
        """A small picture, for notebooks; `dynaroute.plotting` draws larger ones.

        Parameters
        ----------
        routes
            Sequences of customers to draw.
        words
            Caption; the instance's `repr` if empty.
        """
        if self.coordinates is None:
            return Sketch(words or repr(self), "")
        columns = self.coordinates if self.metric == "euclidean" else self.coordinates[:, ::-1]  # longitude goes east
        return Sketch(words or repr(self), draw_sketch([(x, y) for x, y in columns.tolist()], routes))


def _equal_or_none(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def _divide_amounts(vehicle: VehicleType, factor: int) -> VehicleType:
    """Store capacity and load at the start in a larger unit."""
    return replace(
        vehicle,
        capacity=tuple(amount // factor for amount in vehicle.capacities),
        initial_load=tuple(amount // factor for amount in vehicle.initial_loads),
    )


def _is_symmetric(matrix: NDArray[np.float64]) -> bool:
    return bool((matrix == matrix.T).all())
