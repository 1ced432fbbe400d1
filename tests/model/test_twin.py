from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, make_policy
from torch import Tensor, nn

from dynaroute.model import PointerConfig, PointerNetwork, Policy, PolicyConfig
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.twin import find_difference, make_twin


class CountedEncoder(Encoder):
    """An encoder that adds a method and changes none."""

    def count_layers(self) -> int:
        return len(self.layers)


class ShiftedEncoder(Encoder):
    def embed(self, features: Tensor, is_depot: Tensor) -> Tensor:
        return super().embed(features, is_depot) + 0.5


def find_layer(policy: Policy) -> AttentionLayer:
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    return layer


def change_class(policy: Policy) -> None:
    policy.encoder = ShiftedEncoder(policy.config)


def add_hook(policy: Policy) -> None:
    find_layer(policy).register_forward_hook(lambda module, given, result: 0.9 * result)


def replace_method(policy: Policy) -> None:
    policy.decoder.fold = lambda: torch.zeros(80, 16)  # type: ignore[method-assign]


def add_part(policy: Policy) -> None:
    policy.encoder.further = nn.Linear(1, 16)


def remove_part(policy: Policy) -> None:
    policy.decoder.logit_query = None


def change_shape(policy: Policy) -> None:
    find_layer(policy).feed_forward_in.weight = nn.Parameter(torch.zeros(8, 16))


def add_bias(policy: Policy) -> None:
    policy.decoder.key.bias = nn.Parameter(torch.zeros(16))


def change_value(policy: Policy) -> None:
    find_layer(policy).scale = 0.3


def learn_value(policy: Policy) -> None:
    find_layer(policy).scale = torch.tensor(1.0)  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("policy", "config"),
    [(Policy, SMALL_AMD), (Policy, SMALL_AM), (Policy, PolicyConfig(distance_bias=True, edge_scores=True))],
    ids=["AM-D", "AM", "general"],
)
def test_a_policy_as_it_was_made_is_like_its_twin(policy: type[Policy], config: PolicyConfig) -> None:
    assert find_difference(policy(config).double().eval(), make_twin(policy, config), "the policy") == ""


def test_a_pointer_network_as_it_was_made_is_like_its_twin() -> None:
    config = PointerConfig(dimension=8)
    assert find_difference(PointerNetwork(config), make_twin(PointerNetwork, config), "the policy") == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (change_class, "the policy.encoder is a ShiftedEncoder, not a Encoder"),
        (add_hook, "the policy.encoder.layers.0 has hooks"),
        (replace_method, "the policy.decoder has a changed method fold"),
        (add_part, "the policy.encoder has other parts than those of the configuration (further)"),
        (remove_part, "the policy.decoder has other parts than those of the configuration (logit_query)"),
        (change_shape, "the policy.encoder.layers.0.feed_forward_in has a weight of another shape"),
        (add_bias, "the policy.decoder.key has a bias of another shape"),
        (change_value, "the policy.encoder.layers.0 has another scale than that of the configuration"),
        (learn_value, "the policy.encoder.layers.0 has another scale than that of the configuration"),
    ],
)
def test_a_difference_is_named_with_its_part(change: Callable[[Policy], None], expected: str) -> None:
    policy = make_policy(SMALL_AMD)
    change(policy)
    assert find_difference(policy, make_twin(Policy, SMALL_AMD), "the policy") == expected


def test_a_normalisation_with_another_constant_is_a_difference() -> None:
    policy = make_policy(SMALL_AM)
    normalisation = find_layer(policy).after_attention
    assert isinstance(normalisation, nn.BatchNorm1d)
    normalisation.eps = 0.1
    assert "another eps" in find_difference(policy, make_twin(Policy, SMALL_AM), "the policy")


def test_a_subclass_that_changes_no_code_is_no_difference() -> None:
    policy = make_policy(SMALL_AMD)
    policy.encoder = CountedEncoder(policy.config)
    policy.note = "mine"  # type: ignore[assignment]
    assert find_difference(policy, make_twin(Policy, SMALL_AMD), "the policy") == ""


def test_hooks_on_the_way_back_do_not_change_what_is_built() -> None:
    policy = make_policy(SMALL_AMD)
    policy.encoder.register_full_backward_hook(lambda *given: None)
    assert find_difference(policy, make_twin(Policy, SMALL_AMD), "the policy") == ""
