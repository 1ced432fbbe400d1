from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, make_policy
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dynaroute.base.errors import ModelError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import Sample, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import is_supported
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.changes import ModelWarning, _warn, find_change
from dynaroute.model.decoder import Decoder
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.packing import Packing
from dynaroute.model.policy import KINDS, Left, Memory, PolicyKind
from dynaroute.model.state import RouteState
from dynaroute.training.replay.replay import REPLAYS, replay_log_probabilities


def embed_angle(encoder: Encoder, features: Tensor, is_depot: Tensor) -> Tensor:
    """Eq 2 with the angle at which a node lies, added to every embedding."""
    angle = torch.atan2(features[:, 1] - 0.5, features[:, 0] - 0.5)[:, None]  # (T, 1)
    depot = encoder.embed_depot(features[:, : encoder.depot_features])
    return torch.where(is_depot[:, None], depot, encoder.embed_customer(features)) + angle.sin()


class AngleEncoder(Encoder):
    def embed(self, features: Tensor, is_depot: Tensor) -> Tensor:
        return embed_angle(self, features, is_depot)


class OrderedEncoder(Encoder):
    """An encoder that minds the order of the nodes."""

    def forward(self, features: Tensor, is_depot: Tensor, packing: Packing) -> Tensor:
        place = torch.arange(len(features)) - packing.offsets.repeat_interleave(packing.lengths)
        return super().forward(features, is_depot, packing) + 0.1 * place[:, None].to(features.dtype)


class ColdDecoder(Decoder):
    def fold(self) -> Tensor:
        return 0.5 * super().fold()


class ForgetfulPolicy(Policy):
    """A policy whose mean never shrinks, whatever its configuration says."""

    def advance(self, memory: Memory, state: RouteState, chosen: Tensor) -> Memory:
        return memory


def with_encoder(kind: type[Encoder]) -> Policy:
    policy = make_policy(SMALL_AMD)
    encoder = kind(policy.config)
    encoder.load_state_dict(policy.encoder.state_dict())
    policy.encoder = encoder
    return policy.eval()


def with_own_embedding() -> Policy:
    policy = make_policy(SMALL_AMD)
    policy.encoder.embed = types.MethodType(embed_angle, policy.encoder)  # type: ignore[method-assign]
    return policy


def with_layer_norm() -> Policy:
    policy = make_policy(SMALL_AMD)
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.after_attention = nn.LayerNorm(policy.config.dimension)
    return policy


def with_hook() -> Policy:
    policy = make_policy(SMALL_AMD)
    policy.encoder.layers[0].register_forward_hook(lambda module, given, result: 0.9 * result)
    return policy


def with_scale() -> Policy:
    policy = make_policy(SMALL_AMD)
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.scale = 0.3
    return policy


