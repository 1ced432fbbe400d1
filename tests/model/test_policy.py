from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, make_policy
from safetensors.torch import load_file, save_file
from torch import Tensor

from dynaroute.base.errors import DynarouteError, FileError, ModelError
from dynaroute.construct import Greedy, construct
from dynaroute.model import ModelCard, Policy, PolicyConfig

CARD = ModelCard(name="mine", size=20, capacity=30, minutes=1.5, greedy_lengths={"20": 6.5})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    make_policy(card=CARD).save_pretrained(folder)
    return folder


def refusal(folder: Path | str) -> DynarouteError:
    with pytest.raises(ModelError) as caught:
        Policy.from_pretrained(folder)
    assert caught.value.remedy
    return caught.value


def change_description(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "config.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    change(description)
    path.write_text(json.dumps(description), encoding="utf-8")


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


# What is saved comes back


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM, PolicyConfig()])
def test_a_saved_policy_comes_back_bit_by_bit(config: PolicyConfig, tmp_path: Path) -> None:
    policy = make_policy(config, card=CARD)
    policy.save_pretrained(tmp_path)
    loaded = Policy.from_pretrained(tmp_path)
    assert loaded.config == config
    assert loaded.card == CARD
    assert not loaded.training
    assert list(loaded.state_dict()) == list(policy.state_dict())
    for name, tensor in policy.state_dict().items():
        assert loaded.state_dict()[name].dtype == tensor.dtype
        assert torch.equal(loaded.state_dict()[name], tensor)


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM])
def test_a_saved_policy_builds_the_same_routes(config: PolicyConfig, tmp_path: Path) -> None:
    policy, batch = make_policy(config), draw_batch(9, 14)
    policy.save_pretrained(str(tmp_path))
    loaded = Policy.from_pretrained(str(tmp_path))
    assert torch.equal(construct(loaded, batch, Greedy()).route, construct(policy, batch, Greedy()).route)


def test_a_loaded_policy_can_be_trained_on(saved: Path) -> None:
    assert all(parameter.requires_grad for parameter in Policy.from_pretrained(saved).parameters())


def test_saving_again_replaces_the_model_and_leaves_no_rest(saved: Path) -> None:
    make_policy(SMALL_AM).save_pretrained(saved)
    assert Policy.from_pretrained(saved).config == SMALL_AM
    assert sorted(path.name for path in saved.iterdir()) == ["README.md", "config.json", "model.safetensors"]


def test_the_card_is_written_as_a_page(saved: Path) -> None:
    assert "\n# mine\n" in (saved / "README.md").read_text(encoding="utf-8")


def test_half_precision_weights_are_read(saved: Path) -> None:
    change_tensors(saved, lambda tensors: tensors.update({name: tensor.half() for name, tensor in tensors.items()}))
    change_description(saved, lambda description: description.pop("weights_sha256"))
    assert Policy.from_pretrained(saved).dtype == torch.float32


# What cannot be saved


def test_a_file_in_the_folders_place_is_a_file_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    for target in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(FileError) as caught:
            make_policy().save_pretrained(target)
        assert caught.value.remedy
        assert caught.value.where.file == str(target)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "README.md"])
def test_a_folder_in_a_files_place_is_a_file_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(FileError):
        make_policy().save_pretrained(tmp_path)


def test_a_path_that_no_system_has_is_a_file_error() -> None:
    with pytest.raises(FileError):
        make_policy().save_pretrained("nothing\0here")


# What cannot be loaded


@pytest.mark.parametrize("name", ["nothing", "", "a\0b", "a" * 5000, "../weights"])
def test_a_name_of_no_model_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(name)


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "neither a folder nor a shipped model" in refusal(tmp_path / "file").message


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(name: str, saved: Path) -> None:
    (saved / name).unlink()
    assert refusal(saved).where.file == str(saved / name)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_folder_in_a_files_place_is_named(name: str, saved: Path) -> None:
    (saved / name).unlink()
    (saved / name).mkdir()
    assert refusal(saved).where.file == str(saved / name)


@pytest.mark.parametrize("kept", [0, 4, 100, 2000, -1])
def test_truncated_weights_are_refused(kept: int, saved: Path) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert "truncated" in refusal(saved).message


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "{}", '{"format_version": 1}', "[" * 100_000, "9" * 5000])
def test_a_configuration_that_is_not_ours_is_refused(text: str, saved: Path) -> None:
    (saved / "config.json").write_text(text, encoding="utf-8")
    assert refusal(saved).where.file == str(saved / "config.json")


def test_a_configuration_that_is_no_text_is_refused(saved: Path) -> None:
    (saved / "config.json").write_bytes(b"\xff\xfe\x00")
    refusal(saved)


def test_a_newer_format_asks_for_a_newer_version(saved: Path) -> None:
    change_description(saved, lambda description: description.update(format_version=2))
    assert "newer Dynaroute" in refusal(saved).remedy


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None, [1]])
def test_a_format_version_that_is_no_number_is_refused(version: object, saved: Path) -> None:
    change_description(saved, lambda description: description.update(format_version=version))
    assert refusal(saved).where.field == "format_version"


