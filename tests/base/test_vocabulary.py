from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from dynaroute.base.vocabulary import Rounding, join_with_or


@pytest.mark.parametrize(
    ("words", "sentence"),
    [((".png",), ".png"), ((".sol", ".json"), ".sol or .json"), (get_args(Rounding), "none, nearest or up")],
)
def test_words_are_listed_as_in_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    assert join_with_or(words) == sentence


def test_the_words_and_the_writer_of_files_load_no_heavy_library() -> None:
    code = (
        "import sys, dynaroute.base.files, dynaroute.base.vocabulary\n"
        "print([name for name in ('numpy', 'torch', 'matplotlib', 'numba') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert result.stdout == "[]\n"
