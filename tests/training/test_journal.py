from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynaroute.errors import FileError
from dynaroute.training.journal import Journal, draw_learning_curve, read_metrics, save_learning_curve


def make_line(step: int, validation: float = 6.5, size: int = 20) -> dict[str, Any]:
    return {"step": step, "minutes": step / 10, "size": size, "validation": validation}


def test_lines_are_kept_in_order_and_shown_by_tensorboard(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    journal.add(make_line(0))
    journal.add(make_line(5))
    journal.close()
    assert [line["step"] for line in read_metrics(tmp_path)] == [0, 5]
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1


def test_a_resumed_run_forgets_lines_after_its_checkpoint(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    for step in (0, 5, 10):
        journal.add(make_line(step))
    journal.close()
    Journal(tmp_path, 5).close()
    assert [line["step"] for line in read_metrics(tmp_path)] == [0, 5]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "val')
    assert read_metrics(tmp_path) == [{"step": 1}]


def test_a_vanished_folder_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    journal.path = tmp_path / "gone" / "metrics.jsonl"
    with pytest.raises(FileError, match="resume"):
        journal.add(make_line(0))
    journal.close()


def test_the_curve_has_a_line_for_each_size_and_its_reference(tmp_path: Path) -> None:
    metrics = [make_line(0), make_line(5, 6.4), make_line(6, 11.0, 50), make_line(9, 10.9, 50)]
    legend = draw_learning_curve(metrics, {20: 6.13}).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "20 customers: 6.400",
        "HGS 6.130",
        "50 customers: 10.900",
    ]


def test_the_curve_is_saved_with_the_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    journal.add(make_line(0))
    journal.close()
    assert save_learning_curve(tmp_path, {}).read_bytes().startswith(b"\x89PNG")
