from __future__ import annotations

import copyreg
import datetime
import math
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import DynarouteError, FormatError, UnsupportedError
from dynaroute.formats.sets.plain_pickle import load_plain_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

numbers = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False))
texts = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\"))
plain = st.recursive(
    st.one_of(numbers, texts), lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple)
)


@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_data_is_read_as_python_reads_it(value: object, protocol: int) -> None:
    content = pickle.dumps(value, protocol)

    assert load_plain_pickle(content) == pickle.loads(content)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_long_lists_and_shared_parts_are_read(protocol: int) -> None:
    part = [0.5, 2]
    value = [(part, [part] * 5000, list(range(-3, 5000)), 70000)] * 3

    assert load_plain_pickle(pickle.dumps(value, protocol)) == value


def test_a_pickle_of_python_2_is_read() -> None:
    assert load_plain_pickle(b"(lp0\n(F0.5\nI3\nL4L\nS'a'\np1\ntp2\na.") == [(0.5, 3, 4, "'a'")]
    assert load_plain_pickle(b"\x80\x02]q\x00(K\x01U\x01aq\x01e.") == [1, "a"]


class Explosive:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_is_refused_by_name_and_not_made(protocol: int, tmp_path: Path) -> None:
    content = pickle.dumps([1, Explosive(tmp_path / "made")], protocol)

    with pytest.raises(UnsupportedError, match=r"mkdir") as caught:
        load_plain_pickle(content)

    assert not (tmp_path / "made").exists()
    assert caught.value.remedy


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        {1, 2},
        frozenset({1}),
        True,
        None,
        bytearray(b"x"),
        np.zeros(2, dtype=object),
        np.array(["a"]),
        np.array([True]),
        np.zeros(2, dtype=complex),
        np.dtype("f8"),
        np.ndarray,
        datetime.date(2020, 1, 1),
        OrderedDict(),
        1j,
        print,
        int,
    ],
    ids=repr,
)
def test_anything_but_plain_data_is_refused(value: object, protocol: int) -> None:
    with pytest.raises(UnsupportedError):
        load_plain_pickle(pickle.dumps([value], protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["f4", "f8", ">f8", "i1", "i8", "u2"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 3, 2)])
def test_arrays_of_numbers_are_read(shape: tuple[int, ...], kind: str, protocol: int) -> None:
    array = np.arange(1, math.prod(shape) + 1).reshape(shape).astype(kind)
    for value in (array, np.array(array, order="F")):
        pair: Any = load_plain_pickle(pickle.dumps([value, value], protocol))
        read, again = pair
        assert read is again
        np.testing.assert_array_equal(read.array, array)
        assert read.array.shape == shape


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", [np.float64(1.5), np.float32(0.25), np.int64(-7), np.uint8(200)], ids=repr)
def test_numbers_of_numpy_are_plain_ones(number: Any, protocol: int) -> None:
    assert load_plain_pickle(pickle.dumps((number,), protocol)) == (number.item(),)


def test_an_array_of_an_older_numpy_is_read() -> None:
    content = pickle.dumps(np.array([1.5, 2.5]), 2).replace(b"numpy._core", b"numpy.core")
    assert load_plain_pickle(content).array.tolist() == [1.5, 2.5]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "changed",
    [
        (b"f8", b"O8"),
        (b"f8", b"f9"),
        (b"f8", b"f1"),  # numpy has no numbers of one byte with a point
        (b"\x85", b"\x86"),
        (b"_reconstruct", b"_explode_now"),
        (b"ndarray", b"memmap_"),
    ],
)
def test_what_looks_like_an_array_and_is_none_is_refused(changed: tuple[bytes, bytes]) -> None:
    content = pickle.dumps(np.array([1.5, 2.5]), 3)
    assert changed[0] in content
    with pytest.raises(DynarouteError):
        load_plain_pickle(content.replace(*changed))


def test_an_array_has_no_more_numbers_than_bytes() -> None:
    content = pickle.dumps(np.zeros(255, dtype="u1"), 3)
    assert b"K\xff\x85" in content
    with pytest.raises(FormatError):
        load_plain_pickle(content.replace(b"K\xff\x85", b"K\xfe\x85"))


@pytest.mark.parametrize(
    "content",
    [
        b"\x82\x01.",  # EXT1
        b"\x83\x01\x00.",  # EXT2
        b"\x84\x01\x00\x00\x00.",  # EXT4
        b"Pid\n.",  # PERSID
        b"K\x01Q.",  # BINPERSID
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"\x8c\x02os\x8c\x06system\x93.",
        b"\x97.",  # NEXT_BUFFER
        b"\x96" + b"\xff" * 8 + b".",  # BYTEARRAY8 of 2^64 bytes
    ],
)
def test_every_way_to_reach_outside_is_refused(content: bytes) -> None:
    with pytest.raises(UnsupportedError):
        load_plain_pickle(content)


def test_a_registered_extension_is_refused_too() -> None:
    copyreg.add_extension("builtins", "print", 77)
    try:
        with pytest.raises(UnsupportedError):
            load_plain_pickle(pickle.dumps(print, 2))
    finally:
        copyreg.remove_extension("builtins", "print", 77)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b".",
        b"not a pickle",
        b"\x80\x63K\x01.",  # protocol 99
        b"K\x01K\x02.",  # two values
        b"(K\x01.",  # an open mark
        b"K\x01a.",  # append to nothing
        b"K\x01K\x02a.",  # append to a number
        b"e.",
        b"t.",
        b"\x87.",
        b"h\x05.",  # memory that was never set
        b"I" + b"9" * 5000 + b"\n.",
        b"L" + b"9" * 5000 + b"L\n.",
        b"Inan\n.",
        b"Foops\n.",
        b"\x8b\xff\xff\xff\x7f.",  # an integer of 2 GB
        b"X\xff\xff\xff\xff.",  # a text of 4 GB
        b"\x8d" + b"\xff" * 8 + b".",  # a text of 2^64 bytes
        b"G\x00\x00.",
        b"]",
        b"K\x01.K\x02.",  # another one behind it
        b"K\x01.\n",
    ],
)
def test_a_damaged_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError, match="not a valid pickle"):
        load_plain_pickle(content)


def test_a_far_place_in_memory_costs_nothing() -> None:
    assert load_plain_pickle(b"K\x01r\xff\xff\xff\xff0j\xff\xff\xff\xff.") == 1


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        load_plain_pickle(content)
    except DynarouteError as error:
        assert error.remedy


@given(st.data())
def test_any_damage_to_a_sound_pickle_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(pickle.dumps([([0.5, 0.5], [[0.1, 0.2], [0.3, 0.4]], [3, 4], 30.0)]))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        load_plain_pickle(bytes(content))
    except DynarouteError as error:
        assert error.remedy
