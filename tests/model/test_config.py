from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from dynaroute.base.errors import ModelError
from dynaroute.model import PolicyConfig
from dynaroute.model.config import KindName


def test_the_default_is_the_papers_dynamic_model() -> None:
    config = PolicyConfig()
    assert (config.dimension, config.heads, config.layers, config.feed_forward, config.clip) == (128, 8, 3, 512, 10.0)
    assert config.dynamic
    assert (config.attention_scale, config.logit_scale) == (1.0, 1.0)
    assert config.head_dimension == 16


def test_the_static_model_is_scaled_and_normalised_over_batches() -> None:
    config = PolicyConfig.am()
    assert not config.dynamic
    assert config.normalisation == "batch"
    assert (config.attention_scale, config.logit_scale) == pytest.approx((16**-0.5, 128**-0.5))


@pytest.mark.parametrize("value", [0, -1, 1.5, 16.0, True, "16", None, [16], 10**12, 10**400])
@pytest.mark.parametrize("field", ["dimension", "heads", "layers", "feed_forward"])
def test_a_count_that_is_no_sensible_whole_number_is_refused(field: str, value: Any) -> None:
    assert_refused(field, value)


@pytest.mark.parametrize("value", [0, -1.0, "10", None, True, float("nan"), float("inf"), 1e39, 10**400])
def test_a_clip_that_is_no_sensible_number_is_refused(value: Any) -> None:
    assert_refused("clip", value)


@pytest.mark.parametrize("value", ["false", 1, 0, None])
@pytest.mark.parametrize("field", ["scaled", "shrinking_mean", "logit_query"])
def test_a_switch_that_is_neither_true_nor_false_is_refused(field: str, value: Any) -> None:
    assert_refused(field, value)


@pytest.mark.parametrize("value", ["false", 1, 0])
def test_dynamic_that_is_neither_true_nor_false_is_refused(value: Any) -> None:
    with pytest.raises(ModelError, match=f"dynamic is {value!r}"):
        PolicyConfig(dynamic=value)


@pytest.mark.parametrize("value", ["amd", "", 3])
def test_an_unknown_kind_is_refused(value: Any) -> None:
    assert_refused("kind", value)


def test_the_kind_says_whether_a_policy_is_dynamic() -> None:
    assert PolicyConfig(kind="AM").dynamic is False
    assert PolicyConfig(kind="AM-D").dynamic is True
    assert PolicyConfig(dynamic=False).kind == "AM"
    assert replace(PolicyConfig.am(), kind="AM", layers=1).kind == "AM"


@pytest.mark.parametrize(("kind", "dynamic"), [("AM", True), ("AM-D", False)])
def test_a_kind_that_contradicts_dynamic_is_refused(kind: KindName, dynamic: bool) -> None:
    with pytest.raises(ModelError, match=f"the kind is {kind}"):
        PolicyConfig(kind=kind, dynamic=dynamic)


@pytest.mark.parametrize("value", ["layer", "", None, 1, ["tanh"]])
def test_an_unknown_normalisation_is_refused(value: Any) -> None:
    assert_refused("normalisation", value)


@pytest.mark.parametrize("value", [1, 4, 2.0, "3", None, True])
def test_depots_have_two_or_three_features(value: Any) -> None:
    assert_refused("depot_features", value)


def test_heads_must_divide_the_dimension() -> None:
    assert_refused("heads", 7)


def test_a_dynamic_policy_cannot_normalise_over_batches() -> None:
    with pytest.raises(ModelError, match="dynamic policy cannot use batch normalisation"):
        PolicyConfig(normalisation="batch")


def assert_refused(field: str, value: Any) -> None:
    assert field in {entry.name for entry in fields(PolicyConfig)}
    with pytest.raises(ModelError) as caught:
        PolicyConfig(**{field: value})
    assert caught.value.where.field == field
    assert caught.value.remedy
