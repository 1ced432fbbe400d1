"""The policy: encoder and decoder together, saved and loaded."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from dynaroute.errors import FileError, ModelError, Where, in_file
from dynaroute.files import write_bytes
from dynaroute.model.card import ModelCard
from dynaroute.model.config import PolicyConfig
from dynaroute.model.decoder import Decoder
from dynaroute.model.encoder import Encoder
from dynaroute.weights import find_model

__all__ = ["FORMAT_VERSION", "Policy", "fill_parameters"]

FORMAT_VERSION = 1

_TOGETHER = "Keep config.json and weights together."

Kind = TypeVar("Kind", PolicyConfig, ModelCard)


class Policy(nn.Module):
    """p_θ of eq 1: a distribution over solutions, one node after the other.

    Parameters
    ----------
    config
        Settings; the default is AM-D.
    generator
        Source of the initial parameters: uniform in ±1 / sqrt(fan-in), biases too.
    card
        What is known about how the parameters were found.
    """

    def __init__(
        self,
        config: PolicyConfig | None = None,
        *,
        generator: torch.Generator | None = None,
        card: ModelCard | None = None,
    ) -> None:
        super().__init__()
        self.config = config if config is not None else PolicyConfig()
        self.card = card if card is not None else ModelCard()
        self.encoder = Encoder(self.config)
        self.decoder = Decoder(self.config)
        if generator is not None:
            self._initialise(generator)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.decoder.key.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the parameters."""
        return self.decoder.key.weight.dtype

    def _initialise(self, generator: torch.Generator) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                bound = module.in_features**-0.5
                for parameter in module.parameters(recurse=False):
                    nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and the model card README.md.

        Parameters
        ----------
        folder
            Made if it is not there; files of the same names are replaced, each in one go.
        """
        target = Path(folder)
        description = {"format_version": FORMAT_VERSION, "policy": asdict(self.config), "card": asdict(self.card)}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        with in_file(target):
            try:
                target.mkdir(parents=True, exist_ok=True)
                write_bytes(target / "model.safetensors", save(tensors))
                write_bytes(target / "config.json", (json.dumps(description, indent=2) + "\n").encode())
                write_bytes(target / "README.md", self.card.to_markdown(self.config).encode())
            except (OSError, SafetensorError, ValueError) as error:  # ValueError: a path that no system has
                reason = getattr(error, "strerror", None) or error
                raise FileError(f"cannot write the model: {reason}.", remedy="Choose a writable folder.") from error

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Policy:
        """Load a shipped model by its name, or one's own by its folder.

        Parameters
        ----------
        name
            One of `shipped_models()`, or a folder that `save_pretrained` wrote.

        Returns
        -------
        Policy
            On the CPU, in evaluation mode.

        Raises
        ------
        ModelError
            If there is no such model, or its files are damaged, of another shape or of a newer format.
        """
        folder = find_model(name)
        with in_file(folder / "config.json"):
            config, card = _parse_description(folder / "config.json")
        with in_file(folder / "model.safetensors"):
            with torch.device("meta"):  # shapes alone, until the weights are known to have them
                policy = cls(config, card=card)
            fill_parameters(policy, _read_weights(folder / "model.safetensors"))
        return policy.eval()


def _parse_description(path: Path) -> tuple[PolicyConfig, ModelCard]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(
            "cannot read the model's configuration.", remedy="Is this a folder that Dynaroute saved?"
        ) from error
    try:
        description = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError("the configuration is not JSON.", remedy="Save or copy the model again.") from error
    if not isinstance(description, dict) or "format_version" not in description:
        raise _fault("format_version", "this is not a Dynaroute model.", "Use a folder written by save_pretrained.")
    version = description["format_version"]
    if type(version) is not int or version < 1:
        raise _fault("format_version", f"the format version is {version!r}.", "Save or copy the model again.")
    if version > FORMAT_VERSION:
        raise _fault(
            "format_version",
            f"the model has format version {version}; this Dynaroute reads up to {FORMAT_VERSION}.",
            "Install a newer Dynaroute.",
        )
    return _build(PolicyConfig, description.get("policy"), "policy"), _build(ModelCard, description.get("card"), "card")


def _build(kind: type[Kind], values: object, field: str) -> Kind:
    known = {entry.name for entry in fields(kind)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise _fault(
            field, f"the part {field!r} is missing or holds unknown settings.", "Save or copy the model again."
        )
    return kind(**values)


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (a reader, not a dictionary)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            "the weights are missing, truncated or damaged.", remedy="Save or copy the model again."
        ) from error


def fill_parameters(policy: Policy, tensors: dict[str, Tensor]) -> None:
    """Give a policy its parameters, on the CPU, if they are sound.

    Parameters
    ----------
    policy
        May be without storage yet.
    tensors
        One for each entry of its state dictionary.

    Raises
    ------
    ModelError
        If a tensor is missing, not known, of another shape or kind, or not finite.
    """
    expected = policy.state_dict()
    if set(tensors) != set(expected):
        odd = sorted(set(tensors) ^ set(expected))[0]
        raise _fault(odd, "the weights are not those of this configuration.", _TOGETHER)
    sound = {name: _convert(name, tensor, expected[name]) for name, tensor in tensors.items()}
    policy.load_state_dict(sound, assign=True)  # no copy into empty parameters, which would load half of PyTorch


def _convert(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise _fault(name, f"the weights have the shape {tuple(tensor.shape)}, not {tuple(like.shape)}.", _TOGETHER)
    is_plain = tensor.layout == torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_floating_point() != like.is_floating_point():
        raise _fault(name, f"the weights are of the kind {tensor.dtype}.", "Save or copy the model again.")
    converted = tensor.to(like.dtype).clone()  # in memory of its own: tensors of a file may share theirs
    if not bool(converted.isfinite().all()):
        raise _fault(name, "the weights are not finite.", "Save or copy the model again.")
    return converted


def _fault(field: str, message: str, remedy: str) -> ModelError:
    return ModelError(message, where=Where(field=field), remedy=remedy)
