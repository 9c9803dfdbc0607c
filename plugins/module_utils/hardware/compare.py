# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh evidence against the stored record.

A node that lost hardware must not shrink in silence: its record stays as it is, and what contradicts it becomes a
problem until a person accepts it. What merely moves in ordinary life (driver version, UUID of a replaced GPU, a few
MiB of memory between two boots) is taken over or passed over.

Findings of health are told beside the record and enter it in one case only: an operator accepted them. Then they are
kept there as warnings for as long as they are found again word for word, so that the node works until its next boot.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, WARNING, Problem, make

__all__ = ["contradictions", "settle"]

Record = Mapping[str, Any]

_LAYOUT = ("sockets", "cores_per_socket", "threads_per_core")
_MEMORY_SLACK_MIB = 1024
_MEMORY_SLACK_PARTS = 100  # one part in so many


def settle(
    stored: Record | None,
    evidence: Record,
    accept: bool = False,
    health: Iterable[Mapping[str, str]] = (),
) -> tuple[Record, list[Mapping[str, str]]]:
    """Return the record that is in force from now on, and everything that is wrong.

    The stored record stays when the evidence contradicts it or comes with an error that the record does not know,
    unless ``accept`` says that the evidence is right. ``health``: problems that pass, see :mod:`health`.
    """
    accepted, passing = _accepted_health(stored, health, accept)
    evidence = {**evidence, "problems": [*evidence["problems"], *accepted]}
    record, problems = _settle(stored, evidence, accept)
    return record, problems + passing


def _accepted_health(
    stored: Record | None, health: Iterable[Mapping[str, str]], accept: bool
) -> tuple[list[Mapping[str, str]], list[Mapping[str, str]]]:
    """Return (the errors that were accepted, now or before, as warnings; the other findings)."""
    before = {_identity(problem) for problem in (stored or {"problems": []})["problems"]}
    accepted: list[Mapping[str, str]] = []
    passing: list[Mapping[str, str]] = []
    for problem in health:
        if problem["severity"] == ERROR and (accept or _identity(problem) in before):
            accepted.append({**problem, "severity": WARNING})
        else:
            passing.append(problem)
    return accepted, passing


def _identity(problem: Mapping[str, str]) -> tuple[str, str]:
    return problem["id"], problem["message"]


def _settle(stored: Record | None, evidence: Record, accept: bool) -> tuple[Record, list[Mapping[str, str]]]:
    problems: list[Mapping[str, str]] = list(evidence["problems"])
    if stored is None:
        return evidence, problems
    if not accept:
        found = [problem.as_dict() for problem in contradictions(stored, evidence)]
        unknown = [
            problem for problem in problems if problem["severity"] == ERROR and problem not in stored["problems"]
        ]
        if found or unknown:
            return stored, found + problems
    return _merged(stored, evidence), problems


def contradictions(stored: Record, evidence: Record) -> list[Problem]:
    """Return one problem for each way in which the evidence contradicts the stored record of the same host."""
    host = evidence["host"]
    return [
        *_cpu(host, stored["cpu"], evidence["cpu"]),
        *_memory(host, stored["memory_mib"], evidence["memory_mib"]),
        *_gpus(host, stored["gpus"], evidence),
        *_adapters(host, stored["fabric"]["hcas"], evidence["fabric"]["hcas"]),
    ]


def _cpu(host: str, stored: Record, found: Record) -> Iterator[Problem]:
    if stored["sockets"] is None or found["sockets"] is None:  # the latter is an error of its own
        return
    if any(stored[key] != found[key] for key in (*_LAYOUT, "core_map")):
        yield make("CPU010", host, found=_layout(found), stored=_layout(stored))


def _layout(cpu: Record) -> str:
    sockets, cores, threads = (cpu[key] for key in _LAYOUT)
    numbers = " / ".join(cpu["core_map"])
    return f"{sockets} sockets x {cores} cores x {threads} threads (CPUs {numbers})"


