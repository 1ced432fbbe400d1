"""Compare the pages with the figures that are measured: docs/figures.toml and the cards of the models.

    python tools/figures.py            lists every statement that differs; exit code 1 if there is one
    python tools/figures.py --write    puts the measured figures into the pages

docs/figures.toml explains how figures and statements are written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynaroute.study.reference_lengths import HGS_LENGTHS, PAPER_BEST_LENGTHS

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"\{(\w+)(?:\s*([%*/])\s*(\w+))?:(\.\d+[fg])\}")
NUMBER = re.compile(r"[\d,]+(?:\.\d+)?")
CODE_AND_COMMENTS = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NAME_OF_LENGTH = re.compile(r"(?:amd|am|rl)(?:_(?:\d+|uniform))?_at_\d+|augmented_at_\d+|hgs_at_\d+")
LENGTH = re.compile(r"(?<![\w.])\d+\.\d{3}(?![\d.])")
LAST_DIGIT = 0.001
LOG = "docs/training-log.md"  # lengths of all runs, on other sets too: some are near by chance
# What looks measured: percentages, lengths with three decimals or more, and short times.
MEASURED = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?\s(?:%|ms|µs)|(?<![\w.])\d+\.\d{3,}|(?<![\w.])\d+\.\d+\ss\b")


@dataclass(frozen=True)
class Figures:
    """What was measured, and which pages state it.

    Attributes
    ----------
    values
        Every figure by its name.
    statements
        The statements of each page, with places for figures.
    complete
        The pages whose every figure has to be in a statement.
    """

    values: Mapping[str, float]
    statements: Mapping[str, tuple[str, ...]]
    complete: tuple[str, ...]

    @classmethod
    def read(cls, root: Path) -> Figures:
        """Read docs/figures.toml and the models' cards."""
        table = _read_table(root)
        values = {f"hgs_at_{size}": length for size, length in HGS_LENGTHS.items()}
        values |= {f"paper_best_at_{size}": length for size, length in PAPER_BEST_LENGTHS.items()}
        values |= _list_card_figures(root)
        for measurement in table["measurements"]:
            if twice := values.keys() & measurement["figures"].keys():
                raise ValueError(f"docs/figures.toml has {min(twice)} twice.")
            values |= measurement["figures"]
        statements = {page: tuple(given) for page, given in table["statements"].items()}
        return cls(values, statements, tuple(table["complete"]))

    def show(self, statement: str) -> str:
        """Put the figures into a statement."""
        return PLACE.sub(lambda place: self._show_place(place), statement)

    def _show_place(self, place: re.Match[str]) -> str:
        name, sign, other, digits = place.groups()
        value = self.values[name]
        if sign is not None:
            by = float(other) if other.isdigit() else self.values[other]
            value = {"%": abs(100 * (value / by - 1)), "*": value * by, "/": value / by}[sign]
        return f"{value:,{digits}}"


def list_measurements(root: Path) -> list[dict[str, Any]]:
    """List the measurements of docs/figures.toml."""
    measurements: list[dict[str, Any]] = _read_table(root)["measurements"]
    return measurements


def _read_table(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "docs" / "figures.toml").read_text(encoding="utf-8"))


def _list_card_figures(root: Path) -> Iterator[tuple[str, float]]:
    """List lengths, minutes and trajectories of the shipped models, such as amd_100_at_20."""
    for file in sorted((root / "src" / "dynaroute" / "weights").glob("*/config.json")):
        card = json.loads(file.read_text(encoding="utf-8"))["card"]
        name = file.parent.name.replace("-", "_")
        yield f"{name}_minutes", card["minutes"]
        yield f"{name}_trajectories", card["trajectories"]
        for size, length in card["greedy_lengths"].items():
            yield f"{name}_at_{size}", length


def find_faults(root: Path) -> list[str]:
    """List what pages state differently, do not state any more, or state without a measurement."""
    figures = Figures.read(root)
    faults = [fault for page in figures.statements for fault in _find_differences(root, page, figures)]
    faults += [fault for page in figures.complete for fault in _find_unknown(root, page, figures)]
    pages = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "docs" / "notebooks").glob("*.md")]
    names = sorted(str(page.relative_to(root)) for page in pages)
    return faults + [fault for page in names if page != LOG for fault in _find_near_misses(root, page, figures)]


def _find_differences(root: Path, page: str, figures: Figures) -> Iterator[str]:
    text = _read_page(root, page)
    for statement in figures.statements[page]:
        shown = figures.show(statement)
        if _make_pattern(shown).search(text):
            continue
        found = _make_pattern(statement).search(text)
        states = "does not state" if found is None else f'states "{found.group()}" instead of'
        yield f'{page} {states} "{shown}"'


def _find_unknown(root: Path, page: str, figures: Figures) -> Iterator[str]:
    """Find figures that are in no statement of the page."""
    text = _read_page(root, page)
    for statement in figures.statements.get(page, ()):
        text = _make_pattern(figures.show(statement)).sub(" ", text)
    for found in MEASURED.findall(CODE_AND_COMMENTS.sub(" ", text)):
        yield f'{page} states "{found}", which docs/figures.toml does not know'


def _find_near_misses(root: Path, page: str, figures: Figures) -> Iterator[str]:
    """Find lengths that differ from a measured one in their last digit, as when it is rounded twice."""
    lengths = {f"{value:.3f}": name for name, value in figures.values.items() if NAME_OF_LENGTH.fullmatch(name)}
    known = {f"{value:.3f}" for value in figures.values.values()}
    for found in LENGTH.findall(_read_page(root, page)):
        near = [name for length, name in lengths.items() if abs(float(length) - float(found)) < 1.5 * LAST_DIGIT]
        if near and found not in known:
            yield f"{page} states {found}, but {near[0]} is {figures.values[near[0]]:.3f}"


def write_figures(root: Path) -> None:
    """Put the measured figures into the statements of all pages, each of which has to be there once."""
    figures = Figures.read(root)
    for page, statements in figures.statements.items():
        text = (root / page).read_text(encoding="utf-8")
        for statement in statements:
            places = list(PLACE.finditer(statement))

            def fill(found: re.Match[str], places: list[re.Match[str]] = places) -> str:
                text, end = "", found.start()
                for at, place in enumerate(places, 1):
                    text += found.string[end : found.start(at)] + figures.show(place.group())
                    end = found.end(at)
                return text + found.string[end : found.end()]

            text, count = _make_pattern(statement).subn(fill, text)
            if count != 1:
                raise ValueError(f'{page} has "{statement}" {count} times: say more of what stands around it.')
        (root / page).write_text(text, encoding="utf-8")


def _read_page(root: Path, page: str) -> str:
    """Read a page; of the changes, only what is not released, because what is released stays."""
    text = (root / page).read_text(encoding="utf-8")
    return text.partition("\n## Not released yet\n")[2].partition("\n## ")[0] if page == "CHANGELOG.md" else text


def _make_pattern(statement: str) -> re.Pattern[str]:
    """Make a pattern of a statement: any number at its places, and any white space between its words."""
    pieces, end = [], 0
    for place in PLACE.finditer(statement):
        pieces += [_escape(statement[end : place.start()]), f"({NUMBER.pattern})"]
        end = place.end()
    # a number at the border of a statement must not be a part of a longer one
    return re.compile(r"(?<![\w.])" + "".join(pieces) + _escape(statement[end:]) + r"(?!\d|\.\d)")


def _escape(text: str) -> str:
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the figures into the pages")
    if parser.parse_args().write:
        write_figures(ROOT)
    faults = find_faults(ROOT)
    print("\n".join(faults) or "All pages agree with what was measured.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
