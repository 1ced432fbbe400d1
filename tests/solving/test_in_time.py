from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

import pytest
import torch
from policies import draw_instances, make_policy

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch
from dynaroute.construct import SGBS, Augmented, Beam, Greedy, MultiStart, Sampling, Strategy, construct
from dynaroute.problem.solution import Solution, check
from dynaroute.solving.in_time import RoutesInTime, build_in_time


def count_down(calls: int) -> Callable[[], bool]:
    """A question that is answered with no so many times, then with yes."""
    answers = iter(range(calls))
    return lambda: next(answers, None) is None


@pytest.mark.parametrize(
    "strategy",
    [Greedy(), Augmented(Greedy()), Sampling(20), MultiStart(11), Augmented(Sampling(3)), Beam(2), SGBS(1, 2)],
    ids=str,
)
def test_with_time_enough_the_routes_are_those_without_a_clock(strategy: Strategy) -> None:
    (instance,) = draw_instances(14)
    policy, batch = make_policy(), InstanceBatch.from_instances([instance])
    (expected,) = construct(policy, batch, strategy, torch.Generator().manual_seed(7)).to_solutions(batch)

    built = build_in_time(policy, instance, strategy, 7, Stopping())

    assert built == RoutesInTime(expected, strategy.attempts)


def test_without_time_nothing_is_built() -> None:
    (instance,) = draw_instances(9)

    built = build_in_time(make_policy(), instance, Greedy(), 0, Stopping(deadline=time.perf_counter() - 1))

    assert built == RoutesInTime(None, 0)


@pytest.mark.parametrize("strategy", [Greedy(), Beam(2), SGBS(1, 2)], ids=str)
def test_attempts_are_given_up_midway(strategy: Strategy) -> None:
    (instance,) = draw_instances(9)

    built = build_in_time(make_policy(), instance, strategy, 0, Stopping(is_cancelled=count_down(4)))

    assert built == RoutesInTime(None, 0)


def test_attempts_that_were_finished_count() -> None:
    (instance,) = draw_instances(9)
    policy, batch = make_policy(), InstanceBatch.from_instances([instance])
    steps = 2 * instance.size + 1  # of the first attempt, at most
    (expected,) = construct(policy, batch, Sampling(1), torch.Generator().manual_seed(0)).to_solutions(batch)

    built = build_in_time(policy, instance, Sampling(800), 0, Stopping(is_cancelled=count_down(steps)))

    assert 1 <= built.attempts < 800
    assert built.solution is not None
    assert check(instance, built.solution) == []
    assert built.solution.cost(instance) <= expected.cost(instance)


def test_an_encoding_that_takes_too_long_is_not_waited_for() -> None:
    (instance,) = draw_instances(9)
    policy, is_released = make_policy(), Event()
    policy.encoder.register_forward_pre_hook(lambda *_: is_released.wait())

    built = build_in_time(policy, instance, Greedy(), 0, Stopping.after(0.01))
    is_released.set()

    assert built == RoutesInTime(None, 0)


def test_the_better_attempts_are_kept_whatever_their_order() -> None:
    short, long = Solution(((1,),), stated_cost=1.0), Solution(((1,),), stated_cost=2.0)
    first, second = RoutesInTime(), RoutesInTime()
    for found, order in ((first, (short, long)), (second, (long, short))):
        for solution in order:
            found.add(solution, 4)

    assert first == second == RoutesInTime(short, 8)
