"""Triton's intermediate code of the kernels as plain problems launch them, hashed; run without the interpreter.

Triton compiles to this code without a GPU. Line numbers are left out. Parameters that only rules need are None, which
Triton drops, as in a launch for a plain problem.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend

from dynaroute.kernels import fused_kernel, route_stream, route_tile

_TARGET = GPUTarget("cuda", 90, 32)
_HALF = "packed matrices projections gradient queries glimpses glimpse_gradient query_gradient projected"
_LONG = "offsets lengths route_lengths sizes keys starts stream_keys first_steps"
_WHOLE = "capacities demands demand capacity bounds left_nodes route position"
_NUMBERS = {"clip": "fp32", "attention_scale": "fp32", "temperature": "fp32", "nodes": "i32"}
_ROUTE = {"SHRINKS": True, "RULES": False, "H": 8, "DK": 16, "PRECISION": "tf32x3", "L": 16}
_SETTINGS: dict[str, dict[str, Any]] = {
    "route_tile": {**_ROUTE, "FIRST": 4, "LAST": 7},
    "route_stream": {**_ROUTE, "BLOCK": 64, "LONGEST_TILE": 128},
    "fused_kernel": {
        "layers": 3, "is_dynamic": True, "shrinks": True, "has_batch_norm": False, "is_sampled": True,
        "is_forced": False, "is_resident": True, "rules": False, "native": True, "precision": "tf32x3", "tile": 64,
        "depots": 1,
    },
}  # fmt: skip
_KERNELS = {
    "route_tile": [route_tile._forward_kernel, route_tile._backward_kernel],
    "route_stream": [
        route_stream._query_kernel,
        route_stream._glimpse_kernel,
        route_stream._chance_kernel,
        route_stream._chance_backward_kernel,
        route_stream._glimpse_backward_kernel,
        route_stream._query_backward_kernel,
    ],
    "fused_kernel": [fused_kernel.build_solutions],
}


def hash_plain_code() -> dict[str, str]:
    """Hash the code of every kernel, by its name and its switches."""
    return dict(_hash_all())


def _hash_all() -> Iterator[tuple[str, str]]:
    for module, kernels in _KERNELS.items():
        for kernel in kernels:
            for is_general in (False, True):
                lower = module == "fused_kernel"
                names = ("is_biased", "has_edges") if lower else ("IS_BIASED", "HAS_EDGES")
                settings = {**_SETTINGS[module], **dict.fromkeys(names, is_general)}
                name = f"{module}.{kernel.__name__}{' general' if is_general else ''}"
                yield name, hashlib.sha256(_compile(kernel, settings).encode()).hexdigest()[:16]


def _compile(kernel: Any, settings: dict[str, Any]) -> str:
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    for place, parameter in enumerate(kernel.params):
        kind = _find_type(parameter.name)
        if parameter.is_constexpr or kind is None:
            signature[parameter.name] = "constexpr"
            constants[(place,)] = settings.get(parameter.name)
        else:
            signature[parameter.name] = kind
    backend, context = make_backend(_TARGET), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({})
    module_map, code = backend.get_module_map(), backend.get_codegen_implementation(options)
    source = ASTSource(kernel, signature, constants)
    text: str = source.make_ir(_TARGET, options, code, module_map, context).str_nodebug()
    # names of functions tell the types and constants of their parameters, also of those that are not used
    names = list(dict.fromkeys(re.findall(r'@(?:"[^"]*"|[\w.$]+)', text)))
    for place, name in sorted(enumerate(names), key=lambda each: -len(each[1])):
        text = text.replace(name, f"@function_{place}")
    return text


def _find_type(name: str) -> str | None:
    """The type of a parameter that plain problems need; None for those of rules."""
    if name.startswith("rule_"):
        return None
    if name in _NUMBERS:
        return _NUMBERS[name]
    for names, kind in ((_HALF, "*fp16"), (_LONG, "*i64"), (_WHOLE, "*i32")):
        if name in names.split():
            return kind
    return "*fp32"


if __name__ == "__main__":
    print(json.dumps({"triton": triton.__version__, **hash_plain_code()}, indent=2))
