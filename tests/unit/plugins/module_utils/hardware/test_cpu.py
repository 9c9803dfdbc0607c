# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU topology: the order of cores, and layouts that Slurm can and cannot describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.cpu import CpuSet, order_cores

Record = Mapping[str, Any]


def sets(*texts: str) -> list[CpuSet]:
    """Return CPU lists as sets."""
    return [frozenset(cpulist.parse_set(text)) for text in texts]


def singles(numbers: range) -> list[CpuSet]:
    """Return cores of one CPU each."""
    return [frozenset([number]) for number in numbers]


@pytest.mark.parametrize(
    ("cores", "packages", "nodes", "caches", "expected"),
    [
        pytest.param(
            sets("0,4", "1,5", "2,6", "3,7"), sets("0-1,4-5", "2-3,6-7"), [], [], ["0,4", "1,5", "2,6", "3,7"], id="smt"
        ),
        pytest.param(
            singles(range(8)), sets("1,3,5,7", "0,2,4,6"), [], [], [*"02461357"], id="interleaved over sockets"
        ),
        pytest.param(
            singles(range(8)),
            sets("0-7"),
            sets("0,2,4,6", "1,3,5,7"),
            [],
            [*"02461357"],
            id="interleaved over NUMA nodes",
        ),
        pytest.param(
            singles(range(8)),
            sets("0-7"),
            sets("0,2,4,6", "1,3,5,7"),
            sets("0,4", "2,6", "1,5", "3,7"),
            [*"04261537"],
            id="L3 groups inside NUMA nodes",
        ),
        pytest.param(
            sets("0,4", "1,5", "2,6", "3,7"),
            sets("0-7"),
            sets("0,2-4", "1,5-7"),
            [],
            ["0,4", "1,5", "2,6", "3,7"],
            id="NUMA nodes that cut through cores are dropped",
        ),
        pytest.param(
            singles(range(6)), sets("0-5"), sets("0-1,4-5"), [], [*"014523"], id="a core outside all NUMA nodes"
        ),
    ],
)
def test_order_cores(
    cores: list[CpuSet], packages: list[CpuSet], nodes: list[CpuSet], caches: list[CpuSet], expected: list[str]
) -> None:
    ordered = order_cores(cores, packages, nodes, caches)
    assert [",".join(map(str, core)) for package in ordered for core in package] == expected


@given(st.permutations(range(16)), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.randoms())
def test_order_does_not_depend_on_the_order_of_reading(
    cpus: list[int], threads: int, sockets: int, random: Any
) -> None:
    """Each core has one place, packages stay together, and the order of the input is of no account."""
    cores = [frozenset(cpus[start : start + threads]) for start in range(0, 16, threads)]
    size = len(cores) // sockets
    packages = [frozenset().union(*cores[start : start + size]) for start in range(0, len(cores), size)]
    ordered = order_cores(cores, packages, [], [])
    assert sorted(map(set, (core for package in ordered for core in package)), key=min) == sorted(
        map(set, cores), key=min
    )
    assert {frozenset().union(*map(frozenset, package)) for package in ordered} == set(packages)
    random.shuffle(cores)
    random.shuffle(packages)
    assert order_cores(cores, packages, [], []) == ordered


def layout(record: Record) -> tuple[Any, ...]:
    """Return sockets, cores and threads of a record."""
    return tuple(record["cpu"][key] for key in ("sockets", "cores_per_socket", "threads_per_core"))


def problems(record: Record) -> list[str]:
    """Return the ids of CPU problems of a record."""
    return [problem["id"] for problem in record["problems"] if problem["id"].startswith("CPU")]


@pytest.mark.parametrize(
    ("shape", "core_map", "node_cores"),
    [
        ({"sockets": 2, "cores": 4}, ["0-7"], ["0-3", "4-7"]),
        ({"sockets": 2, "cores": 4, "threads": 2}, ["0-7", "8-15"], ["0-3", "4-7"]),
        (
            {"sockets": 2, "cores": 4, "threads": 2, "interleaved": True},
            ["0-6:2,1-7:2", "8-14:2,9-15:2"],
            ["0-3", "4-7"],
        ),
        ({"sockets": 1, "cores": 1}, ["0"], ["0"]),
        ({"sockets": 8, "cores": 1}, ["0-7"], [*"01234567"]),
    ],
)
def test_even_machines(
    parts: ModuleType,
    record_of: Callable[..., Record],
    shape: dict[str, Any],
    core_map: list[str],
    node_cores: list[str],
) -> None:
    record = record_of(parts.cpu_files(parts.Cpus(**shape)))
    assert layout(record) == (shape["sockets"], shape["cores"], shape.get("threads", 1))
    assert record["cpu"]["core_map"] == core_map
    assert [node["cores"] for node in record["cpu"]["numa_nodes"]] == node_cores
    assert record["cpu"]["offline"] == ""
    assert problems(record) == []


