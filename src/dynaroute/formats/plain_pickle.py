"""Pickles of plain data, read by a machine that knows no other instructions.

A pickle is a program. Python's own machine for it can call anything, and even with all calls forbidden a few bytes can
make it ask for any amount of memory. This one has the instructions that build numbers, strings, lists and tuples, and
refuses the others by name, so nothing can be executed.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable
from typing import Any

from dynaroute.errors import FormatError, UnsupportedError, Where
from dynaroute.limits import refuse_large_content

__all__ = ["load_plain_pickle"]

_NEWEST_PROTOCOL = 5
_LONGEST_NUMBER = 1000  # digits, or bytes
_MAKERS = b"](ltGFILJ\x8a\x8bVSU\x8cXT\x8d\x85\x86\x87\x94qrp"  # instructions that take memory
_BYTES_OF_MAKER = 100  # at most, beside what the file has for it
_REMEDY = "Store plain lists, tuples, numbers and strings, or write a .npz file."


def load_plain_pickle(content: bytes) -> object:
    """Build what a pickle describes, if that is plain data.

    Parameters
    ----------
    content
        A pickle of any protocol, from any Python.

    Returns
    -------
    object
        Numbers, strings, lists and tuples. Parts may be shared, and lists may hold themselves.

    Raises
    ------
    UnsupportedError
        If it asks for anything else. Nothing has been executed.
    FormatError
        If it is damaged or no pickle, or what it describes would fill the memory.
    """
    refuse_large_content(len(content) + _BYTES_OF_MAKER * sum(content.count(code) for code in _MAKERS))
    machine = _Machine(content)
    try:
        return machine.run()
    except (IndexError, KeyError, ValueError, struct.error) as error:
        raise FormatError(
            f"this is not a sound pickle (it breaks off or makes no sense at byte {machine.position}).",
            remedy="Was the file copied completely?",
        ) from error


_Instruction = Callable[["_Machine"], object]


class _Machine:
    """The stack, the memory and the position in the program."""

    def __init__(self, program: bytes) -> None:
        self.program = program
        self.position = 0
        self.stack: list[Any] = []
        self.outer_stacks: list[list[Any]] = []  # one for each open mark
        self.memory: dict[int, Any] = {}

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
        return self.stack[0]

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
        self.stack.append(value)  # looked up only now: what was evaluated may have closed a mark

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
        return UnsupportedError(
            f"the pickle asks for {wanted[:80]!r}, which is not plain data; it was not executed.",
            where=Where(field="pickle"),
            remedy=_REMEDY,
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
    if line in (b"00", b"01"):  # how the oldest protocols write false and true
        raise UnsupportedError(
            "the pickle holds true or false, not a number.", where=Where(field="pickle"), remedy=_REMEDY
        )
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
    ord("V"): lambda machine: _push_text(machine, machine.take_line()),
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
