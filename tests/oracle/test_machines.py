# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every machine before every Slurm: layout of its CPUs, its devices, its registration.

All machines are one cluster with one slurm.conf and one gres.conf, so that folded lines and lines of other nodes are
tested on the way.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from cases import Case, unaccounted
from conftest import Oracle
from slurm import Answer, Registration, Slurm, faults
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import unfold


def test_every_capture_is_used_or_left_out_with_a_reason() -> None:
    assert unaccounted() == []


def test_derivation(oracle: Oracle, slurm: Slurm, case: Case) -> None:
    """A machine becomes a node, or is refused for the right reason."""
    result = oracle.derived(slurm)
    assert (case.name in result["left_out"]) is bool(case.refused)
    if case.refused:
        assert case.refused in oracle.problems(slurm, case.name)


def test_layout(oracle: Oracle, slurm: Slurm, case: Case, layout: tuple[dict[str, str], Answer]) -> None:
    """Sockets, cores and threads are those of ``slurmd -C``, unless the machine is refused for its processors."""
    words, answer = layout
    if case.refused.startswith("CPU"):
        return
    cpu = oracle.records[case.name]["cpu"]
    found = tuple(int(words[key]) for key in ("SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "CPUs"))
    assert (cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"], cpu["cpus"]) == found
    assert answer.faults == []


def test_devices(oracle: Oracle, slurm: Slurm, case: Case, request: pytest.FixtureRequest) -> None:
    """slurmd takes every line, and makes of them exactly the devices of the machine, in PCI order."""
    if case.refused:
        pytest.skip(f"refused: {case.refused}")
    answer: Answer = request.getfixturevalue("devices")
    assert answer.faults == []
    assert answer.status == 0
    # One file each, or the files of a MIG device.
    files = [
        one
        for device in answer.devices
        for one in ([tuple(unfold(device.files))] if device.count == 1 else [(file,) for file in unfold(device.files)])
    ]
    assert files == list(case.devices)
    counts: Counter[str] = Counter()
    for device in answer.devices:
        counts[device.kind] += device.count
    assert counts == oracle.node(slurm, case.name)["gpus"]
    links = [device.links.split(",") for device in answer.devices if device.links]
    assert all(len(row) == len(case.devices) for row in links)
    assert [row.index("-1") for row in links] == list(range(len(links)))


def test_registration(oracle: Oracle, slurm: Slurm, case: Case, answered_registration: Registration) -> None:
    """The node registers: not INVALID, not drained, with the GPUs that were derived, without an error in its log."""
    if case.refused:
        assert case.name not in answered_registration.nodes
        return
    registration = answered_registration
    node = registration.nodes[case.name]
    assert (node["State"], node["Reason"]) == ("IDLE", "")
    derived = oracle.node(slurm, case.name)
    gres = re.sub(r"\(S:[-\d,]+\)", "", node["Gres"])
    assert gres == (derived["gres"] or "(null)")
    assert faults(registration.logs[f"slurmd-{case.name}"]) == []


def test_core_order(oracle: Oracle, slurm: Slurm, case: Case, answered_registration: Registration) -> None:
    """The record numbers cores as hwloc does inside slurmd, and a GPU's Cores hold all that are near to it."""
    if case.refused:
        return
    cores = hwloc_cores(answered_registration.topologies[case.name])
    cpu = oracle.records[case.name]["cpu"]
    slots = [cpulist.parse_sequence(slot) for slot in cpu["core_map"]]
    assert sorted(map(sorted, cores)) == sorted(map(sorted, zip(*slots, strict=True)))
    assert [min(core) for core in cores] == [min(core) for core in zip(*slots, strict=True)]
    given = [device.cores for device in oracle.ask_devices(slurm, case.name).result().devices]
    if not any(given):
        return
    expanded = [
        expand(device.cores)
        for device in oracle.ask_devices(slurm, case.name).result().devices
        for _each in range(device.count)
    ]
    for text, near in zip(expanded, case.near, strict=True):
        wanted = {number for number, core in enumerate(cores) if core & set(cpulist.parse_set(near))}
        if slurm.series == "22.05":
            assert text == wanted
        assert text >= wanted


def test_controller(oracle: Oracle, slurm: Slurm, answered_registration: Registration) -> None:
    """slurmctld reads both files and takes all nodes without a word of error."""
    assert answered_registration.serves
    assert faults(answered_registration.logs["slurmctld"]) == []
    assert set(answered_registration.nodes) == {node["name"] for node in oracle.derived(slurm)["nodes"]}


def hwloc_cores(xml: str) -> list[set[int]]:
    """Return the CPUs of each core in hwloc's logical order."""
    tree = ElementTree.fromstring(xml)
    return [
        {int(unit.attrib["os_index"]) for unit in core.iter("object") if unit.attrib["type"] == "PU"}
        for core in tree.iter("object")
        if core.attrib["type"] == "Core"
    ]


def expand(text: str) -> set[int]:
    """Return the numbers of a list like ``0-3,8``."""
    return set(cpulist.parse_set(text))
