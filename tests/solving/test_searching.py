from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from threading import Event
from typing import Any

import numpy as np
import pytest
from policies import SMALL_AMD, draw_instances, make_policy

from dynaroute.model import ModelCard
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.improvers import MachineCode, load_machine_code
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import Improvement
from dynaroute.solving.choose import choose
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result
from dynaroute.solving.searching import search_all
from dynaroute.solving.solve import solve

MATRIX = Instance(
    None, np.array([0, 1, 1, 1]), 2, distances=np.array([[0, 2, 3, 4], [2, 0, 1, 5], [3, 1, 0, 2], [4, 5, 2, 0]])
)
FOREVER = 10**12  # iterations
AT_MOST = 20.0  # seconds: a search that nobody ends shall fail a test, not hold up the others


def assert_right(result: Result) -> None:
    assert check(result.instance, result.solution) == []
    assert result.cost == result.solution.cost(result.instance)
    assert result.trace[-1][1] == result.cost


def one_by_one(instance: Instance) -> Solution:
    return Solution(tuple((customer,) for customer in range(1, instance.size + 1)))


def search_without_time(instances: Sequence[Instance], **settings: Any) -> list[Result]:
    """Search for a second that is over long since."""
    options = SolveOptions(time_limit=1, **settings)
    approaches = choose(instances, options)
    return search_all(instances, None, approaches, options, Observers(), time.perf_counter() - 100)


# What comes out


def test_machine_code_is_loaded_for_the_largest_without_a_matrix_and_takes_none_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[list[MachineCode]] = []

    def load(wanted: list[MachineCode]) -> None:
        load_machine_code(wanted)
        time.sleep(0.5)
        loaded.append(wanted)

    monkeypatch.setattr("dynaroute.solving.choose.load_machine_code", load)
    monkeypatch.setattr("dynaroute.solving.choose.LARGEST_MATRIX", 29)
    (instance,) = draw_instances(30)
    assert solve(instance, time_limit=0.4).iterations != 0
    solve(MATRIX, iterations=1)
    assert loaded == [["large", "search"], ["search"]]


def test_machine_code_of_fleets_takes_none_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    (plain,) = draw_instances(30)
    instance = replace(plain, vehicles=(VehicleType(plain.capacity, max_stops=6),))
    solve(instance, iterations=1)  # so that no code has to be loaded but what takes half a second now
    loads: list[float] = []

    def load() -> None:
        time.sleep(0.5)
        loads.append(0.5)

    monkeypatch.setattr("dynaroute.search.with_limits.search.load_machine_code_of_limits", load)
    result = solve(instance, time_limit=0.4)
    assert loads
    assert result.iterations != 0
    assert not check(instance, result.solution)


def test_search_is_told_with_its_iterations_and_its_trace() -> None:
    (instance,) = draw_instances(30)

    result = solve(instance, iterations=200, start=one_by_one(instance))

    assert_right(result)
    assert (result.method, result.model, result.iterations) == ("start + search 200 iterations", None, 200)
    assert not result.is_interrupted
    costs = [cost for _, cost in result.trace]
    assert costs[0] == pytest.approx(one_by_one(instance).cost(instance))
    assert costs == sorted(set(costs), reverse=True)
    assert [seconds for seconds, _ in result.trace] == sorted(seconds for seconds, _ in result.trace)
    assert 0 <= result.trace[0][0] <= result.trace[-1][0] <= result.seconds
    assert result.messages == (result.improvement,)


def test_improvements_are_told_when_they_are_found() -> None:
    several = draw_instances(30, 20)
    told: list[list[Improvement]] = [[], []]

    results = solve(several, iterations=100, on_improvement=lambda index, found: told[index].append(found))

    for result, improvements in zip(results, told, strict=True):
        assert {(found.seconds, found.cost) for found in improvements} <= set(result.trace)
        for found in improvements:
            assert check(result.instance, found.solution) == []
        assert improvements[-1].solution.routes == result.solution.routes


def test_a_search_from_a_policy_names_it_and_savings() -> None:
    (instance,) = draw_instances(30)

    result = solve(instance, time_limit=0.5, model="amd", device="cpu")

    assert_right(result)
    assert (result.model, result.method) == ("amd", "greedy + search 0.5 s")
    assert re.match(
        r"amd \(greedy\) built the first routes; savings was [\d.]+ % (longer|shorter)\.", result.messages[0]
    )
    assert solve(instance, time_limit=0.5, model="savings").model is None


def test_known_routes_that_are_the_best_come_back() -> None:
    best = solve(MATRIX, iterations=50).solution

    result = solve(MATRIX, iterations=1, start=best)

    assert result.cost == best.cost(MATRIX)
    assert "no improvement" in result.messages[-1]


def test_target_ends_the_search() -> None:
    (instance,) = draw_instances(30)
    start = build_by_savings(instance)

    result = solve(instance, iterations=FOREVER, target=1.001 * start.cost(instance), start=start)

    assert_right(result)
    assert not result.is_interrupted
    assert result.cost <= start.cost(instance)


@pytest.mark.parametrize("count", [1, 3])
def test_progress_counts_every_instance_once(count: int) -> None:
    finished: list[int] = []

    solve(draw_instances(*[8] * count), iterations=5, progress=finished.append)

    assert finished == [1] * count


def test_nothing_to_search_gives_nothing() -> None:
    assert solve([], time_limit=1) == []


# Many


def test_seed_and_iterations_determine_the_routes_whatever_the_threads() -> None:
    several = [*draw_instances(25, 12, 40), MATRIX]

    alone = [solve(instance, iterations=150, seed=3).solution for instance in several]

    for threads in (1, 2, 7, None):
        results = solve(several, iterations=150, seed=3, threads=threads)
        assert [result.instance for result in results] == several
        assert [result.solution for result in results] == alone
        for result in results:
            assert_right(result)


