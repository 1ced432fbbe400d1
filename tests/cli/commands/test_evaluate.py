from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from command_line import INSTANCE, RIGHT_SOLUTION, assert_refused, invoke, invoke_json, save
from policies import draw_instances

from dynaroute import write

pytestmark = pytest.mark.usefixtures("shelf")

KEYS = ["count", "mean_length", "standard_error", "seconds_per_instance"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "set.json"
    write(draw_instances(5, 12, 8, 9, seed=1), path)
    return path


def solve_costs(data: Path, *options: str | Path) -> list[float]:
    return [document["cost"] for document in invoke_json("solve", data, *options)]


def test_json_has_the_promised_keys(data: Path, model: Path) -> None:
    document = invoke_json("evaluate", "--data", data, "--model", model)

    assert list(document) == [*KEYS, "model", "decoding"]
    assert document["count"] == 4
    assert document["seconds_per_instance"] > 0


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--augment",),
        ("--decode", "multistart", "--samples", "3"),
        ("--decode", "sample", "--samples", "5", "--temperature", "0.5", "--seed", "7"),
        ("--improve", "2opt"),
        ("--improve", "local", "--threads", "1"),
        ("--iterations", "20", "--seed", "7"),
    ],
)
def test_mean_length_is_that_of_the_routes_that_solve_builds(data: Path, model: Path, options: tuple[str, ...]) -> None:
    costs = solve_costs(data, "--model", model, *options)

    document = invoke_json("evaluate", "--data", data, "--model", model, *options)

    assert document["mean_length"] == pytest.approx(statistics.fmean(costs))
    assert document["standard_error"] == pytest.approx(statistics.stdev(costs) / 2)


def test_gap_to_a_mean_length_is_a_fraction(data: Path, model: Path) -> None:
    document = invoke_json("evaluate", "--data", data, "--model", model, "--reference", "2.5")

    assert list(document) == [*KEYS, "gap", "model", "decoding"]
    assert document["gap"] == pytest.approx(document["mean_length"] / 2.5 - 1)


def test_gap_to_an_own_result_is_nothing(tmp_path: Path, data: Path, model: Path) -> None:
    assert invoke("solve", data, "--model", model, "--out", tmp_path / "all.json").exit_code == 0

    document = invoke_json("evaluate", "--data", data, "--model", model, "--reference", tmp_path / "all.json")

    assert document["gap"] == pytest.approx(0.0)


def test_limit_takes_the_first_instances_and_their_references(tmp_path: Path, data: Path, model: Path) -> None:
    costs = save(tmp_path, "costs.txt", "3\n5\n1000\n1000\n")

    document = invoke_json("evaluate", "--data", data, "--model", model, "--limit", "2", "--reference", costs)

    assert document["count"] == 2
    assert document["mean_length"] == pytest.approx(statistics.fmean(solve_costs(data, "--model", model)[:2]))
    assert document["gap"] == pytest.approx(document["mean_length"] / 4 - 1)


def test_a_mean_of_other_instances_is_noted(data: Path, model: Path) -> None:
    options: list[str | Path] = ["--data", data, "--model", model, "--reference", "5"]
    assert "only the first 2 instances are measured" in invoke("evaluate", *options, "--limit", "2").stderr
    assert "are measured" not in invoke("evaluate", *options).stderr


