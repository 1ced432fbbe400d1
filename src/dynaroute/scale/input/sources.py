"""The protocol of inputs: Parquet files, folders of instances, and sets that are read as a whole."""

from __future__ import annotations

from typing import Protocol

from dynaroute.scale.rows import Block, InputRow


class BatchInput(Protocol):
    """The input. It can be sent to other processes, without its open files."""

    @property
    def address(self) -> str:
        """The address as the user wrote it."""
        ...

    @property
    def digest(self) -> str:
        """A digest of its contents."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def prepare(self, block: Block) -> Block:
        """Add to a block the rows that workers cannot read themselves. Called by the driver."""
        ...

    def read(self, block: Block) -> list[InputRow]:
        """Read the rows of a prepared block; invalid ones carry an error. Called by workers."""
        ...
