"""``dynaroute doctor``: check this installation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from dynaroute.cli.shared.options import JsonOption
from dynaroute.cli.shared.output import count_of, print_json, print_line

if TYPE_CHECKING:
    from dynaroute.study.doctor import Finding, Status

BROKEN = 1

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


def doctor(json: JsonOption = False) -> None:
    """Check this installation: versions, GPU, caches, extras, models, and a trial.

    Each result is ok, a note (solving works, but something could be better) or
    a problem (solving fails), with what to do about it. On a GPU, kernels are
    compiled, which may take a minute. The exit code is 1 if there is a problem,
    else 0.

    Example:
      dynaroute doctor
      dynaroute doctor --json
    """
    from dynaroute.study.doctor import examine

    findings: list[Finding] = []
    topic = ""
    for finding in examine():
        findings.append(finding)
        if json:
            continue
        if finding.topic != topic:
            topic = finding.topic
            print_line(topic)
        _print_finding(finding)
    problems, notes = (_count(findings, status) for status in ("problem", "note"))
    if json:
        print_json({"ok": problems == 0, "findings": [asdict(finding) for finding in findings]})
    elif problems:
        print_line(f"{count_of(problems, 'problem')}: Dynaroute does not work here until they are solved.")
    else:
        print_line(f"Dynaroute works here; {count_of(notes, 'note')}.")
    if problems:
        raise typer.Exit(BROKEN)


def _print_finding(finding: Finding) -> None:
    status = typer.style(f"{finding.status:<7}", fg=_COLOURS[finding.status])
    print_line(f"  {finding.subject}: {finding.found}", styled=f"  {status}")
    if finding.remedy:
        print_line(f"           {finding.remedy}")


def _count(findings: Sequence[Finding], status: Status) -> int:
    return sum(finding.status == status for finding in findings)
