from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import assert_refused, invoke, invoke_json
from policies import SMALL_AM, draw_instances, make_policy

from dynaroute import Policy, write
from dynaroute.model import ModelCard


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is taken for published weights of a small policy."""
    policy = make_policy(SMALL_AM, card=ModelCard(name="weights"))
    monkeypatch.setattr("dynaroute.model.kool.import_kool", lambda _: policy)
    path = tmp_path / "weights.pt"
    path.write_bytes(b"published")
    return path


def test_imported_policy_solves(tmp_path: Path, weights: Path) -> None:
    write(draw_instances(6), tmp_path / "a.json")

    result = invoke("import-kool", weights, tmp_path / "am")
    (solved,) = invoke_json("solve", tmp_path / "a.json", "--model", tmp_path / "am")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"wrote {tmp_path / 'am'}: AM, ")
    assert (solved["model"], solved["method"]) == ("weights", "greedy")


@pytest.mark.parametrize(("options", "size"), [((), None), (("--size", "20"), 20)])
def test_card_records_the_size_that_is_given_and_guesses_none(
    tmp_path: Path, weights: Path, options: tuple[str, ...], size: int | None
) -> None:
    document = invoke_json("import-kool", weights, tmp_path / "am", *options)

    parameters = sum(parameter.numel() for parameter in make_policy(SMALL_AM).parameters())
    assert document == {
        "in": str(weights),
        "out": str(tmp_path / "am"),
        "name": "weights",
        "kind": "AM",
        "size": size,
        "parameters": parameters,
    }
    assert Policy.from_pretrained(tmp_path / "am").card.size == size


def test_folder_that_holds_something_stays_as_it_is(tmp_path: Path, weights: Path) -> None:
    assert_refused(invoke("import-kool", weights, tmp_path), str(tmp_path), "not empty")
    assert [path.name for path in tmp_path.iterdir()] == ["weights.pt"]


def test_folder_whose_own_folder_is_missing_is_refused(tmp_path: Path, weights: Path) -> None:
    assert_refused(invoke("import-kool", weights, tmp_path / "none" / "am"), "does not exist")


@pytest.mark.parametrize("content", [b"", b"no weights", json.dumps({"model": 1}).encode()])
def test_file_without_published_weights_is_refused_and_nothing_written(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(content)

    assert_refused(invoke("import-kool", path, tmp_path / "am"), "weights.pt")
    assert not (tmp_path / "am").exists()


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_refused(invoke("import-kool", tmp_path / "none.pt", tmp_path / "am"), "none.pt", "no such file")
    assert_refused(invoke("import-kool", tmp_path, tmp_path / "am"), "a folder")


def test_published_weights_reach_their_length(tmp_path: Path, shared_data: Path) -> None:
    folder, data = tmp_path / "am-20", tmp_path / "t20.npz"
    assert invoke("import-kool", shared_data / "kool-am" / "cvrp_20.pt", folder, "--size", "20").exit_code == 0
    assert invoke("generate", "--size", "20", "--count", "10000", "--published", "--out", data).exit_code == 0

    document = invoke_json("evaluate", "--data", data, "--model", folder, "--limit", "500")

    assert document["mean_length"] == pytest.approx(6.423, abs=0.002)
