"""The engine of a cluster: Ray Data hands blocks to a pool of actors, each a warm worker. Needs ``dynaroute[ray]``.

What goes through Ray is which rows to solve and what became of them. Actors read the rows and write the parts. Where
GPUs build the first routes of searches, there is a pool of those before the one of cores; first routes go through Ray.
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

from dynaroute.cores import count_cores
from dynaroute.errors import DynarouteError, OptionError, Where
from dynaroute.scale.devices import name_kind
from dynaroute.scale.engine import WorkersNow
from dynaroute.scale.first_routes import are_built_apart
from dynaroute.scale.ledger import Done, Ledger
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work, Worker

__all__ = ["RayEngine"]

_MOST_BLOCKS = 10_000  # that Ray Data is given at a time; it keeps some hundred bytes of each
_OBJECT_STORE_BYTES = 128 << 20  # nothing large goes through it
# No reports home; and nothing on the standard output, where results belong: deaths of workers are counted and told.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
_PATIENCE = 10.0  # seconds for a cluster to answer


@dataclass
class RayEngine:
    """Actors of Ray.

    Attributes
    ----------
    address
        Of a running cluster, such as "10.0.0.1:6379", or "auto" on one of its machines; None: one is started on this
        machine, and ended with the run.
    workers
        How many actors; None: as many as the cluster has cores or GPUs for. In searches from a policy's routes these
        search, and as many more as there are GPUs for build.
    gpus
        GPUs that an actor holds, or the part of one; None: one where a policy works on GPUs, else none.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None
    _is_ours: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.gpus is not None and (self.gpus < 0 or (self.gpus > 1 and self.gpus % 1)):
            message = f"a worker cannot hold {self.gpus:g} GPUs."
            raise OptionError(
                message, where=Where(field="gpus"), remedy="Give 1, 2, ..., or a part of one such as 0.25."
            )

    def count_workers(self, work: Work) -> int:
        """How many workers this work will have."""
        self._connect()
        crew = self._choose_crew(work)
        return crew.workers + crew.builders

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        """Solve every block; see `Engine`."""
        self._connect()
        pool = _Pool(work, self._choose_crew(work), tell)
        try:
            yield from pool.solve(blocks)
        finally:
            self._leave()

    def _choose_crew(self, work: Work) -> _Crew:
        has: dict[str, float] = _load_ray().cluster_resources()
        gpus = self._gpus_of(work)
        with_gpus = int(has.get("GPU", 0.0) / gpus) if gpus else 0
        possible = cores = int(has.get("CPU", 0.0))
        if gpus:
            possible = min(cores, with_gpus)
        if possible < 1:
            self._leave()
            raise OptionError(
                f"no worker fits into the cluster: one needs a core and {gpus:g} GPUs.",
                where=Where(field="gpus"),
                remedy="Use --gpus 0 with --device cpu, or a cluster with GPUs.",
            )
        if gpus and are_built_apart(work.options):
            return _Crew(min(self.workers or cores, cores), gpus, builders=with_gpus)
        return _Crew(min(self.workers or possible, possible), gpus)

    def _gpus_of(self, work: Work) -> float:
        if self.gpus is not None:
            return self.gpus
        return 1.0 if name_kind(work.options) == "cuda" else 0.0

    def _connect(self) -> None:
        """Join the cluster, or start one; nothing where this process has joined one already."""
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
        except (OSError, ValueError, RuntimeError) as error:  # Ray's words for no answer, no address, another version
            reason = str(error).partition("\n")[0].rstrip(".")
            raise OptionError(
                f"Ray cannot be used: {reason}.",
                where=Where(field="address"),
                remedy="Give the address of a running cluster of the same versions of Ray and Python, or leave it out.",
            ) from error
        self._is_ours = True

    def _leave(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self._is_ours:
            _load_ray().shutdown()
            self._is_ours = False


def _refuse_silent(address: str | None) -> None:
    """Raise OSError where nobody listens: Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), _PATIENCE).close()


@dataclass(frozen=True)
class _Crew:
    """Who works.

    Attributes
    ----------
    workers
        Actors of a core each that write parts.
    gpus
        What an actor holds whose policy works on GPUs.
    builders
        Actors that hold GPUs and build first routes for workers, which then hold none; 0: workers do all themselves.
    """

    workers: int
    gpus: float
    builders: int = 0


class _Pool:
    """The actors of one run."""

    def __init__(self, work: Work, crew: _Crew, tell: Callable[[WorkersNow], None]) -> None:
        self.work = work
        self.crew = crew
        self.tell = tell
        self.replaced = 0

    def solve(self, blocks: Iterable[Block]) -> Iterator[BlockReport]:
        """Solve many blocks at a time, until there are no more."""
        upcoming = iter(blocks)
        while some := list(islice(upcoming, _MOST_BLOCKS)):
            for row in self._answer(some):
                answer = pickle.loads(row["answer"])
                if isinstance(answer, DynarouteError):
                    raise answer
                assert isinstance(answer, Done)
                if answer.deaths:
                    self.replaced += answer.deaths
                    self.tell(WorkersNow(self.crew.workers + self.crew.builders, self.replaced))
                yield from answer.reports

    def _answer(self, blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
        """The actors' answers, as they come."""
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
                    remedy="Is this version of Dynaroute installed on every node, with the extra [ray]?",
                ) from error

    def _pass_on(self, blocks: Any, ledger: Any) -> Any:
        """The data set of the answers, from that of the blocks."""
        crew = self.crew
        # the kind of device alone: Ray shows an actor none but its own GPUs, so numbers mean nothing there
        kind = name_kind(self.work.options)
        if not crew.builders:
            return _map(blocks, _Actor, (self.work, kind, ledger), crew.workers, num_cpus=1, num_gpus=crew.gpus)
        # builders hold no core, since they need little of one: all cores search
        built = _map(blocks, _Builder, (self.work, kind, ledger), crew.builders, num_cpus=0, num_gpus=crew.gpus)
        return _map(built, _Actor, (self.work, "cpu", ledger), crew.workers, num_cpus=1, num_gpus=0)


