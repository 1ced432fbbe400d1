from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, WRONG_SOLUTION, assert_refused, invoke, invoke_json, save
from policies import make_policy

from dynaroute import check, read, read_set, read_solution
from dynaroute.model import ModelCard
from dynaroute.problem.solution import Solution
from dynaroute.solving.options import SolveOptions
from dynaroute.weights import shipped_models

pytestmark = pytest.mark.usefixtures("shelf")


def generate(path: Path, *, size: int = 10, count: int = 1) -> Path:
    assert invoke("generate", "--size", str(size), "--count", str(count), "--out", path).exit_code == 0
    return path


def test_one_instance_is_shown_route_by_route(tmp_path: Path) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--fast")

    assert result.exit_code == 0
    title, headings, first, second = result.stdout.splitlines()
    assert title.startswith("small: 2 routes, cost 14; by savings, ")
    assert headings.split() == ["Route", "Load", "Length", "Customers"]
    assert first.split()[:3] == ["1", "9/10", "12"]
    assert second.split() == ["2", "9/10", "2", "3"]


def test_json_has_the_promised_keys(tmp_path: Path) -> None:
    (document,) = invoke_json("solve", save(tmp_path, "a.vrp", INSTANCE), "--fast")

    promised = ["instance", "cost", "routes", "loads", "seconds", "method", "model", "ids", "unit"]
    assert list(document) == [*promised, "length", "hours", "money", "left_out", "breaks", "trips"]
    assert (document["instance"], document["cost"], document["loads"]) == ("small", 14, [9, 9])
    assert sorted(map(sorted, document["routes"])) == [[1, 2], [3]]


def test_loads_are_in_the_users_unit(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", "# capacity: 2.5\nid,x,y,demand\ndepot,0,0,0\none,3,4,1.5\n")

    assert invoke_json("solve", path)[0]["loads"] == [1.5]


def test_customers_are_shown_by_their_names(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", "# capacity: 9\nid,x,y,demand\ndepot,0,0,0\n[red] shop,3,4,1\nmill,4,4,1\n")

    result = invoke("solve", path)

    assert "[red] shop, mill" in result.stdout or "mill, [red] shop" in result.stdout


@pytest.mark.parametrize("suffix", [".sol", ".json"])
def test_solution_and_picture_are_written(tmp_path: Path, suffix: str) -> None:
    instance = save(tmp_path, "a.vrp", INSTANCE)

    result = invoke("solve", instance, "--out", tmp_path / f"b{suffix}", "--plot", tmp_path / "b.png")

    assert result.exit_code == 0
    assert (tmp_path / "b.png").exists()
    assert invoke("check", instance, tmp_path / f"b{suffix}").exit_code == 0


def test_set_is_solved_into_a_folder_that_is_made(tmp_path: Path) -> None:
    path = generate(tmp_path / "many.npz", count=12)

    assert invoke("solve", path, "--out", tmp_path / "solutions").exit_code == 0

    for number, instance in enumerate(read_set(path), start=1):
        assert check(instance, read_solution(tmp_path / "solutions" / f"many-{number}.sol")) == []


def test_set_is_solved_into_one_json_file_equal_to_the_json_output(tmp_path: Path) -> None:
    path = generate(tmp_path / "many.npz", count=3)

    documents = invoke_json("solve", path, "--out", tmp_path / "all.json")

    assert json.loads((tmp_path / "all.json").read_text()) == documents
    for instance, document in zip(read_set(path), documents, strict=True):
        assert check(instance, Solution(document["routes"], document["cost"])) == []


def test_folder_stands_for_the_instance_files_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    save(folder, "b.vrp", INSTANCE.replace("small", "second"))
    save(folder, "a.VRP", INSTANCE)
    save(folder, "notes.txt", "not an instance")
    save(folder, "old.sol", "Route #1: 1\n")

    documents = invoke_json("solve", folder, generate(tmp_path / "one.json"))

    assert [document["instance"] for document in documents] == ["small", "second", "one"]


def test_many_instances_are_summed_up(tmp_path: Path) -> None:
    result = invoke("solve", generate(tmp_path / "many.npz", count=3))

    assert result.exit_code == 0
    *rows, summary = result.stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["Instance", "many-1", "many-2", "many-3"]
    assert summary.startswith("3 instances, mean cost ")


def test_progress_goes_to_a_terminal_and_never_to_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = generate(tmp_path / "many.npz", count=3)
    assert "3/3" not in invoke("solve", path, "--json").stderr
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a stream pass for a terminal

    result = invoke("solve", path, "--json")

    assert "3/3" in result.stderr
    assert len(json.loads(result.stdout)) == 3


def test_very_many_instances_get_no_table(tmp_path: Path) -> None:
    result = invoke("solve", generate(tmp_path / "many.npz", size=2, count=200))

    assert len(result.stdout.splitlines()) == 1


def test_every_file_that_cannot_be_read_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    good, cut = save(tmp_path, "good.vrp", INSTANCE), save(tmp_path, "cut.vrp", INSTANCE[:90])

    result = invoke("solve", good, cut, tmp_path / "none.vrp", "--out", tmp_path / "solutions", "--json")

    assert (result.exit_code, result.stdout) == (2, "")
    first, second = result.stderr.splitlines()
    assert "cut.vrp" in first
    assert "none.vrp" in second
    assert not (tmp_path / "solutions").exists()


def test_folder_without_instances_is_refused(tmp_path: Path) -> None:
    assert_refused(invoke("solve", tmp_path), str(tmp_path), "no instance file")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--out", "all.sol"), "one solution"),
        (("--out", "all.txt"), "--out"),
        (("--out", "none/all.json"), "does not exist"),
        (("--plot", "all.png"), "one instance"),
    ],
)
def test_places_that_cannot_hold_many_are_refused_before_solving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = generate(tmp_path / "many.npz", count=3)
    monkeypatch.setattr("dynaroute.solving.solve.solve_all", None)  # calling it would fail

    assert_refused(invoke("solve", path, *options), word)


