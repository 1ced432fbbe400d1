"""What an attack on the first round found: each test has the number of its finding."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import shutil
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import INSTANCE, RIGHT_SOLUTION, assert_refused, execute, invoke, save

from dynaroute.model import ModelCard, Policy
from dynaroute.training.run.trainer import LAST

BUDGET = ("--iterations", "1", "--threads", "1")
ESCAPE = "\x1b]0;gone\x07\x1b[2J"
TINY = ("--size", "2", "--samples", "2", "--instances", "2", "--validation-count", "2", "--device", "cpu")


def take_picture(folder: Path) -> dict[str, bytes]:
    """All files of a folder, and what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# 8: nothing that is read is written, and nothing twice


def link(folder: Path, name: str, target: str, how: str) -> Path:
    """Another name of a file: a symbolic link, a link to a link, or a hard link."""
    path = folder / name
    if how == "hard link":
        os.link(folder / target, path)
    elif how == "link to a link":
        (folder / "between").symlink_to(target)
        path.symlink_to("between")
    else:
        path.symlink_to(target)
    return path


@pytest.fixture
def work(tmp_path: Path, model: Path) -> Path:
    """A folder with an instance in two formats, a solution, and a model."""
    save(tmp_path, "a.vrp", INSTANCE)
    save(tmp_path, "a.csv", "# capacity: 10\nid,x,y,demand\n0,0,0,0\n1,3,4,2\n2,3,0,7\n3,-1,0,9\n")
    save(tmp_path, "a.sol", RIGHT_SOLUTION)
    shutil.copytree(model, tmp_path / "model")
    return tmp_path


def test_15_8_a_trace_does_not_replace_the_instance(work: Path) -> None:
    before = take_picture(work)
    assert_refused(invoke("solve", work / "a.csv", *BUDGET, "--trace", work / "a.csv"), "--trace", "a.csv", "input")
    assert take_picture(work) == before


@pytest.mark.parametrize("how", ["symbolic link", "link to a link", "hard link"])
@pytest.mark.parametrize(
    ("option", "name"), [("--trace", "l.csv"), ("--trace", "l.jsonl"), ("--plot", "l.png"), ("--out", "l.sol")]
)
@pytest.mark.parametrize("target", ["a.vrp", "a.sol", "model/config.json", "model/model.safetensors"])
def test_15_8_no_output_of_solve_is_an_input_by_another_name(
    work: Path, option: str, name: str, target: str, how: str
) -> None:
    linked = link(work, name, target, how)
    before = take_picture(work)
    options: list[str | Path] = ["--start", work / "a.sol", "--model", work / "model", *BUDGET]
    assert_refused(invoke("solve", work / "a.vrp", *options, option, linked), option, Path(target).name)
    assert take_picture(work) == before


def test_15_8_relative_and_absolute_paths_are_the_same_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    before = take_picture(work)
    for name in ("./a.csv", "model/../a.csv", str(work / "a.csv")):
        assert_refused(invoke("solve", "a.csv", *BUDGET, "--trace", name), "--trace")
    assert take_picture(work) == before


def test_15_8_two_outputs_are_not_one_file(work: Path) -> None:
    (work / "l.png").symlink_to("trace.csv")  # which is not there yet
    options: list[str | Path] = [*BUDGET, "--trace", work / "trace.csv", "--plot", work / "l.png"]
    assert_refused(invoke("solve", work / "a.vrp", *options), "--plot", "--trace")
    assert not (work / "trace.csv").exists()


def test_15_8_a_folder_of_results_does_not_replace_what_its_links_lead_to(work: Path) -> None:
    (work / "out").mkdir()
    (work / "out" / "a.sol").symlink_to("../a.vrp")
    before = take_picture(work)
    assert_refused(invoke("solve", work / "a.vrp", "--model", "savings", "--out", work / "out"), "--out")
    assert take_picture(work) == before


def test_15_8_known_routes_are_not_replaced(work: Path) -> None:
    before = take_picture(work)
    for place in (work, work / "a.sol"):
        assert_refused(invoke("solve", work / "a.vrp", "--start", place, *BUDGET, "--out", place), "--out", "a.sol")
    assert take_picture(work) == before


