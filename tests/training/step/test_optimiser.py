from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from dynaroute.training.step.optimiser import MuonOptimiser, OptimiserName, make_optimiser, orthogonalise


@pytest.mark.parametrize("shape", [(1, 64, 64), (2, 64, 128), (3, 128, 64)])
def test_singular_values_come_near_one(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    values = torch.linalg.svdvals(orthogonalise(matrices))
    assert values.min() > 0.3
    assert values.max() < 1.4


def test_singular_vectors_stay() -> None:
    matrix = torch.randn(1, 64, 64, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrix)
    inner = left.mT @ orthogonalise(matrix) @ right.mT  # diagonal, if the vectors are the same
    off = inner - torch.diag_embed(inner.diagonal(dim1=1, dim2=2))
    assert off.abs().max() < 1e-4


def make_parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(2)
    shapes = [(192, 64), (64, 64), (64, 3), (64,)]
    return [nn.Parameter(torch.randn(*shape, generator=generator)) for shape in shapes]


def give_gradients(parameters: list[nn.Parameter], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_a_restored_optimiser_goes_on_alike(name: OptimiserName) -> None:
    first, second = make_parameters(), make_parameters()
    rate = torch.tensor(1e-2)
    one = make_optimiser(name, first, rate)
    for seed in (1, 2):
        give_gradients(first, seed)
        one.step()
    other = make_optimiser(name, second, rate)
    for mine, theirs in zip(second, first, strict=True):
        mine.data.copy_(theirs.data)
    other.restore(copy.deepcopy(one.state()))  # as a file would give it back
    rate.fill_(1e-3)  # both follow the same tensor
    for parameters, optimiser in ((first, one), (second, other)):
        give_gradients(parameters, 3)
        optimiser.step()
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(first, second, strict=True))


def test_muon_moves_stacked_matrices_one_by_one() -> None:
    stacked, apart = make_parameters()[:1], [nn.Parameter(part.clone()) for part in make_parameters()[0].chunk(3)]
    gradient = torch.randn(192, 64, generator=torch.Generator().manual_seed(4))
    stacked[0].grad = gradient
    for parameter, part in zip(apart, gradient.chunk(3), strict=True):
        parameter.grad = part.clone()
    for parameters in (stacked, apart):
        vector = nn.Parameter(torch.zeros(1))
        vector.grad = torch.zeros(1)
        MuonOptimiser([*parameters, vector], torch.tensor(1e-2)).step()
    torch.testing.assert_close(stacked[0].detach(), torch.cat([part.detach() for part in apart]), rtol=0, atol=1e-6)


def test_gradients_are_forgotten() -> None:
    parameters = make_parameters()
    give_gradients(parameters, 1)
    make_optimiser("muon", parameters, torch.tensor(0.1)).zero_grad()
    assert all(parameter.grad is None for parameter in parameters)
