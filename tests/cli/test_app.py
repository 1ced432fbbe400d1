from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, WRONG_SOLUTION, assert_refused, execute, invoke, save

from dynaroute import __version__, formats
from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, OptionError, Where

COMMANDS = ("solve", "check", "info", "plot", "convert", "generate", "evaluate", "models", "import-kool", "doctor")


def run_python(
    code: str, *arguments: str | Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code with the arguments of a command line."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False, env=env)


def test_version_is_told() -> None:
    result = invoke("--version")

    assert (result.exit_code, result.stdout) == (0, f"dynaroute {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example_and_json(command: str) -> None:
    result = invoke(command, "--help")

    assert result.exit_code == 0
    assert f"dynaroute {command} " in result.stdout.partition("Example:")[2]
    assert "--json" in result.stdout


def test_help_lists_every_command() -> None:
    result = invoke("--help")

    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", result.stdout)


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from dynaroute.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('loaded', [name for name in ('numpy', 'torch', 'matplotlib', 'numba') if name in sys.modules])"
    )

    assert run_python(code, "--help").stdout.endswith("loaded []\n")


def test_a_model_is_loaded_without_the_compiler_of_torch() -> None:
    code = (
        "import sys; from dynaroute.model import Policy\n"
        "Policy.from_pretrained('amd')\n"
        "print('loaded', 'torch._dynamo' in sys.modules)"
    )

    assert run_python(code).stdout == "loaded False\n"  # it would take a second


def test_completion_is_offered() -> None:
    result = execute(
        env={**os.environ, "_DYNAROUTE_COMPLETE": "complete_bash", "COMP_WORDS": "dynaroute ch", "COMP_CWORD": "1"}
    )

    assert result.stdout.split() == ["check"]


@pytest.mark.parametrize("arguments", [("solv",), ("info",), ("info", "a", "b"), ("check", "--fast")])
def test_wrong_use_exits_with_two_and_keeps_stdout_clean(arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments)

    assert result.exit_code == 2
    assert result.stdout == ""


def test_without_a_command_the_help_is_shown() -> None:
    assert "Usage: dynaroute" in invoke().output


def test_exit_codes_and_streams_of_a_process(tmp_path: Path) -> None:
    instance = save(tmp_path, "a.vrp", INSTANCE)
    right, wrong = save(tmp_path, "right.sol", RIGHT_SOLUTION), save(tmp_path, "wrong.sol", WRONG_SOLUTION)

    good, bad, missing = (execute("check", instance, file, "--json") for file in (right, wrong, tmp_path / "none.sol"))

    assert (good.returncode, json.loads(good.stdout)["ok"], good.stderr) == (0, True, "")
    assert (bad.returncode, json.loads(bad.stdout)["ok"], bad.stderr) == (1, False, "")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert json.loads(missing.stderr)["where"]["file"] == str(tmp_path / "none.sol")
    assert missing.stderr.count("\n") == 1


def test_interrupted_process_exits_with_130_and_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, dynaroute.solving.solve\n"
        "dynaroute.solving.solve.solve_all = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "from dynaroute.cli import main; main()"
    )
    instance, target = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", "old")

    result = run_python(code, "solve", instance, "--fast", "--out", target)

    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "Interrupted. No file was left half-written.\n"
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sol", "a.vrp"]


def test_interruption_while_libraries_load_is_quiet() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from dynaroute.cli import main; main()"
    )

    result = run_python(code, "--help")

    assert (result.returncode, result.stdout, result.stderr) == (
        130,
        "",
        "Interrupted. No file was left half-written.\n",
    )


