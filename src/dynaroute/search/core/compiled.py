"""How the search code of this package is compiled, and where its machine code is cached.

Numba refreshes its cache when a function's own file changes, but not when the file of a called function does. So the
cache is in a folder named after a hash of all sources of this package: any edit gives a new folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite.binding import Linkage
from numba.core import ir, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import RewriteSemanticConstants
from numba.misc.appdirs import AppDirs
from numpy.typing import NDArray

_ROOM = Path(__file__).parents[1]  # all of search/
_PREFIX = "dynaroute-search-"
_LINES = 128  # bytes that processors fetch together: two cache lines
_KEPT = 4  # most recent folders of other sources to keep, for branches or several environments

INLINE_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile a function of numbers and arrays on its first call, and cache the machine code on disk.

    It runs without Python's lock, so that threads work in parallel.
    """
    return _compile(function, {"nogil": True, "error_model": "numpy"})


def compiled_inline(function: _Function) -> _Function:
    """Compile a function that creates no array or slice: inlined into its callers, without reference counts.

    Reference counting is atomic and slow: without it, an iteration of ruin and recreate takes 2.3 instead of 3.6
    microseconds. The function may only call other inlined functions.
    """
    return _compile(function, INLINE_OPTIONS)


def compiled_apart(function: _Function) -> _Function:
    """The same for a long function with many callers: it is called, not inlined, which compiles much faster."""
    return _compile(function, INLINE_OPTIONS | {"forceinline": False})  # not left out: it would be its caller's


@cache
def find_cache_folder() -> Path | None:
    """Find the cache folder; None if none is writable.

    It is where numba would put it: in NUMBA_CACHE_DIR, next to the sources, or in the user's cache.
    """
    try:
        sources = [(str(path.relative_to(_ROOM)), path.read_bytes()) for path in sorted(_ROOM.rglob("*.py"))]
    except OSError:
        return None
    name = _PREFIX + hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    return next((folder for parent in _list_parents() if _is_writable(folder := parent / name)), None)


def _list_parents() -> Iterator[Path]:
    if named := getattr(numba.config, "CACHE_DIR", ""):
        yield Path(named)
    yield _ROOM / "__pycache__"
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)


def _is_writable(folder: Path) -> bool:
    """Whether the folder exists, or could be created, and is writable; a new folder replaces old ones."""
    is_new = not folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    if is_new:
        with suppress(OSError):  # another process may be doing the same
            _drop_old_folders(folder)
    return True


