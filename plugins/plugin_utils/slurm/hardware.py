# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of schema 1, read into frozen dataclasses.

Ten thousand nodes usually are a handful of different machines. So a record is first reduced to a :func:`shape_key`, a
plain tuple of just what the derivation uses (no host name, UUID or GUID), and only distinct shapes are derived.
The node's memory varies by some MiB between equal machines and is therefore kept beside the shape (:func:`memory_of`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.cpulist import parse_set
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key

__all__ = [
    "SCHEMA",
    "Gpu",
    "Machine",
    "MigInstance",
    "RecordError",
    "core_set",
    "machine_of",
    "memory_of",
    "shape_key",
    "whole",
    "without",
]

SCHEMA = 1

_TOO_LARGE = 1 << 40  # a slip of a hand that edits a record; no number in one comes near
_FILE = re.compile(r"/dev/[A-Za-z0-9/_-]+")

_CPU = itemgetter("sockets", "cores_per_socket", "threads_per_core", "cpus")
_GPU = itemgetter("pci", "device_id", "minor", "type", "memory_mib", "cores", "problem")
_INSTANCE = itemgetter("profile", "files")
_LINK = itemgetter("a", "b", "links")


class RecordError(ValueError):
    """A record that does not have the form of schema 1."""


@dataclass(frozen=True)
class MigInstance:
    """One MIG device: ``profile`` like ``1g.10gb`` and its device files, the GPU's own first."""

    profile: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Gpu:
    """One physical GPU. ``cores``: abstract core ids it is near to, or None if unknown; ``memory_mib`` of its own."""

    pci: str
    device_id: str | None
    minor: int | None
    type: str | None
    memory_mib: int | None
    cores: frozenset[int] | None
    problem: str | None
    mig: str | None
    instances: tuple[MigInstance, ...]


@dataclass(frozen=True)
class Machine:
    """What the derivation knows of a kind of node: layout of its CPUs, GPUs in PCI order.

    ``links``: (a, b, number of NVLinks) for directly connected GPUs, positions in ``gpus``.
    """

    sockets: int | None
    cores_per_socket: int | None
    threads_per_core: int | None
    cpus: int | None
    numa_nodes: int
    gpus: tuple[Gpu, ...]
    links: tuple[tuple[int, int, int], ...]

    @property
    def cores(self) -> int:
        """Return the number of cores (0 if the layout is unknown)."""
        return (self.sockets or 0) * (self.cores_per_socket or 0)

    @property
    def threads(self) -> int:
        """Return the number of hardware threads (0 if the layout is unknown)."""
        return self.cores * (self.threads_per_core or 0)


def _mig_key(mig: Mapping[str, Any] | None) -> tuple[Any, tuple[Any, ...]]:
    if not mig:
        return None, ()
    instances = mig["instances"]
    if not instances:
        return mig["mode"], ()
    return mig["mode"], tuple((profile, tuple(files or ())) for profile, files in map(_INSTANCE, instances))


def shape_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what of a record decides the configuration, hashable. RecordError tells of a missing key."""
    try:
        cpu = record["cpu"]
        return (
            _CPU(cpu),
            len(cpu["numa_nodes"]),
            tuple((_GPU(gpu), _mig_key(gpu["mig"])) for gpu in record["gpus"]),
            tuple(map(_LINK, record["nvlinks"])),
        )
    except KeyError as exc:
        raise RecordError(f"the key {exc} is missing") from exc
    except (TypeError, AttributeError) as exc:
        raise RecordError(f"a value has the wrong type ({exc})") from exc


def memory_of(record: Mapping[str, Any]) -> int | None:
    """Return the memory of a record's node in MiB, None if it is unknown. Raises RecordError if it is no number."""
    return whole(record.get("memory_mib"), "memory_mib")


def core_set(text: str | None) -> frozenset[int] | None:
    """Return the core ids of a list like ``0-55,112``; None if it is unknown or empty. Raises ValueError."""
    if not text:
        return None
    return frozenset(parse_set(text))