BASE = "sys/devices/system/cpu"


def without_cpus(parts: ModuleType, cpus: Any, gone: str) -> dict[str, bytes]:
    """Return the files of a machine on which some CPUs are offline; the kernel takes them out of all its lists."""
    off = set(cpulist.parse_set(gone))
    files = {}
    for path, content in parts.cpu_files(cpus).items():
        name = path.rpartition("/")[2]
        if name in ("online", "core_cpus_list", "package_cpus_list", "shared_cpu_list", "cpulist"):
            left = sorted(set(cpulist.parse_set(content.decode())) - off)
            if not left:
                continue
            if name != "cpulist" and name != "online":
                path = f"{BASE}/cpu{left[0]}/{path.split('/', 5)[5]}"
            content = (cpulist.format_set(left) + "\n").encode()
        files[path] = content
    return files


@pytest.mark.parametrize(
    ("gone", "smt", "expected", "ids"),
    [
        pytest.param("8-15", "off", (2, 4, 1), [], id="nosmt on the kernel's command line"),
        pytest.param("8-15", "on", (2, 4, 1), ["CPU006"], id="all second threads by hand"),
        pytest.param("15", "on", (None, None, None), ["CPU002"], id="one thread"),
        pytest.param("7,15", "on", (None, None, None), ["CPU002"], id="one core"),
        pytest.param("0-3,8-11", "on", (None, None, None), ["CPU002"], id="first socket leaves gaps"),
    ],
)
def test_offline_cpus(
    parts: ModuleType,
    record_of: Callable[..., Record],
    gone: str,
    smt: str,
    expected: tuple[Any, ...],
    ids: list[str],
) -> None:
    files = without_cpus(parts, parts.Cpus(2, 4, 2), gone) | {f"{BASE}/smt/control": smt.encode()}
    record = record_of(files)
    assert layout(record) == expected
    assert problems(record) == ids
    assert record["cpu"]["offline"] == gone
    if expected[0] is None:
        assert record["cpu"]["core_map"] == []
        assert {node["cores"] for node in record["cpu"]["numa_nodes"]} == {None}


def test_uneven_sockets_are_refused(parts: ModuleType, record_of: Callable[..., Record]) -> None:
    files = without_cpus(parts, parts.Cpus(2, 4), "7")
    files[f"{BASE}/present"] = b"0-6\n"
    record = record_of(files)
    assert layout(record) == (None, None, None)
    assert problems(record) == ["CPU003"]
    assert "7 cores on 2 sockets" in record["problems"][0]["message"]


def test_hybrid_processors_are_refused(parts: ModuleType, record_of: Callable[..., Record]) -> None:
    record = record_of(parts.cpu_files(parts.Cpus(1, 8)) | {"sys/devices/cpu_atom/cpus": "4-7\n"})
    assert (layout(record), problems(record)) == ((None, None, None), ["CPU004"])


def test_gaps_in_the_numbers_bind_no_gpu(parts: ModuleType, record_of: Callable[..., Record]) -> None:
    """slurmd's own map breaks at numbers beyond the count, so no core ids are given to GPUs."""
    files = without_cpus(parts, parts.Cpus(3, 4), "4-7")
    files[f"{BASE}/present"] = b"0-3,8-11\n"
    gpu = parts.Gpu("0000:01:00.0", 0, "Tesla T4", "1eb8", 15360, 0, "0-3")
    record = record_of(files, parts.machine_files(parts.Machine((gpu,))))
    assert (layout(record), problems(record)) == ((2, 4, 1), ["CPU005"])
    assert record["gpus"][0]["cores"] is None


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="no sysfs"),
        pytest.param({f"{BASE}/online": "0-x\n"}, id="online is no list"),
        pytest.param({f"{BASE}/online": "0-1\n"}, id="no topology"),
        pytest.param(
            {
                f"{BASE}/online": "0-1\n",
                f"{BASE}/cpu0/topology/package_cpus_list": "0-1",
                f"{BASE}/cpu0/topology/core_cpus_list": "1",
            },
            id="a CPU outside its own core",
        ),
        pytest.param(
            {
                f"{BASE}/online": "0-2\n",
                f"{BASE}/cpu0/topology/package_cpus_list": "0-1",
                f"{BASE}/cpu2/topology/package_cpus_list": "1-2",
            },
            id="packages that overlap",
        ),
        pytest.param(
            {
                f"{BASE}/online": "0-1\n",
                f"{BASE}/cpu0/topology/package_cpus_list": "0",
                f"{BASE}/cpu1/topology/package_cpus_list": "1",
                f"{BASE}/cpu0/topology/core_cpus_list": "0-1",
            },
            id="a core in two packages",
        ),
        pytest.param(
            {f"{BASE}/online": "0\n", f"{BASE}/cpu0/topology/package_cpus_list": "none"}, id="package is no list"
        ),
    ],
)
def test_unreadable_topology_is_one_clear_problem(record_of: Callable[..., Record], files: dict[str, str]) -> None:
    record = record_of(files)
    assert layout(record) == (None, None, None)
    assert problems(record) == ["CPU001"]


