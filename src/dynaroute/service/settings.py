"""All limits of the service, set by environment variables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dynaroute.base.errors import OptionError
from dynaroute.base.machine import count_cores
from dynaroute.roads.servers import RoadServer

PREFIX = "DYNAROUTE_"

_REPLICA = re.compile(r"[A-Za-z0-9]{1,16}")  # it ends at the dash of a job's identifier

# Characters that would end a part of a content policy are not allowed.
_TILES = re.compile(
    r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?=[^\s]*\{z\})(?=[^\s]*\{x\})(?=[^\s]*\{y\})[^\s;,'\"<>]*"
)


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of the service; the variable of `body_bytes` is DYNAROUTE_BODY_BYTES, and so on.

    Attributes
    ----------
    token
        If set, requests must send it as ``Authorization: Bearer TOKEN``.
    cors_origins
        Origins of other pages that may use the API, separated by commas.
    hosts
        Host names under which a proxy or another machine reaches the service, in addition to addresses and names
        without a dot; "*" allows any.
    tiles
        Address of a street map's tiles, which the page can show behind the routes: https://.../{z}/{x}/{y}.png. Without
        it there is no street map. The user's browser loads the tiles from that server.
    tiles_attribution
        Attribution of the street map, shown on it as licences require.
    osrm, valhalla
        Address of a routing server, which gives distances and times to problems in degrees without a matrix. Requests
        cannot name one.
    replica
        Name of this replica behind a load balancer. The ids of its jobs begin with it, so that the balancer can find
        the replica that has a job.
    device
        Device for policies: auto, cpu, cuda, ...
    body_bytes
        Largest body of a request.
    body_seconds
        Time for a request's head, and for its body, to arrive.
    held_bytes
        Largest total size of bodies being read at the same time.
    read_seconds
        Time to parse a body.
    read_bytes
        Memory to parse a body.
    answer_bytes
        Largest answer.
    answer_seconds
        Time for a client to read its answer.
    unread_bytes
        Largest total size of unread answers; beyond it, the slowest clients are cut off.
    connections
        Connections at the same time; fewer if the system has fewer file handles.
    requests
        Requests at the same time, including those with unread answers.
    streams
        Event streams at the same time.
    job_streams
        Event streams per job.
    client_streams
        Event streams per client address.
    customers
        Largest instance.
    stops
        Most stops, and most routes, of a solution to check.
    vehicle_types
        Most types of vehicles of an instance.
    name_length
        Longest name of an instance, a customer or a type of vehicles.
    work
        Largest number of customers times solutions: 1,000 customers in 8 orientations are 8,000.
    solve_seconds
        Longest time limit of a direct request.
    job_seconds
        Longest time limit of a job.
    batch_size
        Most requests solved together; 1 solves each separately.
    batch_seconds
        How long an idle service waits for a second request.
    batch_work
        Largest number of customers times solutions per batch. A request with more than an eighth of it is solved
        separately, like a search.
    search_workers
        Separately solved requests at the same time; and as many jobs.
    waiting_solves
        Small requests that may wait; further ones are refused.
    waiting_searches
        Separately solved requests that may wait; and as many jobs.
    jobs
        Jobs that are kept, running and finished.
    jobs_folder
        Folder to keep jobs on disk, so that they survive a restart.
    job_age_seconds
        How long a finished job is kept.
    heartbeat_seconds
        Longest silence in an event stream.
    stop_seconds
        Time for running requests when the service stops.
    """

    token: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tiles: str | None = None
    tiles_attribution: str = ""
    osrm: str | None = None
    valhalla: str | None = None
    replica: str = ""
    device: str = "auto"
    body_bytes: int = 40_000_000  # two matrices of 1,000 customers with all digits
    body_seconds: float = 10.0
    held_bytes: int = 128_000_000
    read_seconds: float = 20.0
    read_bytes: int = 500_000_000
    answer_bytes: int = 40_000_000
    answer_seconds: float = 20.0
    unread_bytes: int = 64_000_000
    connections: int = 2_048
    requests: int = 1_024
    streams: int = 256
    job_streams: int = 64
    client_streams: int = 32
    customers: int = 1_000
    stops: int = 10_000
    vehicle_types: int = 1_000
    name_length: int = 1_000
    work: int = 16_000
    solve_seconds: float = 30.0
    job_seconds: float = 600.0
    batch_size: int = 32
    batch_seconds: float = 0.002
    batch_work: int = 6_400
    search_workers: int = field(default_factory=count_cores)
    waiting_solves: int = 256
    waiting_searches: int = 16
    jobs: int = 100
    jobs_folder: str | None = None
    job_age_seconds: float = 3_600.0
    heartbeat_seconds: float = 10.0
    stop_seconds: float = 30.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.type == "int" and (type(value) is not int or value < 1):
                raise _fault(entry.name, value, "a whole number above 0")
            if entry.type == "float" and not (type(value) in (int, float) and 0 < value < math.inf):
                raise _fault(entry.name, value, "a number above 0")
        if self.work < self.customers:
            raise _fault("work", self.work, f"at least {self.customers}, so that the largest instance can be solved")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.strip()):
            raise _fault("token", "***", "a word of plain letters and digits")
        if self.tiles is not None and not _TILES.fullmatch(self.tiles):
            raise _fault("tiles", self.tiles, "an address such as https://tiles.example.org/{z}/{x}/{y}.png")
        if self.tiles is not None and not self.tiles_attribution.strip():
            raise _fault("tiles_attribution", "", "who made the street map, such as © OpenStreetMap contributors")
        _ = self.roads  # refuses what is no address
        if self.replica and not _REPLICA.fullmatch(self.replica):
            raise _fault("replica", self.replica, "1 to 16 letters and digits")
        if any("/" in host for host in self.hosts):
            raise _fault("hosts", ", ".join(self.hosts), "host names such as routes.example.org")

    @property
    def roads(self) -> RoadServer | None:
        """The routing server, if there is one."""
        if self.osrm is not None and self.valhalla is not None:
            raise _fault("valhalla", self.valhalla, "only one of the two servers, OSRM or Valhalla")
        url = self.osrm or self.valhalla
        try:
            return None if url is None else RoadServer("valhalla" if self.osrm is None else "osrm", url)
        except OptionError:
            raise _fault("osrm" if self.osrm else "valhalla", url, "an address such as http://localhost:5000") from None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ServiceSettings:
        """Read the settings; empty variables are ignored.

        Parameters
        ----------
        environment
            Usually ``os.environ``.

        Raises
        ------
        OptionError
            If a variable is invalid; the error names it.
        """
        readers: dict[str, Callable[[str], Any]] = {
            "int": int,
            "float": float,
            "tuple[str, ...]": lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
        }
        values: dict[str, Any] = {}
        for entry in fields(cls):
            text = environment.get(_variable(entry.name), "").strip()
            if not text:
                continue
            try:
                values[entry.name] = readers.get(str(entry.type), str)(text)
            except ValueError:
                kind = "a whole number above 0" if entry.type == "int" else "a number above 0"
                raise _fault(entry.name, text, kind) from None
        return cls(**values)


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _fault(name: str, value: object, expected: str) -> OptionError:
    return OptionError.about(_variable(name), f"the value is {value!r}.", f"Give {expected}.")