@pytest.mark.parametrize("options", [("--plot", "a.bmp"), ("--plot", "none/a.png"), ("--out", "a.vrp")])
def test_places_that_cannot_hold_one_are_refused_before_solving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dynaroute.solving.solve.solve_all", None)

    assert_refused(invoke("solve", save(tmp_path, "a.vrp", INSTANCE), *options), options[1])


def test_file_is_no_folder_to_write_to(tmp_path: Path) -> None:
    path, other = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "results", "old")

    assert_refused(invoke("solve", path, "--out", other), "results", "not a folder")
    assert other.read_text() == "old"


def test_solution_does_not_replace_its_instance(tmp_path: Path) -> None:
    path = generate(tmp_path / "a.json")
    content = path.read_bytes()

    assert_refused(invoke("solve", path, "--out", path), "a.json", "would replace", "an input")
    assert path.read_bytes() == content


def test_instances_of_the_same_file_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    paths = [save(folder, "a.vrp", INSTANCE) for folder in (tmp_path, tmp_path / "other")]

    assert_refused(invoke("solve", *paths, "--out", tmp_path / "solutions"), "a.sol")
    assert not (tmp_path / "solutions").exists()


def test_picture_of_an_instance_without_coordinates_writes_nothing(tmp_path: Path) -> None:
    text = (
        "NAME : m\nTYPE : CVRP\nDIMENSION : 2\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : LOWER_ROW\n"
        "CAPACITY : 5\nEDGE_WEIGHT_SECTION\n7\nDEMAND_SECTION\n1 0\n2 3\nDEPOT_SECTION\n1\n-1\nEOF\n"
    )
    path = save(tmp_path, "m.vrp", text)

    assert_refused(
        invoke("solve", path, "--out", tmp_path / "m.sol", "--plot", tmp_path / "m.png"), "m.vrp", "no coordinates"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["m.vrp"]


def test_benchmark_instance_is_solved_and_checked(tmp_path: Path, shared_data: Path) -> None:
    instance = shared_data / "X" / "X-n101-k25.vrp"

    assert invoke("solve", instance, "--out", tmp_path / "x.sol").exit_code == 0
    assert check(read(instance), read_solution(tmp_path / "x.sol")) == []


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ((), "greedy"),
        (("--augment",), "greedy x8"),
        (("--decode", "multistart", "--samples", "2"), "multistart 2"),
        (("--decode", "sample", "--temperature", "0.5", "--seed", "3", "--device", "cpu"), "sample 16"),
    ],
)
def test_policy_solves_as_the_options_say(tmp_path: Path, model: Path, options: tuple[str, ...], method: str) -> None:
    path = generate(tmp_path / "many.npz", count=3)

    documents = invoke_json("solve", path, "--model", model, *options)

    for instance, document in zip(read_set(path), documents, strict=True):
        assert (document["model"], document["method"]) == ("tiny", method)
        assert check(instance, Solution(document["routes"], document["cost"])) == []


