# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every machine before every Slurm: layout of its CPUs, its devices, its registration.

All machines are one cluster with one slurm.conf and one gres.conf, so that folded lines and lines of other nodes are
tested on the way.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cases import Case, unaccounted
from conftest import Oracle
from slurm import RELEASES, Answer, Registration, Slurm, faults

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import unfold


def test_every_capture_is_used_or_left_out_with_a_reason() -> None:
    assert unaccounted() == []


def test_derivation(oracle: Oracle, slurm: Slurm, case: Case) -> None:
    """A machine becomes a node, or is refused for the right reason."""
    result = oracle.derived(slurm, case.cluster)
    assert (case.name in result["left_out"]) is bool(case.refused)
    if case.refused:
        assert case.refused in oracle.problems(slurm, case.name)


def test_layout(oracle: Oracle, slurm: Slurm, case: Case, layout: Answer) -> None:
    """Sockets, cores and threads are those of ``slurmd -C``, unless the machine is refused for its processors."""
    if case.refused.startswith("CPU"):
        return
    cpu = oracle.records[case.name]["cpu"]
    found = tuple(int(layout.words[key]) for key in ("SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "CPUs"))
    assert (cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"], cpu["cpus"]) == found
    assert layout.faults == []


def test_devices(oracle: Oracle, slurm: Slurm, case: Case, devices: Answer) -> None:
    """slurmd takes every line, and makes of them exactly the devices of the machine, in PCI order."""
    if case.refused:
        return
    assert devices.faults == []
    assert devices.status == 0
    shared = [device for device in devices.devices if device.name in ("shard", "mps")]
    whole = [files[0] for files in case.devices if len(files) == 1]
    assert {file: device.count for device in shared for file in [device.files]} == dict.fromkeys(
        whole if case.parts_per_gpu else (), case.parts_per_gpu
    )
    by_kind: dict[str, list[tuple[str, ...]]] = {}
    for device in (device for device in devices.devices if device.name == "gpu"):
        # One file each, or the files of a MIG device.
        files = unfold(device.files)
        by_kind.setdefault(device.kind, []).extend([tuple(files)] if device.count == 1 else [(one,) for one in files])
    assert sorted(one for found in by_kind.values() for one in found) == sorted(case.devices)
    for found in by_kind.values():
        assert found == [one for one in case.devices if one in found]
    assert list({kind: len(found) for kind, found in by_kind.items()}.items()) == list(
        oracle.node(slurm, case.name)["gpus"].items()
    )
    rows = [device.links.split(",") for device in devices.devices if device.links]
    assert all(len(row) == len(case.devices) for row in rows)
    # A GPU stands in the matrix where Slurm has it.
    assert [row.index("-1") for row in rows] == list(range(len(rows)))


def test_registration(oracle: Oracle, slurm: Slurm, case: Case, registration: Registration) -> None:
    """The node registers: not INVALID, not drained, with the GPUs that were derived, without an error in its log."""
    if case.refused:
        assert case.name not in registration.nodes
        return
    node = registration.nodes[case.name]
    assert (node["State"], node["Reason"]) == ("IDLE", "")
    derived = oracle.node(slurm, case.name)
    assert counted(node["Gres"]) == counted(derived["gres"])
    assert faults(registration.logs[f"slurmd-{case.name}"]) == []


def test_core_order(oracle: Oracle, slurm: Slurm, case: Case, devices: Answer, registration: Registration) -> None:
    """The record numbers cores as hwloc does inside slurmd, and a GPU's Cores hold all that are near to it."""
    if case.refused:
        return
    # From 25.11 on slurmd keeps hwloc's view to itself.
    xml = registration.topologies or oracle.ask_registration(RELEASES[1], case.cluster).result().topologies
    cores = hwloc_cores(xml[case.name])
    cpu = oracle.records[case.name]["cpu"]
    slots = [cpulist.parse_sequence(slot) for slot in cpu["core_map"]]
    assert sorted(map(sorted, cores)) == sorted(map(sorted, zip(*slots, strict=True)))
    assert [min(core) for core in cores] == [min(core) for core in zip(*slots, strict=True)]
    numbers = {device: at for at, device in enumerate(case.devices)}
    for device in (device for device in devices.devices if device.name == "gpu"):
        files = unfold(device.files)
        for own in [tuple(files)] if device.count == 1 else [(one,) for one in files]:
            near = set(cpulist.parse_set(case.near[numbers[own]]))
            wanted = {number for number, core in enumerate(cores) if core & near}
            if device.cores:
                found = set(cpulist.parse_set(device.cores))
                assert found >= wanted
                # 22.05 takes any cores, the later ones whole sockets.
                assert slurm.series != "22.05" or found == wanted


def test_controller(oracle: Oracle, slurm: Slurm, registration: Registration) -> None:
    """slurmctld reads both files and takes all nodes without a word of error."""
    assert registration.serves
    assert faults(registration.logs["slurmctld"]) == []
    assert set(registration.nodes) == {node["name"] for node in oracle.derived(slurm)["nodes"]}


def counted(gres: str) -> dict[str, int]:
    """Return the counts of a Gres value: of each type of GPU, of all shards or MPS parts together."""
    counts: dict[str, int] = {}
    for entry in re.sub(r"\(S:[-\d,]+\)|\(null\)", "", gres).split(",") if gres else ():
        if entry:
            name, *kind, count = entry.split(":")
            key = ":".join([name, *kind]) if name == "gpu" else name
            counts[key] = counts.get(key, 0) + int(count)
    return counts


def hwloc_cores(xml: str) -> list[set[int]]:
    """Return the CPUs of each core in hwloc's logical order."""
    tree = ElementTree.fromstring(xml)
    return [
        {int(unit.attrib["os_index"]) for unit in core.iter("object") if unit.attrib["type"] == "PU"}
        for core in tree.iter("object")
        if core.attrib["type"] == "Core"
    ]
