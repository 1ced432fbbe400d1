"""Every limit of the service in one place, set by environment variables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dynaroute.cores import count_cores
from dynaroute.errors import OptionError, Where

__all__ = ["PREFIX", "ServiceSettings"]

PREFIX = "DYNAROUTE_"

_REPLICA = re.compile(r"[A-Za-z0-9]{1,16}")  # it ends at the dash of a job's identifier

# What stands between quotes and semicolons of a content policy must not end it.
_TILES = re.compile(
    r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?=[^\s]*\{z\})(?=[^\s]*\{x\})(?=[^\s]*\{y\})[^\s;,'\"<>]*"
)


@dataclass(frozen=True)
class ServiceSettings:
    """What the service allows; the variable of `body_bytes` is DYNAROUTE_BODY_BYTES, and so on.

    Attributes
    ----------
    token
        If set, requests must bring it as ``Authorization: Bearer TOKEN``.
    cors_origins
        Origins of other pages that may use the API; in the environment separated by commas.
    hosts
        Names under which a proxy or another machine reaches the service, beside addresses and names without a dot; "*"
        takes any.
    tiles
        Address of a street map's pictures, which the page may show behind the routes: https://.../{z}/{x}/{y}.png.
        Without one, no street map is offered. The browser of whoever looks at it asks that server.
    tiles_attribution
        Who made the street map; shown on it, as licences demand.
    replica
        Name of this one of several services behind a load balancer. The identifiers of its jobs begin with it, which
        is how the balancer finds whose job it is asked for.
    device
        Where policies work: auto, cpu, cuda, ...
    body_bytes
        Largest body of a request.
    body_seconds
        Time in which a request must have arrived, its head and its body each.
    held_bytes
        Largest sum of bodies that are being read at the same time.
    read_seconds
        Time in which a body must have been understood.
    read_bytes
        Memory that understanding one body may take.
    answer_bytes
        Largest answer.
    answer_seconds
        Time in which a client must have taken its answer.
    unread_bytes
        Largest sum of answers that clients have not taken yet; beyond it those who wait longest are cut off.
    connections
        Connections at the same time; fewer where the system gives fewer file handles.
    requests
        Requests that may be there at the same time, those included whose answers nobody takes.
    streams
        Streams of events at the same time.
    job_streams
        Streams of events of one job.
    client_streams
        Streams of events of one client, as told by its address.
    customers
        Largest instance.
    stops
        Largest number of stops in a solution to check, and of routes.
    name_length
        Longest name of an instance or a customer.
    work
        Largest number of customers times solutions built of them: 1,000 customers in 8 orientations are 8,000.
    solve_seconds
        Longest time limit of a request that waits for its answer.
    job_seconds
        Longest time limit of a job.
    batch_size
        Most requests that are solved together; 1 solves each alone.
    batch_seconds
        How long an idle service waits for a second request before it solves the first.
    batch_work
        Largest number of customers times solutions built of them in one batch. A request with more than an eighth of
        it is solved by itself, as searches are.
    search_workers
        Requests that are solved by themselves at the same time; and as many jobs.
    waiting_solves
        Small requests that may wait; the next one is told to come back later.
    waiting_searches
        Requests that may wait to be solved by themselves; and as many jobs.
    jobs
        Jobs that are kept, running and finished.
    jobs_folder
        Where jobs are kept on disk, so that they outlive the service.
    job_age_seconds
        How long a finished job is kept.
    heartbeat_seconds
        Longest silence in a stream of events.
    stop_seconds
        Time for what runs when the service is told to stop.
    """

    token: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tiles: str | None = None
    tiles_attribution: str = ""
    replica: str = ""
    device: str = "auto"
    body_bytes: int = 40_000_000  # two matrices of 1,000 customers with all digits of a float
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
        if self.replica and not _REPLICA.fullmatch(self.replica):
            raise _fault("replica", self.replica, "1 to 16 letters and digits")
        if any("/" in host for host in self.hosts):
            raise _fault("hosts", ", ".join(self.hosts), "names alone, such as routes.example.org")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ServiceSettings:
        """Read the settings that are there; an empty variable counts as one that is not.

        Parameters
        ----------
        environment
            Usually ``os.environ``.

        Raises
        ------
        OptionError
            If a variable does not hold what it should; it names the variable.
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
    return OptionError(f"the value is {value!r}.", where=Where(field=_variable(name)), remedy=f"Give {expected}.")