def test_same_seed_gives_the_same_samples(tmp_path: Path, model: Path) -> None:
    path = generate(tmp_path / "one.vrp", size=30)

    first, again, other = (
        invoke_json("solve", path, "--model", model, "--decode", "sample", "--samples", "1", "--seed", seed)[0][
            "routes"
        ]
        for seed in ("1", "1", "2")
    )

    assert first == again != other


def test_model_is_told_beside_the_method(tmp_path: Path, model: Path) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--model", model)

    assert "by tiny (greedy), " in result.stdout.splitlines()[0]
    assert result.stderr == ""


def test_savings_are_noted_while_no_model_ships(tmp_path: Path) -> None:
    result = invoke("solve", generate(tmp_path / "many.npz", count=3), "--fast")

    assert result.stderr == "note: No trained model ships with this version, so savings built the routes.\n"


def test_automatic_choice_says_which_was_better_for_which_instance(tmp_path: Path, shelf: Path) -> None:
    make_policy(card=ModelCard(name="amd-10", size=10)).save_pretrained(shelf / "amd-10")
    shipped_models.cache_clear()

    result = invoke("solve", generate(tmp_path / "many.npz", count=2), "--fast")

    first, second = result.stderr.splitlines()
    assert first.startswith("note: many-1: savings was better than amd-10 (greedy), which costs ")
    assert second.startswith("note: many-2: ")
    assert result.stdout.splitlines()[-1].endswith("; savings")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--samples", "3"), "--samples"),
        (("--temperature", "2"), "--temperature"),
        (("--model", "savings", "--decode", "sample"), "--decode"),
        (("--model", "absent"), "absent"),
    ],
)
def test_options_on_the_policy_are_judged_before_files_are_read(
    tmp_path: Path, options: tuple[str, ...], word: str
) -> None:
    assert_refused(invoke("solve", tmp_path / "none.vrp", *options), word)


@pytest.mark.parametrize("options", [("--device", "toaster"), ("--decode", "sample", "--temperature", "0")])
def test_options_that_the_solver_refuses_are_one_sentence(
    tmp_path: Path, model: Path, options: tuple[str, ...]
) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--model", model, *options)

    assert_refused(result, options[-2].removeprefix("--"))


@pytest.mark.parametrize("options", [("--decode", "widest"), ("--samples", "0"), ("--seed", "-1")])
def test_values_that_are_no_choice_are_wrong_use(tmp_path: Path, model: Path, options: tuple[str, ...]) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--model", model, *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert options[0] in result.stderr


def test_seed_that_changes_nothing_is_noted(tmp_path: Path, model: Path) -> None:
    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--model", model, "--seed", "3")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: --seed has no effect")


def test_instance_without_coordinates_gets_savings_and_a_note(tmp_path: Path, model: Path) -> None:
    matrix = {"capacity": 5, "customers": [{"demand": 3}], "distances": [[0, 7], [7, 0]]}
    path = save(tmp_path, "m.json", json.dumps(matrix))

    result = invoke("solve", path, "--model", model, "--json")

    assert json.loads(result.stdout)[0]["method"] == "savings"
    assert "need coordinates" in result.stderr


# Improving


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (("--improve", "none"), "savings"),
        (("--improve", "2opt"), "savings + 2opt"),
        (("--improve", "local", "--threads", "1"), "savings + local search"),
        (("--iterations", "30"), "savings + search 30 iterations"),
        (("--improve", "search", "--iterations", "30", "--time-limit", "1000"), "savings + search 1000 s"),
    ],
)
def test_routes_are_improved_as_the_options_say(tmp_path: Path, options: tuple[str, ...], method: str) -> None:
    path = generate(tmp_path / "many.npz", size=15, count=3)
    before = invoke_json("solve", path, "--model", "savings")

    after = invoke_json("solve", path, "--model", "savings", *options)

    for instance, first, document in zip(read_set(path), before, after, strict=True):
        assert document["method"] == method
        assert document["cost"] <= first["cost"]
        assert check(instance, Solution(document["routes"], document["cost"])) == []


def test_json_of_a_search_tells_its_course(tmp_path: Path) -> None:
    (document,) = invoke_json("solve", save(tmp_path, "a.vrp", INSTANCE), "--iterations", "30")

    assert list(document)[:9] == ["instance", "cost", "routes", "loads", "seconds", "method", "model", "ids", "unit"]
    assert (document["iterations"], document["interrupted"]) == (30, False)
    assert document["trace"][-1][1] == document["cost"]


def test_improvement_of_one_instance_is_noted(tmp_path: Path) -> None:
    path = generate(tmp_path / "one.vrp", size=60)

    result = invoke("solve", path, "--model", "savings", "--iterations", "3000")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: search 3000 iterations: ")
    assert "%)" in result.stderr