@pytest.mark.parametrize("how", ["symbolic link", "hard link"])
def test_15_8_a_file_is_not_converted_onto_itself(work: Path, how: str) -> None:
    linked = link(work, "l.json", "a.csv", how)
    before = take_picture(work)
    assert_refused(invoke("convert", work / "a.csv", work / "a.csv"), "input", "Name another file")
    assert_refused(invoke("convert", work / "a.csv", linked), "input")
    assert take_picture(work) == before


@pytest.mark.parametrize("target", ["a.vrp", "a.sol"])
def test_15_8_a_picture_does_not_replace_what_it_shows(work: Path, target: str) -> None:
    linked = link(work, "l.png", target, "symbolic link")
    before = take_picture(work)
    assert_refused(invoke("plot", work / "a.vrp", work / "a.sol", "--out", linked), "--out")
    assert take_picture(work) == before


def test_15_8_a_run_does_not_replace_the_model_it_starts_from_nor_its_plan(work: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--out", work / "run").exit_code == 0
    (work / "new").mkdir()
    shutil.copy(work / "run" / "plan.toml", work / "new" / "plan.toml")
    before = take_picture(work)
    assert_refused(invoke("train", *TINY, "--init", work / "model", "--out", work / "model"), "--out")
    assert_refused(invoke("train", "--config", work / "new" / "plan.toml", "--out", work / "new"), "--out", "plan.toml")
    assert take_picture(work) == before


@pytest.mark.parametrize("name", ["README.md", "model.safetensors", "config.json"])
def test_15_8_a_run_does_not_replace_what_is_in_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("dear to someone")
    assert_refused(invoke("train", *TINY, "--updates", "1", "--out", tmp_path), name)
    assert (tmp_path / name).read_text() == "dear to someone"


# 9: sizes are judged by what they become


def write_npz(path: Path, count: int, size: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        shapes = {"depot": (count, 2), "locs": (count, size, 2), "demand": (count, size), "capacity": (count,)}
        for key, shape in shapes.items():
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(header, {"descr": "|i1", "fortran_order": False, "shape": shape})
            with archive.open(f"{key}.npy", "w") as member:
                member.write(header.getvalue())
                for start in range(0, int(np.prod(shape)), 1 << 24):
                    member.write(b"\1" * min(1 << 24, int(np.prod(shape)) - start))


def repeat_instance(count: int, size: int) -> bytes:
    """A pickle that shares one instance, and in it one customer."""
    place = [0.5, 0.5]
    return pickle.dumps([(place, [place] * size, [1] * size, 50.0)] * count)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("customers.npz", lambda path: write_npz(path, 1, 50_000_000)),
        ("instances.npz", lambda path: write_npz(path, 1_000_000, 1)),
        ("both.npz", lambda path: write_npz(path, 10_000, 5_000)),
        ("shared.pkl", lambda path: path.write_bytes(repeat_instance(400_000, 2))),
        ("customers.pkl", lambda path: path.write_bytes(repeat_instance(1000, 30_000))),
        ("marks.pkl", lambda path: path.write_bytes(b"\x80\x02" + b"(" * 30_000_000 + b".")),
        ("cells.csv", lambda path: path.write_bytes(b"# capacity: 5\nid,x,y,demand\n" + b"1,2,3,4\n" * 4_000_000)),
        ("bars.csv", lambda path: path.write_bytes(b"sep=|\nx|y|demand" + b"|a" * 15_000_000)),
        ("feeds.vrp", lambda path: path.write_bytes(b"EDGE_WEIGHT_SECTION\n" + b"12\f" * 15_000_000)),
        ("objects.json", lambda path: path.write_bytes(b"[" + b"{}," * 8_000_000 + b"{}]")),
        ("tokens.vrp", lambda path: path.write_bytes(b"EDGE_WEIGHT_SECTION\n" + b"12 " * 15_000_000)),
        ("tokens.sol", lambda path: path.write_bytes(b"Route #1:" + b" 77" * 15_000_000)),
    ],
)
def test_15_9_a_small_file_that_becomes_large_is_refused_at_once(
    tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    make(tmp_path / name)
    done = execute("info", tmp_path / name, preexec_fn=limit_memory, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "limit" in done.stderr
    assert "dynaroute --limits" in done.stderr
    assert done.stderr.count("\n") == 1


def test_15_9_limits_are_raised_by_an_option_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.base.limits.MOST_INSTANCES", 2)
    (tmp_path / "set.pkl").write_bytes(repeat_instance(3, 2))
    assert_refused(invoke("info", tmp_path / "set.pkl"), "3 instances, more than the limit of 2")
    assert invoke("--limits", "1.5", "info", tmp_path / "set.pkl").exit_code == 0
    assert_refused(invoke("info", tmp_path / "set.pkl"), "limit")  # the option is for one command
    monkeypatch.setenv("DYNAROUTE_LIMITS", "2")
    assert invoke("info", tmp_path / "set.pkl").exit_code == 0
    monkeypatch.setenv("DYNAROUTE_LIMITS", "many")
    assert_refused(invoke("info", tmp_path / "set.pkl"), "DYNAROUTE_LIMITS", "'many'")


def test_15_9_what_is_drawn_is_limited_too(tmp_path: Path) -> None:
    result = invoke("generate", "--size", "1000000000", "--count", "1000", "--out", tmp_path / "a.npz")
    assert_refused(result, "limit")
    assert not (tmp_path / "a.npz").exists()


def test_15_9_a_dimension_that_no_row_fills_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "a.vrp", INSTANCE.replace("DIMENSION : 4", "DIMENSION : 1000000000"))
    assert_refused(invoke("info", path), "DIMENSION")


def test_15_9_tensors_that_repeat_one_number_are_refused(tmp_path: Path) -> None:
    weight = torch.zeros(1).expand(10**12)
    torch.save({"model": {"project_node_embeddings.weight": weight}}, tmp_path / "a.pt")
    assert_refused(invoke("import-kool", tmp_path / "a.pt", tmp_path / "out"), "limit")


# 10: a pipe, a device, a socket or a folder in the place of a file is refused, and never waited for


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def put_folder(path: Path) -> None:
    path.mkdir()


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(path))  # the address of a socket is short


