"""Measures the house: how many modules and lines it has, and through how many files a command runs.

python tools/house.py                                     # modules, lines, names
python tools/house.py -- solve demo/instance.vrp --time-limit 2   # files of which a function is called
"""

from __future__ import annotations

import ast
import io
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "dynaroute"
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def main() -> None:
    """Print the figures of the house, or of a command after ``--``."""
    if "--" in sys.argv:
        arguments = sys.argv[sys.argv.index("--") + 1 :]
        called = sorted(trace_command(arguments))
        print("\n".join(called))
        print(f"{len(called)} files of which a function is called")
        return
    for line in describe_house():
        print(line)


def describe_house() -> Iterator[str]:
    """Say how many modules, lines and repeated names there are, a line each."""
    files = sorted(PACKAGE.rglob("*.py"))
    folders = Counter(file.parent for file in files)
    most, fullest = max((count, str(folder.relative_to(PACKAGE))) for folder, count in folders.items())
    yield f"{folders[PACKAGE]} modules in the entrance hall"
    yield f"{most} modules in the fullest folder, {fullest}"
    yield f"{len(files)} modules"
    yield f"{sum(count_code_lines(file.read_text(encoding='utf-8')) for file in files)} lines of code"
    repeated = list_repeated_classes(files)
    yield f"{len(repeated)} class names in more than one module: {', '.join(repeated) or 'none'}"


def count_code_lines(text: str) -> int:
    """Count the lines of a module without docstrings, comments and blanks."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            skipped.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - skipped)


def list_repeated_classes(files: list[Path]) -> list[str]:
    """List the names of classes that are defined more than once."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


def trace_command(arguments: list[str]) -> set[str]:
    """Run a command of Dynaroute, and name the files of the package of which a function was called.

    Parameters
    ----------
    arguments
        What would follow ``dynaroute``.
    """
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and not code.co_name.startswith("<") and code.co_flags & _IS_FUNCTION:
            called.add(code.co_filename)

    sys.argv = ["dynaroute", *arguments]
    sys.path.insert(0, str(PACKAGE.parent))
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        from dynaroute.cli import main as run

        run()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return {str(Path(name).relative_to(PACKAGE)) for name in called if Path(name).is_relative_to(PACKAGE)}


_IS_FUNCTION = 0x2  # CO_NEWLOCALS: not the body of a module or a class

if __name__ == "__main__":
    main()