def test_improvement_of_many_instances_is_in_their_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = generate(tmp_path / "many.npz", size=60, count=3)

    result = invoke("solve", path, "--model", "savings", "--iterations", "3000")

    assert (result.exit_code, result.stderr) == (0, "")
    headings, *rows, summary = result.stdout.splitlines()
    assert headings.split() == ["Instance", "Customers", "Routes", "First", "cost", "Cost", "How"]
    assert all(float(row.split()[4]) < float(row.split()[3]) for row in rows)
    assert "% by improvement)" in summary


def test_known_solution_is_improved_and_never_made_worse(tmp_path: Path) -> None:
    path = generate(tmp_path / "one.vrp", size=30)
    first = invoke_json("solve", path, "--model", "savings", "--out", tmp_path / "first.sol")[0]

    (local,) = invoke_json("solve", path, "--start", tmp_path / "first.sol", "--improve", "local")
    (searched,) = invoke_json("solve", path, "--start", tmp_path / "first.sol", "--iterations", "100")

    for document in (local, searched):
        assert document["method"].startswith("start + ")
        assert document["trace"][0][1] == pytest.approx(first["cost"])
        assert document["cost"] <= first["cost"] * (1 + 1e-9)


def test_results_in_a_folder_are_where_the_next_search_starts(tmp_path: Path) -> None:
    path = generate(tmp_path / "many.npz", count=3)
    before = invoke_json("solve", path, "--model", "savings", "--out", tmp_path / "solutions")

    after = invoke_json("solve", path, "--start", tmp_path / "solutions", "--iterations", "10")

    firsts = [document["trace"][0][1] for document in after]
    assert firsts == pytest.approx([document["cost"] for document in before])


def test_target_that_the_start_reaches_ends_the_search_at_once(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)

    (document,) = invoke_json("solve", path, "--target", "14", "--iterations", "1000000000000")

    assert document["cost"] == 14


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_trace_is_the_one_of_the_json(tmp_path: Path, suffix: str) -> None:
    path, trace = generate(tmp_path / "one.vrp", size=60), tmp_path / f"trace{suffix}"

    (document,) = invoke_json("solve", path, "--iterations", "2000", "--trace", trace)

    lines = trace.read_text().splitlines()
    if suffix == ".csv":
        points = [[float(cell) for cell in line.split(",")] for line in lines[1:]]
    else:
        points = [list(json.loads(line).values()) for line in lines]
    assert points == document["trace"]
    assert len(points) > 1


def test_picture_after_a_search_is_taller_by_the_trace(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)
    for name, options in (("plain", ("--fast",)), ("searched", ("--iterations", "10"))):
        assert invoke("solve", path, "--plot", tmp_path / f"{name}.svg", *options).exit_code == 0

    assert "seconds" not in svg_texts(tmp_path / "plain.svg")
    assert {"seconds", "cost"} <= svg_texts(tmp_path / "searched.svg")


