from __future__ import annotations

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, make_policy

from dynaroute.base.errors import OptionError
from dynaroute.construct import Greedy, construct
from dynaroute.training.run import deepen as module
from dynaroute.training.run.deepen import deepen


def test_a_deeper_policy_begins_with_the_routes_of_the_shallower_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INSTANCES", 64)
    policy = make_policy(SMALL_AMD)
    deeper = deepen(policy, 3, torch.Generator().manual_seed(1))
    assert deeper.config.layers == len(deeper.encoder.layers) == 3
    batch = draw_batch(*(size for size in range(10, 40) for _ in range(6)))  # fewer differ by 2 % by chance
    lengths = [construct(one, batch, Greedy()).lengths(batch).mean() for one in (policy, deeper)]
    assert abs(lengths[1] / lengths[0] - 1) < 0.02


def test_the_same_generator_gives_the_same_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INSTANCES", 8)
    monkeypatch.setattr(module, "_STEPS", 5)
    one, other = (deepen(make_policy(SMALL_AMD), 2, torch.Generator().manual_seed(4)) for _ in range(2))
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


@pytest.mark.parametrize(("config", "layers"), [(SMALL_AMD, 1), (SMALL_AM, 3)], ids=["not more", "batch normalisation"])
def test_what_cannot_be_deepened_is_refused(config: object, layers: int) -> None:
    with pytest.raises(OptionError, match="layers"):
        deepen(make_policy(config), layers, torch.Generator())  # type: ignore[arg-type]
