"""The checksum of what is stored, so that a damaged or edited record is noticed when it is read."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["checksum_of"]


def checksum_of(data: bytes | memoryview) -> str:
    """Compute the checksum that is stored with a record and compared when it is read.

    It finds damage and careless edits. It does not stop a forger, who can compute it too.

    Parameters
    ----------
    data
        All bytes of the record, in the same order when it is written and when it is read.

    Returns
    -------
    str
        SHA-256 in 64 lower-case hexadecimal digits.
    """
    return sha256(data).hexdigest()
