"""``dynaroute import-kool``: import published weights of the attention model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from dynaroute.base.errors import in_file
from dynaroute.cli.shared.options import JsonOption, argument, option
from dynaroute.cli.shared.output import count_of, print_json, print_line, refuse_filled_folder, refuse_missing_folder


def import_kool(
    file: Annotated[Path, argument("FILE.pt", "Published weights for the CVRP.")],
    folder: Annotated[Path, argument("FOLDER", "Folder to create, for --model.")],
    size: Annotated[int | None, option("N", "Number of customers in training, for the model card.", min=1)] = None,
    json: JsonOption = False,
) -> None:
    """Import published weights of the attention model (Kool et al. 2019).

    FOLDER gets config.json, model.safetensors and a card. It must be new or
    empty. Nothing in FILE.pt is executed.

    Example:
      dynaroute import-kool cvrp_100.pt am-100 --size 100
      dynaroute solve X-n101-k25.vrp --model am-100
    """
    from dynaroute.base.files import refuse_unreadable

    with in_file(file):
        refuse_unreadable(file)
    refuse_missing_folder(folder)
    refuse_filled_folder(folder)

    from dynaroute.model.kool import import_kool as read_published

    policy = read_published(file)
    policy.card = replace(policy.card, size=size)
    policy.save_pretrained(folder)

    parameters = sum(parameter.numel() for parameter in policy.parameters())
    if json:
        document = {"in": str(file), "out": str(folder), "name": policy.card.name, "kind": "AM"}
        print_json({**document, "size": size, "parameters": parameters})
    else:
        trained = "" if size is None else f", trained on {count_of(size, 'customer')}"
        print_line(f"wrote {folder}: AM, {parameters} parameters{trained}")
        print_line(f"use it with: dynaroute solve FILE --model {folder}")
