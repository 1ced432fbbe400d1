from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from dynaroute.construct.noise import draw_gumbel, make_stream_keys

EULER = 0.5772156649015329


def keys(*, seed: int = 0, instances: list[int] | None = None, samples: list[int] | None = None) -> Tensor:
    names = torch.tensor(instances if instances is not None else [5])
    return make_stream_keys(seed, names, torch.tensor(samples if samples is not None else [0] * len(names)))


def draw(stream_keys: Tensor, step: int = 0, nodes: int = 100) -> Tensor:
    count = len(stream_keys)
    return draw_gumbel(stream_keys, torch.full((count,), step), torch.arange(nodes).expand(count, nodes))


def correlation(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]).double())[0, 1])


def test_it_has_the_mean_variance_and_quantiles_of_gumbels_distribution() -> None:
    noise = draw(keys(instances=list(range(400))), nodes=1000).double().flatten()
    assert float(noise.mean()) == pytest.approx(EULER, abs=0.01)
    assert float(noise.var()) == pytest.approx(math.pi**2 / 6, rel=0.01)
    for share in (0.01, 0.1, 0.5, 0.9, 0.99, 0.999):
        quantile = -math.log(-math.log(share))
        assert float((noise < quantile).double().mean()) == pytest.approx(share, abs=0.0025)


def test_it_is_always_finite() -> None:
    noise = draw(keys(instances=list(range(1000))), nodes=2000)
    assert bool(noise.isfinite().all())
    assert noise.dtype == torch.float32


def test_it_is_known_in_advance() -> None:
    """Pinned, since every engine and every release must draw the same for a seed."""
    stream_keys = make_stream_keys(2**40 + 3, torch.tensor([2**62 + 7]), torch.tensor([4]))
    assert stream_keys.tolist() == PINNED_KEYS
    noise = draw_gumbel(stream_keys, torch.tensor([9]), torch.tensor([[0, 1, 2000]]))
    assert noise[0].tolist() == pytest.approx(PINNED_NOISE, rel=1e-6)


PINNED_KEYS: list[list[int]] = []
PINNED_NOISE: list[float] = []


def test_a_nodes_noise_does_not_depend_on_its_slot_or_on_padding() -> None:
    stream_keys, steps = keys(), torch.tensor([3])
    whole = draw(stream_keys, step=3, nodes=10)
    some = draw_gumbel(stream_keys, steps, torch.tensor([[0, 7, 2, 0, 0, 0]]))
    assert some[0, :3].tolist() == whole[0, [0, 7, 2]].tolist()


def test_a_trajectorys_noise_does_not_depend_on_its_neighbours() -> None:
    together = draw(keys(instances=[3, 5, 8], samples=[0, 1, 2]))
    assert torch.equal(together[1:2], draw(keys(instances=[5], samples=[1])))


def test_everything_it_is_keyed_by_changes_it_wholly() -> None:
    plain = draw(keys(), nodes=20_000)
    others = {
        "seed": draw(keys(seed=1), nodes=20_000),
        "upper half of the seed": draw(keys(seed=2**32), nodes=20_000),
        "instance": draw(keys(instances=[6]), nodes=20_000),
        "upper half of the instance": draw(keys(instances=[5 + 2**59]), nodes=20_000),
        "sample": draw(keys(samples=[1]), nodes=20_000),
        "step": draw(keys(), step=1, nodes=20_000),
        "node": plain.roll(1, 1),
    }
    for name, other in others.items():
        assert abs(correlation(plain, other)) < 0.035, name


def test_trajectories_have_streams_of_their_own() -> None:
    count = 50_000
    samples = make_stream_keys(0, torch.full((count,), 5), torch.arange(count))
    instances = make_stream_keys(0, torch.arange(count), torch.zeros(count, dtype=torch.int64))
    for stream_keys in (samples, instances):
        assert len(stream_keys.unique(dim=0)) == count
        assert int(stream_keys.min()) >= 0
        assert int(stream_keys.max()) < 2**32


def test_a_negative_seed_is_a_seed() -> None:
    assert not torch.equal(keys(seed=-1), keys(seed=1))
