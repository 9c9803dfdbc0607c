# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a cluster showed to problems. Pure: the same evidence gives the same verdict.

Detected (the machine now), configured (derived from the records) and registered (slurmctld) have to agree, every unit
has to run, and a job has to get exactly what it asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import engine, text
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.compare import contradictions
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, Problem, make

__all__ = ["Evidence", "Units", "judge", "mig_files", "usable"]

# Answers of the kernel by which the device cgroup refuses: cgroup(7), devices; EACCES is a matter of the file's mode.
_REFUSED: Final = ("EPERM", "EACCES")
_SHOWN: Final = 3  # device files that a message lists
_MISSING: Final = ("ENOENT", "ENOTDIR")
# What slurm.conf and slurmctld both have of a node: name in the derivation, name in the registration, words.
_COMPARED: Final = (
    ("sockets", "sockets", "sockets"),
    ("cores_per_socket", "cores_per_socket", "cores per socket"),
    ("threads_per_core", "threads_per_core", "threads per core"),
    ("cpus", "cpus", "CPUs"),
    ("real_memory", "real_memory", "memory (MiB)"),
    ("gpus", "gpus", "GPUs"),
)

Units = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Evidence:
    """All that was seen.

    ``cluster``: result of the filter slurm_cluster. ``hosts``: host -> result of cluster_host_info. ``detected`` and
    ``records``: node -> record, taken now and in force. ``jobs``: result of slurm_validation_jobs. ``asked``: the nodes
    to test. ``submit_host``: where jobs were submitted.
    """

    cluster: Mapping[str, Any]
    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    jobs: Mapping[str, Any] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    submit_host: str = ""
    accounting: bool = True
    clock_tolerance: float = 5.0


def judge(evidence: Evidence) -> list[Problem]:
    """Return every problem that the evidence shows."""
    problems = [*_hosts(evidence), *_detected(evidence)]
    fault = evidence.jobs.get("error") or ("" if "nodes" in evidence.jobs else evidence.jobs.get("msg", "no answer"))
    if fault:
        return [*problems, make("VAL005", evidence.submit_host, detail=str(fault).rstrip("."))]
    return [*problems, *_registered(evidence), *_jobs(evidence)]


# --- hosts ----------------------------------------------------------------------------------------------------------


def _hosts(evidence: Evidence) -> Iterator[Problem]:
    for host, seen in evidence.hosts.items():
        if seen.get("unreachable") or seen.get("failed"):
            detail = str(seen.get("msg") or "no answer").strip().splitlines()[-1].rstrip(".")
            yield make("VAL001", host, detail=detail)
            continue
        for unit, state in seen["units"].items():
            if not state["active"]:
                journal = " / ".join(line.strip() for line in state["journal"].splitlines()) or "none"
                yield make("VAL002", host, unit=unit, state=state["state"], journal=journal)
            elif state["restarts"]:
                yield make("VAL003", host, unit=unit, restarts=state["restarts"])
        ahead = seen["time"] - seen["control_after"]
        behind = seen["control_before"] - seen["time"]
        seconds, direction = max((ahead, "ahead"), (behind, "behind"))
        if seconds > evidence.clock_tolerance:
            yield make("VAL004", host, seconds=round(seconds), direction=direction)


# --- detected, configured, registered ---------------------------------------------------------------------------------


def _detected(evidence: Evidence) -> Iterator[Problem]:
    """The machine now against its record; the words are those of the detection, which compares the two in every run."""
    for node, found in evidence.detected.items():
        record = evidence.records.get(node)
        known = set()
        if record is not None:
            for problem in contradictions(record, found):
                known.add(problem.id)
                yield problem
        for entry in found.get("problems", ()):
            if entry["severity"] == ERROR and entry["id"] not in known:
                yield Problem(**entry)


def _registered(evidence: Evidence) -> Iterator[Problem]:
    registered = evidence.jobs["nodes"]
    for node in evidence.cluster["left_out"]:
        yield make("VAL007", node)
    configured = {node["name"]: node for node in evidence.cluster["nodes"]}
    for name, node in configured.items():
        found = registered.get(name)
        if found is None:
            yield make("VAL006", name)
            continue
        for ours, theirs, words in _COMPARED:
            if node[ours] != found[theirs]:
                values = {"registered": _text(found[theirs]), "configured": _text(node[ours])}
                yield make("VAL010", name, name=words, **values)
        if not found["partitions"]:
            yield make("VAL021", name)
        standing = text.standing(found["flags"])
        if standing == text.OUT:
            reason = found["reason"] or "none given"
            yield make("VAL008", name, state=found["state"], reason=reason.rstrip("."))
        elif standing == text.SET_ASIDE and name in evidence.asked:
            yield make("VAL009", name, what="", reason=f"its state is {found['state']}")
    for name in registered:
        if name not in configured and name not in evidence.cluster["left_out"]:
            yield make("VAL020", name)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return " and ".join(f"{count} x {name or 'GPU'}" for name, count in sorted(value.items())) or "none"
    return "none" if value is None else str(value)


