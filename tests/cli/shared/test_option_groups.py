"""Groups of options as one parameter of a command."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import typer
from typer.testing import CliRunner

from dynaroute.cli.shared.options import make_option, take_group, takes_groups


class Size(NamedTuple):
    width: int
    height: int


OPTIONS = [make_option(name, Annotated[int, typer.Option(f"--{name}")], default=3) for name in Size._fields]


@dataclass(frozen=True)
class Frame:
    depth: int | None = field(default=None, metadata={"option": typer.Option(help="How deep.")})
    is_round: bool = field(default=False, metadata={"option": typer.Option("--round")})


def draw(name: str, size: Size, colour: Annotated[str, typer.Option("--colour")] = "red") -> None:
    typer.echo(f"{name} {size.width} x {size.height} {colour}")


def test_a_command_gets_its_options_as_one_parameter() -> None:
    app = typer.Typer()
    app.command()(take_group(draw, "size", OPTIONS, Size))
    ran = CliRunner().invoke(app, ["box", "--height", "5", "--colour", "blue"])
    assert ran.stdout == "box 3 x 5 blue\n"


def test_options_are_listed_where_the_parameter_is() -> None:
    taken = take_group(draw, "size", OPTIONS, Size)
    assert list(inspect.signature(taken).parameters) == ["name", "width", "height", "colour"]


def test_the_fields_of_a_group_are_options() -> None:
    def hang(name: str, frame: Frame, nail: str = "steel") -> None:
        typer.echo(f"{name} {frame} {nail}")

    app = typer.Typer()
    app.command()(takes_groups(hang))
    assert CliRunner().invoke(app, ["box"]).stdout == f"box {Frame()} steel\n"
    ran = CliRunner().invoke(app, ["box", "--round", "--depth", "3", "--nail", "brass"])
    assert ran.stdout == f"box {Frame(3, True)} brass\n"
