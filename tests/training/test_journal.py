from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import FileError
from dynaroute.training.files import Journal, Reference, draw_learning_curve, read_metrics, save_learning_curve


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


@pytest.mark.parametrize("odd", [b'{"step": 2, "val', b"\xff", b"[1]", b"{}", b'{"step": "two"}'])
def test_what_is_no_line_is_left_out(tmp_path: Path, odd: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(json.dumps(make_line(1)).encode() + b"\n" + odd)
    assert read_metrics(tmp_path) == [make_line(1)]


def test_a_full_disk_spares_the_lines_of_a_run_that_would_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, 0)
    journal.add(make_line(0))
    journal.close()

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match="No space"):
        Journal(tmp_path, 0)
    assert read_metrics(tmp_path) == [make_line(0)]


def test_tensorboard_keeps_what_the_checkpoint_knows(tmp_path: Path) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for begin, steps in ((-1, (0, 5, 10)), (5, (10,))):  # killed after 10, and resumed at 5
        journal = Journal(tmp_path, begin)
        for step in steps:
            journal.add(make_line(step))
        journal.close()
    shown = reading.EventAccumulator(str(tmp_path / "tensorboard"))
    shown.Reload()
    assert [event.step for event in shown.Scalars("validation")] == [0, 5, 10]


def test_a_vanished_folder_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    journal.path = tmp_path / "gone" / "metrics.jsonl"
    with pytest.raises(FileError, match="resume"):
        journal.add(make_line(0))
    journal.close()


def test_the_curve_has_a_line_for_each_size_and_its_reference(tmp_path: Path) -> None:
    metrics = [make_line(0), make_line(5, 6.4), make_line(6, 11.0, 50), make_line(9, 10.9, 50)]
    legend = draw_learning_curve(metrics, {20: Reference("HGS", 6.13)}).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "20 customers: 6.400",
        "HGS 6.130",
        "50 customers: 10.900",
    ]


def test_a_run_without_lines_has_an_empty_curve() -> None:
    assert not draw_learning_curve([], {20: Reference("HGS", 6.13)}).lines


def test_the_curve_is_saved_with_the_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    journal.add(make_line(0))
    journal.close()
    assert save_learning_curve(tmp_path, {}).read_bytes().startswith(b"\x89PNG")


def test_a_relative_curve_says_what_it_is_relative_to() -> None:
    metrics = [{"step": 0, "minutes": 0.0, "size": 100, "validation": 1.2}]
    axes = draw_learning_curve(metrics, {100: Reference("savings", 1.0)})
    assert axes.get_ylabel() == "greedy length over that of savings"
