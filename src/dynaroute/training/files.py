"""Files of a run: written completely or not at all, by one process at a time; its metrics and its learning curve."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dynaroute.base.errors import FileError, FormatError, InputWarning, Where, in_file
from dynaroute.base.files import read_bytes, remove_unfinished, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

try:
    import fcntl
except ImportError:  # not available on Windows
    fcntl = None  # type: ignore[assignment]

RUN_FILES = (
    "plan.toml",
    "last.pt",
    "best.pt",
    "metrics.jsonl",
    "config.json",
    "model.safetensors",
    "README.md",
    "curve.png",
    "routes.png",
)

RESUME_REMEDY = (
    "Free some space, or restore the folder, and continue with the option resume; the last good checkpoint is "
    "untouched."
)
_IN_EVERY_LINE = ("step", "minutes", "size")  # of metrics


def replace_file(path: Path, contents: bytes | memoryview) -> None:
    """Replace a whole file, or leave it untouched and say how to continue."""
    try:
        write_bytes(path, contents)
    except FileError as error:
        error.remedy = RESUME_REMEDY
        raise


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from training in this folder, and remove what a killed one had not finished writing.

    Raises
    ------
    FileError
        If another process holds it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks do not support locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise FileError(
                    "another process is training in this folder.",
                    where=Where(file=str(folder)),
                    remedy="Wait for it, stop it, or use another folder.",
                ) from error
        remove_unfinished(folder)
        yield
    finally:
        os.close(handle)


class Reference(NamedTuple):
    """A length to compare validation with.

    Attributes
    ----------
    name
        Where the length comes from.
    length
        The length; 1 if validation is relative to it.
    """

    name: str
    length: float

    @property
    def is_unit(self) -> bool:
        """Whether validation is relative to it."""
        return self.length == 1.0


class Journal:
    """Appends lines of metrics to a file and to TensorBoard.

    Parameters
    ----------
    folder
        Of the run.
    validated
        The last validation in the checkpoint; later ones, of a run that was killed, are dropped.
    step
        The last update in the checkpoint; that of the validation if None.
    track
        Called with every line, for your own tracker.
    """

    def __init__(
        self,
        folder: Path,
        validated: int,
        step: int | None = None,
        track: Callable[[dict[str, Any]], None] = lambda line: None,
    ) -> None:
        self.folder, self.path, self.track = folder, folder / "metrics.jsonl", track
        last = validated if step is None else max(validated, step)
        kept = [
            line
            for line in (_read_lines(folder) if self.path.exists() else [])
            if line["step"] <= (validated if "validation" in line else last)
        ]
        replace_file(self.path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self._board = _open_board(folder / "tensorboard", last + 1)

    def add(self, line: dict[str, Any]) -> None:
        """Write a line."""
        with _naming_file(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.track(dict(line))
        if self._board is None:
            return
        with _naming_file(self.folder / "tensorboard"):
            for name, value in line.items():
                if name != "step":
                    self._board.add_scalar(name, value, line["step"])
            self._board.flush()

    def close(self) -> None:
        """Finish TensorBoard's file."""
        if self._board is not None:
            self._board.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the validations from a run's metrics; incomplete lines are skipped."""
    return [line for line in _read_lines(folder) if "validation" in line]


def _read_lines(folder: Path) -> list[dict[str, Any]]:
    lines = []
    path = folder / "metrics.jsonl"
    content = b""
    with in_file(path), suppress(FormatError):  # empty if the run was killed at once
        content = read_bytes(path)
    for text in content.decode(errors="replace").splitlines():
        with suppress(ValueError, RecursionError):  # the run was killed while writing
            lines.append(json.loads(text))
    return [line for line in lines if _is_line(line)]


def save_learning_curve(folder: Path, references: dict[int, Reference]) -> Path:
    """Plot a run's learning curve into its folder; returns the file's path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw_learning_curve(read_metrics(folder), references, figure.add_subplot())
    picture = folder / "curve.png"
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    replace_file(picture, drawn.getbuffer())
    return picture


def draw_learning_curve(
    metrics: list[dict[str, Any]], references: dict[int, Reference], ax: Axes | None = None
) -> Axes:
    """Plot greedy validation length over minutes, one line per size.

    Parameters
    ----------
    metrics
        Lines of metrics.
    references
        Lengths to compare with, by size; only trained sizes are drawn.
    ax
        Axes to draw on; None makes a new figure.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, NullLocator

    axes = ax if ax is not None else Figure(figsize=(7, 4.5), layout="constrained").add_subplot()
    for number, size in enumerate(sorted({line["size"] for line in metrics})):
        chosen = [line for line in metrics if line["size"] == size]
        minutes, lengths = [line["minutes"] for line in chosen], [line["validation"] for line in chosen]
        colour = f"C{number}"
        axes.plot(minutes, lengths, "o-", color=colour, markersize=3, label=f"{size} customers: {min(lengths):.3f}")
        if size in references:
            name, length = references[size]
            axes.axhline(length, color=colour, linestyle=":", label=f"{name} {length:.3f}")
    axes.set_xlabel("minutes")
    relative = " or ".join({reference.name: None for reference in references.values() if reference.is_unit})
    axes.set_ylabel(f"greedy length over that of {relative}" if relative else "greedy length, validation")
    axes.grid(alpha=0.3)
    if not metrics:
        return axes
    lengths = [line["validation"] for line in metrics]
    if max(lengths) > 1.5 * min(lengths):
        axes.set_yscale("log")  # a random policy is far off and would flatten the rest
        axes.set_ylim(0.97 * min(lengths), 1.03 * max(lengths))
    axes.yaxis.set_major_locator(MaxNLocator(8))  # plain, round numbers on either scale
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend()
    return axes


def _is_line(line: object) -> bool:
    return (
        isinstance(line, dict)
        and all(_is_number(line.get(name)) for name in _IN_EVERY_LINE)
        and _is_number(line.get("validation", 0))
    )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]


def _open_board(folder: Path, step: int) -> Any:
    """Open TensorBoard's writer, dropping entries from this step on; None if it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn(
            "TensorBoard is not installed: pip install '.[train]' in Dynaroute's folder.", InputWarning, stacklevel=2
        )
        return None
    with _naming_file(folder):
        return SummaryWriter(str(folder), purge_step=step)


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Name the file that could not be written, and say how to continue."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"cannot write it: {error.strerror or error}.", where=Where(file=str(path)), remedy=RESUME_REMEDY
        ) from error
