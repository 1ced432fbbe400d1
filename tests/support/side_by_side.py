"""Which tests run in the same process when they run in several."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Those of a file, which share what they start and compile; and all those that share Ray's cluster."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "ray" if "/test_ray_" in file else file
