"""The engine for a cluster: Ray Data hands blocks to a pool of actors that stay loaded. Needs ``dynaroute[ray]``.

Ray only transports row numbers and reports; actors read the rows and write the parts themselves. If GPUs build the
first routes of searches, one pool of actors builds them and another searches; then Ray transports first routes too.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from dynaroute.base.errors import DynarouteError, OptionError
from dynaroute.base.machine import count_cores
from dynaroute.scale.engines.devices import name_kind
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.engines.ledger import Done, Ledger
from dynaroute.scale.first_routes import are_built_apart
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work, Worker

_MOST_BLOCKS = 10_000  # given to Ray Data at a time; it keeps a few hundred bytes of each
_OBJECT_STORE_BYTES = 128 << 20  # Ray transports nothing large
# No usage statistics, and nothing on standard output, which is for results: we report dead workers ourselves.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
_PATIENCE = 10.0  # seconds to wait for a cluster's answer


@dataclass
class RayEngine:
    """Workers that are Ray actors.

    Attributes
    ----------
    address
        Address of a running cluster, such as "10.0.0.1:6379", or "auto" on one of its machines. None starts a
        cluster on this machine, which ends with the run.
    workers
        Number of actors; None means as many as the cluster's cores or GPUs allow. If GPUs build first routes, this
        is the number of actors that search; those that build come on top.
    gpus
        GPUs per actor, which may be a fraction; None means one if a policy runs on GPUs, else none.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None
    _is_ours: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.gpus is not None and (self.gpus < 0 or (self.gpus > 1 and self.gpus % 1)):
            message = f"a worker cannot have {self.gpus:g} GPUs."
            raise OptionError.about("gpus", message, "Use a whole number, or a fraction below 1 such as 0.25.")

    def count_workers(self, work: Work) -> int:
        """Return the number of workers for this work."""
        self._connect()
        actors = self._count_actors(work)
        return actors.workers + actors.builders

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        """Solve all blocks; see `BatchEngine`."""
        self._connect()
        pool = _Pool(work, self._count_actors(work), tell)
        try:
            yield from pool.solve(blocks)
        finally:
            self._leave()

    def _count_actors(self, work: Work) -> _ActorCounts:
        has: dict[str, float] = _load_ray().cluster_resources()
        gpus = self._gpus_of(work)
        with_gpus = int(has.get("GPU", 0.0) / gpus) if gpus else 0
        possible = cores = int(has.get("CPU", 0.0))
        if gpus:
            possible = min(cores, with_gpus)
        if possible < 1:
            self._leave()
            raise OptionError.about(
                "gpus",
                f"the cluster is too small for a worker, which needs one core and {gpus:g} GPUs.",
                "Use --gpus 0 with --device cpu, or a cluster with GPUs.",
            )
        if gpus and are_built_apart(work.options):
            return _ActorCounts(min(self.workers or cores, cores), gpus, builders=with_gpus)
        return _ActorCounts(min(self.workers or possible, possible), gpus)

    def _gpus_of(self, work: Work) -> float:
        if self.gpus is not None:
            return self.gpus
        return 1.0 if name_kind(work.options) == "cuda" else 0.0

    def _connect(self) -> None:
        """Connect to the cluster or start one, unless this process is already connected."""
        ray = _load_ray()
        if ray.is_initialized():
            return
        own = {
            "num_cpus": self.workers or count_cores(),
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
        }
        try:
            _refuse_silent(self.address)
            ray.init(
                address=self.address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if self.address else own),
            )
        except (OSError, ValueError, RuntimeError) as error:  # no answer, a bad address, or another version
            reason = str(error).partition("\n")[0].rstrip(".")
            raise OptionError.about(
                "address",
                f"Ray cannot be used: {reason}.",
                "Give the address of a running cluster with the same versions of Ray and Python, or none.",
            ) from error
        self._is_ours = True

    def _leave(self) -> None:
        """Stop the actors, and the cluster if it was started here."""
        if self._is_ours:
            _load_ray().shutdown()
            self._is_ours = False


