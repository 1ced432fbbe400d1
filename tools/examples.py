"""Run the examples of the README and the guides: all of them for make docs, the quick ones for make test.

    python tools/examples.py                       all pages
    python tools/examples.py docs/fleets.md        some of them
    python tools/examples.py --quick               without examples that take long
    python tools/examples.py --list                lists what is not run, and why

Each page is run from top to bottom in an empty folder. The language of a block determines what is run:

    sh          the whole block, as a script
    console     each command after "$ "; its output must match the lines below it, where "..." matches anything,
                seconds may differ, and notes may be left out
    python      the block; all blocks of a page share their variables
    others      nothing

A comment above a block, which readers do not see, can change that:

    <!-- example: file stops.csv -->               write the block to this file
    <!-- example: exits with 2 -->                 the expected exit code
    <!-- example: slow -->                         skip it in the quick form
    <!-- example: with --minutes 1 for --minutes 60 -->   run with the first instead of the second
    <!-- example: not run, needs a GPU -->         skip it; the reason is listed
    <!-- example: before                           run commands that readers need not see
    dynaroute generate --size 20 --out my.vrp
    -->
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/install.md",
    "docs/planners.md",
    "docs/researchers.md",
    "docs/commands.md",
    "docs/how-to.md",
    "docs/formats.md",
    "docs/fleets.md",
    "docs/searches.md",
    "docs/training.md",
    "docs/changing-the-model.md",
    "docs/service.md",
    "docs/scale.md",
    "docs/engine.md",
)
RUN = ("sh", "console", "python")
SECONDS = 600  # for one block
LONG = 5  # seconds from which on a block's time is printed, so that it can be marked as slow
COMMENT = re.compile(r"<!-- example: (?P<note>[^\n]*?)\s*(?:\n(?P<commands>.*?)\n)?-->", re.DOTALL)


class ExampleError(Exception):
    """An example does not do what its page says."""


@dataclass(frozen=True)
class Example:
    """A block of a page.

    Attributes
    ----------
    page, line
        Where it starts.
    language, text
        Its language and its text.
    file
        The file to write it to, if any.
    exit_code
        The expected exit code.
    is_slow
        Whether the quick form skips it.
    reason
        Why it is not run; empty if it is.
    """

    page: str
    line: int
    language: str
    text: str
    file: str = ""
    exit_code: int = 0
    is_slow: bool = False
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}: {self.text.strip().splitlines()[0]}"

    @property
    def is_run(self) -> bool:
        """Whether running the page does anything with it."""
        return not self.reason and (bool(self.file) or self.language in RUN)

    def take_note(self, note: str) -> Example:
        """Apply the comment above the example."""
        if note.startswith("not run, "):
            return replace(self, reason=note.removeprefix("not run, "))
        for word in note.split(", "):
            self = self._take_word(word)
        return self

    def _take_word(self, word: str) -> Example:
        kind, _, value = word.partition(" ")
        if kind == "file":
            return replace(self, file=value)
        if kind == "exits":
            return replace(self, exit_code=int(value.removeprefix("with ")))
        if kind == "with":
            new, _, old = value.partition(" for ")
            return replace(self, text=self._swap(old, new))
        if kind == "slow":
            return replace(self, is_slow=True)
        raise ExampleError(f"{self.page}, line {self.line}: tools/examples.py does not understand '{word}'.")

    def _swap(self, old: str, new: str) -> str:
        if not old or old not in self.text:
            raise ExampleError(f"{self.page}, line {self.line}: there is no '{old}' in the block.")
        return self.text.replace(old, new)


def read_examples(page: str) -> list[Example]:
    """Read the blocks of a page, from top to bottom.

    Parameters
    ----------
    page
        Its path below the root of the repository.
    """
    text, examples, note = (ROOT / page).read_text(encoding="utf-8"), [], ""
    for token in MarkdownIt().parse(text):
        line = token.map[0] + 1 if token.map else 0
        comment = COMMENT.search(token.content) if token.type == "html_block" else None
        if comment is not None:
            language, commands, note = "sh", comment["commands"], comment["note"]
            if commands is not None:
                words = note.removeprefix("before").removeprefix(", ")
                before = Example(page, line, language, commands)
                examples.append(before.take_note(words) if words else before)
                note = ""
        elif token.type == "code_block":
            raise ExampleError(f"{page}, line {line}: put ``` around the block, and say what it is.")
        elif token.type == "fence":
            example = Example(page, line, token.info.strip(), token.content)
            examples.append(example.take_note(note) if note else example)
            note = ""
    return examples


def run_page(page: str, *, is_quick: bool) -> None:
    """Run the examples of a page, in a temporary folder.

    Parameters
    ----------
    page
        Its path below the root of the repository.
    is_quick
        Whether to leave slow examples out.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _hold_processes() as group:
        for example in read_examples(page):
            if not example.is_run or (is_quick and example.is_slow):
                continue
            began = time.perf_counter()
            run_example(example, names, group)
            if (seconds := time.perf_counter() - began) > LONG:
                print(f"{example.page}, line {example.line}: {seconds:.0f} s")


