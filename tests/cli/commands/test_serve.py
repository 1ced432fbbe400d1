from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from command_line import assert_refused, execute, invoke


def test_help_is_quick() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from dynaroute.cli.app import app\n"
        "assert CliRunner().invoke(app, ['serve', '--help']).exit_code == 0\n"
        "print([name for name in ('fastapi', 'uvicorn', 'numpy', 'torch', 'numba') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert result.stdout == "[]\n"


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "dynaroute.service.web.server", raising=False)
    monkeypatch.delitem(sys.modules, "dynaroute.service.web.application", raising=False)

    assert_refused(invoke("serve"), "fastapi", "pip install '.[serve]'")


def test_faulty_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAROUTE_CUSTOMERS", "many")

    assert_refused(invoke("serve"), "DYNAROUTE_CUSTOMERS", "many")


def test_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        result = execute("serve", "--port", str(port))

    assert result.returncode == 2
    assert result.stdout == ""
    assert str(port) in result.stderr
    assert result.stderr.count("\n") == 1
