from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from dynaroute.base.errors import InstanceError, TrainingError
from dynaroute.draw import XSettings, draw_x_set
from dynaroute.formats import write
from dynaroute.problem.instance import Instance
from dynaroute.training.plan.own_instances import InstanceFiles, OwnInstancesTask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    for size in (5, 8):
        write(draw_x_set(XSettings(size, demands="1-100"), 1, generator).instances()[0], tmp_path / f"n{size}.vrp")
    return tmp_path


def make_task(folder: Path) -> OwnInstancesTask:
    return OwnInstancesTask.of(InstanceFiles.at(folder).read(), torch.device("cpu"))


def test_instances_are_turned_and_mirrored_but_keep_their_shape(folder: Path) -> None:
    task = make_task(folder)
    drawn = task.draw(100, torch.Generator().manual_seed(1), first_key=3)
    is_small = drawn.sizes == 5
    assert 20 < int(is_small.sum()) < 80
    original = task.instances.locations[task.instances.sizes == 5][0, :6].double()
    places = drawn.locations[is_small][:, :6].double()
    ratio = torch.cdist(places, places) / (torch.cdist(original, original) + torch.eye(6))
    for row in ratio:
        scale = row[~torch.eye(6, dtype=torch.bool)]
        assert float(scale.std() / scale.mean()) < 1e-4  # one factor for all distances
    turning = torch.linalg.det((places[:, 1:3] - places[:, :1]) @ torch.linalg.inv(original[1:3] - original[:1]))
    assert 0 < int((turning > 0).sum()) < int(is_small.sum())  # some are mirrored
    assert len({tuple(depot) for depot in places[:, 0].round(decimals=3).tolist()}) > 10
    assert bool(((places >= -1e-6) & (places <= 1 + 1e-6)).all())
    assert bool((drawn.locations[is_small][:, 6:] == 0).all())


def test_demands_stay_are_permuted_or_drawn_from_the_instance_s_own(folder: Path) -> None:
    task = make_task(folder)
    drawn = task.draw(600, torch.Generator().manual_seed(1), first_key=0)
    row = int((task.instances.sizes == 8).nonzero())
    own = task.instances.demands[row, 1:9].tolist()
    ways: Counter[str] = Counter()
    for demands in drawn.demands[drawn.sizes == 8].tolist():
        assert demands[0] == 0
        assert set(demands[1:]) <= set(own)
        is_permuted = sorted(demands[1:]) == sorted(own)
        ways["as they are" if demands[1:] == own else "permuted" if is_permuted else "drawn"] += 1
    assert min(ways.values()) > 60
    assert bool((drawn.demands.amax(1) <= drawn.capacity).all())
    assert bool((drawn.demands * ~drawn.is_customer == 0).all())


def test_instances_that_changed_are_refused(folder: Path) -> None:
    files = InstanceFiles.at(folder)
    files.read()
    (folder / "n8.vrp").rename(folder / "n9.vrp")
    with pytest.raises(TrainingError, match="have changed"):
        files.read()


def test_instances_without_positions_or_with_a_matrix_are_refused(tmp_path: Path) -> None:
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    write(Instance(None, np.array([0, 1]), 5, distances=matrix), tmp_path / "lost.vrp")
    with pytest.raises(InstanceError, match="lost has no coordinates"):
        InstanceFiles.at(tmp_path).read()