def _map(blocks: Any, kind: type, arguments: tuple[Any, ...], size: int, **resources: float) -> Any:
    """What a pool of actors makes of blocks."""
    from ray.data import ActorPoolStrategy

    return blocks.map(
        kind,  # Ray makes one of the class for each process
        fn_constructor_args=arguments,
        # it begins with what there is, and goes on with what is left of a cluster
        compute=ActorPoolStrategy(min_size=1, max_size=size, initial_size=size, max_tasks_in_flight_per_actor=1),
        **resources,
    )


def _start_ledger(work: Work) -> Any:
    """The ledger, beside the driver, so that no other node takes it away."""
    ray = _load_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": here}
    return ray.remote(Ledger).options(**options).remote(work.group)


# In processes of Ray


class _Builder:
    """A worker that builds first routes for others to search."""

    def __init__(self, work: Work, device: str, ledger: Any) -> None:
        self.ledger = ledger
        self.worker = _start_worker(work, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        block: Block = pickle.loads(row["block"])
        if isinstance(self.worker, Worker) and _load_ray().get(self.ledger.may_build.remote(block.bare)):
            with suppress(Exception):  # whoever searches the block meets it, too, and tells it
                block = self.worker.build(block)
        return {"block": pickle.dumps(block)}


class _Actor:
    """A worker, as Ray Data wants it: blocks and answers are rows of a data set."""

    def __init__(self, work: Work, device: str, ledger: Any) -> None:
        self.ledger = ledger
        self.worker = _start_worker(work, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"answer": pickle.dumps(self._answer(pickle.loads(row["block"])))}

    def _answer(self, whole: Block) -> Done | DynarouteError:
        """The reports; or an error that ends the run, which Ray would try to mend by another attempt."""
        ask, name = _load_ray().get, whole.bare
        following: Block | Done = ask(self.ledger.begin.remote(name))
        while isinstance(following, Block):
            try:
                report = self._solve(_restore(following, whole))
            except DynarouteError as error:
                return error
            except Exception as error:  # no worse than a death
                following = ask(self.ledger.blame.remote(name, f"{type(error).__name__}: {error}"))
            else:
                following = ask(self.ledger.finish.remote(name, report))
        return following

    def _solve(self, block: Block) -> BlockReport:
        if isinstance(self.worker, DynarouteError):
            raise self.worker
        return self.worker.solve(block)


def _start_worker(work: Work, device: str) -> Worker | DynarouteError:
    """A worker; or the error that ends the run, which is told once there is a block to solve."""
    try:
        return Worker(work, device)
    except DynarouteError as error:
        return error


def _restore(part: Block, whole: Block) -> Block:
    """A part of a block, with what travels with its rows, which the ledger does not keep."""
    return replace(whole.take(part.first, part.end), fault=part.fault)


def _last_line(error: Exception) -> str:
    """The reason, which Ray tells after all else."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^~")]
    return lines[-1].rstrip(".") if lines else type(error).__name__


@contextmanager
def _silence() -> Iterator[None]:
    """Let Ray Data tell neither of what is counted anyway, with tracebacks, nor of what is old within itself."""
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
    """Ray, or an error that says how to install it."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise OptionError(
            f"{error.name} is not installed, which the engine 'ray' needs.",
            where=Where(field="engine"),
            remedy="Run pip install '.[ray]' in Dynaroute's folder, or use the engine 'local'.",
        ) from error
    return ray
