"""Where rows come from: Parquet files, folders of instances, and sets that are read whole."""

from __future__ import annotations

from typing import Protocol

from dynaroute.scale.rows import Block, Row

__all__ = ["Source"]


class Source(Protocol):
    """The input. It can be sent to other processes; what it keeps open stays behind."""

    @property
    def address(self) -> str:
        """As the user wrote it."""
        ...

    @property
    def digest(self) -> str:
        """What changes with any of its contents."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def prepare(self, block: Block) -> Block:
        """The block as a worker needs it: with its rows, where workers cannot read them. Called by the driver."""
        ...

    def read(self, block: Block) -> list[Row]:
        """The rows of a prepared block; one that is no problem tells why. Called by workers."""
        ...
