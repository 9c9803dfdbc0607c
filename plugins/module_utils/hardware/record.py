# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From evidence to the record of one node.

Two sources are held against each other: the PCI bus, which knows how many GPUs there are, and the driver, which knows
what they are. A GPU that the bus shows stays in the record, whatever the driver says of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import (
    cpu,
    cpulist,
    infiniband,
    memory,
    mig,
    nvidia,
    nvlink,
    pci,
)
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import (
    COMMAND_MISSING,
    COMMAND_TIMED_OUT,
    Evidence,
)
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import SCHEMA
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, Problem, make

__all__ = ["take"]

_NO_FABRIC: dict[str, Any] = {"cluster_uuid": None, "clique": None, "state": None, "status": None}
_FABRIC_READY = ("Completed", "Success")
_UNNAMED = "Graphics Device"  # what a driver calls a card that is younger than itself


def take(evidence: Evidence, host: str, taken_at: str) -> dict[str, Any]:
    """Return the record (schema 1) of the machine behind ``evidence``.

    ``host`` is the inventory name, ``taken_at`` the time in UTC as ``2026-11-30T19:31:44Z``.
    """
    all_nodes = memory.read_nodes(evidence)
    nodes = memory.with_cpus(all_nodes)
    cpu_section, topology, problems = cpu.describe(evidence, host, nodes)
    memory_mib = memory.total_mib(evidence, all_nodes)
    if memory_mib is None:
        problems.append(make("MEM001", host))
    bus = pci.read_bus(evidence)
    if bus is None:
        problems.append(make("PCI001", host))
    view = _driver_view(evidence, host, bus)
    gpus, gpu_problems = _gpus(evidence, host, bus, view, _Places(nodes, topology))
    return {
        "schema": SCHEMA,
        "host": host,
        "taken_at": taken_at,
        "cpu": cpu_section,
        "memory_mib": memory_mib,
        "gpus": gpus,
        "nvlinks": _nvlinks(evidence, bus, view, gpus),
        "nvidia": {
            "driver": view.driver.version if view.driver else None,
            "flavour": view.driver.flavour if view.driver else None,
            "nvswitch": None if bus is None else bus.switches > 0,
        },
        "fabric": {"hcas": infiniband.read_adapters(evidence)},
        "problems": [problem.as_dict() for problem in (*problems, *view.problems, *gpu_problems)],
    }


@dataclass(frozen=True)
class _Places:
    """Turns what the bus says about nearness into terms of the record; unknown where the two do not fit together."""

    nodes: Sequence[memory.NumaNode]
    topology: cpu.Topology | None

    def numa(self, gpu: pci.PciGpu | None) -> int | None:
        """Return the NUMA node of the GPU if that node has CPUs."""
        known = gpu is not None and self._fits(gpu) and gpu.numa in [node.number for node in self.nodes]
        return gpu.numa if gpu is not None and known else None

    def cores(self, gpu: pci.PciGpu | None) -> str | None:
        """Return the abstract ids of the near cores.

        Unknown too where CPU numbers have gaps: slurmd's own map of CPUs to cores breaks there.
        """
        if gpu is None or gpu.cpus is None or self.topology is None or not self._fits(gpu):
            return None
        online = self.topology.online
        return cpulist.format_set(self.topology.core_ids(gpu.cpus)) if online[-1] == len(online) - 1 else None

    def _fits(self, gpu: pci.PciGpu) -> bool:
        """Tell whether the GPU's CPUs are CPUs of this machine; those of a bundle laid over another one are not."""
        cpus = {cpu_number for node in self.nodes for cpu_number in node.cpus}
        if self.topology is not None:
            cpus.update(self.topology.online)
        return gpu.cpus is None or set(gpu.cpus) <= cpus


@dataclass(frozen=True)
class _View:
    """What the driver says. ``blanket`` is the problem that explains why nvidia-smi names no GPU at all."""

    driver: nvidia.Driver | None
    report: nvidia.Report | None
    kernel: Mapping[str, nvidia.KernelGpu]
    lost: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    blanket: str | None = None

    def smi(self, address: str) -> nvidia.SmiGpu | None:
        gpus = self.report.gpus if self.report else ()
        return next((gpu for gpu in gpus if gpu.address == address), None)


