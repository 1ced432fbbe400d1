"""Files of vehicles, which are given beside an instance's own file."""

from __future__ import annotations

import os
from pathlib import Path

from dynaroute.errors import InstanceError, Where, in_file
from dynaroute.files import read_bytes, refuse_unreadable
from dynaroute.fleet_options import VehicleList
from dynaroute.formats.json_document import load_json
from dynaroute.formats.json_fleet import read_json_vehicles
from dynaroute.formats.table import require_suffix
from dynaroute.formats.text import decode_text

__all__ = ["VEHICLE_SUFFIXES", "read_vehicles"]

VEHICLE_SUFFIXES = (".json",)


def read_vehicles(path: str | os.PathLike[str]) -> VehicleList:
    """Read types of vehicles.

    Parameters
    ----------
    path
        A .json file: a list as an instance has it under "vehicles", or an object with that key.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or holds no vehicle.
    """
    file = Path(path)
    with in_file(os.fspath(path)):
        refuse_unreadable(file)
        require_suffix(file, VEHICLE_SUFFIXES, "vehicles")
        document = load_json(decode_text(read_bytes(file), ",[{"))
        vehicles = read_json_vehicles(document.get("vehicles") if isinstance(document, dict) else document)
        if vehicles is None:
            raise InstanceError("there is no vehicle.", where=Where(field="vehicles"), remedy="Give at least one type.")
        return vehicles
