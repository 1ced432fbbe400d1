from __future__ import annotations

from itertools import islice

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, draw_instances, make_policy

from dynaroute.base.errors import UnsupportedError
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import Greedy, Sampling, active, construct, log_probabilities
from dynaroute.construct.active import ActiveSettings, _drive, search_actively
from dynaroute.construct.choose import Sample, make_stream_keys
from dynaroute.model import PolicyConfig
from dynaroute.model.pointer import PointerConfig, PointerNetwork
from dynaroute.problem.solution import check

with_both_kinds = pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])


@with_both_kinds
def test_the_best_is_right_and_never_gets_longer(config: PolicyConfig) -> None:
    (instance,) = draw_instances(12)
    policy, batch = make_policy(config), InstanceBatch.from_instances([instance])
    first = RouteBatch.alone(batch)
    found = list(islice(search_actively(policy, batch, first, 1, lambda: None, ActiveSettings(1)), 6))
    lengths = [float(each.lengths(batch)) for each in (first, *found)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < lengths[0]
    assert check(instance, found[-1].to_solutions(batch)[0]) == []


def test_the_policy_stays_as_it_is() -> None:
    policy, batch = make_policy(), draw_batch(9)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    list(islice(search_actively(policy, batch, construct(policy, batch, Greedy()), 0, lambda: None), 3))
    assert all(torch.equal(value, before[name]) for name, value in policy.state_dict().items())


def test_the_best_solution_becomes_likelier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active, "deepcopy", lambda policy: policy)  # so that it is there to be looked at
    policy, batch = make_policy(), draw_batch(9)
    best = construct(policy, batch, Sampling(64), torch.Generator().manual_seed(1))
    before = float(log_probabilities(policy, batch, best).detach())
    settings = ActiveSettings(1, 0.01, imitation=1.0)
    *_, last = islice(search_actively(policy, batch, best, 0, lambda: None, settings), 8)
    assert torch.equal(last.route, best.route)
    assert float(log_probabilities(policy, batch, best).detach()) > before + 0.1


def test_log_p_on_the_way_is_that_of_the_solutions() -> None:
    policy, batch = make_policy().double(), draw_batch(9, 6)
    with torch.no_grad():
        routes, found = _drive(policy, batch, Sample(make_stream_keys(0, batch.keys, torch.arange(2))))
        torch.testing.assert_close(found, log_probabilities(policy, batch, routes))


def test_it_ends_when_the_watch_says_so() -> None:
    def watch() -> None:
        raise OutOfTimeError

    policy, batch = make_policy(), draw_batch(6)
    with pytest.raises(OutOfTimeError):
        next(search_actively(policy, batch, construct(policy, batch, Greedy()), 0, watch))


def test_a_pointer_network_is_refused() -> None:
    policy = PointerNetwork(PointerConfig(dimension=16), generator=torch.Generator().manual_seed(1)).eval()
    batch = draw_batch(6)
    with pytest.raises(UnsupportedError, match="active search"):
        next(search_actively(policy, batch, construct(policy, batch, Greedy()), 0, lambda: None))
