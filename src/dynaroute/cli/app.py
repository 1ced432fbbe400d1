"""The application: its commands, and how failures are reported."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from dynaroute import __version__
from dynaroute.base.display import show_text
from dynaroute.base.errors import (
    DynarouteError,
    FileError,
    OptionError,
    PlanError,
    UnsupportedError,
    Where,
    hand_over_notes,
)
from dynaroute.base.limits import LIMITS_VARIABLE, raise_limits
from dynaroute.cli.shared.exit_codes import INPUT_FAULT, INTERRUPTED, WRONG_SOLUTION
from dynaroute.cli.shared.output import print_error, print_json, print_note
from dynaroute.solving.options import DECLARATIONS

__all__ = ["app", "run"]

_MODULES = (  # of `cli/commands`, in the order of the help; each has a command with its own name
    "solve",
    "check",
    "info",
    "plot",
    "convert",
    "insert",
    "desk.replan",
    "desk.explain",
    "desk.what_if",
    "desk.simulate",
    "desk.compare",
    "generate",
    "batch",
    "merge",
    "evaluate",
    "models",
    "import_kool",
    "train",
    "reproduce",
    "serve",
    "demo",
    "doctor",
)
COMMANDS = {module.rpartition(".")[2].replace("_", "-"): module for module in _MODULES}
TOO_LARGE = DynarouteError("there is not enough memory.", remedy="Use fewer or smaller instances at a time.")
JSON_FLAG = "--json"
UsageError: type[Exception] = typer.BadParameter.__mro__[
    1
]  # of the click inside typer, or the separate one in older versions
READER_GONE = 141  # what shells report for a program ended by SIGPIPE


class Command(TyperCommand):
    """A command that reports failures as a paragraph on stderr and an exit code, without a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; errors come with an example or, with --json, as an object."""
        is_json = JSON_FLAG in args
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            message = error.format_message()  # type: ignore[attr-defined]
            if is_json:
                _leave(OptionError(message, remedy=_example_of(self)), is_json=True)
            if type(error).__name__ == "MissingParameter":
                raise UsageError(f"{message} {_example_of(self)}", ctx) from error
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and report failures."""
        is_json = bool(ctx.params.get("json"))
        notes: list[str] = []
        try:
            # with --json, notes wait, so that an error is the only thing on stderr
            with hand_over_notes(notes.append if is_json else print_note):
                result = super().invoke(ctx)
            for note in notes:
                print_note(note)
            return result
        except typer.Exit:
            for note in notes:
                print_note(note)
            raise
        except DynarouteError as error:
            _leave(_in_options(error, ctx), is_json=is_json)
        except ExceptionGroup as faults:
            _leave(*(_in_options(fault, ctx) for fault in faults.exceptions), is_json=is_json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _abandon_stdout()
            raise typer.Exit(READER_GONE) from None
        except OSError as error:
            if error.filename is None:
                _abandon_stdout()
            place = Where(file=None if error.filename is None else str(error.filename))
            fault = FileError(f"{error.strerror or error}.", where=place, remedy="Check free space and permissions.")
            _leave(fault, is_json=is_json)
        except MemoryError:
            _leave(TOO_LARGE, is_json=is_json)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            _leave(TOO_LARGE, is_json=is_json)


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether this error from PyTorch means that memory is short."""
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)


def _example_of(command: Any) -> str:
    """Return the first example in a command's help."""
    _, _, examples = (command.help or "").partition("Example:")
    example = examples.strip().split("\n")[0].strip()
    return f"For example: {example}" if example else ""


def _in_options(error: Exception, ctx: Any) -> DynarouteError:
    """Reword an error about fields in terms of the command's options.

    A field becomes the option of its name if the user gave it. In the remedy, "the option NAME" is replaced by it, and
    so is a name before one of its choices. Columns that can be ignored are named with the option that does it, if the
    command has it.
    """
    if not isinstance(error, DynarouteError):
        raise error
    if isinstance(error, UnsupportedError):
        if any(parameter.name == "ignore" for parameter in ctx.command.params):
            error.address_command_line()
        else:
            error.address_command_without_option()
    for option in (parameter for parameter in ctx.command.params if parameter.param_type_name == "option"):
        flag = option.opts[0]
        is_given = ctx.get_parameter_source(option.name).name == "COMMANDLINE"
        if is_given and error.where.field == option.name and error.where.line is None:
            error.where = replace(error.where, field=flag)
        error.remedy = re.sub(rf"(?<!eave )\bthe option {option.name}\b", flag, error.remedy)  # not: leave it out
        if option.name in DECLARATIONS and (choices := DECLARATIONS[option.name].choices):
            error.remedy = re.sub(rf"\b{option.name} '?({'|'.join(choices)})\b'?", rf"{flag} \1", error.remedy)
    return error


def _leave(*faults: DynarouteError, is_json: bool = False) -> NoReturn:
    for fault in faults:
        if is_json:
            print_json(fault.to_json(), to_stderr=True)
        else:
            print_error(str(fault))
    are_wrong_plans = all(isinstance(fault, PlanError) for fault in faults)
    raise typer.Exit(WRONG_SOLUTION if are_wrong_plans else INPUT_FAULT) from None


def _abandon_stdout() -> None:
    """Discard buffered output, so that flushing it at exit does not fail again."""
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


class LateCommands(Mapping[str, Any]):
    """All commands by name. Each is loaded when it is looked up, so that no command waits for the others."""

    def __getitem__(self, name: str) -> Any:
        module = import_module(f"dynaroute.cli.commands.{COMMANDS[name]}")
        alone = typer.Typer(add_completion=False)
        alone.command(cls=Command)(getattr(module, name.replace("-", "_")))
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Application(TyperGroup):
    """The program, with its commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = LateCommands()

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names in the order of the help."""
        return list(COMMANDS)


app = typer.Typer(
    name="dynaroute",
    cls=Application,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dynaroute {__version__}")
        raise typer.Exit


@app.callback()
def _describe(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    limits: Annotated[
        float | None,
        typer.Option(
            "--limits",
            metavar="FACTOR",
            min=1,
            max=1e6,
            help=f"Multiply all size limits of input files by this; same as the variable {LIMITS_VARIABLE}.",
        ),
    ] = None,
) -> None:
    """Plan routes for vehicles of limited capacity.

    Example:
      dynaroute generate --size 100 --out my.vrp
      dynaroute solve my.vrp --out my.sol --plot my.png
    """
    context.with_resource(raise_limits(limits))


def run() -> NoReturn:
    """Run the application on the program's arguments. Unexpected failures are reported in one sentence too."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may contain what a terminal cannot show
    # On a busy machine, threads that spin while waiting make small steps a hundred times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        app(prog_name="dynaroute")
    except Exception as error:
        if os.environ.get("DYNAROUTE_TRACEBACK"):
            raise
        words = show_text(" ".join(str(error).split()))
        fault = DynarouteError(
            f"this is a bug in Dynaroute, not in your input: {type(error).__name__}: {words}.",
            remedy="Please report it with the output of the same command under DYNAROUTE_TRACEBACK=1.",
        )
        with suppress(typer.Exit):
            _leave(fault, is_json=JSON_FLAG in sys.argv)
        sys.exit(INPUT_FAULT)
    sys.exit()
