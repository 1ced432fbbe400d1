from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import SAVINGS, SameProcess, change_column, draw, drop_checksum, read_out, routes_of, run, write_input

from dynaroute.base.errors import DynarouteError, FileError, InputWarning, OptionError, SolutionError
from dynaroute.formats import write
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.manifest import Shard
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block
from dynaroute.scale.run import BatchRequest, Progress, run_batch
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.solve import solve, solve_all


def test_every_row_has_the_routes_of_solve_and_is_checked(tmp_path: Path) -> None:
    run(write_input(tmp_path, 7), tmp_path / "out")
    expected = solve(draw(7), model="savings")
    found = read_out(tmp_path / "out")
    assert [each.routes for each in found] == [result.solution.routes for result in expected]
    assert [each.cost for each in found] == [result.cost for result in expected]
    assert all(each.checked and each.error is None and each.method == "savings" for each in found)


@pytest.mark.parametrize("make", [lambda folder: folder / "set.npz", lambda folder: folder / "set.json"])
def test_sets_of_other_formats_are_solved_too(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    write(draw(3), make(tmp_path))
    run(make(tmp_path), tmp_path / "out")
    assert [each.id for each in read_out(tmp_path / "out")] == ["set-1", "set-2", "set-3"]


def test_fleets_are_solved_with_their_vehicles(tmp_path: Path) -> None:
    fleet = {
        "depot": {"x": 0, "y": 0},
        "customers": [{"x": 1, "y": 0, "demand": 2, "window": [0, 50]}, {"x": 0, "y": 1, "demand": 2}],
        "vehicles": [{"name": "van", "capacity": 2, "count": 2}],
        "speed": 1,
    }
    (tmp_path / "in.json").write_text(json.dumps(fleet))
    run(tmp_path / "in.json", tmp_path / "out", SolveOptions(iterations=20))
    (found,) = read_out(tmp_path / "out")
    assert found.checked
    assert found.vehicles == (0, 0)


OPTIONS = [
    SolveOptions(model="amd-20"),
    SolveOptions(model="amd-20", decode="sample", samples=2, seed=5),
    SolveOptions(iterations=30, seed=5),
    SolveOptions(model="amd-20", iterations=30, seed=5),
]


@pytest.mark.parametrize("options", OPTIONS, ids=["greedy", "sample", "iterations", "iterations from greedy"])
def test_routes_do_not_depend_on_blocks_and_shards(
    tmp_path: Path, options: SolveOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.scale.run._LEAST_SEARCHED", 8)
    file = write_input(tmp_path, 34)
    run(file, tmp_path / "usual", options)
    run(file, tmp_path / "whole", options, block=34)
    assert routes_of(tmp_path / "usual") == routes_of(tmp_path / "whole")
    shards: dict[str, object] = {}
    for index in (1, 2):
        out = tmp_path / f"shard {index}"
        run(file, out, options, shard=Shard(index, 2), block=5)
        shards |= routes_of(out)
    assert shards == routes_of(tmp_path / "usual")


def test_another_seed_gives_other_samples(tmp_path: Path) -> None:
    file = write_input(tmp_path, 10)
    options = SolveOptions(model="amd-20", decode="sample", samples=1, temperature=5.0)
    for seed in (1, 2):
        run(file, tmp_path / str(seed), replace(options, seed=seed))
    assert routes_of(tmp_path / "1") != routes_of(tmp_path / "2")


def test_faulty_rows_are_written_with_their_errors_and_the_others_solved(tmp_path: Path) -> None:
    file = write_input(tmp_path, 20)
    change_column(file, "capacity", lambda cells: [None, *cells[1:12], -1, *cells[13:]])
    summary = run(file, tmp_path / "out")
    found = read_out(tmp_path / "out")
    assert (summary.tally.rows, summary.tally.failed) == (20, 2)
    assert [each.row for each in found if each.error] == [0, 12]
    assert "field capacity" in (found[0].error or "")
    assert all(each.routes is None and each.cost is None and not each.checked for each in found if each.error)
    assert all(each.checked for each in found if not each.error)


def test_an_impossible_row_is_written_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    late = {
        "depot": {"x": 0, "y": 0},
        "customers": [{"x": 9, "y": 0, "demand": 1, "window": [0, 5]}],
        "capacity": 2,
        "speed": 1,
    }
    (tmp_path / "in" / "late.json").write_text(json.dumps(late))
    write(draw(1)[0], tmp_path / "in" / "usual.vrp")
    run(tmp_path / "in", tmp_path / "out")
    impossible, usual = read_out(tmp_path / "out")
    assert impossible.error
    assert usual.checked


def test_a_fault_of_ours_is_the_error_of_its_row_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_on_five(instances: Any, options: SolveOptions) -> Any:
        if any(instance.name == "5" for instance in instances):
            raise ZeroDivisionError("surprise")
        return solve_all(instances, options)

    monkeypatch.setattr("dynaroute.scale.work.solve_all", fail_on_five)
    file = write_input(tmp_path, 8)
    run(file, tmp_path / "out", block=8)
    found = read_out(tmp_path / "out")
    assert [each.id for each in found if each.error] == ["5"]
    assert "ZeroDivisionError: surprise" in (found[4].error or "")


def test_an_output_that_exists_is_refused(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    run(file, tmp_path / "out")
    with pytest.raises(FileError, match="not empty") as caught:
        run(file, tmp_path / "out")
    assert "--resume" in caught.value.remedy


def test_a_file_in_the_place_of_the_output_is_refused(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    with pytest.raises(FileError, match=r"in\.parquet"):
        run(file, file)


def test_a_folder_of_other_things_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match="no run to continue"):
        run(write_input(tmp_path, 3), tmp_path / "out", resumes=True)


def test_a_run_that_was_ended_solves_only_what_is_missing(tmp_path: Path) -> None:
    file = write_input(tmp_path, 12)
    run(file, tmp_path / "whole", block=3)
    run(file, tmp_path / "out", block=3)
    parts = sorted((tmp_path / "out").glob("part-*"))
    for part in parts[1:3]:
        part.unlink()
    summary = run(file, tmp_path / "out", resumes=True)
    assert summary.solved == 6
    assert summary.tally.rows == 12
    assert routes_of(tmp_path / "out") == routes_of(tmp_path / "whole")


def forge(out: Path, *blocks: Block) -> None:
    """Halve the costs of parts, and write them with the right checksum for it."""
    parts = Parts(StoragePlace(str(out)))
    for block in blocks:
        parts.write(block, [replace(outcome, cost=(outcome.cost or 0.0) / 2) for outcome in parts.read(block)])


def test_a_run_is_not_continued_beside_forged_costs(tmp_path: Path) -> None:
    file = write_input(tmp_path, 12)
    run(file, tmp_path / "out", block=3)
    forge(tmp_path / "out", Block(3, 6))
    (tmp_path / "out" / "part-000000000009-000000000012.parquet").unlink()
    with pytest.raises(
        SolutionError, match=r"part-000000000003-000000000006.parquet: id 4: .* In all, 3 rows are wrong\."
    ):
        run(file, tmp_path / "out", resumes=True)
    assert not (tmp_path / "out" / "part-000000000009-000000000012.parquet").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": None}, "neither an error nor routes and a cost"),
        ({"routes": None}, "neither an error nor routes and a cost"),
        ({"checked": False}, "neither an error nor routes and a cost"),
        ({"cost": math.nan}, "the stated cost is not finite"),
        ({"vehicles": (0,)}, "the vehicle types are"),
        ({"row": 7}, "it states the row 7, but is row 0"),
    ],
)
def test_a_run_is_not_continued_beside_a_row_that_states_too_little_or_nonsense(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = write_input(tmp_path, 2)
    run(file, tmp_path / "out", block=2)
    parts = Parts(StoragePlace(str(tmp_path / "out")))
    first, *others = parts.read(Block(0, 2))
    parts.write(Block(0, 2), [replace(first, **change), *others])
    with pytest.raises(SolutionError, match=message) as caught:
        run(file, tmp_path / "out", resumes=True)
    assert str(caught.value.where.file).endswith("part-000000000000-000000000002.parquet")


def test_all_parts_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = write_input(tmp_path, 12)
    run(file, tmp_path / "out", block=3)
    forge(tmp_path / "out", Block(0, 3))
    change_column(tmp_path / "out" / "part-000000000003-000000000006.parquet", "seconds", lambda cells: [0.0] * 3)
    (tmp_path / "out" / "part-000000000006-000000000009.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        SolutionError, match=r"2 other parts cannot be used either: part-000000000003-.*, part-000000000006-"
    ):
        run(file, tmp_path / "out", resumes=True)


def test_a_part_that_was_removed_after_its_refusal_is_solved_again(tmp_path: Path) -> None:
    file = write_input(tmp_path, 6)
    run(file, tmp_path / "out", block=3)
    before = routes_of(tmp_path / "out")
    forge(tmp_path / "out", Block(0, 3))
    (tmp_path / "out" / "part-000000000000-000000000003.parquet").unlink()
    assert run(file, tmp_path / "out", resumes=True).solved == 3
    assert routes_of(tmp_path / "out") == before


def test_a_run_without_checksums_is_continued_with_a_note(tmp_path: Path) -> None:
    file = write_input(tmp_path, 6)
    run(file, tmp_path / "out", block=3)
    for part in (tmp_path / "out").glob("part-*"):
        drop_checksum(part)
    with pytest.warns(InputWarning, match="this part has no checksum") as notes:
        assert run(file, tmp_path / "out", resumes=True).tally.rows == 6
    assert len(notes) == 2


def test_what_killed_workers_left_is_removed_in_the_end(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    run(file, tmp_path / "out", block=1)
    min((tmp_path / "out").glob("part-*")).rename(tmp_path / "out" / ".dynaroute-0123456789abcdef.tmp")
    run(file, tmp_path / "out", resumes=True)
    assert not list((tmp_path / "out").glob(".*"))


def test_what_a_killed_run_left_is_removed_before_it_goes_on(tmp_path: Path) -> None:
    file = write_input(tmp_path, 3)
    run(file, tmp_path / "out", block=1)
    (tmp_path / "out" / ".dynaroute-0123456789abcdef.tmp").touch()
    forge(tmp_path / "out", Block(0, 1))
    with pytest.raises(SolutionError):
        run(file, tmp_path / "out", resumes=True)
    assert not list((tmp_path / "out").glob(".*"))


def test_there_may_be_nothing_to_continue_yet(tmp_path: Path) -> None:
    assert run(write_input(tmp_path, 3), tmp_path / "out", resumes=True).solved == 3


@pytest.mark.parametrize(
    ("options", "more", "named"),
    [
        (replace(SAVINGS, seed=3), {}, "the option seed"),
        (SolveOptions(model="amd-20"), {}, "the option model"),
        (SAVINGS, {"shard": Shard(1, 2)}, "the shard"),
        (SAVINGS, {"block": 7}, "the number of rows per block"),
    ],
)
def test_a_run_is_not_continued_with_other_options(
    tmp_path: Path, options: SolveOptions, more: dict[str, Any], named: str
) -> None:
    file = write_input(tmp_path, 6)
    run(file, tmp_path / "out")
    with pytest.raises(OptionError, match=named):
        run(file, tmp_path / "out", options, resumes=True, **more)


def test_a_run_is_not_continued_with_another_input(tmp_path: Path) -> None:
    file = write_input(tmp_path, 6)
    run(file, tmp_path / "out")
    write_input(tmp_path, 6, seed=1)
    with pytest.raises(OptionError, match="the input's digest"):
        run(file, tmp_path / "out", resumes=True)


def test_a_run_is_not_continued_with_other_weights(tmp_path: Path, model: Path) -> None:
    import shutil

    shutil.copytree(model, tmp_path / "model")
    file, options = write_input(tmp_path, 2), SolveOptions(model=str(tmp_path / "model"))
    run(file, tmp_path / "out", options)
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\x00\x00\x00\x01")
    with pytest.raises(OptionError, match="the option model"):
        run(file, tmp_path / "out", options, resumes=True)


def test_a_full_disk_ends_the_run_by_name_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    usual, written = os.fsync, []

    def fill_up(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) == 4:  # the manifest and two parts have found room
            raise OSError(28, "No space left on device")
        usual(descriptor)

    file = write_input(tmp_path, 6)
    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(FileError, match=r"part-.*No space left on device"):
        run(file, tmp_path / "out", block=1)
    assert [each.row for each in read_out(tmp_path / "out")] == [0, 1]
    assert not list((tmp_path / "out").glob(".*"))
    run(file, tmp_path / "out", resumes=True)
    assert [each.row for each in read_out(tmp_path / "out")] == list(range(6))


def test_progress_tells_rows_rate_workers_and_failures(tmp_path: Path) -> None:
    file = write_input(tmp_path, 4)
    change_column(file, "capacity", lambda cells: [None, *cells[1:]])
    seen: list[Progress] = []
    run_batch(BatchRequest(str(file), str(tmp_path / "out"), SAVINGS, block=2), SameProcess(), seen.append)
    assert [(each.done, each.total, each.failed) for each in seen] == [(2, 4, 1), (4, 4, 1)]
    assert all(each.rate > 0 and each.workers == WorkersNow(1) for each in seen)
    assert seen[-1].seconds_left == 0


def test_the_summary_is_written_beside_the_parts(tmp_path: Path) -> None:
    summary = run(write_input(tmp_path, 4), tmp_path / "out")
    written = json.loads((tmp_path / "out" / "_summary.json").read_text())
    assert written == summary.to_json()
    assert written["rows"] == 4
    assert sum(bar["count"] for bar in written["histogram"]) == 4


def test_a_total_time_is_shared_out_among_the_rows(tmp_path: Path) -> None:
    file = write_input(tmp_path, 4)
    run(file, tmp_path / "out", SolveOptions(total_time=0.2, device="cpu"), block=2)
    assert all(each.checked for each in read_out(tmp_path / "out"))


def test_an_input_that_does_not_fit_leaves_no_output(tmp_path: Path) -> None:
    with pytest.raises(DynarouteError):
        run(tmp_path / "nowhere.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()
