from __future__ import annotations

import re
from pathlib import Path

import pytest
from policies import make_policy

from dynaroute.base.errors import FileError, FormatError, OptionError
from dynaroute.model import ModelCard, PointerConfig, PointerNetwork
from dynaroute.study.reference_lengths import PAPER_ROWS, SIZES
from dynaroute.study.reproduction import (
    Measured,
    Reproduction,
    _draw,
    _list_entries,
    _list_published,
    insert_tables,
    reproduce,
)
from dynaroute.weights import shipped_models


def test_every_entry_that_the_shipped_weights_can_give_is_measured() -> None:
    told: list[tuple[str, float]] = []
    measured = reproduce(count=2, device="cpu", progress=lambda words, done: told.append((words, done)))
    trained = {size for name, size in shipped_models().items() if name.startswith("amd-") and size is not None}
    expected = {("AM-D (greedy)", size) for size in trained}
    expected |= {("AM-D (2OPT)", size) for size in trained}
    expected |= {(f"AM-D (n={size})", other) for size in trained for other in (20, 50, 100) if other != size}
    assert expected <= set(measured.entries)
    assert len({words for words, _ in told}) == len(measured.entries)
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    for size in trained:
        assert measured.entries["AM-D (2OPT)", size].length <= measured.entries["AM-D (greedy)", size].length
    assert set(measured.minutes) == set(shipped_models())


def test_a_device_that_is_not_there_is_told() -> None:
    with pytest.raises(OptionError, match="device"):
        reproduce(count=2, device="nowhere")


def test_the_table_puts_ours_beside_the_papers() -> None:
    entries = {("AM-D (greedy)", 20): Measured(6.25, 0.02), ("AM-D (n=20)", 50): Measured(10.9, 0.1)}
    lines = Reproduction(10_000, "a GPU", entries, {"amd-20": 3.8}).to_markdown().splitlines()
    papers = [line for line in lines if line.startswith("| AM-D (greedy) (*paper*) |")]
    assert papers == [
        "| AM-D (greedy) (*paper*) | 6.280 | 2.95 %, 2.45 % | 10.780 | 3.85 %, 3.99 % | 16.400 | 4.79 %, 5.38 % |"
    ]
    assert "| **AM-D (greedy)** | 6.250 | 2.46 %, 1.96 % |  |  |  |  |" in lines
    assert "| **AM-D (greedy)**, a GPU, an instance | 0.002 ms |  |  |" in lines
    assert "| **training, one H200** | 3.8 min |  |  |" in lines


@pytest.mark.parametrize(
    "row",
    [
        "| LKH3 (*paper*) | 6.140 | 0.58 %, 0.16 % | 10.380 | 0.00 %, 0.14 % | 15.650 | 0.00 %, 0.56 % |",
        "| RL (greedy) (*paper*) | 6.590 | 8.03 %, 7.50 % | 11.390 | 9.78 %, 9.88 % | 17.230 | 10.12 %, 10.71 % |",
        "| AM (greedy) (*paper*) | 6.400 | 4.97 %, 4.40 % | 10.980 | 5.86 %, 5.92 % | 16.800 | 7.34 %, 7.95 % |",
    ],
)
def test_rows_of_the_paper_have_its_own_gaps(row: str) -> None:
    assert row in Reproduction(10_000, "a GPU", {}).to_markdown().splitlines()


def test_rows_of_the_paper_are_those_of_its_source(shared_data: Path) -> None:
    source = (shared_data.parent / "paper.tex").read_text(encoding="utf-8")
    rows = re.sub(r"\\textbf\{([^}]*)\}|\\cite\{\w+\}|[$ ]", r"\1", source.partition("\\label{t1}")[0]).splitlines()
    for name, printed in PAPER_ROWS.items():
        cells = [f"{printed[size][0]:.2f}&{printed[size][1]:.2f}\\%" if size in printed else "-&-" for size in SIZES]
        assert f"{name.replace(' ', '')}&{'&'.join(cells)}\\\\" in rows


def test_tables_are_put_at_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tables: begin -->\nold\n<!-- tables: end -->\nafter\n")
    insert_tables(page, "new\n")
    assert page.read_text() == "before\n<!-- tables: begin -->\nnew\n<!-- tables: end -->\nafter\n"


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n")
    with pytest.raises(FormatError, match="mark"):
        insert_tables(page, "new\n")
    assert page.read_text() == "before\n"


def test_a_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="page"):
        insert_tables(tmp_path / "page.md", "new\n")


def test_tables_of_another_set_say_so() -> None:
    entries = {("AM-D (greedy)", 20): Measured(6.25, 1.0)}
    assert "Not the published set" in Reproduction(500, "a GPU", entries).to_markdown()
    assert "Not the published set" not in Reproduction(10_000, "a GPU", entries).to_markdown()


def test_one_model_for_all_has_a_row_of_its_own(shelf: Path) -> None:
    make_policy(card=ModelCard("amd", 100, smallest_size=10)).save_pretrained(shelf / "amd")
    shipped_models.cache_clear()

    measured = reproduce(count=2, device="cpu")

    assert list(measured.entries) == [("amd, one model for all (greedy)", size) for size in (20, 50, 100)]


def test_other_tables_have_other_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- tables: begin -->\n<!-- tables: end -->\n<!-- more: begin -->\n<!-- more: end -->\n")
    insert_tables(page, "new\n", "more")
    assert page.read_text().endswith("<!-- tables: end -->\n<!-- more: begin -->\nnew\n<!-- more: end -->\n")


def test_published_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="published weights") as caught:
        reproduce(count=2, device="cpu", kool=tmp_path)
    assert "cvrp_20.pt" in (caught.value.remedy or "")


def test_published_weights_are_measured_at_the_sizes_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cvrp_50.pt").write_bytes(b"")
    monkeypatch.setattr("dynaroute.model.kool.import_kool", lambda path: make_policy())
    (row, size, measure), *others = _list_published(tmp_path, "cpu")
    assert (row, size, others) == ("AM (greedy), its authors' weights", 50, [])
    measured = measure(_draw(50, 2), progress=lambda share: None)
    assert measured.length > 0


def test_a_pointer_network_is_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = PointerNetwork(PointerConfig(dimension=16), card=ModelCard(size=20))
    assert [row for row, _ in _list_entries("rl-20", policy, 20)] == ["RL (greedy)"]
    assert list(_list_entries("rl-20", policy, 50)) == []