def whole(value: Any, what: str) -> int | None:
    """Return a whole number that is not negative as a plain int, None as None; anything else is a fault."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _TOO_LARGE:
        raise RecordError(f"{what} is {value!r}, not a number in reason")
    return int(value)


def _text(value: Any, what: str) -> str | None:
    """Return a plain text, None as None; anything else is a fault."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise RecordError(f"{what} is {value!r}, not a text")
    # join() makes a plain str also of Ansible's tagged ones, at which str() of a subclass may stop short.
    return "".join((value, ""))


def _device_file(value: Any, where: str) -> str:
    text = _text(value, f"a MIG device file {where}") or ""
    if not _FILE.fullmatch(text):
        raise RecordError(f"a MIG device file {where} is {text!r}, not a path below /dev")
    return text


def _pci_key(gpu: Gpu) -> tuple[Any, ...]:
    try:
        domain, bus, rest = gpu.pci.split(":")
        device, _dot, function = rest.partition(".")
        return (0, *(int(part, 16) for part in (domain, bus, device, function or "0")))
    except ValueError:
        return (1, natural_key(gpu.pci))


def _gpu_of(key: tuple[Any, ...]) -> Gpu:
    (pci, device_id, minor, kind, memory_mib, cores, problem), (mode, instances) = key
    address = _text(pci, "the PCI address of a GPU") or ""
    where = f"of GPU {address}"
    try:
        near = core_set(_text(cores, f"cores {where}"))
    except ValueError as exc:
        raise RecordError(f"cores {where} is {cores!r}, not a list of core ids") from exc
    return Gpu(
        pci=address,
        device_id=_text(device_id, f"device_id {where}"),
        minor=whole(minor, f"minor {where}"),
        type=_text(kind, f"type {where}"),
        memory_mib=whole(memory_mib, f"memory_mib {where}"),
        cores=near,
        problem=_text(problem, f"problem {where}"),
        mig=_text(mode, f"mig.mode {where}"),
        instances=tuple(
            MigInstance(
                profile=_text(profile, f"the MIG profile {where}") or "",
                files=tuple(_device_file(file, where) for file in files),
            )
            for profile, files in instances
        ),
    )


def machine_of(key: tuple[Any, ...]) -> Machine:
    """Read a :func:`shape_key` into a Machine of plain built-in values.

    Raises RecordError for values of a wrong type, GPUs out of PCI order and links to GPUs that are not there.
    """
    (sockets, cores_per_socket, threads_per_core, cpus), numa_nodes, gpu_keys, link_keys = key
    gpus = tuple(_gpu_of(gpu_key) for gpu_key in gpu_keys)
    order = [_pci_key(gpu) for gpu in gpus]
    if order != sorted(order) or len(set(order)) != len(order):
        raise RecordError("its GPUs are not in PCI order or one is listed twice")
    links = tuple(tuple(whole(value, "an NVLink entry") or 0 for value in link) for link in link_keys)
    if any(a >= len(gpus) or b >= len(gpus) for a, b, _links in links):
        raise RecordError("an NVLink entry names a GPU that is not there")
    return Machine(
        sockets=whole(sockets, "cpu.sockets"),
        cores_per_socket=whole(cores_per_socket, "cpu.cores_per_socket"),
        threads_per_core=whole(threads_per_core, "cpu.threads_per_core"),
        cpus=whole(cpus, "cpu.cpus"),
        numa_nodes=numa_nodes,
        gpus=gpus,
        links=tuple((a, b, count) for a, b, count in links),
    )


def without(machine: Machine, positions: AbstractSet[int]) -> Machine:
    """Return the machine less the GPUs at ``positions`` in ``machine.gpus``.

    Its direct links go too: slurmctld wants as many numbers in Links= as AutoDetect would find GPUs.
    """
    if not positions:
        return machine
    gpus = tuple(gpu for position, gpu in enumerate(machine.gpus) if position not in positions)
    return replace(machine, gpus=gpus, links=())
