"""Try the wheel in an empty environment outside the clone: it must solve, train and serve."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

from packages import find_wheel

__all__ = ["try_wheel"]

READY_WITHIN = 120.0  # seconds
PROBLEM = {
    "capacity": 10,
    "depot": {"x": 0, "y": 0},
    "customers": [{"x": 3, "y": 4, "demand": 2}, {"x": 3, "y": 0, "demand": 7}, {"x": -1, "y": 0, "demand": 9}],
}
SHORTEST = 14.0  # routes (1, 2) and (3)


def try_wheel(root: Path) -> None:
    """Install the wheel from dist/ and use it.

    Parameters
    ----------
    root
        The clone.

    Raises
    ------
    AssertionError
        If the service does not start, or gives a wrong answer.
    subprocess.CalledProcessError
        If a command fails; its output says why.
    """
    wheel, constraints = find_wheel(root), root / "constraints.txt"
    with tempfile.TemporaryDirectory(prefix="dynaroute-") as name:
        folder = Path(name)
        venv.create(folder / "environment", with_pip=True)
        programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
        python, dynaroute = programs / "python", programs / "dynaroute"
        _run(folder, python, "-m", "pip", "install", "-q", "-c", constraints, f"{wheel}[serve,train]")
        place = _run(folder, python, "-c", "import dynaroute; print(dynaroute.__file__)").strip()
        if not Path(place).resolve().is_relative_to(folder.resolve()):
            raise AssertionError(f"dynaroute is loaded from {place}, not from the wheel")
        print(f"  {wheel.name} is installed: {_size(folder):.0f} MB", flush=True)
        _run(folder, python, "-m", "dynaroute.search")
        _run(folder, dynaroute, "doctor")
        _run(folder, dynaroute, "generate", "--size", "20", "--seed", "3", "--out", "a.vrp")
        _run(folder, dynaroute, "solve", "a.vrp", "--out", "a.sol", "--plot", "a.png")
        _run(folder, dynaroute, "check", "a.vrp", "a.sol")
        _run(folder, dynaroute, "solve", "a.vrp", "--time-limit", "1", "--out", "better.sol")
        _run(folder, dynaroute, "check", "a.vrp", "better.sol")
        print("  it solves, draws and searches", flush=True)
        budget = ("--updates", "2", "--instances", "4", "--samples", "2", "--validation-count", "10")
        _run(folder, dynaroute, "train", "--size", "10", *budget, "--out", "run")
        _run(folder, dynaroute, "solve", "a.vrp", "--model", "run")
        print("  it trains two updates", flush=True)
        _serve(folder, dynaroute)
        print("  it serves", flush=True)


def _run(folder: Path, *command: str | Path) -> str:
    environment = _environment()
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout


def _environment() -> dict[str, str]:
    """The environment of this process, without paths to the clone."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def _serve(folder: Path, dynaroute: Path) -> None:
    """Start the service, wait until it is ready, let it solve, and stop it."""
    command: list[str | Path] = [dynaroute, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=_environment(), text=True, stdout=subprocess.PIPE) as service:
        try:
            assert service.stdout is not None
            address = service.stdout.readline().strip().rpartition(" ")[2]
            _wait_until_ready(address)
            body = json.dumps(PROBLEM).encode()
            request = urllib.request.Request(f"{address}/v1/solve", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                cost = json.load(answer)["cost"]
            if abs(cost - SHORTEST) > 1e-6:
                raise AssertionError(f"the service answers with a cost of {cost}, not {SHORTEST}")
            with urllib.request.urlopen(f"{address}/", timeout=60) as page:
                if b"<html" not in page.read():
                    raise AssertionError("the service does not show its page")
            service.send_signal(signal.SIGTERM)
            code = service.wait(timeout=60)
            if code not in (0, -signal.SIGTERM) and sys.platform != "win32":
                raise AssertionError(f"the service ended with code {code}")
        finally:
            service.kill()


def _wait_until_ready(address: str) -> None:
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=10):
                return
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"the service at {address} was not ready within {READY_WITHIN:.0f} s")


def _size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6