@pytest.mark.parametrize("put", [put_pipe, put_device, put_folder, put_socket])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("model/config.json", ["solve", "a.vrp", "--model", "model"]),
        ("model/model.safetensors", ["solve", "a.vrp", "--model", "model"]),
        ("plan.toml", ["train", "--config", "plan.toml", "--out", "new"]),
        ("run/plan.toml", ["train", "--resume", "run"]),
        ("run/last.pt", ["train", "--resume", "run", "--device", "cpu"]),
        ("run/metrics.jsonl", ["train", "--resume", "run", "--device", "cpu"]),
        ("weights.pt", ["import-kool", "weights.pt", "new"]),
        ("page.md", ["reproduce", "--into", "page.md"]),
        ("a.sol", ["check", "a.vrp", "a.sol"]),
        ("costs.txt", ["evaluate", "--data", "a.vrp", "--model", "model", "--reference", "costs.txt"]),
        ("trace.csv", ["solve", "a.vrp", *BUDGET, "--trace", "trace.csv"]),
        ("new.npz", ["convert", "a.vrp", "new.npz"]),
    ],
)
def test_15_10_what_is_no_file_is_refused_by_name(
    work: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: list[str], put: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(work)
    shutil.copytree(RUN, "run")
    path = Path(name)
    if path.is_file():
        path.unlink()
    put(path)
    result = invoke(*command)
    assert result.exit_code == 2
    assert "error: " in result.stderr
    assert path.name in result.stderr
    assert "bug in Dynaroute" not in result.stderr


RUN = Path(__file__).parents[1] / "data" / "written_by_0.1.0" / "run"


def test_15_10_a_file_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynaroute.base import files
    from dynaroute.base.errors import FileError

    monkeypatch.setattr(files, "_refuse_unusual", lambda *_: None)  # as for a file that grows while it is read
    with pytest.raises(FileError, match="more than the limit"):
        files.read_bytes(Path("/dev/zero"), 1_000_000)


# 11: text of others is escaped and shortened


def assert_plain(text: str) -> None:
    """No control character but the ends of lines, and nothing that turns text around."""
    assert [character for character in text if character != "\n" and not character.isprintable()] == []


def test_15_11_names_of_an_instance_reach_no_terminal_as_they_are(tmp_path: Path, model: Path) -> None:
    document = {
        "name": "good\u202egnp.exe" + "x" * 100_000,
        "capacity": 10,
        "depot": {"x": 0, "y": 0},
        "customers": [{"id": f"{number}\u202e", "x": number, "y": 1, "demand": 3} for number in range(4)],
        ESCAPE: 1,
    }
    path = save(tmp_path, "a.json", json.dumps(document))
    picture = tmp_path / "a.png"
    commands: list[list[str | Path]] = [
        ["info", path],
        ["solve", path, "--model", model],
        ["plot", path, "--out", picture],
    ]
    for command in commands:
        result = invoke(*command)
        assert result.exit_code == 0, result.stderr
        assert_plain(result.output)
        assert len(result.output) < 5000
    told = json.loads(invoke("info", path, "--json").stdout)
    assert told["name"] == document["name"]  # what programs read is exact


def test_15_11_columns_are_shortened_and_escaped(tmp_path: Path) -> None:
    columns = ",".join(["x", "y", "demand", "\x7f\x9b31m", *map(str, range(2_000))])
    row = ",".join(["1"] * (2_004 - 3))
    path = save(tmp_path, "a.csv", f"# capacity: 9\n{columns}\n0,0,0,{row}\n1,1,1,{row}\n")
    result = invoke("info", path)
    assert result.exit_code == 0
    assert "and 1,991 more" in result.stderr
    assert_plain(result.output)
    assert len(result.output) < 5000


@pytest.mark.parametrize("noun", ["keys", "fields", "lines"])
def test_15_11_notes_about_many_things_are_few(tmp_path: Path, noun: str) -> None:
    names = [f"unknown{number}" for number in range(50_000)]
    content = {
        "keys": ("a.json", json.dumps({"routes": [[1]], **dict.fromkeys(names, 1)})),
        "fields": ("a.vrp", "".join(f"{name} : 1\n" for name in names) + INSTANCE),
        "lines": ("a.sol", RIGHT_SOLUTION + "\n".join(names)),
    }[noun]
    result = invoke("info", save(tmp_path, *content))
    assert result.exit_code == 0, result.stderr
    assert "and so on, 49,995 more." in result.stderr
    assert result.stderr.count("\n") == 6


def test_15_11_names_within_an_archive_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    zero = np.zeros((1, 2))
    np.savez(path, depot=zero, locs=zero[None], demand=np.ones((1, 1)), capacity=np.ones(1))
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(5000):
            archive.writestr(f"{number}{ESCAPE}.npy", b"")
    result = invoke("info", path)
    assert result.exit_code == 0
    assert "and 4,990 more" in result.stderr
    assert_plain(result.output)


def test_15_11_a_models_card_is_escaped(tmp_path: Path, model: Path) -> None:
    policy = Policy.from_pretrained(model)
    policy.card = ModelCard(name=f"[bold red]{ESCAPE}[/]")
    policy.save_pretrained(tmp_path / "model")
    path = save(tmp_path, "a.vrp", INSTANCE)
    result = invoke("solve", path, "--model", tmp_path / "model")
    assert result.exit_code == 0
    assert "[bold red]\\x1b]0;gone\\x07" in result.stdout  # neither obeyed nor taken for markup
    assert_plain(result.output)


@pytest.mark.parametrize("suffix", [".vrp", ".csv", ".json", ".sol", ".npz", ".pkl", ".pt", ".toml", ".safetensors"])
def test_15_11_a_files_name_is_escaped(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path, f"{ESCAPE}{suffix}", "cannot be read")
    result = invoke("info", path)
    assert_refused(result, "\\x1b]0;gone")
    assert_plain(result.output)


def test_15_11_excerpts_of_faulty_files_are_escaped_and_short(tmp_path: Path) -> None:
    faulty = "\u202e" * 10_000
    cases = {
        "a.json": json.dumps({faulty + "max": 1, "capacity": 1, "depot": {}, "customers": [{}]}),
        "a.vrp": INSTANCE.replace("TYPE : CVRP", f"TYPE : {faulty}"),
        "a.csv": f"# capacity: {faulty}\nx,y,demand\n0,0,0\n1,1,1\n",
        "a.sol": f"Route #1: {faulty}",
    }
    for name, text in cases.items():
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        result = invoke("info", path)
        assert_refused(result, name)
        assert_plain(result.output)
        assert len(result.stderr) < 5000


# 12: checkpoints, plans and weights are what they were


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has ended."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert invoke("train", *TINY, "--updates", "3", "--out", run).exit_code == 0
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "run")