def _drop_old_folders(newest: Path) -> None:
    """Delete the machine code of old sources; it would just be compiled again."""
    others = [folder for folder in newest.parent.glob(f"{_PREFIX}*") if folder != newest]
    others.sort(key=os.path.getmtime, reverse=True)
    for folder in others[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


class _Locator(_CacheLocator):
    """Tells numba where to cache the code of a function of this package."""

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator | None:
        folder = find_cache_folder()
        if folder is None or not Path(file).is_relative_to(_ROOM):
            return None
        # the name of the room too: modules of two rooms may have the same name
        return cls(folder, f"{Path(file).parent.name}-{function.__code__.co_firstlineno}")

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return self._place


class _CacheFiles(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # required by numba


class _Cache(FunctionCache):
    """Numba's cache in our folder; a disk error only costs the time to compile."""

    _impl_class = _CacheFiles

    def load_overload(self, signature: Any, target: Any) -> Any:
        with suppress(OSError):
            loaded = super().load_overload(signature, target)
            # two processes compiling for different types may have written to the same file
            return loaded if loaded is not None and loaded.signature.args == tuple(signature) else None
        return None

    def save_overload(self, signature: Any, compiled_code: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, compiled_code)


@register_pass(mutates_CFG=False, analysis_only=False)
class _ReadSwitches(FunctionPass):
    """Replaces `len(argument.field)` by a number where the field is a tuple.

    So the branches that a problem never takes are dropped before their types are inferred, and nothing in them is
    compiled. Numba does the same for the length of an argument itself.
    """

    _name = "dynaroute_read_switches"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        code, is_changed = state.func_ir, False
        for block in code.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                length = guard(_find_length, assignment.value, code, state.args)
                if length is not None:
                    known = code._definitions[assignment.target.name]
                    constant = ir.Const(length, assignment.loc)
                    known[known.index(assignment.value)] = constant
                    assignment.value, is_changed = constant, True
        return is_changed


def _find_length(value: Any, code: Any, arguments: Any) -> int | None:
    """The length of the tuple in `len(argument.field)`; None for any other expression."""
    if not isinstance(value, ir.Expr) or value.op != "call" or len(value.args) != 1:
        return None
    called, field = get_definition(code, value.func), get_definition(code, value.args[0])
    if getattr(called, "value", None) is not len or not isinstance(field, ir.Expr) or field.op != "getattr":
        return None
    owner = get_definition(code, field.value)
    kind = arguments[owner.index] if isinstance(owner, ir.Arg) else None
    if not isinstance(kind, types.NamedTuple):
        return None
    own = kind.types[kind.fields.index(field.attr)]
    return len(own) if isinstance(own, types.BaseTuple) else None


class _PartLibrary(JITCodeLibrary):
    """The code of a function as others call it: neither optimised as a whole nor turned into machine code by itself."""

    def finalize(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Set nothing: only code that Python calls has an environment."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def list_parts(self) -> Iterator[Any]:
        """All the code that this one calls."""
        for library in self._linking_libraries:
            yield library
            if isinstance(library, _PartLibrary):
                yield from library.list_parts()


class _WholeLibrary(_PartLibrary):
    """The code of a function that Python calls, with all that it calls: optimised once."""

    def finalize(self) -> None:
        self._linking_libraries = list(dict.fromkeys(self.list_parts()))
        JITCodeLibrary.finalize(self)

    def _optimize_final_module(self) -> None:
        """Optimise the code once it is known that nothing else calls the parts.

        So parts lose the arguments that they do not need: a problem with all rules is more than 600 of them.
        """
        for function in self.get_defined_functions():
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        JITCodeLibrary._optimize_final_module(self)

    @property
    def codegen(self) -> Any:
        return self._codegen

    def get_pointer_to_function(self, name: str) -> int:
        return int(JITCodeLibrary.get_pointer_to_function(self, name))


@register_pass(mutates_CFG=False, analysis_only=False)
class _MakeLibrary(FunctionPass):
    """Decides where the code of a function goes."""

    _name = "dynaroute_make_library"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        kind = _PartLibrary if state.flags.no_cpython_wrapper else _WholeLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


class _Compiler(CompilerBase):
    """Numba's compiler for machine code, which reads switches first."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_ReadSwitches, RewriteSemanticConstants)
        passes.add_pass_after(_MakeLibrary, _ReadSwitches)
        passes.finalize()
        return [passes]


class _Dispatcher(CPUDispatcher):
    """Compiles a function twice if need be: with all that it calls for Python, and as a part of others.

    Numba would optimise each function alone, and again with each one that calls it, directly or not; that takes four
    times as long in all. Only what Python calls is kept on disk, and parts are compiled once for all sizes of whole
    numbers.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_Compiler)
        options = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._part = CPUDispatcher(function, targetoptions=options, pipeline_class=_Compiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template([_widen(each) for each in args], kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)


def _widen(kind: Any) -> Any:
    """The type for which a part is compiled: one size of whole numbers, and no version for single values."""
    general = types.unliteral(kind)
    is_signed = isinstance(general, types.Integer) and getattr(general, "signed", False)
    return types.int64 if is_signed else general


def _compile(function: _Function, options: dict[str, Any]) -> _Function:
    if getattr(numba.config, "DISABLE_JIT", False):
        return function
    dispatcher: Any = _Dispatcher(function, {"nopython": True, **options})
    with suppress(RuntimeError):  # no cache folder
        dispatcher._cache = _Cache(function)  # like `cache=True`, but in our folder
    return cast(_Function, dispatcher)


def make_apart(count: int, kind: type[np.generic]) -> NDArray[Any]:
    """Make a small array of zeros that shares no cache line with another.

    Cores that write to the same line wait for each other, even if they write to different arrays in it.
    """
    length = count * np.dtype(kind).itemsize
    room = np.zeros(length + 2 * _LINES, dtype=np.uint8)
    start = -room.ctypes.data % _LINES
    return room[start : start + length].view(kind)


@compiled_inline
def as_index(number: int) -> int:
    """Convert to unsigned, so that numba does not check for negative indices, which saves a tenth of the time."""
    return np.uint32(number)  # type: ignore[return-value]
