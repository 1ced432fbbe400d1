from __future__ import annotations

import pytest

from dynaroute.base.files import checksum_of


def test_it_is_the_published_sha256() -> None:
    assert checksum_of(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-4


def test_a_view_has_the_checksum_of_its_bytes() -> None:
    assert checksum_of(memoryview(b"record")) == checksum_of(b"record")


@pytest.mark.parametrize("place", range(len(b"record")))
def test_one_changed_bit_changes_it(place: int) -> None:
    changed = bytearray(b"record")
    changed[place] ^= 1

    assert checksum_of(bytes(changed)) != checksum_of(b"record")
