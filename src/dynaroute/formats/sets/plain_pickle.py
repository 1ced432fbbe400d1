"""A safe reader for pickles of plain data.

A pickle is a program. Python's interpreter for it can call anything and, even with calls forbidden, a few bytes can
make it request any amount of memory. This interpreter has only the instructions that build numbers, strings, lists and
tuples, and refuses all others by name, so it cannot execute code. It recognises the few names that pickles of numpy
arrays use, but never imports or calls them.
"""

from __future__ import annotations

import math
import pickletools
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError
from dynaroute.base.limits import refuse_large_content

__all__ = ["PlainArray", "load_plain_pickle"]

_NEWEST_PROTOCOL = 5
_LONGEST_NUMBER = 1000  # digits, or bytes
_ALLOCATING = b"](ltGFILJ\x8a\x8bVSU\x8cXT\x8d\x85\x86\x87\x94qrpcRBC\x8e\x96\x93"  # instructions that allocate memory
_MOST_SIDES = 32  # dimensions of an array
_BYTES_OF_ALLOCATION = 100  # at most, in addition to the bytes in the file
_REMEDY = "Store plain lists, tuples, numbers, strings and arrays of numbers, or write a .npz file."
_NUMBERS = re.compile(r"[<>|=]?[iuf][1248]")  # dtypes that hold numbers


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

    def order(self, order: str) -> None:
        """Set the byte order."""
        self.code = order + self.code.lstrip("<>|=")

    def read(self, values: bytes, shape: tuple[int, ...], order: str) -> NDArray[Any]:
        """Convert bytes to numbers; their count must match the shape."""
        kind = np.dtype(self.code)
        if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(values):
            raise ValueError
        return np.frombuffer(values, kind).reshape(shape, order="F" if order == "F" else "C")


_NOTHING, _TRUE, _FALSE = _Piece("None"), _Piece("True"), _Piece("False")
_RECONSTRUCT, _SCALAR, _FROM_BUFFER = _Piece("an array"), _Piece("a number of numpy's"), _Piece("an array's bytes")
_ARRAY, _TYPE, _ENCODE = _Piece("numpy.ndarray"), _Piece("numpy.dtype"), _Piece("_codecs.encode")
_NO_BYTES = _Piece("bytes")
_NAMES: dict[tuple[str, ...], _Piece] = {  # all names in pickles of arrays, from old and new versions of numpy
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): _SCALAR,
    ("numpy._core.multiarray", "scalar"): _SCALAR,
    ("numpy.core.numeric", "_frombuffer"): _FROM_BUFFER,
    ("numpy._core.numeric", "_frombuffer"): _FROM_BUFFER,
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): _TYPE,
    ("_codecs", "encode"): _ENCODE,
    ("__builtin__", "bytes"): _NO_BYTES,
    ("builtins", "bytes"): _NO_BYTES,
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
    machine = _Machine(content)
    try:
        return machine.run()
    except (IndexError, KeyError, ValueError, struct.error) as error:
        raise FormatError(
            f"this is not a valid pickle (it ends early or is damaged at byte {machine.position}).",
            remedy="Was the file copied completely?",
        ) from error


_Instruction = Callable[["_Machine"], object]