# --- jobs -----------------------------------------------------------------------------------------------------------


def _jobs(evidence: Evidence) -> Iterator[Problem]:
    for job in evidence.jobs["jobs"]:
        what = _what(job)
        if job["status"] == engine.BUSY:
            yield make("VAL009", job["node"], what=what, reason=f"no job could start in time ({job['message']})")
        elif job["status"] == engine.HUNG:
            yield make("VAL012", job["node"], what=what, detail=job["message"])
        elif job["status"] != engine.DONE:
            options = "" if job["gpu_type"] is None else f" --gres=gpu:{job['gpu_type']}:1"
            detail = job["message"].rstrip(".")
            yield make("VAL011", job["node"], what=what, detail=detail, options=options)
        else:
            yield from _seen(job, evidence.records.get(job["node"], {}))
            if evidence.accounting:
                yield from _accounted(job)


def _what(job: Mapping[str, Any]) -> str:
    return "" if job["gpu_type"] is None else f" with a GPU of type {job['gpu_type']}"


def _seen(job: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[Problem]:
    host, seen = job["node"], job["seen"]
    # Where a partition or a site hands out more than was asked, what was allocated counts.
    if seen["cpus"] != job["cpus"] and str(seen["cpus"]) != str(seen["cpus_allocated"]):
        yield make("VAL013", host, wanted=job["cpus"], seen=seen["cpus"])
    missing = [path for path, answer in seen["devices"].items() if answer in _MISSING]
    if missing:
        yield make("VAL017", host, files=", ".join(missing))
    wanted = 0 if job["gpu_type"] is None else 1
    what = "" if job["gpu_type"] is None else f" of type {job['gpu_type']}"
    visible = [name for name in (seen["gpus"] or "").split(",") if name and name != "NoDevFiles"]
    if len(visible) != wanted:
        yield make("VAL014", host, what=what, seen=len(visible), visible=seen["gpus"])
    open_files = usable(seen["devices"], record)
    if wanted and not open_files:
        yield make("VAL015", host, what=what, detail=_answers(seen["devices"]) or "no device file is known")
    elif len(open_files) > wanted:
        files = [" with ".join(files) for files in open_files]
        yield make("VAL016", host, what=what, files=", ".join(files))


def mig_files(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the device files of every MIG device of a record; the file of the GPU itself is the first of each."""
    instances = [instance for gpu in record.get("gpus", ()) for instance in gpu["mig"]["instances"]]
    return [tuple(instance["files"]) for instance in instances if instance["files"]]


def usable(devices: Mapping[str, str], record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what a job could use of the tried device files: whole GPUs and MIG devices, as their files.

    A MIG device needs its GPU's own file, which the jobs on the same GPU share, and its two files under nvidia-caps,
    which nobody shares: it is usable only if the job may open all of them.
    """
    migs = mig_files(record)
    in_migs = {path for files in migs for path in files}
    whole = [(path,) for path in devices if path not in in_migs]
    units = [*whole, *(files for files in migs if all(path in devices for path in files))]
    return [files for files in units if all(_allowed(devices[path]) for path in files)]


def _answers(devices: Mapping[str, str]) -> str:
    """Return the kernel's answers with the files that gave them, not more than some of each."""
    files: dict[str, list[str]] = {}
    for path, answer in devices.items():
        files.setdefault(answer, []).append(path)
    parts = []
    for answer, paths in files.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        parts.append(f"{answer} from {', '.join(paths[:_SHOWN])}{more}")
    return "; ".join(parts)


def _allowed(answer: str) -> bool:
    return answer not in _REFUSED and answer not in _MISSING


def _accounted(job: Mapping[str, Any]) -> Iterator[Problem]:
    row, number = job["accounted"], job["seen"]["job"]
    if row is None:
        yield make("VAL018", job["node"], job=number)
        return
    recorded = text.tres(row["alloctres"])
    missing = []
    if int(recorded.get("cpu", "0")) < job["cpus"]:
        missing.append(f"cpu={job['cpus']}")
    if job["gpu_type"] is not None:
        names = ["gres/gpu", *([f"gres/gpu:{job['gpu_type']}"] if job["gpu_type"] else [])]
        missing += [f"{name}=1" for name in names if recorded.get(name) != "1"]
    if missing or row["state"].split(" ")[0] != "COMPLETED":
        yield make(
            "VAL019",
            job["node"],
            job=number,
            state=row["state"],
            recorded=row["alloctres"] or "nothing",
            missing=" and ".join(missing) or "the state COMPLETED",
        )