def svg_texts(path: Path) -> set[str]:
    """Matplotlib draws letters as paths, and writes the text as a comment."""
    return set(re.findall(r"<!-- (.*?) -->", path.read_text()))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--time-limit", "0"), "--time-limit"),
        (("--time-limit", "nan"), "--time-limit"),
        (("--time-limit", "inf"), "--time-limit"),
        (("--improve", "local", "--time-limit", "2"), "only a search"),
        (("--total-time", "0"), "--total-time"),
        (("--improve", "2opt", "--total-time", "2"), "only a search"),
        (("--time-limit", "1", "--total-time", "1"), "--total-time"),
        (("--iterations", "0"), "--iterations"),
        (("--threads", "0"), "--threads"),
        (("--fast", "--trace", "a.csv"), "only a search"),
        (("--fast", "--time-limit", "1"), "--fast"),
        (("--trace", "a.txt"), "--trace"),
        (("--time-limit", "1", "--trace", "a.txt"), "--trace"),
        (("--time-limit", "1", "--trace", "none/a.csv"), "does not exist"),
    ],
)
def test_options_on_improving_are_judged_before_files_are_read(
    tmp_path: Path, options: tuple[str, ...], word: str
) -> None:
    assert_refused(invoke("solve", tmp_path / "none.vrp", *options), word)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ("start", "nothing improves them")),
        (("--time-limit", "1", "--model", "savings"), ("start", "no model is needed")),
    ],
)
def test_start_that_cannot_be_obeyed_is_refused(
    tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    start = save(tmp_path, "a.sol", RIGHT_SOLUTION)

    assert_refused(invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--start", start, *options), *words)


def test_wrong_start_is_refused_with_its_file(tmp_path: Path) -> None:
    start = save(tmp_path, "wrong.sol", WRONG_SOLUTION)

    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--start", start, "--time-limit", "1")

    assert_refused(result, "wrong.sol", "already visited")


def test_search_is_shown_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a stream pass for a terminal

    result = invoke("solve", save(tmp_path, "a.vrp", INSTANCE), "--iterations", "10", "--json")

    assert "searching: cost 14" in result.stderr
    assert len(json.loads(result.stdout)) == 1


# What is done when nothing is asked for


@pytest.mark.parametrize(("count", "is_searched"), [(1, True), (4, True), (5, False)])
def test_up_to_four_instances_are_searched_by_default(tmp_path: Path, count: int, is_searched: bool) -> None:
    documents = invoke_json("solve", generate(tmp_path / "some.npz", count=count))

    assert [document["method"].endswith("search 0.1 s") for document in documents] == [is_searched] * count


@pytest.mark.parametrize(
    "options", [("--fast",), ("--model", "savings"), ("--improve", "none"), ("--improve", "local"), ("--augment",)]
)
def test_whoever_asks_for_something_else_waits_for_no_search(tmp_path: Path, options: tuple[str, ...]) -> None:
    (document,) = invoke_json("solve", save(tmp_path, "a.vrp", INSTANCE), *options)

    assert not document["method"].endswith(" s")


def test_a_search_that_nobody_asked_for_has_a_trace_if_one_is_wanted(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE)

    assert invoke("solve", path, "--trace", tmp_path / "cost.csv").exit_code == 0

    assert (tmp_path / "cost.csv").read_text().startswith("seconds,cost\n")


def test_a_trace_of_more_than_are_searched_by_default_is_refused(tmp_path: Path) -> None:
    many = generate(tmp_path / "many.npz", count=5)

    assert_refused(invoke("solve", many, "--trace", tmp_path / "cost.csv"), "only a search")


# Options and interrupts


@pytest.mark.parametrize("options", [("--fast",), ("--improve", "local"), ("--iterations", "5", "--seed", "1")])
def test_options_are_put_together_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    path, made = save(tmp_path, "a.vrp", INSTANCE), []
    monkeypatch.setattr(SolveOptions, "_refuse_void_limits", lambda self: made.append(self))

    assert invoke("solve", path, *options).exit_code == 0

    assert len(made) == 1


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A pipe to write the trace to, so that its lines can be awaited."""
    path = tmp_path / "trace.csv"
    os.mkfifo(path)
    return path


def interrupt_search(
    path: Path, trace: Path, *options: str | Path, program: Sequence[str] = ("-m", "dynaroute")
) -> tuple[int, str, str]:
    """Search without end, interrupt after the first improvements, and give the exit code, stdout and stderr."""
    command = [sys.executable, *program, "solve", path, "--iterations", "1000000000000", "--trace", trace, *options]
    with (
        subprocess.Popen(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        trace.open() as lines,
    ):
        for _ in range(4):
            lines.readline()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("count", [1, 3])
def test_interrupted_search_writes_and_prints_its_best(tmp_path: Path, trace: Path, count: int) -> None:
    path = generate(tmp_path / "set.npz", size=60, count=count)
    picture: list[str | Path] = ["--plot", tmp_path / "a.png"] if count == 1 else []
    out = tmp_path / ("a.sol" if count == 1 else "solutions")

    code, stdout, stderr = interrupt_search(path, trace, "--json", "--out", out, *picture)

    assert code == 130
    assert "the best routes so far" in stderr
    files = [out] if count == 1 else [out / f"set-{number}.sol" for number in range(1, count + 1)]
    for instance, document, file in zip(read_set(path), json.loads(stdout), files, strict=True):
        assert document["interrupted"]
        assert check(instance, Solution(document["routes"], document["cost"])) == []
        assert [list(route) for route in read_solution(file).routes] == document["routes"]
    assert not picture or (tmp_path / "a.png").exists()


def test_second_interrupt_quits_at_once(tmp_path: Path, trace: Path) -> None:
    path, out = generate(tmp_path / "one.vrp", size=60), tmp_path / "a.sol"
    # the first interrupt ends the search; the second comes when its routes are about to be written
    program = (
        "import os, signal, dynaroute.cli.commands.solve as command\n"
        "command.write_results = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from dynaroute.cli import main; main()"
    )

    code, stdout, stderr = interrupt_search(path, trace, "--out", out, program=["-c", program])

    assert (code, stdout) == (130, "")
    assert stderr == "Interrupted. No file was left half-written.\n"