@pytest.mark.parametrize("options", [("info",), ("info", "--json"), ("solve",)])
def test_reader_that_went_away_gets_no_traceback(tmp_path: Path, options: tuple[str, ...]) -> None:
    instance = save(tmp_path, "a.vrp", INSTANCE)
    reading, writing = os.pipe()
    os.close(reading)

    result = execute(*options, instance, stdout=writing)

    os.close(writing)
    assert result.returncode == 141
    assert all(line.startswith("note: ") for line in result.stderr.splitlines())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_full_disk_behind_stdout_is_one_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = execute("info", save(tmp_path, "a.vrp", INSTANCE), stdout=full)

    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_full_disk_behind_stderr_leaves_the_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert execute("info", tmp_path / "none.vrp", stderr=full).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        "info secret.vrp",
        "solve secret.vrp",
        "check secret.vrp right.sol",
        "check open.vrp secret.sol",
        "convert secret.vrp a.json",
        "plot open.vrp secret.sol --out a.png",
        "evaluate --data secret.vrp --model savings",
    ],
)
def test_no_permission_to_read_is_told_like_any_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    save(tmp_path, "open.vrp", INSTANCE)
    save(tmp_path, "right.sol", RIGHT_SOLUTION)
    for name in ("secret.vrp", "secret.sol"):
        save(tmp_path, name, "anything")
    monkeypatch.chdir(tmp_path)
    usual = os.open

    def refuse(path: str | Path, *more: int) -> int:  # permissions do not stop the superuser, whom tests may run as
        if Path(path).stem == "secret":
            raise PermissionError(13, "Permission denied")
        return usual(path, *more)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).stem != "secret")

    assert_refused(invoke(*arguments.split()), "secret", "no permission to read")


def test_unforeseen_failure_is_one_sentence(tmp_path: Path) -> None:
    code = (
        "import dynaroute.solving.solve\n"
        "dynaroute.solving.solve.solve_all = lambda *_, **__: 1 / 0\n"
        "from dynaroute.cli import main; main()"
    )

    result = run_python(code, "solve", save(tmp_path, "a.vrp", INSTANCE))

    assert result.returncode == 2
    assert result.stderr.startswith("error: this is a bug in Dynaroute, not in your input: ZeroDivisionError")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("environment", "policy"), [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_waiting_threads_leave_the_cores_to_others_unless_told_otherwise(
    environment: dict[str, str], policy: str
) -> None:
    code = (
        "import os; from dynaroute.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}

    assert run_python(code, "--version", env={**inherited, **environment}).stdout.endswith(f"{policy}\n")


def test_name_that_stdout_cannot_show_is_escaped(tmp_path: Path) -> None:
    instance = save(tmp_path, "a.vrp", INSTANCE.replace("small", "Łódź"))

    result = execute("info", instance, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, encoding="latin-1")

    assert result.returncode == 0
    assert "\\u0141ód\\u017a" in result.stdout


class OutOfMemoryError(RuntimeError):
    """As PyTorch calls it on a GPU."""


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        OutOfMemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        PermissionError(13, "Permission denied", "a.vrp"),
        OSError(5, "Input/output error"),
    ],
)
def test_failures_of_the_machine_exit_with_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(formats, "read_set", fail)

    result = invoke("info", tmp_path / "a.vrp")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_each_warning_about_input_becomes_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_set = formats.read_set

    def read_with_warnings(path: Path, **settings: object) -> object:
        for _ in range(2):
            warnings.warn("this was odd.", InputWarning, stacklevel=1)
        return read_set(path)

    monkeypatch.setattr(formats, "read_set", read_with_warnings)

    result = invoke("info", save(tmp_path, "a.vrp", INSTANCE))

    assert result.exit_code == 0
    assert result.stderr == "note: this was odd.\n" * 2


@pytest.mark.parametrize(
    ("error", "options", "words"),
    [
        (FormatError("m.", where=Where(field="capacity"), remedy="Or give the option capacity."), (), "field capacity"),
        (OptionError("m.", where=Where(field="capacity")), ("--capacity", "5"), "field --capacity: m."),
        (FormatError("m.", where=Where(line=3, field="capacity")), ("--capacity", "5"), "line 3, field capacity: m."),
        (FormatError("m.", remedy="Or give the option capacity."), (), "m. Or give --capacity."),
        (FormatError("m.", remedy="Leave the option out."), (), "m. Leave the option out."),
        (OptionError("m.", remedy="Use improve 'local'."), (), "m. Use --improve local."),
    ],
)
def test_errors_are_told_in_the_options_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: DynarouteError, options: tuple[str, ...], words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(formats, "read_set", fail)

    assert_refused(invoke("solve", save(tmp_path, "a.csv", ""), *options), words)
