"""A kind of one's own inherits whatever it does not say; a policy that was changed is saved and loaded again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import SMALL_AMD, draw_batch, make_policy
from torch import Tensor, nn

from dynaroute.base.errors import ModelError
from dynaroute.construct import Greedy, construct, log_probabilities
from dynaroute.construct.choose import MostLikely
from dynaroute.construct.fused import is_supported
from dynaroute.model import ModelCard, Policy, PolicyConfig
from dynaroute.model.changes import find_change
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.policy import KINDS, PolicyKind
from dynaroute.model.state import RouteState
from dynaroute.training.plan.recipes import make_plan
from dynaroute.training.replay import replay as replay_module
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.run.trainer import Trainer


@dataclass(frozen=True)
class OwnConfig(PolicyConfig):
    kind: str = "OWN"  # type: ignore[assignment]
    urgency: float = 2.0


class PlainlyNamed(PolicyConfig):
    kind = "OWN"  # type: ignore[assignment]


@dataclass(frozen=True)
class StaticConfig(OwnConfig):
    dynamic = False


@dataclass(frozen=True)
class EitherConfig(OwnConfig):
    dynamic: bool = True  # a setting of this kind


class OwnPolicy(Policy):
    """A policy that adds a method and changes none."""

    def count_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


class ShiftedEncoder(Encoder):
    def embed(self, features: Tensor, is_depot: Tensor) -> Tensor:
        return super().embed(features, is_depot) + 0.5


class ShiftedPolicy(Policy):
    """A policy that makes another encoder."""

    def _make_parts(self) -> None:
        super()._make_parts()
        self.encoder = ShiftedEncoder(self.config)


class ThriftyPolicy(Policy):
    def logits(self, memory: object, state: RouteState) -> Tensor:
        return super().logits(memory, state) + state.demands / state.remaining.clamp(min=1)[:, None]  # type: ignore[arg-type]


SMALL_OWN = OwnConfig(dimension=16, heads=2, layers=1, feed_forward=32)


class TestKindOfOnesOwn:
    @pytest.mark.parametrize("config", [OwnConfig(), OwnConfig(urgency=1.0), PlainlyNamed()])
    def test_it_is_dynamic_like_what_it_inherits_from(self, config: PolicyConfig) -> None:
        assert (config.kind, config.dynamic) == ("OWN", True)
        assert Policy(config).encodes_anew
        with pytest.raises(ModelError, match="dynamic is False, but the kind is OWN") as caught:
            replace(config, dynamic=False)
        assert "In the class of your own kind" in caught.value.remedy

    def test_one_that_normalises_over_batches_must_say_that_it_is_static(self) -> None:
        with pytest.raises(ModelError, match="batch normalisation") as caught:
            OwnConfig(normalisation="batch")
        assert "dynamic = False" in caught.value.remedy
        assert not Policy(StaticConfig(normalisation="batch")).encodes_anew

    def test_it_may_have_a_setting_that_says_whether_it_is_dynamic(self) -> None:
        config = EitherConfig(dynamic=False, normalisation="batch")
        assert not Policy(config).encodes_anew
        assert not replace(config, layers=2).dynamic
        assert Policy(EitherConfig()).encodes_anew
        with pytest.raises(ModelError, match="dynamic is 'no'"):
            EitherConfig(dynamic="no")  # type: ignore[arg-type]

    @pytest.mark.parametrize("made", [Policy, OwnPolicy])
    @pytest.mark.parametrize("dynamic", [True, False])
    def test_it_has_the_parallel_replay(
        self, made: type[Policy], dynamic: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind, asked = "AM-D" if dynamic else "AM", []
        usual = replay_module.REPLAYS[kind]

        def note(policy: Policy, *given: Any) -> Tensor:
            asked.append(policy.known_kind)
            return usual(policy, *given)

        monkeypatch.setitem(replay_module.REPLAYS, kind, note)
        config = SMALL_OWN if dynamic else StaticConfig(dimension=16, heads=2, layers=1, feed_forward=32)
        policy = made(config, generator=torch.Generator().manual_seed(2)).double().eval()
        batch = draw_batch(4, 9)
        routes = construct(policy, batch, Greedy())

        found = replay_log_probabilities(policy, batch, routes)  # a note would be an error

        assert asked == [kind]
        torch.testing.assert_close(found, log_probabilities(policy, batch, routes), rtol=0, atol=1e-9)

    def test_it_has_the_kernels(self) -> None:
        assert is_supported(OwnPolicy(OwnConfig()), MostLikely())

    def test_an_encoder_that_it_makes_is_a_change_of_the_encoder_only(self) -> None:
        policy = ShiftedPolicy(SMALL_OWN)
        assert find_change(policy) == "the encoder is a ShiftedEncoder, not a Encoder"

    def test_a_method_that_it_overrides_is_a_change(self) -> None:
        assert "ThriftyPolicy" in find_change(ThriftyPolicy(SMALL_OWN))

    def test_it_is_loaded_as_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(KINDS, "OWN", PolicyKind(OwnConfig, ShiftedPolicy))
        ShiftedPolicy(replace(SMALL_OWN, urgency=3.0)).save_pretrained(tmp_path)
        loaded = Policy.from_pretrained(tmp_path)
        assert type(loaded) is ShiftedPolicy
        assert loaded.config == replace(SMALL_OWN, urgency=3.0)

    def test_one_that_is_not_registered_is_loaded_into_a_policy(self, tmp_path: Path) -> None:
        saved = OwnPolicy(SMALL_OWN, generator=torch.Generator().manual_seed(2))
        saved.save_pretrained(tmp_path)
        with pytest.raises(ModelError, match="kind of policy 'OWN' is unknown") as caught:
            Policy.from_pretrained(tmp_path)
        assert "policy=mine" in caught.value.remedy

        loaded = Policy.from_pretrained(tmp_path, policy=OwnPolicy(SMALL_OWN))

        assert torch.equal(loaded.decoder.key.weight, saved.decoder.key.weight)


def with_layer_norm() -> Policy:
    policy = make_policy()
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.after_attention = nn.LayerNorm(policy.config.dimension)
    return policy


def with_softsign() -> Policy:
    policy = make_policy()
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.after_attention = nn.Softsign()
    return policy


def with_scale() -> Policy:
    policy = make_policy()
    layer = policy.encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    layer.scale = 0.3
    return policy


def with_hook() -> Policy:
    policy = make_policy()
    policy.encoder.layers[0].register_forward_hook(lambda module, given, result: 0.9 * result)
    return policy


def with_own_method() -> Policy:
    policy = make_policy()
    usual = policy.encoder.embed
    policy.encoder.embed = lambda *given: usual(*given) + 0.5  # type: ignore[method-assign]
    return policy


def of_another_class() -> Policy:
    policy = ThriftyPolicy(SMALL_AMD)
    policy.load_state_dict(make_policy().state_dict())
    return policy.eval()


CHANGES: dict[str, tuple[Callable[[], Policy], str]] = {
    "another normalisation": (with_layer_norm, "LayerNorm"),
    "another function with the same parameters": (with_softsign, "Softsign"),
    "another scale": (with_scale, "scale"),
    "a hook": (with_hook, "hook"),
    "a method": (with_own_method, "embed"),
    "another class": (of_another_class, "ThriftyPolicy"),
}


@pytest.mark.filterwarnings("ignore::dynaroute.model.changes.ModelWarning")
@pytest.mark.parametrize(("make", "word"), CHANGES.values(), ids=CHANGES)
class TestChangedPolicy:
    def test_without_the_change_it_is_refused_with_the_remedy(
        self, make: Callable[[], Policy], word: str, tmp_path: Path
    ) -> None:
        make().save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=word) as caught:
            Policy.from_pretrained(tmp_path)
        assert "Policy.from_pretrained(folder, policy=mine)" in caught.value.remedy
        assert word in (tmp_path / "README.md").read_text(encoding="utf-8")

    def test_with_the_change_it_builds_the_same_routes(
        self, make: Callable[[], Policy], word: str, tmp_path: Path
    ) -> None:
        saved, mine = make(), make().train()
        with torch.no_grad():
            for parameter in saved.parameters():
                parameter.mul_(1.5)
        saved.card = ModelCard(name="mine")
        saved.save_pretrained(tmp_path)

        loaded = Policy.from_pretrained(tmp_path, policy=mine)

        assert loaded is mine
        assert not loaded.training
        assert loaded.card == saved.card
        batch = draw_batch(9, 7)
        assert torch.equal(construct(loaded, batch, Greedy()).route, construct(saved, batch, Greedy()).route)
        assert all(map(torch.equal, loaded.state_dict().values(), saved.state_dict().values()))

    def test_a_given_policy_without_the_change_is_refused(
        self, make: Callable[[], Policy], word: str, tmp_path: Path
    ) -> None:
        make().save_pretrained(tmp_path)
        with pytest.raises(ModelError) as caught:
            Policy.from_pretrained(tmp_path, policy=Policy(make().config))
        assert caught.value.where.field == "changed" or "changed in the same way" in caught.value.remedy

    def test_what_a_run_saved_is_loaded(self, make: Callable[[], Policy], word: str, tmp_path: Path) -> None:
        plan = make_plan("fast", [5])
        stages = tuple(replace(stage, instances=4, samples=2) for stage in plan.stages)
        plan = replace(plan, stages=stages, minutes=None, updates=2, validations=1, validation_count=4)
        trainer = Trainer(make(), replace(plan, optimiser="adam"), tmp_path)
        trainer.run()
        with pytest.raises(ModelError, match=word):
            Policy.from_pretrained(tmp_path)
        loaded = Policy.from_pretrained(tmp_path, policy=make())
        assert loaded.card.size == 5


def test_an_unchanged_policy_is_saved_as_before(tmp_path: Path) -> None:
    make_policy().save_pretrained(tmp_path)
    assert "changed" not in json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))


def test_a_given_policy_with_other_settings_is_refused_and_unchanged(tmp_path: Path) -> None:
    make_policy().save_pretrained(tmp_path)
    mine = make_policy(replace(SMALL_AMD, clip=5.0), seed=4)
    before = mine.decoder.key.weight.clone()
    with pytest.raises(ModelError, match=r"clip is 10\.0 in the saved policy, but 5\.0 in the given one"):
        Policy.from_pretrained(tmp_path, policy=mine)
    assert torch.equal(mine.decoder.key.weight, before)


def test_a_given_policy_is_unchanged_if_the_weights_do_not_match_their_hash(tmp_path: Path) -> None:
    make_policy().save_pretrained(tmp_path)
    other = tmp_path / "other"
    make_policy(seed=9).save_pretrained(other)
    (tmp_path / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    mine = make_policy(seed=4)
    before = mine.decoder.key.weight.clone()
    with pytest.raises(ModelError, match="hash"):
        Policy.from_pretrained(tmp_path, policy=mine)
    assert torch.equal(mine.decoder.key.weight, before)


def test_a_changed_policy_of_an_earlier_version_gets_the_remedy_too(tmp_path: Path) -> None:
    with_layer_norm().save_pretrained(tmp_path)
    description = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    del description["changed"]
    (tmp_path / "config.json").write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        Policy.from_pretrained(tmp_path)
    assert "policy=mine" in caught.value.remedy
    assert Policy.from_pretrained(tmp_path, policy=with_layer_norm()).encoder.layers[0].after_attention is not None


def test_another_change_that_is_a_text_no_more_is_refused(tmp_path: Path) -> None:
    make_policy().save_pretrained(tmp_path)
    description = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**description, "changed": 3}), encoding="utf-8")
    with pytest.raises(ModelError, match="field changed"):
        Policy.from_pretrained(tmp_path)
