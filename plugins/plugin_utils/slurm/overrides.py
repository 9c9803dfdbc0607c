# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator sets for a node, against what the hardware has.

Three outcomes: a value that Slurm or its parser would refuse is not written and is an error; a value below or beside
the hardware is written and is a warning; everything else is written as it is. Each finding names both values.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gres import Layout
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.hardware import Machine
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import OLDEST, Release, version_text

__all__ = ["Finding", "Settled", "ValueTextError", "settle", "value_text"]

# Parameters of a NodeName line (slurm.conf(5)) -> first release that knows them. An unknown one stops every daemon of
# the cluster, because slurm.conf is then not read at all.
NODE_PARAMETERS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(
        ("Boards", "BcastAddr", "CoreSpecCount", "CoresPerSocket", "CpuBind", "CPUs", "CpuSpecList", "Features"),
        OLDEST,
    ),
    **dict.fromkeys(
        ("Gres", "MemSpecLimit", "NodeHostname", "Port", "RealMemory", "Reason", "Sockets", "State"), (22, 5)
    ),
    **dict.fromkeys(("ThreadsPerCore", "TmpDisk", "TRESWeights", "Weight"), OLDEST),
    "RestrictedCoresPerGPU": (24, 5),
    "Topology": (25, 5),
    "Parameters": (25, 11),
}
_CANONICAL = {name.lower(): name for name in NODE_PARAMETERS} | {
    "feature": "Features",
    "procs": "CPUs",
    "socketsperboard": "Sockets",
}
_OWN_VARIABLE = {"nodename": "is the inventory name", "nodeaddr": "is set by node_base_address"}
_STATES = frozenset({"CLOUD", "DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "UNKNOWN"})
_LAYOUT = ("Sockets", "CoresPerSocket", "ThreadsPerCore")
_WHOLE = ("Boards", "CPUs", "CoreSpecCount", "MemSpecLimit", "Port", "RealMemory", "TmpDisk", "Weight", *_LAYOUT)
_NUMBER = re.compile(r"[0-9]{1,10}")
# Above this part of the detected memory a value is at the mercy of the next firmware or kernel.
_SAFE_MEMORY_PERCENT = 99
_UNQUOTABLE = re.compile(r"[\n\r\"#\\]")


class ValueTextError(ValueError):
    """A value that cannot stand in slurm.conf; the text is the end of a sentence."""


@dataclass(frozen=True)
class Finding:
    """A problem without its host: id and the fields of its wording, so that it can be kept for all equal nodes."""

    id: str
    fields: tuple[tuple[str, str], ...]


def finding(problem_id: str, **fields: Any) -> Finding:
    """Return the finding with all fields as text."""
    return Finding(problem_id, tuple((name, str(value)) for name, value in fields.items()))


@dataclass(frozen=True)
class Settled:
    """What the NodeName line says after the overrides. ``parameters``: the extra ones, in the order of their names."""

    layout: Layout
    cpus: int
    real_memory: int
    mem_spec_limit: int | None
    spare_cores: int
    gpu_counts: tuple[tuple[str, int], ...]
    other_gres: tuple[str, ...]
    features: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]


def value_text(value: Any) -> str:
    """Return a value as slurm.conf writes it: true as YES, a list joined by commas, blanks in quotes.

    Raises ValueTextError where no form exists.
    """
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, (list, tuple)):
        return ",".join(value_text(item) for item in value)
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueTextError("a text, a number, true, false or a list of them is needed")
    text = str(value).strip()
    if _UNQUOTABLE.search(text):
        raise ValueTextError("it has a quote, '#', backslash or line break")
    if not text:
        raise ValueTextError("it is empty")
    return f'"{text}"' if re.search(r"\s", text) else text