def test_fault_in_one_search_ends_all() -> None:
    def fail(index: int, _: Improvement) -> None:
        if index == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # and not after all the iterations
        solve(draw_instances(10, 10, 10, 10), iterations=FOREVER, threads=2, on_improvement=fail)


# The clock


@pytest.mark.parametrize("size", [1, 2, 30, 400])
def test_time_that_is_up_leaves_the_first_routes(size: int) -> None:
    (result,) = search_without_time(draw_instances(size))

    assert_right(result)
    assert result.iterations == 0
    assert not result.is_interrupted
    assert result.method == "savings + search 1 s"


def test_time_that_is_up_leaves_no_time_for_a_policy() -> None:
    policy = make_policy(card=ModelCard(name="tiny"))

    (result,) = search_without_time(draw_instances(12), model=policy, augment=True)

    assert_right(result)
    assert (result.method, result.model) == ("savings + search 1 s", None)
    assert result.messages[0] == "There was no time for tiny (greedy x8)."


def test_each_of_many_has_its_time_from_when_it_is_taken_up() -> None:
    instances = draw_instances(12, 12, 12)

    options = SolveOptions(time_limit=1000, iterations=20)
    results = search_all(instances, None, choose(instances, options), options, Observers(), time.perf_counter() - 2000)

    assert [result.iterations for result in results] == [20, 20, 20]


# A policy


@pytest.mark.parametrize("limits", [{"iterations": 5}, {"iterations": 5, "time_limit": 1000}])
def test_policy_that_is_named_builds_the_first_routes(limits: Any) -> None:
    (instance,) = draw_instances(15)
    policy = make_policy(card=ModelCard(name="tiny"))
    first = solve(instance, model=policy, augment=True)

    result = solve(instance, model=policy, augment=True, **limits)

    assert_right(result)
    assert result.model == "tiny"
    assert result.method.startswith("greedy x8 + search")
    assert result.trace[0][1] == pytest.approx(first.cost)


@pytest.mark.parametrize(("size", "start"), [(1, "policy"), (30, "insertion")])
def test_with_windows_a_search_starts_from_the_better_of_a_policy_that_knows_them_and_insertion(
    size: int, start: str
) -> None:
    (plain,) = draw_instances(size)
    windows = np.tile([0.0, 100.0], (size + 1, 1))
    instance = replace(plain, windows=windows, speed=1.0)
    config = replace(SMALL_AMD, rules=("windows",))
    policy = make_policy(
        config, card=ModelCard(name="tiny")
    )  # untrained, so that it is only better where all are alike
    result = solve(instance, model=policy, iterations=2, threads=1)
    assert result.start.kind == start
    assert check(instance, result.solution) == []
    told = [message for message in result.messages if message.startswith("Insertion built the first routes; those of")]
    assert len(told) == (start == "insertion")


def test_attempts_for_which_there_was_no_time_are_told() -> None:
    policy, questions = make_policy(card=ModelCard(name="tiny")), count()
    (instance,) = draw_instances(9)

    def is_second_attempt() -> bool:
        return next(questions) > 2 * instance.size + 1  # asked once for each step of the first

    result = solve(instance, model=policy, augment=True, iterations=5, is_cancelled=is_second_attempt)

    assert_right(result)
    assert result.method == "greedy x8 + search 5 iterations"
    assert result.messages[0] == "There was time for 1 of the 8 attempts of tiny (greedy x8)."


def test_without_coordinates_a_policy_builds_nothing_and_that_is_said() -> None:
    result = solve(MATRIX, model=make_policy(), iterations=5)

    assert_right(result)
    assert result.method == "savings + search 5 iterations"
    assert "need coordinates" in result.messages[0]


# Cancelling


@pytest.mark.parametrize("count", [1, 3])
def test_cancelled_search_returns_the_best_so_far(count: int) -> None:
    is_found = Event()

    results = solve(
        draw_instances(*[40] * count),
        iterations=FOREVER,
        time_limit=AT_MOST,
        on_improvement=lambda index, found: is_found.set(),
        is_cancelled=is_found.is_set,
    )

    assert len(results) == count
    for result in results:
        assert_right(result)
        assert result.is_interrupted


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as Python takes it, whatever others have made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("count", [1, 5])
def test_interrupted_search_returns_the_best_so_far(count: int) -> None:
    is_interrupted = Event()

    def interrupt(index: int, _: Improvement) -> None:
        if index == 0 and not is_interrupted.is_set():
            is_interrupted.set()
            os.kill(os.getpid(), signal.SIGINT)

    several = draw_instances(*[40] * count)
    results = solve(several, iterations=FOREVER, time_limit=AT_MOST, threads=2, on_improvement=interrupt)

    assert [result.instance for result in results] == several
    for result in results:
        assert_right(result)
        assert result.is_interrupted


@pytest.mark.usefixtures("interruptible")
def test_search_that_is_interrupted_while_a_policy_builds_returns_some_routes() -> None:
    policy = make_policy()
    is_interrupted = Event()

    def interrupt(*_: object) -> None:
        if not is_interrupted.is_set():  # once: what is given up may encode again before it knows, and other tests run
            is_interrupted.set()
            os.kill(os.getpid(), signal.SIGINT)

    policy.encoder.register_forward_pre_hook(interrupt)

    result = solve(draw_instances(12)[0], model=policy, iterations=FOREVER, time_limit=AT_MOST)

    assert_right(result)
    assert result.is_interrupted
    assert result.method.startswith("savings + ")
