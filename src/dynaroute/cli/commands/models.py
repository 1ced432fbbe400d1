"""``dynaroute models``: list the shipped models, or show the card of one."""

from __future__ import annotations

import json as json_text
import math
from pathlib import Path
from typing import Annotated, Any

from dynaroute.base.errors import ModelError, in_file
from dynaroute.base.files import read_bytes
from dynaroute.base.limits import LARGEST_SETTINGS
from dynaroute.cli.shared.options import JsonOption, argument
from dynaroute.cli.shared.output import print_facts, print_json, print_line, print_table
from dynaroute.study.reference_lengths import SIZES

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")  # of batch normalisation; stored but not trained


def models(
    name: Annotated[str | None, argument("[MODEL]", "A shipped model or a folder, to print its card.")] = None,
    json: JsonOption = False,
) -> None:
    """List the shipped models, for the option --model, or print one's card.

    The table says what each is chosen for, the minutes of its training, and its
    mean greedy lengths on the 10,000 published instances of each size. --model auto
    chooses by size, route length and spread of the customers; dynaroute info
    FILE shows its choice, and why.

    Example:
      dynaroute models amd-100
    """
    from dynaroute.weights import find_model, shipped_models

    if name is not None:
        _print_card(name, find_model(name), json)
        return
    described = [_describe(name, find_model(name)) for name in shipped_models()]
    if json:
        print_json(described)
    elif described:
        columns = ("Name", "Customers", "Kind", "Minutes", "Chosen for", *(f"n={size}" for size in SIZES))
        print_table(columns, [_row(model) for model in described])
    else:
        print_line("No trained model ships with this version. Name a folder instead: --model FOLDER.")


def _describe(name: str, folder: Path) -> dict[str, Any]:
    """Read only the description, because loading the model would take seconds."""
    from dynaroute.weights import shipped_models
    from dynaroute.weights.choice import describe_purpose

    with in_file(folder / "config.json"):
        description = json_text.loads(read_bytes(folder / "config.json", LARGEST_SETTINGS))
    card = description["card"]
    return {
        "name": name,
        "size": card["size"],
        "smallest_size": card.get("smallest_size"),
        "distribution": card.get("distribution", ""),
        "chosen_for": describe_purpose(name) if name in shipped_models() else "only by its folder",
        "kind": description["kind"],
        "parameters": _count_parameters(folder / "model.safetensors"),
        "minutes": card["minutes"],
        "trajectories": card.get("trajectories"),
        "hardware": card.get("hardware", ""),
        "recipe": card.get("recipe", ""),
        "greedy_lengths": card["greedy_lengths"],
    }


def _count_parameters(weights: Path) -> int:
    from safetensors import SafetensorError, deserialize

    with in_file(weights):
        try:
            tensors = deserialize(read_bytes(weights))  # type: ignore[no-untyped-call]
            return sum(math.prod(tensor["shape"]) for name, tensor in tensors if not name.endswith(_STATISTICS))
        except SafetensorError as error:
            raise ModelError("the weights are missing or damaged.", remedy="Reinstall Dynaroute.") from error


def _row(model: dict[str, Any]) -> tuple[str, ...]:
    minutes, lengths = model["minutes"], model["greedy_lengths"]
    return (
        model["name"],
        _show_sizes(model),
        model["kind"],
        "" if minutes is None else f"{minutes:.1f}",
        model["chosen_for"],
        *(f"{lengths[str(size)]:.3f}" if str(size) in lengths else "" for size in SIZES),
    )


def _print_card(name: str, folder: Path, json: bool) -> None:
    """Print what a model is for, its figures, and how it was trained step by step."""
    model = _describe(name, folder)
    if json:
        print_json(model)
        return
    lengths = [f"{length:.3f} at n={size}" for size, length in model["greedy_lengths"].items()]
    facts = [
        ("chosen for", model["chosen_for"]),
        ("policy", f"{model['kind']}, {model['parameters']:,} parameters"),
        ("trained on", f"{_show_sizes(model) or 'unknown numbers of'} customers"),
        ("instances", model["distribution"]),
        ("training", ", ".join(filter(None, (_show_training(model), model["hardware"])))),
        ("greedy length", ", ".join(lengths) + (" (10,000 published instances)" if lengths else "")),
        ("folder", str(folder)),
    ]
    print_facts(name, [(fact, value) for fact, value in facts if value])
    for number, step in enumerate(filter(None, model["recipe"].split("; then ")), start=1):
        print_line(f"  {number}. {step}")


def _show_training(model: dict[str, Any]) -> str:
    minutes, trajectories = model["minutes"], model["trajectories"]
    parts = [f"{minutes:.1f} min"] if minutes is not None else []
    parts += [f"{trajectories / 1e6:.0f} M solutions"] if trajectories else []
    return ", ".join(parts)


def _show_sizes(model: dict[str, Any]) -> str:
    if model["smallest_size"] is None:
        return str(model["size"] or "")
    return f"{model['smallest_size']}-{model['size']}"
