"""The files of a saved model: config.json with its card, and model.safetensors, read and checked."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from dynaroute.base.errors import DynarouteError, ModelError
from dynaroute.base.files import checksum_of, read_bytes
from dynaroute.base.limits import LARGEST_SETTINGS
from dynaroute.model.config import PolicyConfig

if TYPE_CHECKING:
    from dynaroute.model.config import PolicyConfig


@dataclass(frozen=True)
class ModelCard:
    """How a model was trained, and how well it does.

    Attributes
    ----------
    name
        The model's name.
    size
        Number of customers of its training instances; the largest if sizes vary.
    smallest_size
        The smallest number of customers, if sizes vary.
    distribution
        The training instances in words; empty for the paper's distribution.
    capacity
        Capacity in training.
    recipe
        How it was trained, in a line or two.
    trajectories, minutes, hardware
        Cost of training, including the models it was trained from.
    greedy_lengths
        Mean greedy length on the 10,000 published instances, by number of customers.
    """

    name: str = ""
    size: int | None = None
    capacity: int | None = None
    recipe: str = ""
    trajectories: int | None = None
    minutes: float | None = None
    hardware: str = ""
    greedy_lengths: dict[str, float] = field(default_factory=dict)
    smallest_size: int | None = None
    distribution: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "recipe", "hardware", "distribution"):
            if not isinstance(getattr(self, name), str):
                raise self._fault(name, "Give a string.")
        for name in ("size", "smallest_size", "capacity", "trajectories"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise self._fault(name, "Give a whole number above 0, or leave it out.")
        if self.minutes is not None and not _is_amount(self.minutes):
            raise self._fault("minutes", "Give a number, or leave it out.")
        if not isinstance(self.greedy_lengths, dict) or not all(map(_is_amount, self.greedy_lengths.values())):
            raise self._fault("greedy_lengths", "Give a length for each number of customers.")

    def _fault(self, field: str, remedy: str) -> ModelError:
        message = f"{field} is {getattr(self, field)!r}."
        return ModelError.about(f"card.{field}", message, remedy)

    def _describe_instances(self) -> str | None:
        if self.size is None:
            return None
        sizes = f"{self.smallest_size} to {self.size}" if self.smallest_size else f"{self.size}"
        what = self.distribution or f"capacity {self.capacity or 'various'}"
        return f"{sizes} customers, {what}"

    def _list_metadata(self) -> list[str]:
        """The lines of YAML at the head of the page, from which hubs of models sort and show it."""
        lines = ["---", "library_name: dynaroute", "license: mit", "pipeline_tag: reinforcement-learning", "tags:"]
        lines += ["- vehicle-routing", "- cvrp", "- combinatorial-optimization", "- attention"]
        if self.greedy_lengths:
            lines += ["model-index:", f"- name: {json.dumps(self.name or 'dynaroute')}", "  results:"]
        for size, length in self.greedy_lengths.items():
            data = f"{{name: CVRP n={size} of seed 1234, type: cvrp-{size}}}"
            lines += ["  - task: {type: reinforcement-learning, name: capacitated vehicle routing}"]
            lines += [f"    dataset: {data}", "    metrics:"]
            lines += [f"    - {{type: mean_length, name: mean greedy length, value: {length:.3f}}}"]
        return [*lines, "---", ""]

    def to_markdown(self, config: PolicyConfig, weights_sha256: str | None = None, changed: str = "") -> str:
        """Format the card as a page.

        Parameters
        ----------
        config
            The policy's settings.
        weights_sha256
            Hash of the file of weights.
        changed
            What was changed in the policy after it was made.
        """
        facts = {
            "policy": config.describe(),
            "trained on": self._describe_instances(),
            "recipe": self.recipe or None,
            "trajectories": None if self.trajectories is None else f"{self.trajectories:,}",
            "minutes": None if self.minutes is None else f"{self.minutes:g} ({self.hardware})",
            "weights": None if weights_sha256 is None else f"SHA-256 {weights_sha256}",
        }
        lines = [*self._list_metadata(), f"# {self.name or 'A Dynaroute policy'}", ""]
        lines += [f"- {label}: {fact}" for label, fact in facts.items() if fact is not None]
        if self.greedy_lengths:
            lines += ["", "Greedy length on 10,000 instances of seed 1234:", "", "| customers | length |", "|---|---|"]
            lines += [f"| {size} | {length:.3f} |" for size, length in self.greedy_lengths.items()]
        how = "`dynaroute.Policy.from_pretrained(FOLDER)`, or by its name if it ships."
        if changed:
            how = f"`dynaroute.Policy.from_pretrained(FOLDER, policy=mine)`: the policy was changed ({changed})."
        lines += ["", f"Load it with {how}", ""]
        return "\n".join(lines)


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")  # type: ignore[operator]


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

    def refuse_other_change(self, found: str) -> None:
        """Raise if a policy that is given was not changed as the saved one was."""
        if self.changed and self.changed != found:
            given = f"was changed otherwise: {found}" if found else "was not changed"
            raise ModelError.about(
                "changed", f"the saved policy was changed: {self.changed}; but the given one {given}.", _GIVE_IT
            )

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