def test_one_instance_has_no_standard_error(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", RIGHT_SOLUTION)

    document = invoke_json("evaluate", "--data", instance, "--model", "savings", "--reference", solution)

    assert (document["count"], document["mean_length"], document["gap"]) == (1, 14, 0)
    assert document["standard_error"] is None


def test_figures_are_shown_with_the_gap_in_per_cent(tmp_path: Path) -> None:
    result = invoke("evaluate", "--data", save(tmp_path, "a.vrp", INSTANCE), "--model", "savings", "--reference", "10")

    assert result.exit_code == 0
    facts = dict(line.strip().split("  ", 1) for line in result.stdout.splitlines()[1:])
    assert facts["instances"].strip() == "1"
    assert facts["routes by"].strip() == "savings"
    assert facts["mean length"].strip() == "14"
    assert facts["gap"].strip().startswith("40.00 %")


def test_automatic_choice_without_models_says_that_it_is_savings(data: Path) -> None:
    result = invoke("evaluate", "--data", data, "--model", "auto", "--json")

    assert "savings" in result.stderr
    assert json.loads(result.stdout)["mean_length"] == pytest.approx(
        statistics.fmean(solve_costs(data, "--model", "savings"))
    )


def test_folder_of_instances_is_a_set(tmp_path: Path) -> None:
    for name in ("a.vrp", "b.vrp"):
        save(tmp_path, name, INSTANCE)

    document = invoke_json("evaluate", "--data", tmp_path, "--model", "savings")

    assert (document["count"], document["mean_length"], document["standard_error"]) == (2, 14, 0)


def test_progress_goes_to_a_terminal_and_never_to_stdout(
    data: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes a stream pass for a terminal

    result = invoke("evaluate", "--data", data, "--model", model, "--json")

    assert "4/4" in result.stderr
    assert json.loads(result.stdout)["count"] == 4


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--model", "absent"), "absent"),
        (("--model", "savings", "--augment"), "--augment"),
        (("--model", "savings", "--reference", "0"), "reference"),
        (("--model", "savings", "--reference", "-3"), "reference"),
        (("--model", "savings", "--reference", "none.txt"), "none.txt"),
        (("--model", "auto", "--samples", "3"), "--samples"),
        (("--model", "auto", "--time-limit", "-3"), "--time-limit"),
        (("--model", "auto", "--improve", "2opt", "--time-limit", "3"), "--time-limit"),
    ],
)
def test_wrong_options_are_refused(data: Path, options: tuple[str, ...], word: str) -> None:
    assert_refused(invoke("evaluate", "--data", data, *options), word)


def test_policy_is_not_evaluated_on_what_it_cannot_read(tmp_path: Path, model: Path) -> None:
    matrix = {"capacity": 5, "customers": [{"demand": 3}], "distances": [[0, 7], [7, 0]]}
    path = save(tmp_path, "m.json", json.dumps(matrix))

    assert_refused(invoke("evaluate", "--data", path, "--model", model), "no coordinates")
    assert invoke_json("evaluate", "--data", path, "--model", "savings")["mean_length"] == 14


@pytest.fixture
def benchmark_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "instances"
    folder.mkdir()
    for name in ("b", "a"):
        save(folder, f"{name}.vrp", INSTANCE)
    save(folder, "best.csv", "name,best_known_cost,routes\na,14,2\nb,10,2\n")
    return folder


def test_best_known_costs_of_a_folder_give_gaps_in_per_cent(tmp_path: Path, benchmark_folder: Path) -> None:
    document = invoke_json(
        "evaluate", "--data", benchmark_folder, "--model", "savings", "--gaps", tmp_path / "gaps.csv"
    )

    assert list(document) == [*KEYS, "mean_gap", "median_gap", "worst_gap", "model", "decoding"]
    assert [document[key] for key in ("mean_gap", "median_gap", "worst_gap")] == pytest.approx([20, 20, 40])
    assert (tmp_path / "gaps.csv").read_text().splitlines() == [
        "name,customers,cost,best_known_cost,gap",
        "a,3,14,14,0.000000",
        "b,3,14,10,40.000000",
    ]


def test_a_table_that_is_named_goes_before_that_of_the_folder(tmp_path: Path, benchmark_folder: Path) -> None:
    table = save(tmp_path, "optima.csv", "name,optimum\nb,7\na,7\n")

    document = invoke_json("evaluate", "--data", benchmark_folder, "--model", "savings", "--best", table)

    assert document["worst_gap"] == pytest.approx(100)


def test_costs_of_a_set_are_taken_in_order_and_cut_with_it(tmp_path: Path, data: Path) -> None:
    costs = solve_costs(data, "--model", "savings")
    rows = "".join(f"row{number},{cost / 2}\n" for number, cost in enumerate(costs))
    table = save(tmp_path, "best.csv", f"name,best_known_cost\n{rows}")

    document = invoke_json("evaluate", "--data", data, "--model", "savings", "--best", table, "--limit", "3")

    assert (document["count"], document["mean_gap"]) == (3, pytest.approx(100))


