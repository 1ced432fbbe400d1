"""A safe reader for pickles of plain data.

A pickle is a program. Python's interpreter for it can call anything and, even with calls forbidden, a few bytes can
make its compiled version request any amount of memory. So this reader is Python's interpreter in its plain form, with
only the instructions that build numbers, strings, lists, tuples and arrays of numbers; all others are refused by name.
The few names that pickles of numpy's arrays use stand for parts of our own: nothing is ever imported.
"""

from __future__ import annotations

import math
import pickle
import pickletools
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError
from dynaroute.base.limits import refuse_large_content

_LONGEST_NUMBER = 1000  # digits, or bytes
_ALLOCATING = b"](ltGFILJ\x8a\x8bVSU\x8cXT\x8d\x85\x86\x87\x94qrpcRBC\x8e\x96\x93"  # instructions that allocate memory
_MOST_SIDES = 32  # dimensions of an array
_BYTES_OF_ALLOCATION = 100  # at most, in addition to the bytes in the file
_REMEDY = "Store plain lists, tuples, numbers, strings and arrays of numbers, or write a .npz file."
_NUMBERS = re.compile(r"[<>|=]?[iuf][1248]")  # dtypes that hold numbers
_AS_IN_PYTHON = (
    *(pickle.PROTO, pickle.STOP, pickle.MARK, pickle.POP, pickle.POP_MARK),
    *(pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.FLOAT, pickle.BINFLOAT),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1),
    *(pickle.UNICODE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE, pickle.BINUNICODE8),
    *(pickle.SHORT_BINBYTES, pickle.BINBYTES, pickle.GLOBAL, pickle.STACK_GLOBAL),
    *(pickle.EMPTY_LIST, pickle.LIST, pickle.APPEND, pickle.APPENDS),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3),
    *(pickle.MEMOIZE, pickle.PUT, pickle.BINPUT, pickle.LONG_BINPUT, pickle.GET, pickle.BINGET, pickle.LONG_BINGET),
)
_DAMAGES = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)


@dataclass(eq=False)
class PlainArray:
    """An array of numbers described by a pickle; empty until the pickle has supplied its values."""

    array: NDArray[Any] | None = None


@dataclass(frozen=True)
class _Piece:
    """A part of an array's description, which is not data by itself."""

    words: str


@dataclass(eq=False)
class _Type:
    """The dtype of an array's numbers."""

    code: str

    def read(self, values: bytes, shape: tuple[int, ...], order: str) -> NDArray[Any]:
        """Convert bytes to numbers; their count must match the shape."""
        kind = np.dtype(self.code)
        if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(values):
            raise ValueError
        return np.frombuffer(values, kind).reshape(shape, order="F" if order == "F" else "C")


_RECONSTRUCT, _SCALAR, _FROM_BUFFER = _Piece("an array"), _Piece("a number of numpy's"), _Piece("an array's bytes")
_ARRAY, _TYPE, _ENCODE = _Piece("numpy.ndarray"), _Piece("numpy.dtype"), _Piece("_codecs.encode")
_NO_BYTES = _Piece("bytes")
_NAMES = {  # all names in pickles of arrays, from old and new versions of numpy
    "numpy.core.multiarray._reconstruct": _RECONSTRUCT,
    "numpy._core.multiarray._reconstruct": _RECONSTRUCT,
    "numpy.core.multiarray.scalar": _SCALAR,
    "numpy._core.multiarray.scalar": _SCALAR,
    "numpy.core.numeric._frombuffer": _FROM_BUFFER,
    "numpy._core.numeric._frombuffer": _FROM_BUFFER,
    "numpy.ndarray": _ARRAY,
    "numpy.dtype": _TYPE,
    "_codecs.encode": _ENCODE,
    "__builtin__.bytes": _NO_BYTES,
    "builtins.bytes": _NO_BYTES,
}


def load_plain_pickle(content: bytes) -> object:
    """Build what a pickle describes, if it is plain data.

    Parameters
    ----------
    content
        A pickle of any protocol, from any Python.

    Returns
    -------
    object
        Numbers, strings, lists, tuples and `PlainArray`. Parts may be shared, and lists may contain themselves.

    Raises
    ------
    UnsupportedError
        If it contains anything else. Nothing is ever executed.
    FormatError
        If it is damaged, not a pickle, or too large for memory.
    """
    refuse_large_content(len(content) + _BYTES_OF_ALLOCATION * sum(content.count(code) for code in _ALLOCATING))
    file = BytesIO(content)
    try:
        value = _Reader(file).load_alone()
        if file.read(1):
            raise ValueError
    except _DAMAGES as error:
        raise FormatError(
            f"this is not a valid pickle (it ends early or is damaged at byte {file.tell()}).",
            remedy="Was the file copied completely?",
        ) from error
    _refuse_pieces(value)
    return value


def _refuse_pieces(result: object) -> None:
    """Raise if something that is no data is left over: a part of an array's description, bytes, True or None."""
    seen, left = set(), [result]
    while left:
        value = left.pop()
        if isinstance(value, list | tuple):
            if id(value) not in seen:
                seen.add(id(value))
                left.extend(each for each in value if type(each) not in (float, int, str))
        elif isinstance(value, _Piece):
            raise _say_no(value.words)
        elif type(value) not in (float, int, str) and not (isinstance(value, PlainArray) and value.array is not None):
            raise _say_no(type(value).__name__.strip("_").lower())