class _Machine:
    """The interpreter: its stack, its memo and its position in the program."""

    def __init__(self, program: bytes) -> None:
        self.program = program
        self.position = 0
        self.stack: list[Any] = []
        self.outer_stacks: list[list[Any]] = []  # one for each open mark
        self.memory: dict[int, Any] = {}
        self.has_pieces = False

    def run(self) -> object:
        program, instructions = self.program, _INSTRUCTIONS
        while (code := program[self.position]) != _STOP:
            self.position += 1
            instruction = instructions.get(code)
            if instruction is None:
                raise self.refuse(code)
            instruction(self)
        self.position += 1
        if len(self.stack) != 1 or self.outer_stacks or self.position != len(program):
            raise ValueError
        if self.has_pieces:
            self.refuse_pieces(self.stack[0])
        return self.stack[0]

    def push_piece(self, piece: object) -> None:
        """Push a part of an array's description."""
        self.has_pieces = True
        self.stack.append(piece)

    def refuse_pieces(self, result: object) -> None:
        """Raise if a part of an array's description is left over as data."""
        seen, left = set(), [result]
        while left:
            value = left.pop()
            if isinstance(value, _Piece | _Type | bytes) or (isinstance(value, PlainArray) and value.array is None):
                raise self.say_no(value.words if isinstance(value, _Piece) else type(value).__name__.strip("_").lower())
            if isinstance(value, list | tuple) and id(value) not in seen:
                seen.add(id(value))
                left.extend(value)

    def take(self, count: int) -> bytes:
        start = self.position
        self.position = start + count
        if self.position > len(self.program):
            raise IndexError
        return self.program[start : self.position]

    def take_line(self) -> bytes:
        end = self.program.index(b"\n", self.position)
        line = self.program[self.position : end]
        self.position = end + 1
        return line

    def take_number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def push(self, value: object) -> None:
        self.stack.append(value)  # looked up only now: evaluating the value may have closed a mark

    def close_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.outer_stacks.pop()
        return items

    def refuse(self, code: int) -> UnsupportedError:
        wanted = next((operation.name for operation in pickletools.opcodes if operation.code == chr(code)), None)
        if wanted is None:
            raise ValueError
        if wanted in ("GLOBAL", "INST"):
            wanted = b".".join((self.take_line(), self.take_line())).decode(errors="replace")
        elif wanted == "STACK_GLOBAL":
            wanted = ".".join(map(str, self.stack[-2:]))
        return self.say_no(wanted)

    def say_no(self, wanted: str) -> UnsupportedError:
        """Make the error that says what was refused."""
        return UnsupportedError.about(
            "pickle", f"the pickle asks for {wanted[:80]!r}, which is not plain data; it was not executed.", _REMEDY
        )


def _check_protocol(machine: _Machine) -> None:
    if machine.take_number(1) > _NEWEST_PROTOCOL:
        raise ValueError


def _open_mark(machine: _Machine) -> None:
    machine.outer_stacks.append(machine.stack)
    machine.stack = []


def _push_float(machine: _Machine) -> None:
    (value,) = struct.unpack_from(">d", machine.program, machine.position)
    machine.position += 8
    machine.stack.append(value)


def _push_integer_text(machine: _Machine) -> None:
    line = machine.take_line().removesuffix(b"L")
    if line in (b"00", b"01"):  # false and true in the oldest protocols
        machine.push_piece(_TRUE if line == b"01" else _FALSE)
        return
    if len(line) > _LONGEST_NUMBER:
        raise ValueError
    machine.stack.append(int(line))


def _push_byte(machine: _Machine) -> None:
    machine.stack.append(machine.program[machine.position])
    machine.position += 1


def _push_long(machine: _Machine, size: int) -> None:
    if size > _LONGEST_NUMBER:
        raise ValueError
    machine.push(int.from_bytes(machine.take(size), "little", signed=True))


def _push_text(machine: _Machine, text: bytes) -> None:
    machine.push(text.decode("utf-8", errors="replace"))


def _list_on_top(machine: _Machine) -> list[Any]:
    target = machine.stack[-1]
    if type(target) is not list:
        raise ValueError
    return target


def _append(machine: _Machine) -> None:
    value = machine.stack.pop()
    _list_on_top(machine).append(value)


def _extend(machine: _Machine) -> None:
    items = machine.close_mark()
    _list_on_top(machine).extend(items)


def _tuple_pusher(count: int) -> _Instruction:
    def push_tuple(machine: _Machine) -> None:
        start = len(machine.stack) - count
        if start < 0:
            raise IndexError
        machine.stack[start:] = [tuple(machine.stack[start:])]

    return push_tuple


def _memorise(machine: _Machine) -> None:
    machine.memory[len(machine.memory)] = machine.stack[-1]


def _memorise_at_text(machine: _Machine) -> None:
    machine.memory[int(machine.take_line())] = machine.stack[-1]


def _memoriser(size: int) -> _Instruction:
    def memorise(machine: _Machine) -> None:
        machine.memory[machine.take_number(size)] = machine.stack[-1]

    return memorise


def _push_name(machine: _Machine) -> None:
    start = machine.position
    name = (machine.take_line().decode(errors="replace"), machine.take_line().decode(errors="replace"))
    if name not in _NAMES:
        machine.position = start
        raise machine.refuse(ord("c"))
    machine.push_piece(_NAMES[name])


def _push_name_from_stack(machine: _Machine) -> None:
    name = tuple(machine.stack[-2:])
    if not all(type(part) is str for part in name) or name not in _NAMES:
        raise machine.refuse(0x93)
    del machine.stack[-2:]
    machine.push_piece(_NAMES[name])


def _push_bytes(machine: _Machine, size: int) -> None:
    machine.push_piece(machine.take(size))


def _push_long_bytes(machine: _Machine) -> None:
    size = machine.take_number(8)
    if size > len(machine.program):
        raise machine.say_no("bytes that are not there")
    _push_bytes(machine, size)


