"""Choosers as the kernels know them."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from dynaroute.construct.choose import Chooser, MostLikely, Sample, StartAt


class Choice(NamedTuple):
    """What the kernels need to know of a chooser.

    Attributes
    ----------
    starts
        (B,) int64 first customers, where they are forced.
    stream_keys
        (B, 2) int64 random streams, where nodes are sampled.
    temperature
        Of the samples.
    """

    starts: Tensor | None
    stream_keys: Tensor | None
    temperature: float

    def take(self, rows: Tensor) -> Choice:
        """For some of the trajectories."""
        starts, keys = (None if part is None else part[rows] for part in (self.starts, self.stream_keys))
        return Choice(starts, keys, self.temperature)

    def to_chooser(self) -> Chooser:
        """The chooser that `read_choice` read."""
        chooser: Chooser = MostLikely() if self.stream_keys is None else Sample(self.stream_keys, self.temperature)
        return chooser if self.starts is None else StartAt(self.starts, chooser)


def read_choice(chooser: Chooser) -> Choice | None:
    """The chooser as the kernels know it; None if they do not.

    Parameters
    ----------
    chooser
        How the next node is chosen.
    """
    # of exactly these types: a subclass may choose otherwise
    if type(chooser) is MostLikely:
        return Choice(None, None, 1.0)
    if type(chooser) is Sample:
        return Choice(None, chooser.stream_keys.contiguous(), chooser.temperature)
    if type(chooser) is StartAt and type(chooser.then) is not StartAt:
        then = read_choice(chooser.then)
        return None if then is None else then._replace(starts=chooser.customers.contiguous())
    return None
