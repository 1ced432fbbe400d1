"""The imports under src/ follow the order that docs/architecture.md states."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGE = "dynaroute"
ROOM = re.compile(r"^ {6}(\w+)(?:\.py|/) +(.*(?:\n {7,}.*)*)", re.MULTILINE)


@cache
def listed_rooms() -> list[tuple[str, str]]:
    """Names of the rooms, a module or a folder each, from top to bottom, and what the page says of them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return ROOM.findall(page[page.index(f"    src/{PACKAGE}/\n") : page.index("\n    tests/ ")])


def stated_order() -> list[str]:
    return [room for room, _ in listed_rooms()]


@cache
def imports() -> dict[str, list[tuple[str, int]]]:
    """What every module of ours imports of ours, anywhere in it, and in which line."""
    modules = {name_of(path): path for path in SOURCE.rglob("*.py")}
    return {
        name: [(found, line) for found, line in imported_by(path, modules) if found.split(".")[0] == PACKAGE]
        for name, path in modules.items()
    }


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: Path, modules: dict[str, Path]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None and node.level == 0, f"{path}:{node.lineno} imports relatively"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in modules else node.module, node.lineno


def room_of(module: str) -> str:
    _, _, below = module.partition(".")
    return below.split(".")[0] if below else "__init__"


def rooms() -> set[str]:
    return {room_of(name_of(path)) for path in SOURCE.rglob("*.py")}


def test_the_page_names_every_room_once_and_no_other() -> None:
    assert sorted(stated_order()) == sorted(rooms())


def test_the_page_names_no_file_that_is_not_there() -> None:
    named = [(room, file) for room, text in listed_rooms() for file in re.findall(r"[\w*]+\.py", text)]
    assert [name for name in named if not any((SOURCE / PACKAGE / name[0]).glob(name[1]))] == []


def test_the_page_shows_the_tree_on_one_screen() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = [line for line in page[: page.index("## How a file becomes routes")].splitlines() if line.startswith("    ")]
    assert len(tree) <= 45
    assert max(map(len, tree)) <= 100


def test_the_tree_names_every_room_within_a_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page[: page.index("## How a file becomes routes")]
    inside = [folder.split("/")[-1] for folder in folders() if folder.count("/") == 1]
    assert [name for name in inside if f"{name}/" not in tree] == []


def test_the_walks_name_no_file_that_is_not_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/.])((?:\w+/)+\w+\.py)", page)
    assert len(named) > 20
    assert [path for path in named if not any((place / path).is_file() for place in (ROOT, SOURCE / PACKAGE))] == []


def test_no_folder_has_more_files_than_one_can_read_at_a_glance() -> None:
    files = Counter(path.parent.relative_to(SOURCE / PACKAGE).as_posix() for path in (SOURCE / PACKAGE).rglob("*.py"))
    assert {folder: count for folder, count in files.items() if count > 20} == {}
    assert files["."] <= 5


@pytest.mark.parametrize("room", sorted(rooms()))
def test_a_room_imports_only_what_stands_above_it(room: str) -> None:
    above = stated_order()[: stated_order().index(room)]
    upwards = [
        f"{module}, line {line}, imports {found}"
        for module, uses in imports().items()
        for found, line in uses
        if room_of(module) == room and room_of(found) not in (room, *above)
    ]
    assert upwards == []


@pytest.mark.parametrize("room", sorted(rooms()))
def test_modules_of_a_room_do_not_import_each_other_in_a_circle(room: str) -> None:
    inside = {
        module: {found for found, _ in uses if room_of(found) == room and found != module}
        for module, uses in imports().items()
        if room_of(module) == room
    }
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(reversed(circle.args[1])))


MAY_IMPORT = re.compile(r"(It imports no other room|It may import (.+?))\.(?: |$)")


def folders() -> list[str]:
    """All rooms and rooms within rooms that are folders of Python."""
    inside = sorted((SOURCE / PACKAGE).rglob("__init__.py"))
    return [path.parent.relative_to(SOURCE / PACKAGE).as_posix() for path in inside[1:]]


def folder_of(module: str) -> str:
    path = SOURCE / Path(*module.split("."))
    return (path if path.is_dir() else path.parent).relative_to(SOURCE / PACKAGE).as_posix()


@pytest.mark.parametrize("folder", folders())
def test_a_room_says_where_to_begin_and_what_it_may_import(folder: str) -> None:
    place = SOURCE / PACKAGE / folder
    page = ast.parse((place / "__init__.py").read_text(encoding="utf-8"))
    said = " ".join((ast.get_docstring(page) or "").split())
    begin = re.search(r"Begin with `([\w/]+)`", said)
    assert begin is not None and (place / f"{begin[1]}.py").is_file()
    stated = MAY_IMPORT.search(said)
    assert stated is not None
    room = folder.split("/")[0]
    may = set(re.findall(r"`([\w/]+)`", stated[2] or ""))
    if "every room above it" in said:
        may.update(stated_order()[: stated_order().index(room)])
    if f"every room of `{room}`" in said:
        may.update(each for each in folders() if each.split("/")[0] == room)
    used = {
        within if within.split("/")[0] == room else room_of(found)
        for module, uses in imports().items()
        if folder_of(module) == folder
        for within, found in ((folder_of(found), found) for found, _ in uses)
    }
    assert {each for each in used if each != folder and not (folder == room and each.startswith(f"{room}/"))} <= may
