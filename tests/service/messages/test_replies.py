from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.messages.replies import write_json

_PLAIN = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_DOCUMENTS = st.recursive(
    _PLAIN | _TEXTS, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=30
)


@given(_DOCUMENTS)
def test_what_is_written_reads_back_the_same(document: Any) -> None:
    assert json.loads(write_json(document, 10**6)) == document


@pytest.mark.parametrize("document", [[], {}, list(range(2_500)), [[1.5] * 3] * 1_001, {"a": [{"b": []}, ()]}])
def test_lists_of_any_length_keep_their_entries(document: Any) -> None:
    assert json.loads(write_json(document, 10**6)) == json.loads(json.dumps(document))


def test_as_many_bytes_as_are_allowed_are_written() -> None:
    assert write_json(["a", 1.5, None], 14) == b'["a",1.5,null]'
    with pytest.raises(RequestError) as caught:
        write_json(["a", 1.5, None], 13)
    assert caught.value.status == 413


class _Counted(list[str]):
    """A list that knows how far it was read."""

    furthest = 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            _Counted.furthest = max(_Counted.furthest, index.stop)
        return super().__getitem__(index)


def test_a_long_answer_is_given_up_before_all_of_it_is_written() -> None:
    with pytest.raises(RequestError):
        write_json({"vehicles": _Counted(["a long name" * 90] * 300_000)}, 5_000_000)
    assert 0 < _Counted.furthest < 10_000
