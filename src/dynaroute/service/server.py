"""Running the service: a socket, signals, and an end that leaves nobody without an answer."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from dynaroute.errors import OptionError, Where
from dynaroute.service.application import make_application
from dynaroute.service.engine import check_device
from dynaroute.service.protocol import make_protocol
from dynaroute.service.service import Service
from dynaroute.service.settings import ServiceSettings

__all__ = ["serve"]

_KEEP_ALIVE = 5  # seconds that an idle connection is kept
_LINGER = 0.5  # seconds in which newcomers are told that the service stops, before they find nobody
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
        If the address or the device cannot be used.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded: one thread a worker
    check_device(settings.device)
    listener = _listen(host, port)
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # whose warnings are about requests, not about us
    service = Service(settings)
    config = uvicorn.Config(
        make_application(service),
        http=make_protocol(settings.body_seconds),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,  # what may take longer has been awaited before
    )
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"
    _Server(config, service, lambda: on_start(address)).run(sockets=[listener])


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

    def __init__(self, config: uvicorn.Config, service: Service, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._on_start = on_start

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note that the service shall stop; being told twice, without waiting for anybody."""
        # Not uvicorn's way, which remembers the signal and dies of it in the end.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def main_loop(self) -> None:
        """Run until told to stop, then until everybody has an answer."""
        self._on_start()
        await super().main_loop()
        self._service.begin_to_stop()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        while not self.force_exit and loop.time() - begin < self._service.settings.stop_seconds:
            if self._service.active == 0 and loop.time() - begin >= _LINGER:
                return
            await asyncio.sleep(_TICK)
