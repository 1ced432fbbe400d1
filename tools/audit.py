"""List known vulnerabilities and licences of the packages that Dynaroute is tested with: make audit.

    python tools/audit.py                    both
    python tools/audit.py licences           one of them

vulnerabilities: pip-audit looks up every pin of constraints.txt in the advisory database of the package index.
licences: the licences that all directly or indirectly required packages state.

The exit code is 0 if every pin was looked up and has no known vulnerability, 1 if one has, and 2 if there is none but
some pins could not be looked up, so that nothing is known about them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from steps import choose_steps

ROOT = Path(__file__).resolve().parents[1]
NOTHING_KNOWN, SOMETHING_KNOWN, NOT_CHECKED = 0, 1, 2
SECONDS = 600
EXTRAS = ("batch", "bench", "docs", "ray", "release", "roads", "serve", "test", "train")


@dataclass(frozen=True)
class Audit:
    """The result of pip-audit: packages it looked up, packages it could not look up, and known vulnerabilities."""

    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """The exit code of the program."""
        if self.known:
            return SOMETHING_KNOWN
        return NOTHING_KNOWN if self.checked and not self.skipped else NOT_CHECKED

    def __str__(self) -> str:
        if not self.checked:
            reason = f", such as {self.skipped[0]}" if self.skipped else ""
            return f"Nothing was checked: none of the packages{reason}, could be found in the advisory database."
        lines = [f"vulnerable: {line}" for line in self.known]
        if self.skipped:
            lines.append(f"NOT CHECKED, {len(self.skipped)} packages: {', '.join(self.skipped)}")
        return "\n".join([*lines, f"checked {len(self.checked)} packages: {len(self.known)} known vulnerabilities"])


def read_report(report: str) -> Audit:
    """Read pip-audit's JSON; pip-audit does not fail if it cannot look up a package."""
    checked, skipped, known = [], [], []
    for package in json.loads(report)["dependencies"]:
        name = f"{package['name']} {package.get('version', '')}".strip()
        if "skip_reason" in package:
            skipped.append(name)
            continue
        checked.append(name)
        for fault in package["vulns"]:
            remedy = f"fixed in {', '.join(fault['fix_versions'])}" if fault["fix_versions"] else "not fixed yet"
            known.append(f"{name}: {fault['id']}, {remedy}")
    return Audit(tuple(checked), tuple(skipped), tuple(known))


def audit_pins() -> int:
    """Look up every pin."""
    ask = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
    pins = ["--no-deps", "--disable-pip", "--requirement", str(ROOT / "constraints.txt")]
    try:
        done = subprocess.run([*ask, *pins], capture_output=True, text=True, timeout=SECONDS, check=False)
        audit = read_report(done.stdout)
    except subprocess.TimeoutExpired:
        print(f"Nothing was checked: the advisory database did not answer within {SECONDS} seconds.")
        return NOT_CHECKED
    except ValueError:
        reason = " ".join(done.stderr.split())[-500:] or "it printed nothing"
        print(f"Nothing was checked: pip-audit could not reach the advisory database, or failed ({reason}).")
        return NOT_CHECKED
    print(audit)
    return audit.exit_code


# What ships inside the package, with its licence beside it.
VENDORED = [("leaflet (service/page/leaflet)", "1.9.4", "BSD-2-Clause")]


def list_licences() -> int:
    """Print name, version and licence of every installed package that Dynaroute requires."""
    rows = sorted({(found.name, found.version, find_licence(found)) for found in find_requirements("dynaroute")})
    rows += VENDORED
    for name, version, licence in rows:
        print(f"{name:32} {version:20} {licence}")
    return NOTHING_KNOWN


def find_requirements(name: str) -> Iterator[metadata.Distribution]:
    """Find the installed requirements of a package with its extras, and their requirements without extras."""
    left: list[tuple[str, tuple[str, ...]]] = [(name, EXTRAS)]
    seen = set()
    while left:
        asked, extras = left.pop()
        if canonicalize_name(asked) in seen:
            continue
        seen.add(canonicalize_name(asked))
        try:
            found = metadata.distribution(asked)
        except metadata.PackageNotFoundError:
            continue  # for another system, or from an extra that is not installed
        if asked != name:
            yield found
        for requirement in map(Requirement, found.requires or []):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                left.append((requirement.name, tuple(requirement.extras)))


def find_licence(package: metadata.Distribution) -> str:
    """The licence that a package states: an expression, a classifier, or the first line of a text."""
    said = package.metadata
    if "License-Expression" in said:
        return said["License-Expression"]
    classes = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or [] if line.startswith("License ::")]
    text = said["License"].strip() if "License" in said else ""
    return ", ".join(classes) or text.partition("\n")[0] or "not stated"


STEPS: dict[str, Callable[[], int]] = {"licences": list_licences, "vulnerabilities": audit_pins}


def main() -> int:
    codes = []
    for name in choose_steps(__doc__, STEPS):
        print(f"== {name}", flush=True)
        codes.append(STEPS[name]())
    return max(codes, key=[NOTHING_KNOWN, NOT_CHECKED, SOMETHING_KNOWN].index)


if __name__ == "__main__":
    sys.exit(main())
