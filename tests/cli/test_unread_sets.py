"""Every command that takes sets refuses those whose constraints are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from command_line import assert_refused, invoke

from dynaroute.draw import draw_paper_set
from dynaroute.formats import read_set, write

COMMANDS = {
    "solve": ["solve", "IN"],
    "evaluate": ["evaluate", "--data", "IN", "--model", "savings"],
    "batch": ["batch", "IN", "--out", "OUT"],
    "convert": ["convert", "IN", "OUT.json"],
    "info": ["info", "IN"],
    "train on": ["train", "--data", "IN", "--updates", "1", "--out", "OUT"],
    "validate on": ["train", "--size", "5", "--validation", "IN", "--updates", "1", "--out", "OUT"],
}


def write_faulty(folder: Path, suffix: str) -> Path:
    """A set of two instances whose service takes time."""
    drawn = draw_paper_set(5, 2, np.random.default_rng(0), 20)
    file, durations = folder / f"set{suffix}", np.full((2, 5), 0.2)
    arrays: dict[str, Any] = {
        "depot": drawn.depot,
        "locs": drawn.locations,
        "demand": drawn.demands,
        "capacity": drawn.capacity,
    }
    if suffix == ".npz":
        np.savez(file, **arrays, service_durations=durations)
    elif suffix == ".pt":
        tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in arrays.items()}
        torch.save({**tensors, "service_durations": torch.from_numpy(durations)}, file)
    else:
        write(drawn.instances(), file)
        pq.write_table(pq.read_table(file).append_column("service_durations", pa.array(durations.tolist())), file)
    return file


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_set_with_a_constraint_that_is_not_read_is_refused(tmp_path: Path, command: str, suffix: str) -> None:
    file, out = write_faulty(tmp_path, suffix), tmp_path / "out"
    words = [word.replace("IN", str(file)).replace("OUT", str(out)) for word in COMMANDS[command]]

    assert_refused(invoke(*words), f"set{suffix}, field service_durations", "looks like a constraint")

    assert sorted(tmp_path.iterdir()) == [file]


def test_the_rest_of_such_a_set_is_sound(tmp_path: Path) -> None:
    file = write_faulty(tmp_path, ".npz")
    with np.load(file) as arrays:
        np.savez(tmp_path / "plain.npz", **{name: arrays[name] for name in arrays if name != "service_durations"})
    assert len(read_set(tmp_path / "plain.npz")) == 2