def test_whole_machine_affinity_is_listed(parts: ModuleType, record_of: Callable[..., Record]) -> None:
    gpu = parts.Gpu("0000:01:00.0", 0, "Tesla T4", "1eb8", 15360, -1, "0-7")
    record = record_of(parts.cpu_files(parts.Cpus(1, 4, 2)), parts.machine_files(parts.Machine((gpu,))))
    assert (record["gpus"][0]["numa"], record["gpus"][0]["cores"]) == (None, "0-3")


def test_thread_ids_become_core_ids_on_nps4(parts: ModuleType, record_of: Callable[..., Record]) -> None:
    """Two sockets of 64 cores, four NUMA nodes each: affinity 48-63,176-191 means cores 48-63."""
    files = parts.cpu_files(parts.Cpus(2, 64, 2))
    for node in range(8):
        first = node * 16
        files |= {
            f"sys/devices/system/node/node{node}/cpulist": f"{first}-{first + 15},{first + 128}-{first + 143}\n",
            f"sys/devices/system/node/node{node}/meminfo": f"Node {node} MemTotal: 132000000 kB\n",
        }
    gpu = parts.Gpu("0000:07:00.0", 0, "NVIDIA A100-SXM4-40GB", "20b0", 40960, 3, "48-63,176-191")
    record = record_of(files, parts.machine_files(parts.Machine((gpu,))))
    assert layout(record) == (2, 64, 2)
    assert (record["gpus"][0]["numa"], record["gpus"][0]["cores"]) == (3, "48-63")
    assert [node["cores"] for node in record["cpu"]["numa_nodes"]][:2] == ["0-15", "16-31"]


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (
            "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\ncpu family\t: 25\n",
            "AMD EPYC 9654 96-Core Processor",
        ),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("processor\t: 0\nCPU implementer\t: 0x41\n", None),
    ],
)
def test_model_name(parts: ModuleType, record_of: Callable[..., Record], cpuinfo: str, model: str | None) -> None:
    record = record_of({"proc/cpuinfo": cpuinfo}, parts.cpu_files(parts.Cpus(1, 2)))
    assert record["cpu"]["model"] == model


@pytest.mark.parametrize(
    ("files", "order"),
    [
        pytest.param({"distance": "20 40 20 40 10"}, "0-1,4-5,2-3,6-7", id="nearest to nodes 0 and 2"),
        pytest.param({"distance": "20 40 40 40 10"}, "0-7", id="nearest to one node"),
        pytest.param({"distance": "20 20 20 20 10"}, "0-7", id="equally far from all"),
        pytest.param({"distance": "10 40 10 40 10"}, "0-7", id="not farther than itself"),
        pytest.param({"distance": "20 40 20"}, "0-7", id="too few distances"),
        pytest.param({"distance": "near far near far 10"}, "0-7", id="no numbers"),
        pytest.param({}, "0-7", id="no distances"),
        pytest.param(
            {"access0/initiators/node1/x": "", "access0/initiators/node3/x": ""}, "0-3,6-7,4-5", id="firmware says"
        ),
        pytest.param(
            {
                "access0/initiators/node0/x": "",
                "access1/initiators/node1/x": "",
                "access1/initiators/node3/x": "",
                "distance": "20 40 20 40 10",
            },
            "0-3,6-7,4-5",
            id="what firmware says of CPUs counts more than distances",
        ),
    ],
)
def test_memory_without_cpus_moves_the_cores_near_to_it(
    parts: ModuleType, record_of: Callable[..., Record], files: dict[str, str], order: str
) -> None:
    """hwloc groups the CPUs that are near to one memory; tests/oracle holds the same against hwloc itself."""
    folder = "sys/devices/system/node"
    machine = dict(parts.cpu_files(parts.Cpus(1, 8, 1, bare_nodes={4: 16})))
    for number in range(4):
        machine[f"{folder}/node{number}/cpulist"] = f"{number * 2}-{number * 2 + 1}\n".encode()
    machine |= {f"{folder}/node4/{name}": text.encode() for name, text in files.items()}
    assert record_of(machine)["cpu"]["core_map"] == [order]