def run_example(example: Example, names: dict[str, Any], group: int) -> None:
    """Run one example in the current folder.

    Parameters
    ----------
    example
        The example.
    names
        Variables of the page's Python blocks.
    group
        The process group for its commands.
    """
    if example.file:
        Path(example.file).write_text(example.text, encoding="utf-8")
    elif example.language == "python":
        _run_python(example, names)
    elif example.language == "sh":
        _run_command(example, f"set -e -o pipefail\n{example.text}", group)
    else:
        for command, expected in split_console(example.text):
            printed = _run_command(example, command, group)
            if expected and not is_like(printed, expected):
                raise ExampleError(f"{example}\n{command}\nshould print\n{expected}\nbut prints\n{printed}")


def split_console(text: str) -> Iterator[tuple[str, str]]:
    """Split a console block into commands, each with its output.

    Parameters
    ----------
    text
        Lines; commands start with "$ ", and continue after a backslash.
    """
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = next((number for number, line in enumerate(lines) if not line.endswith("\\")), len(lines))
        yield "\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :]).strip()


def is_like(printed: str, expected: str) -> bool:
    """Whether the output matches the page, apart from line breaks, seconds, notes and what "..." leaves out.

    Parameters
    ----------
    printed, expected
        The output of the command, and the text on the page.
    """
    if "note: " not in expected:
        printed = "\n".join(line for line in printed.splitlines() if not line.startswith("note: "))
    pattern = re.escape(" ".join(expected.split())).replace(r"\.\.\.", "...")
    pattern = re.sub(r"(\\ )?\.\.\.(\\ )?", ".*", pattern)
    pattern = re.sub(r"\d+\\\.\d+(?=\\ s\b)", r"[\\d.]+", pattern)
    return re.fullmatch(pattern, " ".join(printed.split()), flags=re.DOTALL) is not None


def _run_python(example: Example, names: dict[str, Any]) -> None:
    try:
        exec(compile(example.text, str(example), "exec", dont_inherit=True), names)
    except Exception as error:
        raise ExampleError(f"{example}\n{type(error).__name__}: {error}") from error


def _run_command(example: Example, command: str, group: int) -> str:
    """Run a command and return its output; its exit code must be the one on the page."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # a page may contain a .curlrc, which points curl to the service that the page started
    environment = {**os.environ, "PATH": places, "COLUMNS": "160", "NO_COLOR": "1", "CURL_HOME": str(Path.cwd())}
    process = subprocess.Popen(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        process_group=group,
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise ExampleError(f"{example}\nwas not ready after {SECONDS} seconds.") from None
    if process.returncode != example.exit_code:
        raise ExampleError(f"{example}\nended with {process.returncode}, not {example.exit_code}:\n{printed}")
    return printed


@contextlib.contextmanager
def _hold_processes() -> Iterator[int]:
    """Make a group for all processes of a page, such as a service in the background, and end them with the page."""
    leader = subprocess.Popen(["sleep", "infinity"], process_group=0)
    try:
        yield leader.pid
    finally:
        os.killpg(leader.pid, signal.SIGTERM)
        leader.wait()


def list_what_is_not_run(pages: list[str]) -> None:
    """Print the examples that are not run, and why."""
    left_out = [example for page in pages for example in read_examples(page) if example.reason]
    print(f"{len(left_out)} examples are not run:")
    for example in left_out:
        print(f"  {example.page}, line {example.line}: {example.reason}")


def main() -> None:
    """Run the pages that the command line names."""
    parser = argparse.ArgumentParser(description="Run the examples of the README and the guides.")
    parser.add_argument("pages", nargs="*", default=list(PAGES), help="such as docs/fleets.md; all of them by default")
    parser.add_argument("--quick", action="store_true", help="skip slow examples")
    parser.add_argument("--list", action="store_true", help="list what is not run, and why")
    arguments = parser.parse_args()
    if shutil.which("bash") is None:
        sys.exit("The examples need bash.")
    try:
        for page in [] if arguments.list else arguments.pages:
            began = time.perf_counter()
            run_page(page, is_quick=arguments.quick)
            print(f"{page}: {time.perf_counter() - began:.0f} s")
        list_what_is_not_run(arguments.pages)
    except ExampleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