def refuse_resuming(run: Path, *words: str) -> None:
    result = invoke("train", "--resume", run, "--device", "cpu", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    *_, error = result.stderr.splitlines()  # before it, a note tells that there is no GPU
    assert json.loads(error).keys() == {"code", "message", "where", "remedy"}
    for word in words:
        assert word in error


def change_record(run: Path, **changes: Any) -> None:
    contents = torch.load(run / LAST, weights_only=True)
    torch.save({**contents, **changes}, run / LAST)


@pytest.mark.parametrize("value", ["3", -2, float("nan"), None, True, 2.5, 10**30], ids=str)
@pytest.mark.parametrize("name", ["step", "trajectories", "validated", "validated_step", "best_step", "stage"])
def test_15_12_counts_of_a_checkpoint_are_checked(run: Path, name: str, value: object) -> None:
    change_record(run, **{name: value})
    refuse_resuming(run, "last.pt", name)


@pytest.mark.parametrize("value", ["3", -2.0, float("nan"), float("-inf"), None, True, [3.0]], ids=str)
@pytest.mark.parametrize("name", ["seconds", "rate", "best_length"])
def test_15_12_amounts_of_a_checkpoint_are_checked(run: Path, name: str, value: object) -> None:
    change_record(run, **{name: value})
    refuse_resuming(run, "last.pt", name)


@pytest.mark.parametrize("part", ["policy", "optimiser"])
def test_15_12_tensors_of_a_checkpoint_are_finite(run: Path, part: str) -> None:
    contents = torch.load(run / LAST, weights_only=True)
    state = contents[part] if part == "policy" else contents[part]["rest"]["adam"][0]
    next(tensor for tensor in state.values() if tensor.ndim).fill_(torch.nan)
    torch.save(contents, run / LAST)
    refuse_resuming(run, "last.pt", part, "not finite")


@pytest.mark.parametrize("change", [{"best_length": 0.5}, {"trajectories": 1}, {"step": 4}], ids=str)
def test_35_c4_a_checkpoint_with_another_record_is_refused(run: Path, change: dict[str, Any]) -> None:
    change_record(run, **change)
    refuse_resuming(run, "last.pt", "was changed after it was written", "best.pt")


@pytest.mark.parametrize("value", ["text", None, {"state": 1}], ids=str)
@pytest.mark.parametrize("part", ["policy", "optimiser", "generator", "ancestor"])
def test_15_12_parts_of_a_checkpoint_are_what_they_should_be(run: Path, part: str, value: object) -> None:
    change_record(run, **{part: value})
    refuse_resuming(run, "last.pt")


@pytest.mark.parametrize(
    ("line", "changed", "setting"),
    [("updates = 3", "updates = 30", "updates"), ("samples = 2", "samples = 4", "samples"), ("seed = 1", "", "seed")],
)
def test_15_12_a_plan_that_was_changed_is_refused_by_name(run: Path, line: str, changed: str, setting: str) -> None:
    path = run / "plan.toml"
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, changed.replace("seed = 1", "seed = 2") or "seed = 2"))
    before = take_picture(run)
    refuse_resuming(run, "plan.toml", setting, "was changed", "Change it back", "--config")
    assert take_picture(run) == before


