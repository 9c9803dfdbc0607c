# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a validation for people: tables in which equal hosts share a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import engine
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, Problem
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.judge import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.text_table import table

__all__ = ["report", "summary"]

_OK = "ok"
_BAD = "FAILED"
# The columns of the table of nodes and the problems that each of them stands for.
_COLUMNS = (
    ("registered", ("VAL006", "VAL010", "VAL020", "VAL021")),
    ("job runs", ("VAL011", "VAL012")),
    ("CPUs", ("VAL013",)),
    ("GPUs", ("VAL014", "VAL015", "VAL017")),
    ("isolated", ("VAL016",)),
    ("recorded", ("VAL018", "VAL019")),
)


def report(evidence: Evidence, problems: Sequence[Problem]) -> str:
    """Return the tables and the summary; the problems themselves are shown by whoever has the list."""
    parts = [table(("hosts", "units", "clock"), _host_rows(evidence, problems))]
    nodes = _node_rows(evidence, problems)
    if nodes:
        parts.append(table(("nodes", "state", "hardware", *(name for name, _ids in _COLUMNS)), nodes))
    return "\n\n".join([*parts, summary(evidence, problems)])


def summary(evidence: Evidence, problems: Iterable[Problem]) -> str:
    """Return one line with the counts that matter."""
    severities = Counter(problem.severity for problem in problems)
    jobs = Counter(job["status"] for job in evidence.jobs.get("jobs", ()))
    verdict = "FAILED" if severities[ERROR] else "PASSED"
    tried = f"{jobs[engine.DONE]} of {sum(jobs.values())} jobs ran"
    waiting = f", {jobs[engine.BUSY]} did not start in time" if jobs[engine.BUSY] else ""
    errors, warnings = severities[ERROR], sum(severities.values()) - severities[ERROR]
    return f"{verdict}: {len(evidence.hosts)} hosts, {tried}{waiting}; {errors} error(s), {warnings} warning(s)."


def _folded(rows: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for host, row in rows.items():
        alike.setdefault(row, []).append(host)
    return [(fold(hosts), *row) for row, hosts in alike.items()]


def _host_rows(evidence: Evidence, problems: Sequence[Problem]) -> list[tuple[str, ...]]:
    clocks = {problem.host for problem in problems if problem.id == "VAL004"}
    rows = {}
    for host, seen in evidence.hosts.items():
        if "units" not in seen:
            rows[host] = ("no answer", "-")
            continue
        down = [f"{name} {state['state']}" for name, state in seen["units"].items() if not state["active"]]
        rows[host] = (f"{_BAD}: {', '.join(down)}" if down else ", ".join(seen["units"]), _mark(host in clocks))
    return _folded(rows)


def _node_rows(evidence: Evidence, problems: Sequence[Problem]) -> list[tuple[str, ...]]:
    registered = evidence.jobs.get("nodes", {})
    jobs: dict[str, list[Mapping[str, Any]]] = {}
    for job in evidence.jobs.get("jobs", ()):
        jobs.setdefault(job["node"], []).append(job)
    found: dict[str, set[str]] = {}
    for problem in problems:
        found.setdefault(problem.host, set()).add(problem.id)
    rows = {}
    for node in evidence.cluster["nodes"]:
        name = node["name"]
        ids = found.get(name, set())
        hardware = any(not problem_id.startswith("VAL") for problem_id in ids)
        rows[name] = (
            registered.get(name, {}).get("state", "unknown"),
            _mark(hardware) if name in evidence.detected else "-",
            *(_cell(column, known, ids, jobs.get(name, []), node, evidence) for column, known in _COLUMNS),
        )
    return _folded(rows)


def _cell(
    column: str,
    known: Sequence[str],
    ids: set[str],
    jobs: Sequence[Mapping[str, Any]],
    node: Mapping[str, Any],
    evidence: Evidence,
) -> str:
    if ids.intersection(known):
        return _BAD
    if column == "registered":
        return _OK
    done = [job for job in jobs if job["status"] == engine.DONE]
    if not done:
        return "not tested" if column == "job runs" else "-"
    if column == "job runs" and len(done) < len(jobs):
        return f"{len(done)} of {len(jobs)}"
    if column in ("GPUs", "isolated") and not node["device_files"]:
        return "-"
    if column == "recorded" and not evidence.accounting:
        return "-"
    return _OK


def _mark(bad: bool) -> str:
    return _BAD if bad else _OK
