from __future__ import annotations

import pytest
import torch
from policies import draw_batch

from dynaroute.construct import Greedy, construct
from dynaroute.kernels.pointer_score import PointerScore
from dynaroute.model import PointerConfig, PointerNetwork
from dynaroute.model.pointer import score_plainly
from dynaroute.training.replay.replay import replay_log_probabilities


def make_parts(vehicles: int, steps: int, nodes: int, width: int = 16) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(steps + nodes)
    shapes = ((vehicles, nodes, width), (vehicles, steps, nodes), (width,), (vehicles, steps, width), (width,))
    parts = [torch.randn(shape, generator=generator) for shape in shapes]
    return [part.requires_grad_(number != 1) for number, part in enumerate(parts)]


@pytest.mark.parametrize(("steps", "nodes"), [(1, 3), (4, 32), (3, 33), (2, 70)])
def test_scores_and_gradients_agree_with_the_twin(steps: int, nodes: int) -> None:
    parts = make_parts(3, steps, nodes)
    learned = [part for part in parts if part.requires_grad]
    weights = torch.randn(3, steps, nodes, generator=torch.Generator().manual_seed(1))
    expected, found = score_plainly(*parts), PointerScore.apply(*parts)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(
        torch.autograd.grad((found * weights).sum(), learned),
        torch.autograd.grad((expected * weights).sum(), learned),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_a_pointer_network_builds_and_replays_the_same_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = PointerNetwork(PointerConfig(dimension=16), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(3.0)
    batch = draw_batch(3, 6)
    plain = construct(policy, batch, Greedy())
    expected = replay_log_probabilities(policy, batch, plain)
    gradients = torch.autograd.grad(expected.sum(), list(policy.parameters()))
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    assert policy.has_kernels
    assert torch.equal(construct(policy, batch, Greedy()).route, plain.route)
    found = replay_log_probabilities(policy, batch, plain)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(torch.autograd.grad(found.sum(), list(policy.parameters())), gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dimension", [8, 48, 512])
def test_other_widths_stay_plain(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    assert not PointerNetwork(PointerConfig(dimension=dimension)).has_kernels
    assert not PointerNetwork(PointerConfig(dimension=16)).double().has_kernels