def _driver_view(evidence: Evidence, host: str, bus: pci.Bus | None) -> _View:
    """Ask the driver. A machine without GPUs owes no answer, so failures count only where the bus shows a GPU."""
    count = len(bus.gpus) if bus else 0
    driver = nvidia.read_driver(evidence)
    kernel = nvidia.read_kernel_gpus(evidence)
    command = evidence.run("nvidia-smi", "-q", "-x")
    lost = nvidia.lost_gpus(command.output)
    report, failure = None, None
    if command.status == COMMAND_MISSING:
        failure = make("GPU004", host)
    elif command.status == COMMAND_TIMED_OUT:
        failure = make("GPU005", host)
    elif "No devices were found" in command.output:
        failure = make("GPU002", host, count=count)
    else:
        try:
            report = nvidia.parse_report(command.output)
        except nvidia.ReportError as error:
            if command.status == 0 or "<nvidia_smi_log" in command.output:
                failure = make("GPU007", host, detail=error)
            elif nvidia.library_mismatch(command.status, command.output):
                failure = make("GPU016", host, module=(driver.version if driver else None) or "another version")
            elif not lost:
                failure = make("GPU006", host, status=command.status, detail=_first_line(command.output))
    if report is not None:
        driver = nvidia.Driver(
            (driver.version if driver else None) or report.driver, driver.flavour if driver else None
        )
        return _View(driver, report, kernel, lost, _report_problems(host, report))
    if driver is None and count:
        failure = make("GPU001", host, count=count)
    # Broken output is a fault of its own; all other failures are natural where there is no GPU.
    if failure is None or (not count and not kernel and failure.id != "GPU007"):
        return _View(driver, None, kernel, lost)
    return _View(driver, None, kernel, lost, [failure], failure.id)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0] or "no output"


def _report_problems(host: str, report: nvidia.Report) -> list[Problem]:
    problems = []
    if report.repaired:
        problems.append(make("GPU014", host))
    if report.attached is not None and report.attached > len(report.gpus):
        problems.append(make("GPU008", host, attached=report.attached, shown=len(report.gpus)))
    return problems