def _refuse_silent(address: str | None) -> None:
    """Raise OSError if nothing answers at the address; Ray itself would keep trying for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), _PATIENCE).close()


@dataclass(frozen=True)
class _ActorCounts:
    """The number of actors of each kind, and their GPUs.

    Attributes
    ----------
    workers
        Actors with one core each that write parts.
    gpus
        GPUs of each actor whose policy runs on GPUs.
    builders
        Actors with GPUs that build first routes for the workers, which then have none; 0 if workers build them.
    """

    workers: int
    gpus: float
    builders: int = 0


class _Pool:
    """The actors of one run."""

    def __init__(self, work: Work, actors: _ActorCounts, tell: Callable[[WorkersNow], None]) -> None:
        self.work = work
        self.actors = actors
        self.tell = tell
        self.replaced = 0

    def solve(self, blocks: Iterable[Block]) -> Iterator[BlockReport]:
        """Solve all blocks, many at a time."""
        upcoming = iter(blocks)
        while some := list(islice(upcoming, _MOST_BLOCKS)):
            for row in self._answer(some):
                answer = pickle.loads(row["answer"])
                if isinstance(answer, DynarouteError):
                    raise answer
                assert isinstance(answer, Done)
                if answer.deaths:
                    self.replaced += answer.deaths
                    self.tell(WorkersNow(self.actors.workers + self.actors.builders, self.replaced))
                yield from answer.reports

    def _answer(self, blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
        """Yield the actors' answers as they arrive."""
        from ray.data import DataContext, from_items

        prepared = [block if block.rows is not None else self.work.source.prepare(block) for block in blocks]
        with _silence(), DataContext.current(DataContext.get_current().copy()):
            DataContext.get_current().enable_progress_bars = False
            DataContext.get_current().print_on_execution_start = False
            waiting = from_items(
                [{"block": pickle.dumps(block)} for block in prepared], override_num_blocks=len(prepared)
            )
            answers = self._pass_on(waiting, _start_ledger(self.work))
            try:
                yield from answers.iter_rows()
            except _load_ray().exceptions.RayError as error:
                raise DynarouteError(
                    f"Ray cannot run workers: {_last_line(error)}.",
                    remedy="Install this version of Dynaroute with the extra [ray] on every node.",
                ) from error

    def _pass_on(self, blocks: Any, ledger: Any) -> Any:
        """Map a Ray data set of blocks to one of answers."""
        actors = self.actors
        # only the kind of device, because Ray shows an actor only its own GPUs, numbered from 0
        kind = name_kind(self.work.options)
        if not actors.builders:
            return _map(blocks, _Actor, (self.work, kind, ledger), actors.workers, num_cpus=1, num_gpus=actors.gpus)
        # builders reserve no core, because they need little CPU time: all cores search
        built = _map(blocks, _Builder, (self.work, kind, ledger), actors.builders, num_cpus=0, num_gpus=actors.gpus)
        return _map(built, _Actor, (self.work, "cpu", ledger), actors.workers, num_cpus=1, num_gpus=0)


def _map(blocks: Any, kind: type, arguments: tuple[Any, ...], size: int, **resources: float) -> Any:
    """Let a pool of actors process blocks."""
    from ray.data import ActorPoolStrategy

    return blocks.map(
        kind,  # Ray creates one object per process
        fn_constructor_args=arguments,
        # starts with the nodes that are up, and continues if nodes are lost
        compute=ActorPoolStrategy(min_size=1, max_size=size, initial_size=size, max_tasks_in_flight_per_actor=1),
        **resources,
    )


def _start_ledger(work: Work) -> Any:
    """Start the ledger on this node, so that it survives the loss of others."""
    ray = _load_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": here}
    return ray.remote(Ledger).options(**options).remote(work.group)


# In Ray's processes


class _Builder:
    """An actor that builds first routes for others to search."""

    def __init__(self, work: Work, device: str, ledger: Any) -> None:
        self.ledger = ledger
        self.worker = _start_worker(work, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        block: Block = pickle.loads(row["block"])
        if isinstance(self.worker, Worker) and _load_ray().get(self.ledger.may_build.remote(block.bare)):
            with suppress(Exception):  # the actor that searches the block meets the same error and reports it
                block = self.worker.build(block)
        return {"block": pickle.dumps(block)}


class _Actor:
    """A worker in the form that Ray Data expects: it maps a row with a block to a row with an answer."""

    def __init__(self, work: Work, device: str, ledger: Any) -> None:
        self.ledger = ledger
        self.worker = _start_worker(work, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"answer": pickle.dumps(self._answer(pickle.loads(row["block"])))}

    def _answer(self, whole: Block) -> Done | DynarouteError:
        """Return the reports, or an error that ends the run; if it were raised, Ray would try again."""
        ask, name = _load_ray().get, whole.bare
        following: Block | Done = ask(self.ledger.begin.remote(name))
        while isinstance(following, Block):
            try:
                report = self._solve(_restore(following, whole))
            except DynarouteError as error:
                return error
            except Exception as error:  # treated like a dead worker
                following = ask(self.ledger.blame.remote(name, f"{type(error).__name__}: {error}"))
            else:
                following = ask(self.ledger.finish.remote(name, report))
        return following

    def _solve(self, block: Block) -> BlockReport:
        if isinstance(self.worker, DynarouteError):
            raise self.worker
        return self.worker.solve(block)


def _start_worker(work: Work, device: str) -> Worker | DynarouteError:
    """Start a worker, or return the error that ends the run, to be reported with the first block."""
    try:
        return Worker(work, device)
    except DynarouteError as error:
        return error


def _restore(part: Block, whole: Block) -> Block:
    """Return a piece of a block with its rows and first routes, which the ledger does not keep."""
    return replace(whole.take(part.first, part.end), fault=part.fault)


def _last_line(error: Exception) -> str:
    """Return the reason, which Ray prints last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^~")]
    return lines[-1].rstrip(".") if lines else type(error).__name__


@contextmanager
def _silence() -> Iterator[None]:
    """Silence Ray Data: tracebacks of deaths that we count anyway, and its own deprecation warnings."""
    logger = logging.getLogger("ray.data")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ray\b")
            yield
    finally:
        logger.setLevel(before)


def _load_ray() -> Any:
    """Import Ray, or raise an error that says how to install it."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise OptionError.about(
            "engine",
            f"{error.name} is not installed, but the engine 'ray' needs it.",
            "Run pip install '.[ray]' in Dynaroute's folder, or use the engine 'local'.",
        ) from error
    return ray
