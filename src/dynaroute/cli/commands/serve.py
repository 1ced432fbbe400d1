"""``dynaroute serve``: serve the HTTP API and the web page."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dynaroute.base.errors import OptionError
from dynaroute.cli.shared.options import option


def serve(
    host: Annotated[str, option("H", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("P", "Port to listen on; 0: a free one.", min=0, max=65535)] = 8000,
    jobs_folder: Annotated[
        Path | None, option("FOLDER", "Keep jobs here, so that they survive a restart; default: DYNAROUTE_JOBS_FOLDER.")
    ] = None,
) -> None:
    """Serve the HTTP API, and the web page that uses it.

    Limits, a token and everything else are set by environment variables, such
    as DYNAROUTE_TOKEN, DYNAROUTE_CUSTOMERS or DYNAROUTE_SOLVE_SECONDS. SIGTERM
    and Ctrl-C stop it after running requests are answered.

    Example:
      dynaroute serve --port 8080
    """
    try:
        from dynaroute.service.web.server import serve as run_service
    except ModuleNotFoundError as error:
        raise OptionError(
            f"the service needs {error.name}, which is not installed.",
            remedy="Run pip install '.[serve]' in Dynaroute's folder.",
        ) from error
    from dynaroute.service.settings import ServiceSettings

    settings = ServiceSettings.from_environment(os.environ)
    if jobs_folder is not None:
        settings = replace(settings, jobs_folder=str(jobs_folder))
    run_service(host, port, settings, lambda address: typer.echo(f"Dynaroute listens on {address}"))