def _gpus(
    evidence: Evidence, host: str, bus: pci.Bus | None, view: _View, places: _Places
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the record's GPUs in PCI order with the problems of each."""
    on_bus = {gpu.address: gpu for gpu in bus.gpus} if bus else {}
    reported = {gpu.address for gpu in view.report.gpus} if view.report else set()
    addresses = sorted({*on_bus, *reported, *view.kernel, *view.lost}, key=pci.position)
    names = _mig_names(evidence, view.report)
    gpus, problems = [], []
    for address in addresses:
        gpu, found = _gpu(evidence, host, address, on_bus.get(address), view, places, names)
        if bus is not None and address not in on_bus:
            found.append(make("GPU011", host, pci=address))
        gpu["problem"] = _worst(found) or gpu["problem"]
        gpus.append(gpu)
        problems.extend(found)
    return gpus, [*problems, *_fabric_problems(host, gpus)]


def _mig_names(evidence: Evidence, report: nvidia.Report | None) -> Mapping[str, Mapping[int, mig.MigName]]:
    """Return the names of the MIG devices; nvidia-smi is asked again only where there are any."""
    if report is None or not any(gpu.mig_devices for gpu in report.gpus):
        return {}
    return mig.parse_list(evidence.run("nvidia-smi", "-L").output)


def _gpu(
    evidence: Evidence,
    host: str,
    address: str,
    seen: pci.PciGpu | None,
    view: _View,
    places: _Places,
    names: Mapping[str, Mapping[int, mig.MigName]],
) -> tuple[dict[str, Any], list[Problem]]:
    smi = view.smi(address)
    kernel = view.kernel.get(address) or nvidia.KernelGpu(None, None, None)
    product = (smi.product if smi else None) or kernel.product
    minor = kernel.minor if smi is None or smi.minor is None else smi.minor
    problems = _health(host, address, seen, smi, view)
    problems += _contradictions(host, address, smi, kernel)
    if smi is not None and minor is None and not problems:
        problems.append(make("GPU009", host, pci=address))
    if smi is not None and product is None and not problems:
        problems.append(make("GPU015", host, pci=address))
    if product == _UNNAMED:
        problems.append(make("GPU013", host, pci=address))
    mig_section: dict[str, Any] = {"mode": None, "instances": []}
    if smi is not None:
        mig_section, mig_problems = mig.describe(evidence, host, smi, minor, names)
        problems += mig_problems
    return {
        "pci": address,
        "device_id": seen.device_id if seen else None,
        "minor": minor,
        "uuid": (smi.uuid if smi else None) or kernel.uuid,
        "product": product,
        "type": nvidia.gpu_type(product),
        "memory_mib": smi.memory_mib if smi else None,
        "numa": places.numa(seen),
        "cores": places.cores(seen),
        "mig": mig_section,
        "fabric": _fabric(smi),
        "problem": view.blanket,
    }, problems


def _health(host: str, address: str, seen: pci.PciGpu | None, smi: nvidia.SmiGpu | None, view: _View) -> list[Problem]:
    """Return the one problem that says that the GPU does not answer, or nothing."""
    if seen is not None and seen.fallen_off:
        return [make("GPU003", host, pci=address, detail="it has fallen off the bus, its PCI configuration reads ff")]
    if address in view.lost:
        return [make("GPU003", host, pci=address, detail=view.lost[address])]
    if smi is not None and smi.trouble:
        return [make("GPU003", host, pci=address, detail=smi.trouble)]
    if smi is None and view.report is not None:
        return [make("GPU010", host, pci=address)]
    return []


def _contradictions(host: str, address: str, smi: nvidia.SmiGpu | None, kernel: nvidia.KernelGpu) -> list[Problem]:
    """Compare nvidia-smi with the kernel module: a wrong minor number would give a job another GPU's device file."""
    if smi is None:
        return []
    pairs = (("minor number", smi.minor, kernel.minor), ("UUID", smi.uuid, kernel.uuid))
    return [
        make("GPU012", host, pci=address, field=name, smi=first, kernel=second)
        for name, first, second in pairs
        if first is not None and second is not None and first != second
    ]


def _fabric(smi: nvidia.SmiGpu | None) -> dict[str, Any]:
    if smi is None:
        return dict(_NO_FABRIC)
    fabric = smi.fabric
    return {
        "cluster_uuid": fabric.cluster_uuid,
        "clique": fabric.clique,
        "state": fabric.state,
        "status": fabric.status,
    }


def _fabric_problems(host: str, gpus: Iterable[dict[str, Any]]) -> list[Problem]:
    """Return one problem for each state other than ready, and mark the GPUs: they mostly share one cause."""
    waiting: dict[tuple[str, str], list[str]] = {}
    for gpu in gpus:
        state, status = gpu["fabric"]["state"], gpu["fabric"]["status"]
        if state is not None and (state, status) != _FABRIC_READY:
            waiting.setdefault((state, status or "unknown"), []).append(gpu["pci"])
            gpu["problem"] = gpu["problem"] or "FAB001"
    return [
        make("FAB001", host, gpus=", ".join(addresses), state=state, status=status)
        for (state, status), addresses in waiting.items()
    ]


def _worst(problems: Iterable[Problem]) -> str | None:
    ranked = sorted(problems, key=lambda problem: problem.severity != ERROR)
    return ranked[0].id if ranked else None


def _nvlinks(
    evidence: Evidence, bus: pci.Bus | None, view: _View, gpus: Sequence[Mapping[str, Any]]
) -> list[dict[str, int]]:
    """Return the direct links between GPUs as positions in ``gpus``.

    nvidia-smi is asked only where there can be any: several GPUs, all of them reported (its matrix goes by its own
    index), no NVSwitch on the bus and no fabric that leads out of the node. A GPU in MIG mode has no links.
    """
    reported = view.report.gpus if view.report else ()
    if len(reported) < 2 or len(reported) != len(gpus) or (bus is not None and bus.switches):
        return []
    if any(gpu["fabric"]["state"] for gpu in gpus):
        return []
    places = {gpu["pci"]: index for index, gpu in enumerate(gpus)}
    position = [places[gpu.address] for gpu in reported]
    links = nvlink.direct_links(nvlink.parse_matrix(evidence.run("nvidia-smi", "topo", "-m").output))
    if any(second >= len(position) for _first, second, _count in links):  # numbered otherwise than the report
        return []
    found = [(*sorted((position[first], position[second])), count) for first, second, count in links]
    return [
        {"a": first, "b": second, "links": count}
        for first, second, count in sorted(found)
        if "enabled" not in (gpus[first]["mig"]["mode"], gpus[second]["mig"]["mode"])
    ]