def _canonical(given: Mapping[str, Any], release: Release, found: list[Finding]) -> dict[str, str]:
    """Return the parameters under Slurm's spelling with their text; what the parser would refuse becomes a finding."""
    result: dict[str, str] = {}
    for key, value in given.items():
        name = str(key)
        known = _CANONICAL.get(name.lower())
        if value is None:
            continue
        if name.lower() in _OWN_VARIABLE:
            found.append(finding("SLM013", parameter=name, reason=_OWN_VARIABLE[name.lower()]))
        elif known is None:
            found.append(finding("SLM013", parameter=name, reason="is no parameter of a NodeName line"))
        elif release.number < NODE_PARAMETERS[known]:
            since = version_text(NODE_PARAMETERS[known])
            found.append(finding("SLM013", parameter=name, reason=f"Slurm knows from {since} on only"))
        else:
            try:
                text = value_text(value)
            except ValueTextError as exc:
                found.append(finding("SLM014", parameter=name, given=repr(value), reason=exc))
                continue
            if known in _WHOLE and not _NUMBER.fullmatch(text):
                found.append(finding("SLM014", parameter=name, given=text, reason="a whole number is needed"))
            elif known in result:
                found.append(finding("SLM014", parameter=name, given=text, reason="it is set twice, in two spellings"))
            elif known == "State" and text.upper() not in _STATES:
                reason = f"a node starts as one of {', '.join(sorted(_STATES))}"
                found.append(finding("SLM014", parameter=name, given=text, reason=reason))
            else:
                result[known] = text
    return result


def _settle_layout(given: dict[str, str], machine: Machine, found: list[Finding]) -> Layout:
    """Take Sockets, CoresPerSocket, ThreadsPerCore and Boards from ``given`` and return the layout in force."""
    real = Layout(machine.sockets or 0, machine.cores_per_socket or 0, machine.threads_per_core or 0)
    boards = int(given.pop("Boards", "1"))
    if boards != 1:
        found.append(finding("SLM014", parameter="Boards", given=boards, reason="only one board a node is supported"))
    wanted = {name: int(given.pop(name)) for name in _LAYOUT if name in given}
    asked = Layout(
        wanted.get("Sockets", real.sockets),
        wanted.get("CoresPerSocket", real.cores_per_socket),
        wanted.get("ThreadsPerCore", real.threads_per_core),
    )
    if asked == real:
        return real
    fields = {
        "parameter": "/".join(wanted),
        "given": "/".join(str(value) for value in wanted.values()),
        "detected": "/".join(f"{name}={value}" for name, value in zip(_LAYOUT, dataclasses.astuple(real), strict=True)),
    }
    cores = asked.sockets * asked.cores_per_socket
    product = cores * asked.threads_per_core
    if product > machine.threads or product == 0:
        found.append(finding("SLM015", **fields))
        return real
    if cores == machine.cores and asked.threads_per_core == real.threads_per_core:
        if asked.sockets % real.sockets == 0:
            found.append(finding("SLM018", **fields))
            return asked
        # The same number of cores in other sockets: core ids would mean different cores to slurmctld and slurmd.
        found.append(finding("SLM015", **fields))
        return real
    effect = "Slurm uses a part of the node only, and GPUs are written without Cores"
    if cores == machine.cores:
        effect = "to schedule whole cores set CPUs to the number of cores instead; GPUs are written without Cores"
    found.append(finding("SLM016", **fields, effect=effect))
    return asked


def _settle_cpus(given: dict[str, str], layout: Layout, found: list[Finding]) -> int:
    """Take CPUs from ``given``: all threads, or all cores; Slurm resets any other number."""
    cores = layout.sockets * layout.cores_per_socket
    threads = cores * layout.threads_per_core
    cpus = int(given.pop("CPUs", threads))
    if cpus in (cores, threads):
        return cpus
    detected = f"{cores} cores and {threads} threads"
    found.append(finding("SLM015", parameter="CPUs", given=cpus, detected=detected))
    return threads


def _settle_memory(
    given: dict[str, str], memory_mib: int, derived: int, found: list[Finding]
) -> tuple[int, int | None]:
    """Take RealMemory and MemSpecLimit from ``given``."""
    real_memory = derived
    if "RealMemory" in given:
        asked = int(given.pop("RealMemory"))
        fields = {"parameter": "RealMemory", "given": asked, "detected": f"{memory_mib} MiB"}
        if asked > memory_mib or asked == 0:
            found.append(finding("SLM015", **fields))
        else:
            if asked * 100 > memory_mib * _SAFE_MEMORY_PERCENT:
                found.append(finding("SLM017", **fields))
            real_memory = asked
    limit = int(given.pop("MemSpecLimit")) if "MemSpecLimit" in given else None
    if limit is not None and limit >= real_memory:
        detected = f"RealMemory={real_memory}, which would leave nothing to jobs"
        found.append(finding("SLM015", parameter="MemSpecLimit", given=limit, detected=detected))
        limit = None
    return real_memory, limit