def test_15_12_a_plan_that_was_changed_is_refused_on_a_run_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.cli.training.run.note_interrupt", lambda *_: _stop_at_once())
    assert invoke("train", *TINY, "--updates", "9", "--out", tmp_path / "run").exit_code == 130
    monkeypatch.undo()
    path = tmp_path / "run" / "plan.toml"
    path.write_text(path.read_text().replace("updates = 9", "updates = 8"))
    refuse_resuming(tmp_path / "run", "plan.toml", "updates is 8")


def test_15_12_comments_in_a_plan_change_nothing(run: Path) -> None:
    path = run / "plan.toml"
    path.write_text("# how it was done\n" + path.read_text())
    assert invoke("train", "--resume", run, "--device", "cpu").exit_code == 0


def test_15_12_weights_that_are_not_those_of_the_card_are_refused(tmp_path: Path, model: Path) -> None:
    shutil.copytree(model, tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1  # finite still, and of the same shape
    weights.write_bytes(content)
    path = save(tmp_path, "a.vrp", INSTANCE)
    result = invoke("solve", path, "--model", tmp_path / "model")
    assert_refused(result, "model.safetensors", "hash", "config.json")


def test_15_12_what_ships_has_a_hash() -> None:
    from hashlib import sha256

    from dynaroute.weights import find_model, shipped_models

    for name in shipped_models():
        digest = sha256((find_model(name) / "model.safetensors").read_bytes()).hexdigest()
        assert json.loads((find_model(name) / "config.json").read_text())["weights_sha256"] == [digest]
        assert digest in (find_model(name) / "README.md").read_text()


def test_15_12_a_model_that_is_being_saved_can_be_read_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from policies import make_policy

    from dynaroute.base.files import write_bytes

    first, second = make_policy(), make_policy()
    with torch.no_grad():
        next(second.parameters()).mul_(2)
    first.save_pretrained(tmp_path)
    seen = []

    def write_and_read(path: Path, content: bytes) -> None:
        write_bytes(path, content)
        seen.append(Policy.from_pretrained(tmp_path))

    monkeypatch.setattr("dynaroute.model.policy.write_bytes", write_and_read)
    second.save_pretrained(tmp_path)
    assert len(seen) == 4


# 13: lengths that would vanish, or overflow, are refused by name


@pytest.mark.parametrize("unit", ["1e-160", "5e-324", "1e-151", "1e160", "1e308"])
@pytest.mark.parametrize("kind", ["EUC_2D", "CEIL_2D", "EXACT_2D"])
def test_15_13_positions_that_cannot_be_measured_are_refused(tmp_path: Path, unit: str, kind: str) -> None:
    text = INSTANCE.replace("EUC_2D", kind).replace("2 3 4\n", f"2 {unit} 0\n").replace("3 3 0\n", f"3 0 {unit}\n")
    path = save(tmp_path, "a.vrp", text.replace("4 -1 0\n", "4 0 0\n"))
    solution = save(tmp_path, "a.sol", "Route #1: 1 2\nRoute #2: 3\nCost 0\n")
    assert_refused(invoke("check", path, solution), "compute")
    assert_refused(invoke("solve", path, "--model", "savings"), "compute")


def test_15_13_small_units_have_their_costs(tmp_path: Path) -> None:
    rows = "".join(f"{number},{x}e-149,0,1\n" for number, x in enumerate((1, 2, 4), start=1))
    path = save(tmp_path, "a.csv", f"# capacity: 9\nid,x,y,demand\n0,0,0,0\n{rows}")
    result = invoke("solve", path, "--model", "savings", "--out", tmp_path / "a.sol", "--json")
    assert json.loads(result.stdout)[0]["cost"] == pytest.approx(8e-149, rel=1e-12)
    assert invoke("check", path, tmp_path / "a.sol").exit_code == 0
    (tmp_path / "a.sol").write_text("Route #1: 1 2 3\nCost 0.0\n")
    assert invoke("check", path, tmp_path / "a.sol").exit_code == 1


# 14: n has a clear limit


def test_15_14_too_many_customers_for_the_memory_are_refused_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.base.limits.find_free_memory", lambda: 8_000_000_000)
    monkeypatch.setattr("dynaroute.base.limits.LARGEST_MATRIX", 10**6)  # as if all legs had to be measured beforehand
    path = tmp_path / "large.npz"
    assert invoke("generate", "--size", "100000", "--out", path).exit_code == 0
    words = ("100,000 customers", "GB of memory", "8.0 GB are free", "customers are possible here")
    for options in ([], ["--model", "savings"], ["--model", "amd-100", "--improve", "local"]):
        assert_refused(invoke("solve", path, *options), *words)
    assert_refused(invoke("solve", path, *BUDGET), *words, "29,814")


def test_15_14_commands_that_need_no_matrix_take_a_hundred_thousand_customers(tmp_path: Path) -> None:
    path = tmp_path / "large.npz"
    assert invoke("generate", "--size", "100000", "--out", path).exit_code == 0
    assert "100000" in invoke("info", path).stdout
    routes = "".join(f"Route #{number}: {number}\n" for number in range(1, 100_001))
    assert invoke("check", path, save(tmp_path, "a.sol", routes)).exit_code == 0
    assert invoke("convert", path, tmp_path / "large.csv").exit_code == 0


def _stop_at_once() -> Any:
    from contextlib import nullcontext

    return nullcontext(lambda: True)