class OwnEncoder(nn.Module):
    """An encoder that shares nothing with ours."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Linear(3, 16)

    def forward(self, features: Tensor, is_depot: Tensor, packing: Packing) -> Tensor:
        lifted: Tensor = self.lift(features).tanh() - is_depot[:, None].to(features.dtype)
        return lifted


def with_own_encoder() -> Policy:
    policy = make_policy(SMALL_AMD)
    policy.encoder = OwnEncoder()  # type: ignore[assignment]
    return policy.eval()


def with_inner_width() -> Policy:
    policy = make_policy(SMALL_AMD)
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.feed_forward_in, layer.feed_forward_out = nn.Linear(16, 8), nn.Linear(8, 16)
    return policy


def with_own_memory() -> Policy:
    policy = make_policy(SMALL_AMD)

    def remember(self: Policy, hidden: Tensor, left: Left, folded: Tensor) -> Memory:
        return Policy._remember(self, 1.5 * hidden, left, folded)

    policy._remember = types.MethodType(remember, policy)  # type: ignore[method-assign]
    return policy


class Doubled(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 2 * weight


def with_parametrized_key() -> Policy:
    policy = make_policy(SMALL_AMD)
    parametrize.register_parametrization(policy.decoder.key, "weight", Doubled())
    return policy


def with_decoder() -> Policy:
    policy = make_policy(SMALL_AMD)
    decoder = ColdDecoder(policy.config)
    decoder.load_state_dict(policy.decoder.state_dict())
    policy.decoder = decoder
    return policy


def of_another_class() -> Policy:
    policy = ForgetfulPolicy(SMALL_AMD)
    policy.load_state_dict(make_policy(SMALL_AMD).state_dict())
    return policy.eval()


CHANGED: dict[str, tuple[Callable[[], Policy], str]] = {
    "an encoder of another class": (lambda: with_encoder(AngleEncoder), "AngleEncoder"),
    "an encoder that minds the order": (lambda: with_encoder(OrderedEncoder), "OrderedEncoder"),
    "a method of one encoder": (with_own_embedding, "embed"),
    "another normalisation": (with_layer_norm, "LayerNorm"),
    "a hook": (with_hook, "hooks"),
    "another scale": (with_scale, "configuration"),
    "an encoder that is a module of its own": (with_own_encoder, "OwnEncoder"),
    "another inner width": (with_inner_width, "another shape"),
    "what it remembers": (with_own_memory, "_remember"),
    "a parametrized key": (with_parametrized_key, "key"),
    "a decoder of another class": (with_decoder, "ColdDecoder"),
    "a policy of another class": (of_another_class, "ForgetfulPolicy"),
}


def sample(policy: Policy, batch: InstanceBatch) -> RouteBatch:
    return construct_eagerly(policy, batch, Sample(make_stream_keys(1, batch.keys, torch.arange(len(batch)))))


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM, PolicyConfig(), PolicyConfig.am(), PolicyConfig(layers=6)])
def test_a_policy_as_it_was_made_has_no_change(config: PolicyConfig) -> None:
    assert find_change(Policy(config)) == ""


@pytest.mark.parametrize(("make", "word"), CHANGED.values(), ids=CHANGED)
def test_a_change_is_named(make: Callable[[], Policy], word: str) -> None:
    assert word in find_change(make())


def test_a_method_replaced_on_the_class_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(SMALL_AMD)
    monkeypatch.setattr(Encoder, "embed", embed_angle)
    assert "embed" in find_change(policy)


@pytest.mark.parametrize(
    ("place", "name"), [("dynaroute.model.encoder", "attend"), ("dynaroute.model.state", "find_feasible")]
)
def test_a_function_replaced_in_its_module_is_named(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(SMALL_AMD)
    monkeypatch.setattr(f"{place}.{name}", lambda *given: None)
    assert name in find_change(policy)


def test_a_method_of_the_state_that_is_replaced_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(SMALL_AMD)
    monkeypatch.setattr(RouteState, "feasible", lambda state: state.is_open)
    assert "RouteState.feasible" in find_change(policy)


def test_a_backward_hook_and_a_learned_scale_are_named() -> None:
    for change in (
        lambda layer: layer.register_full_backward_hook(lambda *given: None),
        lambda layer: setattr(layer, "scale", nn.Parameter(torch.ones(()))),
    ):
        policy = make_policy(SMALL_AMD)
        if hasattr(policy.encoder.layers[0], "scale"):
            del policy.encoder.layers[0].scale
        change(policy.encoder.layers[0])
        assert find_change(policy) != ""


def with_bias(policy: Policy) -> None:
    policy.decoder.key = nn.Linear(16, 16)


def with_hook_on_a_part(policy: Policy) -> None:
    policy.decoder.value.register_forward_hook(lambda module, given, result: 2 * result)


def with_hook_on_the_decoder(policy: Policy) -> None:
    policy.decoder.register_forward_hook(lambda module, given, result: 2 * result)


def with_hook_on_the_policy(policy: Policy) -> None:
    policy.register_forward_hook(lambda module, given, result: 2 * result)


class TripledLinear(nn.Linear):
    def forward(self, given: Tensor) -> Tensor:
        return 3 * super().forward(given)


def with_another_forward(policy: Policy) -> None:
    policy.decoder.key = TripledLinear(16, 16, bias=False)


@pytest.mark.parametrize(
    "change",
    [with_bias, with_hook_on_a_part, with_hook_on_the_decoder, with_hook_on_the_policy, with_another_forward],
)
def test_what_the_decoder_could_not_honour_is_refused(change: Callable[[Policy], None]) -> None:
    policy, batch = make_policy(SMALL_AMD), draw_batch(5)
    change(policy)
    with pytest.raises(ModelError):
        sample(policy, batch)


def test_a_normalisation_in_another_mode_is_named() -> None:
    policy = make_policy(SMALL_AM).train()
    assert find_change(policy) == ""
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.after_attention.eval()
    assert "another mode" in find_change(policy)


def test_a_normalisation_with_another_constant_is_named() -> None:
    policy = make_policy(SMALL_AM)
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    assert isinstance(layer.after_attention, nn.BatchNorm1d)
    layer.after_attention.eps = 0.1
    assert "eps" in find_change(policy)


@pytest.mark.parametrize(("made", "name"), [(Policy, "_make_parts"), (AttentionLayer, "__init__")])
def test_a_class_that_makes_other_parts_is_named(
    made: type[nn.Module], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = getattr(made, name)
    monkeypatch.setattr(made, name, lambda *given: usual(*given))
    assert name in find_change(make_policy(SMALL_AMD))


def test_a_further_module_is_named() -> None:
    policy = make_policy(SMALL_AMD)
    policy.encoder.embed_angle = nn.Linear(1, 16)
    assert "embed_angle" in find_change(policy)


def test_a_layer_too_few_is_named() -> None:
    policy = make_policy(replace(SMALL_AMD, layers=2))
    policy.encoder.layers = policy.encoder.layers[:1]
    assert "configuration" in find_change(policy)


@pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")
def test_kernels_refuse_a_changed_policy() -> None:
    policy = Policy(generator=torch.Generator().manual_seed(1)).eval()
    chooser = Sample(torch.zeros(1, 2, dtype=torch.int64))
    assert is_supported(policy, chooser)
    policy.encoder.embed = types.MethodType(embed_angle, policy.encoder)  # type: ignore[method-assign]
    assert not is_supported(policy, chooser)


@pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")
@pytest.mark.parametrize("make", [make for make, _ in CHANGED.values()], ids=CHANGED)
@pytest.mark.parametrize("precision", [None, torch.float64])
def test_replay_has_the_log_probabilities_and_gradients_of_a_changed_policy(
    make: Callable[[], Policy], precision: torch.dtype | None
) -> None:
    policy = make().double()
    copies = draw_batch(3, 12, 20).repeat_each(2)
    routes = sample(policy, copies)
    expected = log_probabilities(policy, copies, routes)
    found = replay_log_probabilities(policy, copies, routes, 2, precision=precision)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    learned = list(policy.parameters())
    weights = torch.linspace(-1, 2, len(copies), dtype=torch.float64)
    ours = torch.autograd.grad((found * weights).sum(), learned)
    theirs = torch.autograd.grad((expected * weights).sum(), learned)
    for one, other in zip(ours, theirs, strict=True):
        assert (one - other).norm() <= 1e-9 * other.norm() + 1e-12


@pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")
@pytest.mark.parametrize("make", [make for make, _ in CHANGED.values()], ids=CHANGED)
def test_what_was_changed_changes_the_probabilities(make: Callable[[], Policy]) -> None:
    batch = draw_batch(12, 20)
    policy, plain = make(), make_policy(SMALL_AMD)
    routes = sample(plain, batch)
    changed = replay_log_probabilities(policy, batch, routes, precision=torch.float32)
    assert (changed - replay_log_probabilities(plain, batch, routes, precision=torch.float32)).abs().min() > 1e-3


def test_a_note_says_once_that_kernels_stand_aside() -> None:
    _warn.cache_clear()
    policy, batch = with_layer_norm(), draw_batch(5)
    routes = sample(policy, batch)
    with pytest.warns(ModelWarning, match="LayerNorm.*plain PyTorch"):
        replay_log_probabilities(policy, batch, routes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replay_log_probabilities(policy, batch, routes)


@pytest.mark.parametrize("module", [nn.BatchNorm1d(16), nn.Dropout(0.1)], ids=["BatchNorm1d", "Dropout"])
def test_what_depends_on_the_batch_or_on_chance_is_refused_in_training(module: nn.Module) -> None:
    policy, batch = make_policy(SMALL_AMD), draw_batch(5)
    routes = sample(policy, batch)
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.after_attention = module
    with pytest.raises(ModelError, match=type(module).__name__):
        replay_log_probabilities(policy.train(), batch, routes)


@pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")
def test_a_kind_without_a_parallel_replay_is_replayed_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, batch = make_policy(SMALL_AMD).double(), draw_batch(4, 9)
    routes = sample(policy, batch)
    expected = replay_log_probabilities(policy, batch, routes)
    monkeypatch.delitem(REPLAYS, "AM-D")
    torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), expected, rtol=0, atol=1e-9)


def test_another_kind_of_policy_is_saved_and_loaded_as_itself(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("model")
    monkeypatch.setitem(KINDS, "AM-D", PolicyKind(PolicyConfig, ForgetfulPolicy))
    of_another_class().save_pretrained(folder)
    assert type(Policy.from_pretrained(folder)) is ForgetfulPolicy