def test_gaps_are_shown_by_size_with_the_worst_named(benchmark_folder: Path) -> None:
    write(draw_instances(150)[0], benchmark_folder / "large.vrp")
    save(benchmark_folder, "best.csv", "name,best_known_cost\na,14\nb,10\nlarge,1000\n")

    shown = invoke("evaluate", "--data", benchmark_folder, "--model", "savings").stdout

    assert "40.00 %, b" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["up", "to", "100", "2", "20.00", "20.00", "40.00"] in rows
    assert [row[:2] for row in rows[-2:]] == [["101", "to"], ["all", "3"]]


def test_gaps_without_best_known_costs_are_refused(tmp_path: Path, data: Path) -> None:
    result = invoke("evaluate", "--data", data, "--model", "savings", "--gaps", tmp_path / "gaps.csv")

    assert_refused(result, "best known costs")


def test_a_table_of_best_known_costs_in_a_folder_is_no_instance(benchmark_folder: Path) -> None:
    assert len(invoke_json("solve", benchmark_folder, "--model", "savings", "--improve", "none")) == 2


def test_15_8_gaps_do_not_replace_what_is_read(tmp_path: Path) -> None:
    instance = tmp_path / "set" / "a.vrp"
    instance.parent.mkdir()
    invoke("generate", "--size", "5", "--count", "1", "--out", str(instance))
    best = instance.parent / "best.csv"
    best.write_text("name,best_known_cost\na,3\n")
    for target in (instance, best):
        before = target.read_bytes()
        result = invoke("evaluate", "--data", str(instance.parent), "--gaps", str(target), "--model", "savings")
        assert result.exit_code == 2
        assert "is an input" in result.stderr
        assert target.read_bytes() == before


class TestSeveral:
    def options(self, model: Path) -> list[str]:
        return ["--model", str(model), "--model", str(model), "--decodings", "greedy, x8, sample 3, multistart 2 x8"]

    def test_every_model_and_decoding_is_a_row(self, data: Path, model: Path) -> None:
        documents = invoke_json("evaluate", "--data", data, *self.options(model))
        assert [document["decoding"] for document in documents[:4]] == [
            "greedy",
            "greedy x8",
            "sample 3",
            "multistart 2 x8",
        ]
        assert [document["model"] for document in documents] == [str(model)] * 8
        alone = invoke_json("evaluate", "--data", data, "--model", model, "--augment")
        assert documents[1]["mean_length"] == alone["mean_length"]

    @pytest.mark.parametrize("suffix", [".csv", ".md", ".tex"])
    def test_the_table_is_written(self, tmp_path: Path, data: Path, model: Path, suffix: str) -> None:
        out = tmp_path / f"table{suffix}"
        result = invoke("evaluate", "--data", data, *self.options(model), "--reference", "2.5", "--out", out)
        assert result.exit_code == 0
        text = out.read_text()
        assert text.count("multistart 2 x8") == 2
        assert "standard error" in text.splitlines()[2 if suffix == ".tex" else 0]
        rows = [line for line in text.splitlines() if "greedy x8" in line]
        marks = {".csv": ",", ".md": "|", ".tex": "&"}
        assert {row.count(marks[suffix]) for row in rows} == {{".csv": 6, ".md": 8, ".tex": 6}[suffix]}

    def test_one_model_has_a_table_too(self, tmp_path: Path, data: Path, model: Path) -> None:
        out = tmp_path / "one.csv"
        result = invoke("evaluate", "--data", data, "--model", model, "--out", out)
        assert result.exit_code == 0
        assert "mean length" in result.stdout
        assert len(out.read_text().splitlines()) == 2

    def test_latex_is_escaped(self, data: Path) -> None:
        from dynaroute.cli.evaluating.comparison import Compared, format_comparison
        from dynaroute.study.evaluation import Evaluation

        row = Compared("my_run & co", "greedy", Evaluation(1, 2.0, None, 0.1, None, {}))
        assert r"my\_run \& co & greedy & 1 & 2.0000 & 0.1 \\" in format_comparison([row], ".tex")

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (["--decodings", "greedily"], "greedily"),
            (["--decodings", "greedy,"], "--decodings"),
            (["--decodings", "sample 0"], "samples"),
            (["--decodings", "greedy", "--decode", "sample"], "--decode"),
            (["--out", "table.xlsx"], ".xlsx"),
        ],
    )
    def test_what_cannot_be_is_refused(self, data: Path, model: Path, options: list[str], named: str) -> None:
        assert_refused(invoke("evaluate", "--data", data, "--model", model, *options), named)
