# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one form in which everything that is wrong is told.

Detection, inventory validation, derivation, change control and the validation of a running cluster all speak in
problems. A problem has a stable id; its title, severity and wording live in the catalogue, so that the documentation
page and every message come from the same place.

>>> make("GPU003", "gpu007", pci="00000000:1b:00.0", detail="GPU is lost").id
'GPU003'
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Iterable, Mapping

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import ERROR, WARNING, Entry
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.hardware import ENTRIES as _HARDWARE
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.inventory import ENTRIES as _INVENTORY
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.slurm import ENTRIES as _SLURM
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.validate import ENTRIES as _VALIDATE

__all__ = ["CATALOGUE", "ERROR", "WARNING", "Entry", "Problem", "drain_reason", "errors", "make", "render", "without"]

CATALOGUE: dict[str, Entry] = {entry.id: entry for entry in (*_HARDWARE, *_INVENTORY, *_SLURM, *_VALIDATE)}

_DRAIN_REASON_LIMIT = 120  # characters; sinfo -R cuts longer reasons in its default view


@dataclass(frozen=True)
class Problem:
    """One finding. ``host`` is the inventory name, or ``""`` where the cluster as a whole is meant."""

    id: str
    severity: str
    host: str
    message: str
    remedy: str

    def as_dict(self) -> dict[str, str]:
        """Return the five fields as plain strings, the form that records, results and JSON output carry."""
        return asdict(self)


def make(problem_id: str, host: str, **fields: Any) -> Problem:
    """Build the problem ``problem_id`` of ``host`` (``""`` for the cluster) with the fields its wording names.

    Raises KeyError for an id or a field that the catalogue does not know: both are programming errors.
    """
    entry = CATALOGUE[problem_id]
    known = {"host": host or "the cluster", **fields}
    return Problem(
        id=entry.id,
        severity=entry.severity,
        host=host,
        message=entry.message.format(**known),
        remedy=entry.remedy.format(**known),
    )


def errors(problems: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return those problems (as dictionaries) that stop their host or the run."""
    return [problem for problem in problems if problem["severity"] == ERROR]


def without(problems: Iterable[Mapping[str, str]], skipped: Iterable[str]) -> list[Mapping[str, str]]:
    """Return the problems whose id the operator did not put on the list of skipped ids."""
    ids = set(skipped)
    return [problem for problem in problems if problem["id"] not in ids]


def render(problems: Iterable[Mapping[str, str]]) -> str:
    """Return the problems as text for people: errors first, one paragraph each, the remedy on a line of its own."""
    ordered = sorted(problems, key=lambda problem: (problem["severity"] != ERROR, problem["host"], problem["id"]))
    return "\n".join(
        f"{problem['severity'].upper()} {problem['id']} {problem['host'] or 'cluster'}: {problem['message']}\n"
        f"    Remedy: {problem['remedy']}"
        for problem in ordered
    )


def drain_reason(problem: Mapping[str, str]) -> str:
    """Return the reason that Slurm shows for a node drained because of ``problem`` (one line, bounded length)."""
    return f"steelrack: {problem['id']} {problem['message']}"[:_DRAIN_REASON_LIMIT]
