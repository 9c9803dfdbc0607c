# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run steps one after the other, show what they print, and end with a table of results and times.

A step that fails does not keep the others from running, except those that name it after a colon:

    steps.py --make lint unit engine cluster:engine

runs `make lint`, `make unit`, `make engine` and, only if the engine started, `make cluster`. With --molecule a step is
a scenario. The exit status is 0 only if every step ran and passed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

PASSED, FAILED, NOT_RUN = "passed", "FAILED", "NOT RUN"

COMMANDS = {
    "make": ["make", "--no-print-directory"],
    "molecule": ["molecule", "test", "--scenario-name"],
}

# pytest's last line: "=== 3 passed, 1 skipped in 0.12s ===", without the frame when quiet.
COUNT = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?)"
CLOSING_LINE = re.compile(rf"(?:=+ )?({COUNT}(?:, {COUNT})*) in ")


@dataclass(frozen=True)
class Step:
    """One thing to run, and the steps that must have passed before."""

    name: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a step ended: ``seconds`` of wall time, ``remark`` for people."""

    name: str
    result: str
    seconds: float
    remark: str


def parse_step(text: str) -> Step:
    """Read ``name`` or ``name:need,need``."""
    name, _colon, needs = text.partition(":")
    return Step(name, tuple(need for need in needs.split(",") if need))


def closing_lines(output: list[str]) -> list[str]:
    """Return the counts of every pytest run in the output, for example ``["312 passed, 2 skipped"]``."""
    return [match[1] for line in output if (match := CLOSING_LINE.match(line))]


def table(outcomes: list[Outcome]) -> str:
    """Return the final table as text."""
    width = max(len(outcome.name) for outcome in outcomes)
    rows = [f"{'step':<{width}}  {'result':<8} {'seconds':>8}  remark"]
    rows += [f"{o.name:<{width}}  {o.result:<8} {o.seconds:>8.1f}  {o.remark}".rstrip() for o in outcomes]
    return "\n".join(rows)


def run(command: list[str]) -> tuple[int, list[str]]:
    """Run ``command``, pass its output through line by line and return its exit status and the lines."""
    lines: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def run_all(steps: list[Step], command: list[str]) -> list[Outcome]:
    """Run every step that can be run."""
    outcomes: list[Outcome] = []
    for step in steps:
        passed = {outcome.name for outcome in outcomes if outcome.result == PASSED}
        lacking = [need for need in step.needs if need not in passed]
        if lacking:
            outcomes.append(Outcome(step.name, NOT_RUN, 0.0, f"needs {', '.join(lacking)}"))
            print(f"--- {step.name}: not run, it needs {', '.join(lacking)}", flush=True)
            continue
        print(f"--- {step.name}: started", flush=True)
        started = time.monotonic()
        status, output = run([*command, step.name])
        seconds = time.monotonic() - started
        result = FAILED if status else PASSED
        remark = "; ".join(closing_lines(output)) or (f"exit status {status}" if status else "")
        outcomes.append(Outcome(step.name, result, seconds, remark))
        print(f"--- {step.name}: {result} after {seconds:.1f} s", flush=True)
    return outcomes


def main() -> int:
    """Run the steps of the command line."""
    parser = argparse.ArgumentParser(description="Run steps and show a table of results and times.")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--make", action="store_const", dest="kind", const="make", help="a step is a make target")
    kind.add_argument("--molecule", action="store_const", dest="kind", const="molecule", help="a step is a scenario")
    parser.add_argument("steps", nargs="*", metavar="STEP[:NEED,...]")
    arguments = parser.parse_args()
    if not arguments.steps:
        print(f"There is no {arguments.kind} step to run.", file=sys.stderr)
        return 1
    # Buffered output of a Python child would reach the log only at its end.
    os.environ["PYTHONUNBUFFERED"] = "1"
    outcomes = run_all([parse_step(text) for text in arguments.steps], COMMANDS[arguments.kind])
    print(f"\n{table(outcomes)}", flush=True)
    return 0 if all(outcome.result == PASSED for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