def _say_no(wanted: str) -> UnsupportedError:
    """Make the error that says what was refused."""
    return UnsupportedError.about(
        "pickle", f"the pickle asks for {wanted[:80]!r}, which is not plain data; it was not executed.", _REMEDY
    )


class _Instructions(dict[int, Callable[[Any], None]]):
    """The instructions that are followed; any other is refused by its name."""

    def __missing__(self, code: int) -> NoReturn:
        name = next((operation.name for operation in pickletools.opcodes if operation.code == chr(code)), None)
        if name is None:
            raise ValueError
        raise _say_no(name)


class _Reader(pickle._Unpickler):
    """Python's interpreter, with few of its instructions."""

    stack: list[Any]
    metastack: list[list[Any]]
    read: Callable[[int], bytes]
    readline: Callable[[], bytes]

    def load_alone(self) -> object:
        """Run the program; it must leave one value, and no open mark."""
        value = self.load()
        if self.stack or self.metastack:
            raise ValueError
        return value

    def find_class(self, module: str, name: str) -> _Piece:
        """Return what stands for a name of numpy's."""
        wanted = f"{module}.{name}"
        if wanted not in _NAMES:
            raise _say_no(wanted)
        return _NAMES[wanted]

    def push_integer(self) -> None:
        """Push an integer written in digits; the oldest protocols write false and true so, too."""
        line = self.readline()[:-1].removesuffix(b"L")
        if len(line) > _LONGEST_NUMBER:
            raise ValueError
        self.stack.append(line == b"01" if line in (b"00", b"01") else int(line))

    def push_long_integer(self) -> None:
        """Push an integer of many bytes."""
        size = self.take_number(4)
        if size > _LONGEST_NUMBER:
            raise ValueError
        self.stack.append(int.from_bytes(self.read(size), "little", signed=True))

    def push_text(self, text: bytes) -> None:
        """Push a text of Python 2, which did not tell it from bytes."""
        self.stack.append(text.decode("utf-8", errors="replace"))

    def push_bytes(self) -> None:
        """Push the bytes of an array."""
        size = self.take_number(8)
        values = self.read(min(size, sys.maxsize))
        if len(values) < size:
            raise _say_no("bytes that are not there")
        self.stack.append(values)

    def take_number(self, size: int) -> int:
        return int.from_bytes(self.read(size), "little")

    def make(self) -> None:
        """Where Python would call an object: build a part of an array."""
        arguments, maker = self.stack.pop(), self.stack.pop()
        if not isinstance(maker, _Piece) or type(arguments) is not tuple:
            raise ValueError
        made = _make_part(maker, arguments)
        if made is None:
            raise _say_no(f"{maker.words} of an unusual kind")
        self.stack.append(made)

    def fill(self) -> None:
        """Where Python would set an object's state: fill an array or its dtype."""
        state, target = self.stack.pop(), self.stack[-1]
        match target, state:
            case _Type(), (int(), ("<" | ">" | "|" | "=") as order, *_):
                target.code = order + target.code.lstrip("<>|=")
            case PlainArray(array=None), (int(), tuple(shape), _Type() as kind, flag, bytes(values)) if _is_shape(
                shape
            ):
                target.array = kind.read(values, shape, "F" if flag in (True, 1) else "C")
            case _:
                raise _say_no("an object with a state of its own")

    dispatch: ClassVar[Any] = _Instructions(
        {
            pickle.FRAME[0]: lambda reader: reader.read(8),  # a hint for reading ahead
            pickle.INT[0]: push_integer,
            pickle.LONG[0]: push_integer,
            pickle.LONG4[0]: push_long_integer,
            pickle.STRING[0]: lambda reader: reader.push_text(reader.readline()[:-1]),
            pickle.SHORT_BINSTRING[0]: lambda reader: reader.push_text(reader.read(reader.take_number(1))),
            pickle.BINSTRING[0]: lambda reader: reader.push_text(reader.read(reader.take_number(4))),
            pickle.BINBYTES8[0]: push_bytes,
            pickle.BYTEARRAY8[0]: push_bytes,
            pickle.REDUCE[0]: make,
            pickle.BUILD[0]: fill,
        }
        | {code[0]: pickle._Unpickler.dispatch[code[0]] for code in _AS_IN_PYTHON}
    )


def _make_part(maker: _Piece, arguments: tuple[Any, ...]) -> object:
    """Build a part of an array of numbers; None if it is not one."""
    match arguments:
        case (str(code), int(), int()) if maker is _TYPE and _NUMBERS.fullmatch(code):
            return _Type(code)
        case () if maker is _NO_BYTES:
            return b""
        case (str(text), "latin1" | "latin-1") if maker is _ENCODE:
            return text.encode("latin-1")
        case (_Piece(), (0,), bytes() | str()) if maker is _RECONSTRUCT and arguments[0] is _ARRAY:
            return PlainArray()
        case (_Type() as kind, bytes(values)) if maker is _SCALAR:
            return kind.read(values, (), "C").item()
        case (bytes(values), _Type() as kind, tuple(shape), str(order)) if maker is _FROM_BUFFER and _is_shape(shape):
            return PlainArray(kind.read(values, shape, order))
    return None


def _is_shape(shape: tuple[Any, ...]) -> bool:
    return len(shape) <= _MOST_SIDES and all(type(side) is int for side in shape)