def _memory(host: str, stored: int | None, found: int | None) -> Iterator[Problem]:
    if stored is not None and found is not None and found < stored and not _memory_alike(stored, found):
        yield make("MEM010", host, found=found, stored=stored)


def _memory_alike(stored: int | None, found: int | None) -> bool:
    """Tell whether two sizes differ by less than 1 GiB or 1 %, the larger of the two."""
    if stored is None or found is None:
        return stored == found
    return abs(stored - found) < max(_MEMORY_SLACK_MIB, stored // _MEMORY_SLACK_PARTS)


def _gpus(host: str, stored: Sequence[Record], evidence: Record) -> Iterator[Problem]:
    before = {gpu["pci"]: gpu for gpu in stored}
    now = {gpu["pci"]: gpu for gpu in evidence["gpus"]}
    missing = [pci for pci in before if pci not in now]
    new = [pci for pci in now if pci not in before]
    if missing and _models(before[pci] for pci in missing) == _models(now[pci] for pci in new):
        yield make("GPU023", host, found=_listed(now), stored=_listed(before))
    else:
        if missing:
            yield make("GPU020", host, found=len(now), stored=len(before), missing=_listed(missing))
        if new:
            yield make("GPU021", host, found=len(now), stored=len(before), new=_listed(new))
    errors = {problem["id"] for problem in evidence["problems"] if problem["severity"] == ERROR}
    for pci in (pci for pci in before if pci in now):
        if _other_model(before[pci], now[pci]):
            yield make("GPU022", host, pci=pci, found=_model(now[pci]), stored=_model(before[pci]))
        elif now[pci]["problem"] not in errors:
            yield from _mig(host, pci, before[pci]["mig"], now[pci]["mig"])


def _other_model(before: Record, now: Record) -> bool:
    """Compare device ids where both are known: a new driver may spell the name of the same GPU differently."""
    for key in ("device_id", "type"):
        if before[key] is not None and now[key] is not None:
            return bool(before[key] != now[key])
    return False


def _models(gpus: Iterable[Record]) -> Counter[str]:
    return Counter(gpu["device_id"] or gpu["type"] for gpu in gpus)


def _model(gpu: Record) -> str:
    return gpu["type"] or f"device {gpu['device_id']}"


def _mig(host: str, pci: str, before: Record, now: Record) -> Iterator[Problem]:
    if before["mode"] is not None and now["mode"] is not None and _profiles(before) != _profiles(now):
        yield make("MIG010", host, pci=pci, found=_profiles(now), stored=_profiles(before))


def _profiles(mig: Record) -> str:
    """Return the profiles with their counts, or that there are none; the ids of instances may change freely."""
    counts = Counter(instance["profile"] or "unknown" for instance in mig["instances"])
    return ", ".join(f"{count} x {profile}" for profile, count in sorted(counts.items())) or "none"


def _adapters(host: str, stored: Iterable[Record], found: Iterable[Record]) -> Iterator[Problem]:
    present = {adapter["guid"] or adapter["name"] for adapter in found}
    missing = [adapter["name"] for adapter in stored if (adapter["guid"] or adapter["name"]) not in present]
    if missing:
        yield make("FAB010", host, missing=_listed(missing))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _merged(stored: Record, evidence: Record) -> Record:
    """Return the evidence, but with stored memory sizes that are as good, and the stored time if nothing else moved."""
    record = {**evidence, "taken_at": stored["taken_at"]}
    if _memory_alike(stored["memory_mib"], evidence["memory_mib"]):
        record["memory_mib"] = stored["memory_mib"]
        sizes = {node["id"]: node["memory_mib"] for node in stored["cpu"]["numa_nodes"]}
        nodes = [
            {**node, "memory_mib": sizes.get(node["id"], node["memory_mib"])} for node in evidence["cpu"]["numa_nodes"]
        ]
        record["cpu"] = {**evidence["cpu"], "numa_nodes": nodes}
    return stored if record == stored else {**record, "taken_at": evidence["taken_at"]}