@pytest.mark.parametrize("part", ["policy", "card"])
@pytest.mark.parametrize("value", [None, [], "x", {"colour": "red"}])
def test_a_part_with_unknown_settings_is_refused(part: str, value: object, saved: Path) -> None:
    change_description(saved, lambda description: description.update({part: value}))
    assert refusal(saved).where.field == part


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("policy", "dimension", "16"),
        ("policy", "dimension", 2**40),
        ("policy", "layers", 10**7),
        ("policy", "clip", "ten"),
        ("policy", "clip", 10**400),
        ("policy", "dynamic", "false"),
        ("policy", "depot_features", 2.0),
        ("policy", "normalisation", ["tanh"]),
        ("card", "size", "20"),
        ("card", "name", ["a"]),
        ("card", "greedy_lengths", [1]),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(part: str, field: str, value: object, saved: Path) -> None:
    change_description(saved, lambda description: description[part].update({field: value}))
    assert refusal(saved).where.file == str(saved / "config.json")


@pytest.mark.parametrize("value", [True, 1, "false", None])
def test_growing_attention_is_refused_by_name(value: object, saved: Path) -> None:
    change_description(saved, lambda description: description["policy"].update({"growing_attention": value}))
    error = refusal(saved)
    assert error.where.field == "growing_attention"
    assert "no longer supported" in error.message


def test_a_policy_that_was_saved_with_growing_attention_off_is_loaded(saved: Path) -> None:
    expected = Policy.from_pretrained(saved)
    change_description(saved, lambda description: description["policy"].update({"growing_attention": False}))
    for loaded in (Policy.from_pretrained(saved), Policy.from_pretrained(saved, policy=Policy(expected.config))):
        assert loaded.config == expected.config
        assert torch.equal(loaded.decoder.key.weight, expected.decoder.key.weight)


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
@pytest.mark.parametrize("has_kind", [True, False])
def test_a_policy_that_was_saved_with_dynamic_is_loaded(config: PolicyConfig, has_kind: bool, tmp_path: Path) -> None:
    make_policy(config).save_pretrained(tmp_path)
    assert "dynamic" not in json.loads((tmp_path / "config.json").read_text())["policy"]

    def add_dynamic(description: dict[str, Any]) -> None:
        description["policy"]["dynamic"] = config.kind == "AM-D"
        if not has_kind:
            del description["kind"]  # as in version 0.1

    change_description(tmp_path, add_dynamic)
    assert Policy.from_pretrained(tmp_path).config == config
    assert Policy.from_pretrained(tmp_path, policy=Policy(config)).config == config


def test_a_file_whose_kind_contradicts_dynamic_is_refused(saved: Path) -> None:
    change_description(saved, lambda description: description["policy"].update({"dynamic": False}))
    assert refusal(saved).where.field == "dynamic"


@pytest.mark.parametrize("field", ["dimension", "feed_forward"])
def test_a_huge_policy_is_not_made_before_its_weights_are_seen(field: str, saved: Path) -> None:
    change_description(saved, lambda description: description["policy"].update({field: 65_536}))
    assert "shape" in refusal(saved).message


def test_weights_of_another_shape_are_refused(saved: Path) -> None:
    change_tensors(saved, lambda tensors: tensors.update({"decoder.key.weight": torch.zeros(16, 8)}))
    error = refusal(saved)
    assert error.where.field == "decoder.key.weight"
    assert "(16, 8), not (16, 16)" in error.message


def test_missing_weights_are_named(saved: Path) -> None:
    change_tensors(saved, lambda tensors: tensors.pop("decoder.key.weight"))
    assert refusal(saved).where.field == "decoder.key.weight"


def test_additional_weights_are_named(saved: Path) -> None:
    change_tensors(saved, lambda tensors: tensors.update(extra=torch.zeros(1)))
    assert refusal(saved).where.field == "extra"


def test_the_weights_of_another_configuration_are_refused(saved: Path) -> None:
    change_description(saved, lambda description: description["policy"].update(layers=2))
    refusal(saved)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(value: float, saved: Path) -> None:
    change_tensors(saved, lambda tensors: tensors["decoder.key.weight"].view(-1)[5:6].fill_(value))
    assert "not finite" in refusal(saved).message


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64])
def test_weights_of_another_kind_are_refused(dtype: torch.dtype, saved: Path) -> None:
    change_tensors(
        saved, lambda tensors: tensors.update({"decoder.key.weight": tensors["decoder.key.weight"].to(dtype)})
    )
    assert refusal(saved).where.field == "decoder.key.weight"


def test_weights_beyond_single_precision_are_refused(saved: Path) -> None:
    name = "decoder.key.weight"
    change_tensors(saved, lambda tensors: tensors.update({name: torch.full((16, 16), 1e300, dtype=torch.float64)}))
    assert "not finite" in refusal(saved).message


# Initial weights


def test_initial_weights_follow_the_generator_and_its_bounds() -> None:
    first, same, other = (Policy(generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.decoder.key.weight, same.decoder.key.weight)
    assert not torch.equal(first.decoder.key.weight, other.decoder.key.weight)
    for module in first.modules():
        if isinstance(module, torch.nn.Linear):
            for parameter in module.parameters():
                assert float(parameter.detach().abs().max()) <= module.in_features**-0.5