def _make(machine: _Machine) -> None:
    """Where Python would call an object: build a part of an array."""
    arguments, maker = machine.stack[-1], machine.stack[-2]
    if not isinstance(maker, _Piece) or type(arguments) is not tuple:
        raise ValueError
    made = _make_part(maker, arguments)
    if made is None:
        raise machine.say_no(f"{maker.words} of an unusual kind")
    machine.stack[-2:] = [made]


def _make_part(maker: _Piece, arguments: tuple[Any, ...]) -> object:
    """Build a part of an array of numbers; None if it is not one."""
    match arguments:
        case (str(code), _Piece() | int(), _Piece() | int()) if maker is _TYPE and _NUMBERS.fullmatch(code):
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


def _fill(machine: _Machine) -> None:
    """Where Python would set an object's state: fill an array or its dtype."""
    state, target = machine.stack.pop(), machine.stack[-1]
    match target, state:
        case _Type(), (int(), ("<" | ">" | "|" | "=") as order, *_):
            target.order(order)
        case PlainArray(array=None), (int(), tuple(shape), _Type() as kind, flag, bytes(values)) if _is_shape(shape):
            target.array = kind.read(values, shape, "F" if flag in (_TRUE, 1) else "C")
        case _:
            raise machine.say_no("an object with a state of its own")


def _is_shape(shape: tuple[Any, ...]) -> bool:
    return len(shape) <= _MOST_SIDES and all(type(side) is int for side in shape)


_STOP = ord(".")
_INSTRUCTIONS: dict[int, _Instruction] = {
    0x80: _check_protocol,
    0x95: lambda machine: machine.take(8),  # a frame: a hint for reading ahead
    ord("("): _open_mark,
    ord("G"): _push_float,
    ord("F"): lambda machine: machine.stack.append(float(machine.take_line())),
    ord("I"): _push_integer_text,
    ord("L"): _push_integer_text,
    ord("K"): _push_byte,
    ord("M"): lambda machine: machine.stack.append(machine.take_number(2)),
    ord("J"): lambda machine: _push_long(machine, 4),
    0x8A: lambda machine: _push_long(machine, machine.take_number(1)),
    0x8B: lambda machine: _push_long(machine, machine.take_number(4)),
    ord("V"): lambda machine: machine.push(machine.take_line().decode("raw-unicode-escape")),
    ord("N"): lambda machine: machine.push_piece(_NOTHING),
    0x88: lambda machine: machine.push_piece(_TRUE),
    0x89: lambda machine: machine.push_piece(_FALSE),
    ord("c"): _push_name,
    0x93: _push_name_from_stack,
    ord("C"): lambda machine: _push_bytes(machine, machine.take_number(1)),
    ord("B"): lambda machine: _push_bytes(machine, machine.take_number(4)),
    0x8E: _push_long_bytes,
    0x96: _push_long_bytes,
    ord("R"): _make,
    ord("b"): _fill,
    ord("S"): lambda machine: _push_text(machine, machine.take_line()),
    0x8C: lambda machine: _push_text(machine, machine.take(machine.take_number(1))),
    ord("U"): lambda machine: _push_text(machine, machine.take(machine.take_number(1))),
    ord("X"): lambda machine: _push_text(machine, machine.take(machine.take_number(4))),
    ord("T"): lambda machine: _push_text(machine, machine.take(machine.take_number(4))),
    0x8D: lambda machine: _push_text(machine, machine.take(machine.take_number(8))),
    ord("]"): lambda machine: machine.stack.append([]),
    ord("l"): lambda machine: machine.push(machine.close_mark()),
    ord("a"): _append,
    ord("e"): _extend,
    ord("t"): lambda machine: machine.push(tuple(machine.close_mark())),
    ord(")"): _tuple_pusher(0),
    0x85: _tuple_pusher(1),
    0x86: _tuple_pusher(2),
    0x87: _tuple_pusher(3),
    0x94: _memorise,
    ord("q"): _memoriser(1),
    ord("r"): _memoriser(4),
    ord("p"): _memorise_at_text,
    ord("h"): lambda machine: machine.stack.append(machine.memory[machine.take_number(1)]),
    ord("j"): lambda machine: machine.stack.append(machine.memory[machine.take_number(4)]),
    ord("g"): lambda machine: machine.stack.append(machine.memory[int(machine.take_line())]),
    ord("0"): lambda machine: machine.stack.pop(),
    ord("1"): lambda machine: machine.close_mark(),
}
