"""The examples of the README and the guides do what the pages say; make docs runs the slow ones, too."""

from __future__ import annotations

import re
import shlex
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from tool_files import load_tool

from dynaroute.cli.app import app

examples = load_tool("examples")
# tests/test_changing_the_model.py runs that page's examples
PAGES = [page for page in examples.PAGES if page != "docs/changing-the-model.md"]
NOT_RUN = [example for page in examples.PAGES for example in examples.read_examples(page) if example.reason]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples need bash")
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_do_what_it_says(page: str) -> None:
    examples.run_page(page, is_quick=True)


@pytest.mark.parametrize("example", NOT_RUN, ids=lambda example: f"{example.page}:{example.line}")
def test_what_is_not_run_names_options_that_exist(example: Any) -> None:
    commands: Any = typer.main.get_command(app)
    for line in example.text.replace("\\\n", " ").splitlines():
        found = re.search(r"(?:^|\s)dynaroute ((?!-)\S+.*)", line)
        if found is None:
            continue
        name, *words = shlex.split(found[1], comments=True)
        known = {option for parameter in commands.commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


class TestReading:
    @pytest.fixture
    def page(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setattr(examples, "ROOT", tmp_path)

        def write_page(text: str) -> str:
            (tmp_path / "page.md").write_text(text, encoding="utf-8")
            return "page.md"

        return write_page

    def test_a_block_that_is_not_fenced_is_refused(self, page: Any) -> None:
        with pytest.raises(examples.ExampleError, match=r"page.md, line 3: put"):
            examples.read_examples(page("Run\n\n    dynaroute info my.vrp\n"))

    def test_a_comment_that_says_nothing_is_refused(self, page: Any) -> None:
        with pytest.raises(examples.ExampleError, match="does not understand 'quick'"):
            examples.read_examples(page("<!-- example: quick -->\n```sh\ntrue\n```\n"))

    def test_what_is_to_be_replaced_has_to_be_there(self, page: Any) -> None:
        with pytest.raises(examples.ExampleError, match="there is no '--minutes 5'"):
            examples.read_examples(page("<!-- example: with --minutes 1 for --minutes 5 -->\n```sh\ntrue\n```\n"))

    def test_a_comment_is_about_the_next_block_alone(self, page: Any) -> None:
        text = "<!-- example: slow, exits with 2 -->\n```sh\nfalse\n```\n\n```sh\ntrue\n```\n"
        first, second = examples.read_examples(page(text))
        assert (first.is_slow, first.exit_code) == (True, 2)
        assert (second.is_slow, second.exit_code) == (False, 0)

    def test_slow_examples_are_not_in_the_quick_form(self, page: Any) -> None:
        examples.run_page(page("<!-- example: slow -->\n```sh\nfalse\n```\n"), is_quick=True)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("```sh\nfalse\n```\n", "ended with 1, not 0"),
            ("```console\n$ echo one\ntwo\n```\n", "should print"),
            ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
            ("```python\na = 1\n```\n```python\nassert a == 2\n```\n", "AssertionError"),
            ("<!-- example: before\nfalse\n-->\n", "ended with 1, not 0"),
            ("<!-- example: file a.txt -->\n```text\none\n```\n```console\n$ cat a.txt\ntwo\n```\n", "but prints\none"),
        ],
    )
    def test_what_does_not_do_as_it_says_is_an_error(self, page: Any, text: str, words: str) -> None:
        with pytest.raises(examples.ExampleError, match=words):
            examples.run_page(page(text), is_quick=False)

    def test_what_runs_in_the_background_ends_with_the_page(self, page: Any, tmp_path: Path) -> None:
        number = tmp_path / "number"
        examples.run_page(page(f"```sh\nsleep 600 > /dev/null 2>&1 &\necho $! > {number}\n```\n"), is_quick=False)
        command_line, deadline = Path(f"/proc/{number.read_text().strip()}/cmdline"), time.monotonic() + 30
        while command_line.exists() and command_line.read_bytes():  # it is empty once the process has ended
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("a  b\nc\n", "a b\nc"),
        ("a\nb\nc\n", "a\n...\nc"),
        ("ready, 2.13 s", "ready, 2.00 s"),
        ("note: a remark\na", "a"),
        ("a\nb", "a\n..."),
    ],
)
def test_a_page_may_leave_out_what_is_of_no_interest(printed: str, expected: str) -> None:
    assert examples.is_like(printed, expected)


@pytest.mark.parametrize(("printed", "expected"), [("a b", "a"), ("cost 13", "cost 12"), ("a\nc", "a\nnote: b\nc")])
def test_a_page_may_not_say_otherwise(printed: str, expected: str) -> None:
    assert not examples.is_like(printed, expected)
