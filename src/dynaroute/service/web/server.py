"""Running the service: its socket, signals, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn

from dynaroute.base.errors import OptionError
from dynaroute.service.settings import ServiceSettings
from dynaroute.service.web.application import make_application
from dynaroute.service.web.protocol import make_protocol
from dynaroute.service.work.connections import ACCEPTED_AT_ONCE
from dynaroute.service.work.engine import check_device
from dynaroute.service.work.service import Service

_KEEP_ALIVE = 5  # seconds that an idle connection is kept
_CLOSING_SECONDS = 0.5  # seconds in which new, and then existing, clients are told that the service stops
_QUEUED_CONNECTIONS = 1_024  # connections that the system queues until they are accepted
_TICK = 0.02


def serve(host: str, port: int, settings: ServiceSettings, on_start: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Parameters
    ----------
    host, port
        Address to listen on; port 0 takes a free one.
    settings
        The limits.
    on_start
        Called with the address when the service is ready.

    Raises
    ------
    OptionError
        If the address, the device or the jobs folder cannot be used.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded: one thread per worker
    check_device(settings.device)
    listener = _listen(host, port)
    logging.getLogger("python_multipart").setLevel(
        logging.ERROR
    )  # its warnings are about requests, not about the service
    service = Service(settings)
    config = uvicorn.Config(
        make_application(service),
        http=make_protocol(service.connections, settings.body_seconds, settings.answer_seconds),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",  # its warnings are about requests, of which strangers can send any number
        backlog=ACCEPTED_AT_ONCE,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,  # longer work has already been awaited
    )
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"
    logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
    try:
        _Server(config, service, listener, lambda: on_start(address)).run(sockets=[listener])
    finally:
        service.intake.stop()  # in any case, because it has its own processes


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # with its protocol, because asyncio only sends small packets without delay on sockets marked as TCP
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OptionError.about(
            "port",
            f"cannot listen on {host}, port {port}: {reason}.",
            "Is another service running there? Choose another port, or 0 for a free one.",
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Uvicorn's server with a graceful shutdown: it answers all requests, and exits normally."""

    def __init__(
        self, config: uvicorn.Config, service: Service, listener: socket.socket, on_start: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._listener = listener
        self._on_start = on_start

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to stop; a second signal stops without waiting."""
        # Unlike uvicorn, which raises the signal again at the end.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        asyncio.get_running_loop().set_exception_handler(self._note_failure)
        await super().startup(sockets)
        self._listener.listen(_QUEUED_CONNECTIONS)  # more than are accepted at once; uvicorn uses one number for both

    async def main_loop(self) -> None:
        """Run until told to stop, then until all requests are answered."""
        self._on_start()
        await super().main_loop()
        self._service.begin_to_stop()
        end = asyncio.get_running_loop().time() + self._service.settings.stop_seconds
        await self._wait_for_answers(_CLOSING_SECONDS, end)
        await self._stop_accepting()
        if self._service.connections:  # some may have just been accepted, with a request on its way
            await self._wait_for_answers(_CLOSING_SECONDS, end)
        self._service.connections.drop_unread()

    async def _wait_for_answers(self, least: float, end: float) -> None:
        """Wait until all requests are answered, at least for a moment; after a second signal, not at all."""
        loop = asyncio.get_running_loop()
        begin = loop.time()
        while not self.force_exit and loop.time() < end:
            if self._service.is_quiet and loop.time() - begin >= least:
                return
            await asyncio.sleep(_TICK)

    async def _stop_accepting(self) -> None:
        """Accept queued connections, then close, so that later ones fail at once instead of waiting."""
        loop = asyncio.get_running_loop()
        arrivals: list[socket.socket] = []
        with self._listener.dup() as door:  # asyncio closes its own socket, and with it the queue
            for server in self.servers:
                server.close()
            door.setblocking(False)
            with suppress(OSError):  # the queue is empty
                while len(arrivals) < _QUEUED_CONNECTIONS:
                    arrivals.append(door.accept()[0])
        for arrival in arrivals:
            arrival.setblocking(False)
            with suppress(OSError):
                await loop.connect_accepted_socket(self._make_connection, arrival)

    def _make_connection(self) -> asyncio.Protocol:
        """Make a connection as uvicorn does."""
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log failures outside of requests; a lack of file handles only once a minute."""
        if isinstance(context.get("exception"), OSError) and "accept" in context.get("message", ""):
            self._service.log.warn("The system has no more file handles or memory: new connections have to wait.")
        else:
            loop.default_exception_handler(context)


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """Whether a log record of uvicorn matters; requests cancelled at shutdown do not."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)
