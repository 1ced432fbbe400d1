"""The files of a saved model: config.json and model.safetensors, read and checked."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from dynaroute.base.checksums import checksum_of
from dynaroute.base.errors import DynarouteError, ModelError
from dynaroute.base.files import read_bytes
from dynaroute.base.limits import LARGEST_SETTINGS
from dynaroute.model.card import ModelCard
from dynaroute.model.config import PolicyConfig

__all__ = [
    "FILES_REMEDY",
    "FORMAT_VERSION",
    "Description",
    "fill_parameters",
    "hash_present",
    "load_matched",
    "match_parameters",
    "parse_weights",
    "read_description",
    "read_weights",
]

FORMAT_VERSION = 1

FILES_REMEDY = "Keep config.json and weights together."
_GIVE_IT = "Give a policy that was changed in the same way: Policy.from_pretrained(folder, policy=mine)."

Part = TypeVar("Part", PolicyConfig, ModelCard)


@dataclass(frozen=True)
class Description:
    """The content of config.json.

    Attributes
    ----------
    kind, settings
        Name of the kind of policy, and its other settings as they were read.
    card
        How the parameters were trained.
    hashes
        Hashes of the weights. Models of version 0.1 have none; a model being saved has two.
    changed
        What was changed in the policy after it was made, and must be changed again before it is loaded; usually empty.
    """

    kind: str
    settings: dict[str, Any]
    card: ModelCard
    hashes: tuple[str, ...]
    changed: str = ""

    def make_config(self, made: type[PolicyConfig]) -> PolicyConfig:
        """Make the settings, of this class."""
        return _build(made, {**self.settings, "kind": self.kind}, "policy")

    def refuse_changed(self) -> None:
        """Raise if the files alone do not say what the policy does."""
        if self.changed:
            raise ModelError.about("changed", f"the saved policy was changed: {self.changed}.", _GIVE_IT)

    def refuse_other_settings(self, config: PolicyConfig) -> None:
        """Raise if a policy that is given has other settings."""
        own = json.loads(json.dumps({**asdict(config), "dynamic": config.dynamic}))  # which earlier versions saved
        for name, value in {**self.settings, "kind": self.kind}.items():
            if name not in own or own[name] != value:
                raise ModelError.about(
                    name,
                    f"{name} is {value!r} in the saved policy, but {own.get(name)!r} in the given one.",
                    "Make the policy with the same settings.",
                )

    def knows(self, weights: bytes) -> bool:
        """Whether the weights match a hash."""
        return not self.hashes or checksum_of(weights) in self.hashes


def hash_present(folder: Path) -> list[str]:
    """Hash the weights in a folder, if any."""
    path = folder / "model.safetensors"
    return [checksum_of(read_bytes(path))] if path.is_file() and path.stat().st_size else []


def read_description(path: Path) -> Description:
    """Read config.json."""
    try:
        content = read_bytes(path, LARGEST_SETTINGS)
    except DynarouteError as error:
        raise ModelError(
            f"cannot read the model's configuration: {error.message}", remedy="Is this a folder that Dynaroute saved?"
        ) from error
    try:
        description = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelError("the configuration is not JSON.", remedy="Save or copy the model again.") from error
    if not isinstance(description, dict) or "format_version" not in description:
        raise ModelError.about(
            "format_version", "this is not a Dynaroute model.", "Use a folder written by save_pretrained."
        )
    version = description["format_version"]
    if type(version) is not int or version < 1:
        raise ModelError.about("format_version", f"the format version is {version!r}.", "Save or copy the model again.")
    if version > FORMAT_VERSION:
        raise ModelError.about(
            "format_version",
            f"the model has format version {version}; this Dynaroute reads up to {FORMAT_VERSION}.",
            "Install a newer Dynaroute.",
        )
    settings = description.get("policy")
    is_static = isinstance(settings, dict) and settings.get("dynamic") is False
    if isinstance(settings, dict) and settings.pop("growing_attention", False) is not False:
        raise ModelError.about(
            "growing_attention", "the policy has growing attention, which is no longer supported.", "Train another one."
        )
    name = description.get("kind", "AM" if is_static else "AM-D")  # files of version 0.1 have only `dynamic`
    if not isinstance(name, str):
        raise ModelError.about("kind", f"the kind is {name!r}.", "Save or copy the model again.")
    if not isinstance(settings, dict):
        raise _wrong_part("policy")
    hashes = description.get("weights_sha256", [])
    if not isinstance(hashes, list) or not all(isinstance(digest, str) for digest in hashes):
        raise ModelError.about("weights_sha256", "this is not a list of hashes.", "Save or copy the model again.")
    changed = description.get("changed", "")
    if not isinstance(changed, str):
        raise ModelError.about("changed", "this is not a text.", "Save or copy the model again.")
    return Description(name, settings, _build(ModelCard, description.get("card"), "card"), tuple(hashes), changed)


def _build(part: type[Part], values: object, field: str) -> Part:
    if not isinstance(values, dict) or not values.keys() <= signature(part).parameters.keys():
        raise _wrong_part(field)
    return part(**values)


def _wrong_part(field: str) -> ModelError:
    return ModelError.about(
        field, f"the part {field!r} is missing or holds unknown settings.", "Save or copy the model again."
    )


def read_weights(path: Path) -> bytes:
    """Read the file with weights."""
    try:
        return read_bytes(path)
    except DynarouteError as error:
        raise ModelError(
            f"the weights are missing, truncated or damaged: {error.message}", remedy="Save or copy the model again."
        ) from error


def parse_weights(content: bytes) -> dict[str, Tensor]:
    """Read the tensors by name."""
    try:
        return load(content)
    except (KeyError, SafetensorError, ValueError) as error:  # KeyError: an unknown dtype
        raise ModelError(
            "the weights are missing, truncated or damaged.", remedy="Save or copy the model again."
        ) from error


def fill_parameters(policy: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load parameters into a policy, after checking them all as `match_parameters` does."""
    load_matched(policy, match_parameters(policy, tensors))


def match_parameters(policy: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return parameters as a policy needs them.

    Raises
    ------
    ModelError
        If a tensor is missing, unknown, of the wrong shape or dtype, or not finite.
    """
    expected = policy.state_dict()
    if set(tensors) != set(expected):
        odd = sorted(set(tensors) ^ set(expected))[0]
        remedy = f"{FILES_REMEDY} If the policy was changed: {_GIVE_IT}"
        raise ModelError.about(odd, "the weights do not match this configuration.", remedy)
    return {name: _convert(name, tensor, expected[name]) for name, tensor in tensors.items()}


def load_matched(policy: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load parameters that match."""
    # no copy into empty parameters, which would import much of PyTorch
    policy.load_state_dict(tensors, assign=any(tensor.is_meta for tensor in policy.state_dict().values()))


def _convert(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise ModelError.about(
            name, f"the weights have shape {tuple(tensor.shape)}, not {tuple(like.shape)}.", FILES_REMEDY
        )
    is_plain = tensor.layout == torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_floating_point() != like.is_floating_point():
        raise ModelError.about(name, f"the weights have dtype {tensor.dtype}.", "Save or copy the model again.")
    converted = tensor.to(like.dtype).clone()  # a copy, because tensors in a file may share memory
    if not bool(converted.isfinite().all()):
        raise ModelError.about(name, "the weights are not finite.", "Save or copy the model again.")
    return converted
