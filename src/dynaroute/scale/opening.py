"""Which source an address means."""

from __future__ import annotations

from dynaroute.scale.sources import Source

__all__ = ["open_source"]


def open_source(address: str) -> Source:
    """Open an input: a Parquet file or a folder of them, a folder of instances, or any file that holds a set."""
    raise NotImplementedError(address)
