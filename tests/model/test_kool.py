from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plain_am import visit_greedily
from torch import Tensor

from dynaroute.base.errors import ModelError
from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.draw import InstanceArrays, draw_paper_set, draw_published_set
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.kool import import_kool
from dynaroute.problem.solution import check


def published_tensors() -> dict[str, Tensor]:
    """Tensors of the published names and shapes, with random values."""
    generator = torch.Generator().manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {
        "init_embed_depot.weight": (128, 2),
        "init_embed_depot.bias": (128,),
        "init_embed.weight": (128, 3),
        "init_embed.bias": (128,),
        "project_node_embeddings.weight": (384, 128),
        "project_fixed_context.weight": (128, 128),
        "project_step_context.weight": (128, 129),
        "project_out.weight": (128, 128),
    }
    for layer in range(3):
        name = f"embedder.layers.{layer}"
        shapes |= {f"{name}.0.module.W_{part}": (8, 128, 16) for part in ("query", "key", "val")}
        shapes |= {f"{name}.0.module.W_out": (8, 16, 128)}
        shapes |= {f"{name}.2.module.0.weight": (512, 128), f"{name}.2.module.0.bias": (512,)}
        shapes |= {f"{name}.2.module.2.weight": (128, 512), f"{name}.2.module.2.bias": (128,)}
        for index in (1, 3):
            parts = ("weight", "bias", "running_mean", "running_var")
            shapes |= {f"{name}.{index}.normalizer.{part}": (128,) for part in parts}
    return {name: torch.rand(shape, generator=generator) / 8 for name, shape in shapes.items()}


def save(tensors: dict[str, Any], folder: Path) -> Path:
    path = folder / "weights.pt"
    torch.save({"model": tensors}, path)
    return path


def refusal(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        import_kool(path)
    assert caught.value.remedy
    assert caught.value.where.file == str(path)
    return caught.value


def assert_same_visits(path: Path, arrays: InstanceArrays) -> None:
    """Import, build greedily, and compare with the plain model that reads the same file; both in float64."""
    published = torch.load(path, weights_only=True)["model"]
    expected = visit_greedily(
        {name: tensor.double().numpy() for name, tensor in published.items()},
        np.concatenate([arrays.depot[:, None], arrays.locations], axis=1),
        np.pad(arrays.demands, ((0, 0), (1, 0))),
        int(arrays.capacity[0]),
    )
    instances = arrays.instances()
    batch = InstanceBatch.from_instances(instances)
    solutions = construct(import_kool(path).double(), batch, Greedy()).to_solutions(batch)
    for instance, solution, sequence in zip(instances, solutions, expected, strict=True):
        assert check(instance, solution) == []
        nodes = [node for route in solution.routes for node in (*route, 0)]
        assert nodes == sequence[: len(nodes)]
        assert not any(sequence[len(nodes) :])


@pytest.mark.parametrize(("size", "count"), [(20, 500), (100, 30)])
def test_published_weights_visit_as_a_plain_attention_model_does(size: int, count: int, shared_data: Path) -> None:
    whole = draw_published_set(size)
    first = InstanceArrays(whole.depot[:count], whole.locations[:count], whole.demands[:count], whole.capacity[:count])
    assert_same_visits(shared_data / "kool-am" / f"cvrp_{size}.pt", first)


def test_random_weights_visit_as_a_plain_attention_model_does(tmp_path: Path) -> None:
    assert_same_visits(save(published_tensors(), tmp_path), draw_paper_set(12, 20, np.random.default_rng(0)))


def test_published_weights_reach_their_length(shared_data: Path) -> None:
    whole = draw_published_set(20)
    batch = InstanceBatch.from_arrays(
        whole.depot[:500], whole.locations[:500], whole.demands[:500], whole.capacity[:500]
    )
    routes = construct(import_kool(shared_data / "kool-am" / "cvrp_20.pt").double(), batch, Greedy())
    assert float(routes.lengths(batch).mean()) == pytest.approx(6.423, abs=0.002)


def test_an_imported_policy_is_the_static_model_ready_to_use(tmp_path: Path) -> None:
    policy = import_kool(save(published_tensors(), tmp_path))
    assert policy.config == PolicyConfig.am()
    assert not policy.training
    assert policy.card.name == "weights"


def test_an_imported_policy_survives_saving(tmp_path: Path) -> None:
    policy = import_kool(save(published_tensors(), tmp_path))
    policy.save_pretrained(tmp_path / "saved")
    again = Policy.from_pretrained(tmp_path / "saved")
    for name, tensor in policy.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


class Malicious:
    """Would make a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("is_archive", [True, False])
def test_a_malicious_object_is_not_built(is_archive: bool, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(
        {"model": {"init_embed.weight": Malicious(tmp_path / "broken_in")}},
        path,
        _use_new_zipfile_serialization=is_archive,
    )
    refusal(path)
    assert not (tmp_path / "broken_in").exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_malicious_plain_pickle_is_not_run(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(pickle.dumps({"model": Malicious(tmp_path / "broken_in")}, protocol=protocol))
    refusal(path)
    assert not (tmp_path / "broken_in").exists()


@pytest.mark.parametrize("name", ["init_embed.bias", "project_out.weight", "embedder.layers.2.0.module.W_val"])
def test_a_missing_tensor_is_named(name: str, tmp_path: Path) -> None:
    tensors = published_tensors()
    del tensors[name]
    assert name in refusal(save(tensors, tmp_path)).message


@pytest.mark.parametrize("shape", [(), (0,), (384,), (3, 5), (8, 128, 17), (2, 2, 2, 2)])
@pytest.mark.parametrize(
    "name",
    [
        "init_embed.weight",
        "project_node_embeddings.weight",
        "project_fixed_context.weight",
        "project_step_context.weight",
        "embedder.layers.0.0.module.W_query",
        "embedder.layers.1.0.module.W_out",
        "embedder.layers.2.3.normalizer.running_var",
    ],
)
def test_a_tensor_of_another_shape_is_refused(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    refusal(save({**published_tensors(), name: torch.zeros(shape)}, tmp_path))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(value: float, tmp_path: Path) -> None:
    tensors = published_tensors()
    tensors["project_out.weight"][3, 4] = value
    assert "not finite" in refusal(save(tensors, tmp_path)).message


@pytest.mark.parametrize(
    "contents", [[1, 2], None, {"model": None}, {"model": {"init_embed.weight": 3}}, {"weights": {}}, {"model": {}}]
)
def test_a_checkpoint_without_the_models_tensors_is_refused(contents: object, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(contents, path)
    refusal(path)


@pytest.mark.parametrize("contents", [b"", b"x", b"PK\x03\x04", b"\x80\x02.", b"\x80\x04K\x01.", b"(dp0\n."])
def test_a_file_that_is_no_checkpoint_is_refused(contents: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(contents)
    refusal(path)


@pytest.mark.parametrize("kept", [10, 1000, -100])
def test_a_truncated_checkpoint_is_refused(kept: int, tmp_path: Path) -> None:
    path = save(published_tensors(), tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    refusal(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "nothing.pt").message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    refusal(tmp_path)
