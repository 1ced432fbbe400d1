"""Running the service: a socket, signals, and an end that leaves nobody without an answer."""

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

from dynaroute.errors import OptionError, Where
from dynaroute.service.application import make_application
from dynaroute.service.connections import ACCEPTED_AT_ONCE
from dynaroute.service.engine import check_device
from dynaroute.service.protocol import make_protocol
from dynaroute.service.service import Service
from dynaroute.service.settings import ServiceSettings

__all__ = ["serve"]

_KEEP_ALIVE = 5  # seconds that an idle connection is kept
_LINGER = 0.5  # seconds in which newcomers are told that the service stops; and then those who are there already
_WAITING_AT_THE_DOOR = 1_024  # connections that the system keeps until they are let in
_TICK = 0.02


def serve(host: str, port: int, settings: ServiceSettings, on_start: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    settings
        The limits.
    on_start
        Told the address when requests are answered.

    Raises
    ------
    OptionError
        If the address, the device or the folder of jobs cannot be used.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded: one thread a worker
    check_device(settings.device)
    listener = _listen(host, port)
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # whose warnings are about requests, not about us
    service = Service(settings)
    config = uvicorn.Config(
        make_application(service),
        http=make_protocol(service.connections, settings.body_seconds, settings.answer_seconds),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",  # its warnings are about requests, and strangers can send any number of them
        backlog=ACCEPTED_AT_ONCE,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,  # what may take longer has been awaited before
    )
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"
    logging.getLogger("uvicorn.error").addFilter(_is_worth_a_line)
    try:
        _Server(config, service, listener, lambda: on_start(address)).run(sockets=[listener])
    finally:
        service.intake.stop()  # whatever happened: it has processes of its own


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # with its protocol named: asyncio sends small packets without delay only on sockets that say they are TCP
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OptionError(
            f"cannot listen on {host}, port {port}: {reason}.",
            where=Where(field="port"),
            remedy="Is another service running there? Choose another port, or 0 for a free one.",
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Uvicorn's server, with a gentle end: it answers all, and exits as if nothing had happened."""

    def __init__(
        self, config: uvicorn.Config, service: Service, listener: socket.socket, on_start: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._listener = listener
        self._on_start = on_start

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note that the service shall stop; being told twice, without waiting for anybody."""
        # Not uvicorn's way, which remembers the signal and dies of it in the end.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(self._note_failure)
        await super().startup(sockets)
        self._listener.listen(_WAITING_AT_THE_DOOR)  # more than are let in at once, which uvicorn has for both

    async def main_loop(self) -> None:
        """Run until told to stop, then until everybody has an answer."""
        self._on_start()
        await super().main_loop()
        self._service.begin_to_stop()
        end = asyncio.get_running_loop().time() + self._service.settings.stop_seconds
        await self._wait_for_answers(_LINGER, end)
        await self._close_door()
        if self._service.connections:  # some may just have been let in, with a request on its way
            await self._wait_for_answers(_LINGER, end)
        self._service.connections.drop_unread()

    async def _wait_for_answers(self, least: float, end: float) -> None:
        """Wait until everybody has an answer, and for a moment at least; being told twice to stop, not at all."""
        loop = asyncio.get_running_loop()
        begin = loop.time()
        while not self.force_exit and loop.time() < end:
            if self._service.is_quiet and loop.time() - begin >= least:
                return
            await asyncio.sleep(_TICK)

    async def _close_door(self) -> None:
        """Let in who has knocked, and nobody else: who comes later shall find nobody, not wait for an answer."""
        loop = asyncio.get_running_loop()
        arrivals: list[socket.socket] = []
        with self._listener.dup() as door:  # asyncio closes its own, and with it whoever still waits there
            for server in self.servers:
                server.close()
            door.setblocking(False)
            with suppress(OSError):  # nobody waits any more
                while len(arrivals) < _WAITING_AT_THE_DOOR:
                    arrivals.append(door.accept()[0])
        for arrival in arrivals:
            arrival.setblocking(False)
            with suppress(OSError):
                await loop.connect_accepted_socket(self._make_connection, arrival)

    def _make_connection(self) -> asyncio.Protocol:
        """As uvicorn makes them."""
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell of what went wrong outside of requests; of a lack of handles once a minute, and in one line."""
        if isinstance(context.get("exception"), OSError) and "accept" in context.get("message", ""):
            self._service.log.warn("The system has no more file handles or memory: new connections have to wait.")
        else:
            loop.default_exception_handler(context)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Whether uvicorn has something to tell; that a request was given up when the service ended is none."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)
