# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA devices on the PCI bus.

Devices are told apart by vendor and class, never by name (names come from a file that may be older than the card),
and only function 0 counts: the audio and USB functions of a graphics card are not GPUs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence, EvidenceError

__all__ = ["Bus", "PciGpu", "normalise", "position", "read_bus"]

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
_NVIDIA = "0x10de"
_GPU_CLASSES = ("0x0300", "0x0302")  # VGA compatible controller, 3D controller
_BRIDGE_CLASS = "0x0680"  # other bridge: NVSwitch


@dataclass(frozen=True)
class PciGpu:
    """One GPU as the bus shows it. ``cpus`` are those near to it; None means unknown, as for ``numa``."""

    address: str
    device_id: str | None
    numa: int | None
    cpus: tuple[int, ...] | None
    fallen_off: bool


@dataclass(frozen=True)
class Bus:
    """The GPUs in PCI order and the number of NVSwitches."""

    gpus: tuple[PciGpu, ...]
    switches: int


def normalise(address: str) -> str:
    """Return a PCI address as 8+2+2.1 lower-case hex digits; raises ValueError when it is none.

    >>> normalise("0000:1B:00.0")
    '00000000:1b:00.0'
    """
    match = _ADDRESS.fullmatch(address.strip().lower())
    if match is None:
        raise ValueError(f"{address!r} is not a PCI address")
    return f"{(match[1] or '').rjust(8, '0')}:{match[2]}:{match[3]}.{match[4]}"


def position(address: str) -> tuple[int, ...]:
    """Return the sort key of a normalised address: domain, bus, device, function as numbers."""
    return tuple(int(part, 16) for part in re.split("[:.]", address))


def read_bus(evidence: Evidence) -> Bus | None:
    """Return what the PCI bus shows of NVIDIA, or None where the bus cannot be looked at."""
    names = evidence.names(_DEVICES)
    if names is None:
        return None
    gpus, switches = [], 0
    for name in names:
        folder = f"{_DEVICES}/{name}"
        if (
            not name.endswith(".0")
            or not _ADDRESS.fullmatch(name.lower())
            or evidence.read(f"{folder}/vendor") != _NVIDIA
        ):
            continue
        device_class = (evidence.read(f"{folder}/class") or "")[:6]
        if device_class == _BRIDGE_CLASS:
            switches += 1
        elif device_class in _GPU_CLASSES and not evidence.exists(f"{folder}/physfn"):  # a virtual function has it
            gpus.append(_read_gpu(evidence, name))
    return Bus(tuple(sorted(gpus, key=lambda gpu: position(gpu.address))), switches)


def _read_gpu(evidence: Evidence, name: str) -> PciGpu:
    folder = f"{_DEVICES}/{name}"
    device = evidence.read(f"{folder}/device")
    # The kernel keeps answering with the ids it once read; only the configuration space itself, which lspci shows as
    # "rev ff", tells that nobody answers any more.
    config = evidence.read_bytes(f"{folder}/config", limit=4)
    return PciGpu(
        address=normalise(name),
        device_id=device[2:] if device else None,
        numa=_node(evidence.read(f"{folder}/numa_node")),
        cpus=_cpus(evidence, f"{folder}/local_cpulist"),
        fallen_off=config == b"\xff\xff\xff\xff",
    )


def _node(text: str | None) -> int | None:
    """Return the NUMA node; -1 is the kernel's word for unknown."""
    return int(text) if text and re.fullmatch("[0-9]{1,6}", text) else None


def _cpus(evidence: Evidence, path: str) -> tuple[int, ...] | None:
    """Return the CPU list as a tuple; an empty list says nothing, it does not say "none"."""
    text = evidence.read(path)
    try:
        return tuple(cpulist.parse_set(text)) if text else None
    except cpulist.CpuListError as error:
        raise EvidenceError(f"{path} holds no list of CPUs: {error}") from None
