from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from drawn import ring, small_instance

from dynaroute.base.errors import FileError, OptionError
from dynaroute.plotting import check_picture_path, plot_instance, plot_solution, save_figure


def test_module_loads_without_matplotlib() -> None:
    code = "import sys, dynaroute.plotting; sys.exit('matplotlib' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_does_not_load_pyplot(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from dynaroute.problem.instance import Instance; from dynaroute.plotting import *;"
        "save_figure(plot_instance(Instance(np.eye(2), np.array([0, 1]), 1)), sys.argv[1]);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.png")], check=False).returncode == 0


@pytest.mark.parametrize(("suffix", "beginning"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_suffix_chooses_the_format(tmp_path: Path, suffix: str, beginning: bytes) -> None:
    target = tmp_path / f"picture{suffix}"

    save_figure(plot_instance(small_instance()), target)

    assert target.read_bytes().startswith(beginning)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_same_solution_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    for name in ("one", "two"):
        save_figure(plot_solution(*ring(5)), tmp_path / f"{name}{suffix}")

    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["picture.bmp", "picture"])
def test_unknown_suffix_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"\.png, \.svg or \.pdf"):
        check_picture_path(name)


def test_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "picture.png"

    with pytest.raises(FileError) as caught:
        save_figure(plot_instance(small_instance()), target)

    assert caught.value.where.file == str(target)