def _settle_spare_cores(given: dict[str, str], cores: int, found: list[Finding]) -> int:
    """Check CoreSpecCount and CpuSpecList in ``given`` and return how many cores are kept from jobs."""
    if "CoreSpecCount" in given and "CpuSpecList" in given:
        text = given.pop("CpuSpecList")
        found.append(finding("SLM014", parameter="CpuSpecList", given=text, reason="CoreSpecCount is set as well"))
    count = int(given.get("CoreSpecCount", "0"))
    if count >= cores > 0 and count:
        found.append(finding("SLM015", parameter="CoreSpecCount", given=count, detected=f"{cores} cores"))
        del given["CoreSpecCount"]
        return 0
    return count


def _gres_entries(text: str) -> list[tuple[str, str, int]]:
    """Return (name, type, count) of a Gres value. Raises ValueTextError where the count is missing or not a number."""
    entries = []
    for entry in text.strip('"').split(","):
        name, _colon, rest = entry.strip().partition(":")
        kind, _colon, count = rest.rpartition(":")
        if not name or not _NUMBER.fullmatch(count):
            raise ValueTextError(f"'{entry}' is not name[:type]:count")
        entries.append((name, kind, int(count)))
    return entries


def _settle_gres(
    given: dict[str, str], derived: tuple[tuple[str, int], ...], found: list[Finding]
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Take Gres from ``given``: GPUs are compared with the hardware, everything else is added."""
    if "Gres" not in given:
        return derived, ()
    text = given.pop("Gres")
    try:
        entries = _gres_entries(text)
    except ValueTextError as exc:
        found.append(finding("SLM014", parameter="Gres", given=text, reason=exc))
        return derived, ()
    others = tuple(":".join(filter(None, (name, kind, str(count)))) for name, kind, count in entries if name != "gpu")
    asked = tuple((kind, count) for name, kind, count in entries if name == "gpu")
    detected = ",".join(f"gpu:{kind}:{count}" for kind, count in derived) or "no GPU"
    have = dict(derived)
    if not asked or dict(asked) == have:
        return derived, others
    if len(dict(asked)) != len(asked) or any(count > have.get(kind, 0) for kind, count in asked):
        found.append(finding("SLM015", parameter="Gres", given=text, detected=detected))
        return derived, others
    effect = "the last devices of each type are not offered to jobs"
    found.append(finding("SLM016", parameter="Gres", given=text, detected=detected, effect=effect))
    return tuple((kind, dict(asked)[kind]) for kind, _count in derived if dict(asked).get(kind)), others


def settle(
    given: Mapping[str, Any],
    machine: Machine,
    memory_mib: int,
    real_memory: int,
    gpu_counts: tuple[tuple[str, int], ...],
    release: Release,
) -> Settled:
    """Return what holds for a node: hardware, changed by the operator's ``given`` where that is possible.

    ``memory_mib``: detected; ``real_memory``: derived from it; ``gpu_counts``: (type, count) of the hardware.
    """
    found: list[Finding] = []
    rest = _canonical(given, release, found)
    layout = _settle_layout(rest, machine, found)
    cpus = _settle_cpus(rest, layout, found)
    real, limit = _settle_memory(rest, memory_mib, real_memory, found)
    spare = _settle_spare_cores(rest, layout.sockets * layout.cores_per_socket, found)
    counts, others = _settle_gres(rest, gpu_counts, found)
    features = tuple(rest.pop("Features", "").strip('"').replace(" ", "").split(","))
    return Settled(
        layout=layout,
        cpus=cpus,
        real_memory=real,
        mem_spec_limit=limit,
        spare_cores=spare,
        gpu_counts=counts,
        other_gres=others,
        features=tuple(feature for feature in features if feature),
        parameters=tuple(sorted(rest.items())),
        findings=tuple(found),
    )
