from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from policies import SMALL_AM, draw_instances, make_policy

from dynaroute.base.vocabulary import CustomerPositions
from dynaroute.draw import XSettings, draw_published_set, draw_x_set
from dynaroute.model import ModelCard
from dynaroute.problem.instance import Instance
from dynaroute.weights import nearest_shipped_model, shipped_models
from dynaroute.weights.choice import choose_model, describe_purpose, looks_uniform


@pytest.fixture
def put(shelf: Path) -> Callable[..., None]:
    """Puts models on an empty shelf."""

    def put_models(*cards: ModelCard) -> None:
        for card in cards:
            make_policy(card=card).save_pretrained(shelf / card.name)
        shipped_models.cache_clear()

    return put_models


SPECIALISTS = tuple(ModelCard(f"amd-{size}", size, held) for size, held in ((20, 30), (50, 40), (100, 50)))
GENERALIST = ModelCard("amd", 500, smallest_size=20)


def uniform(size: int, capacity: int) -> Instance:
    """One that is surely like those of the paper."""
    drawn = draw_instances(*[size] * 20, capacity=capacity)
    return next(
        instance for instance in drawn if instance.coordinates is not None and looks_uniform(instance.coordinates)
    )


@pytest.mark.parametrize(
    ("size", "capacity", "name"),
    [
        (20, 30, "amd-20"),
        (24, 30, "amd-20"),
        (50, 40, "amd-50"),
        (100, 50, "amd-100"),
        (120, 55, "amd-100"),
        (30, 30, "amd"),
        (200, 80, "amd"),
        (100, 200, "amd"),
        (100, 20, "amd"),
    ],
)
def test_a_specialist_gets_what_it_was_trained_on_and_the_generalist_the_rest(
    put: Callable[..., None], size: int, capacity: int, name: str
) -> None:
    put(*SPECIALISTS, GENERALIST)
    choice = choose_model(uniform(size, capacity))
    assert choice.name == name
    assert choice.reason


def test_a_model_for_a_range_of_sizes_changes_no_choice(put: Callable[..., None]) -> None:
    put(*SPECIALISTS, GENERALIST, ModelCard("amd-uniform", 110, smallest_size=10, distribution="uniform"))
    assert choose_model(uniform(100, 50)).name == "amd-100"
    assert choose_model(uniform(35, 33)).name == "amd"


def test_without_a_generalist_the_nearest_size_is_chosen(put: Callable[..., None]) -> None:
    put(*SPECIALISTS)
    for instance in (uniform(30, 30), uniform(200, 80), uniform(100, 200)):
        assert choose_model(instance).name == nearest_shipped_model(instance.size)


def test_a_generalist_alone_gets_everything(put: Callable[..., None]) -> None:
    put(GENERALIST)
    assert choose_model(uniform(20, 30)).name == "amd"
    assert nearest_shipped_model(20) is None


def test_clusters_go_to_the_generalist(put: Callable[..., None]) -> None:
    put(*SPECIALISTS, GENERALIST)
    clustered = draw_x_set(XSettings(100, "clustered", route_length=10), 10, np.random.default_rng(1)).instances()
    choices = [choose_model(instance) for instance in clustered]
    assert {choice.name for choice in choices} == {"amd"}
    assert "not spread evenly" in choices[0].reason


def test_the_globe_and_a_matrix_go_to_the_generalist(put: Callable[..., None]) -> None:
    put(*SPECIALISTS, GENERALIST)
    instance = uniform(20, 30)
    assert choose_model(replace(instance, metric="great_circle")).name == "amd"
    assert choose_model(replace(instance, distances=instance.distance_matrix)).name == "amd"


def test_what_has_no_positions_and_what_has_no_model_go_to_savings(put: Callable[..., None]) -> None:
    assert choose_model(uniform(20, 30)).name == "savings"
    put(*SPECIALISTS)
    instance = uniform(20, 30)
    assert choose_model(replace(instance, coordinates=None, distances=instance.distance_matrix)).name == "savings"


@pytest.mark.parametrize("size", [20, 50, 100])
def test_most_uniform_instances_look_so(size: int) -> None:
    drawn = draw_published_set(size, 200).instances()
    assert np.mean([looks_uniform(each.coordinates) for each in drawn if each.coordinates is not None]) > 0.88


@pytest.mark.parametrize(("customers", "share"), [("clustered", 0.02), ("mixed", 0.15)])
def test_clusters_rarely_look_uniform(customers: CustomerPositions, share: float) -> None:
    drawn = draw_x_set(XSettings(100, customers), 100, np.random.default_rng(1)).instances()
    assert np.mean([looks_uniform(each.coordinates) for each in drawn if each.coordinates is not None]) < share


def test_lines_grids_single_places_and_far_depots_do_not_look_uniform() -> None:
    line = np.stack([np.linspace(0, 1, 30), np.zeros(30)], axis=1)
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=2).reshape(-1, 2)
    one_place = np.zeros((9, 2))
    scattered = np.random.default_rng(1).random((51, 2))
    assert looks_uniform(scattered)
    far = scattered.copy()
    far[0] = (3.0, 3.0)
    for places in (line, grid, one_place, scattered[:2], far):
        assert not looks_uniform(places)


def test_a_model_s_purpose_is_told(put: Callable[..., None], shelf: Path) -> None:
    put(*SPECIALISTS)
    assert describe_purpose("amd-20") == "sizes nearest to 20"
    make_policy(SMALL_AM, card=ModelCard(name="am", size=20)).save_pretrained(shelf / "am")
    put(GENERALIST)
    assert describe_purpose("amd-20") == "uniform, 15 to 25"
    assert describe_purpose("amd") == "all others"
    assert describe_purpose("am") == "only by name"
    put(ModelCard("amd-uniform", 110, smallest_size=10, distribution="uniform: 25 % n=20; 75 % n=100"))
    assert describe_purpose("amd-uniform") == "uniform, by name"
