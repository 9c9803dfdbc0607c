# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole derivation: node lines, records that cannot be used, and what holds for any set of machines."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.cluster import Host, Site, derive
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key, unfold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.nodes import real_memory
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import parse, release, version_known
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    derived,
    gpu,
    hgx,
    ids,
    mig,
    record,
)

CPUS = "CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=2022400"


def test_equal_nodes_share_a_line() -> None:
    machines = [hgx(f"gpu{number:03d}") for number in (1, 2, 3, 10)]
    assert derived(*machines, record("login"))["node_lines"] == [
        f"NodeName=gpu[001-003,010] {CPUS} Gres=gpu:h100:8 Feature=h100,h100-80gb,8gpu State=UNKNOWN",
        f"NodeName=login {CPUS} State=UNKNOWN",
    ]


def test_nodes_that_differ_do_not() -> None:
    """stackhpc/ansible-role-openhpc#93: the first host does not stand for its group."""
    result = derived(hgx("n1"), hgx("n2", memory_mib=1000000), hgx("n3"), record("n4", [gpu(1, 0)]))
    assert [line.split()[0] for line in result["node_lines"]] == ["NodeName=n[1,3]", "NodeName=n2", "NodeName=n4"]
    # The GPUs of n1 to n3 are equal: their gres.conf lines are shared although the memory differs.
    assert [line.split()[0] for line in result["gres_lines"]] == ["NodeName=n[1-3]"] * 2 + ["NodeName=n4"]


def test_addresses_are_paired_with_names() -> None:
    """The list of addresses is in the order in which Slurm reads the names, whatever the order of addresses."""
    addresses = {"n1": "10.0.0.9", "n2": "10.0.0.1", "n3": "10.0.0.2", "n10": "10.0.0.3", "n01": "10.0.0.7"}
    hosts = [Host(name, hgx(name), ansible_host=address) for name, address in addresses.items()]
    words = dict(word.split("=", 1) for word in derive(hosts, Site(version="24.11")).node_lines[0].split())
    assert words["NodeName"] == "n[01,10],n[1-3]"
    assert words["NodeAddr"] == "10.0.0.7,10.0.0.3,10.0.0.9,10.0.0.[1-2]"
    assert dict(zip(unfold(words["NodeName"]), unfold(words["NodeAddr"]), strict=True)) == addresses


def test_node_without_an_address_has_a_line_of_its_own() -> None:
    """The list of addresses must be as long as the list of names, or slurmctld does not start."""
    hosts = [Host("n1", hgx("n1"), ansible_host="10.0.0.1"), Host("n2", hgx("n2"))]
    assert [line.split()[:2] for line in derive(hosts, Site()).node_lines] == [
        ["NodeName=n1", "NodeAddr=10.0.0.1"],
        ["NodeName=n2", "CPUs=224"],
    ]


@pytest.mark.parametrize(
    ("variables", "address", "problems"),
    [
        ({}, None, []),
        ({"ansible_host": "10.0.0.1"}, "10.0.0.1", []),
        ({"ansible_host": "gpu1.example.org"}, None, []),
        ({"ansible_host": "127.0.0.1"}, None, []),
        ({"ansible_host": "10.0.0.1", "node_base_address": "192.168.0.1"}, "192.168.0.1", []),
        ({"ansible_host": "10.0.0.1", "node_base_address": None}, "10.0.0.1", []),
        ({"node_base_address": "fd00::1"}, "fd00::1", []),
    ],
)
def test_address_rule(variables: dict[str, Any], address: str | None, problems: list[str]) -> None:
    result = derived(record("n1"), **variables)
    assert result["nodes"][0]["address"] == address
    assert ids(result) == problems


def test_wrong_address() -> None:
    result = derived(record("n1"), node_base_address="10.0.0.300")
    assert result["left_out"] == ["n1"]
    assert ids(result) == ["SLM031", "SLM011"]


def test_two_nodes_with_one_address() -> None:
    assert ids(derived(record("n1"), record("n2"), ansible_host="10.0.0.1")) == ["SLM012"]
    several_slurmds = derived(record("n1"), record("n2"), ansible_host="10.0.0.1", slurm_node_parameters={"Port": 6900})
    assert ids(several_slurmds) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"schema": 2}, "SLM002", id="newer schema"),
        pytest.param({"schema": None}, "SLM002", id="no schema"),
        pytest.param({"gpus": None}, "SLM003", id="no list of GPUs"),
        pytest.param({"gpus": [{}]}, "SLM003", id="GPU without keys"),
        pytest.param({"gpus": [gpu(2, 0), gpu(1, 1)]}, "SLM003", id="not in PCI order"),
        pytest.param({"gpus": [gpu(1, 0), gpu(1, 1)]}, "SLM003", id="one GPU twice"),
        pytest.param({"gpus": [gpu(1, "0")]}, "SLM003", id="minor a text"),  # type: ignore[arg-type]
        pytest.param({"gpus": [gpu(1, True)]}, "SLM003", id="minor a boolean"),
        pytest.param({"gpus": [gpu(1, 0, ["h100"])]}, "SLM003", id="type a list"),  # type: ignore[arg-type]
        pytest.param({"gpus": [gpu(1, 0, cores="a-b")]}, "SLM003", id="cores no list"),
        pytest.param({"gpus": [gpu(1, 0, cores="0-999999999999")]}, "SLM003", id="more cores than memory holds"),
        pytest.param({"gpus": [gpu(1, 10**15)]}, "SLM003", id="absurd minor"),
        pytest.param(
            {"gpus": [gpu(1, 0, instances=[{**mig("1g.10gb", 0, (1, 2)), "files": ["/dev/a", "/dev/b\nc"]}])]},
            "SLM003",
            id="line break in a device file",
        ),
        pytest.param({"problems": 5}, "SLM003", id="problems a number"),
        pytest.param({"nvlinks": [{"a": 0, "b": 1, "links": 4}]}, "SLM003", id="link to nothing"),
        pytest.param({"cpu": {}}, "SLM003", id="no CPU layout"),
        pytest.param({"memory_mib": "2 TB"}, "SLM003", id="memory a text"),
        pytest.param({"memory_mib": None}, "SLM004", id="R#79 R#81 memory unknown"),
    ],
)
def test_record_that_cannot_be_used(changes: dict[str, Any], problem: str) -> None:
    """The node is left out and named; the rest goes on."""
    result = derived(record("n1", **changes) if "memory_mib" in changes else {**record("n1"), **changes}, hgx("n2"))
    assert result["left_out"] == ["n1"]
    assert [(found["id"], found["host"], found["severity"]) for found in result["problems"]] == [
        (problem, "n1", "error")
    ]
    assert [node["name"] for node in result["nodes"]] == ["n2"]


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param({"sockets": None}, id="gpu-rules 33 uneven sockets: detection gives no layout"),
        pytest.param({"cores": None}, id="no cores"),
    ],
)
def test_unusable_layout_passes_the_cause_on(layout: dict[str, Any]) -> None:
    cause = {"id": "CPU001", "severity": "error", "host": "n1", "message": "17 cores", "remedy": "firmware"}
    result = derived(record("n1", problems=[cause], **layout), hgx("n2"))
    assert result["left_out"] == ["n1"]
    assert cause in result["problems"]
    assert ids(result) == ["CPU001", "SLM004"]


def test_offline_cpus() -> None:
    """gpu-rules 32."""
    machine = record("n1")
    machine["cpu"]["cpus"] = 220
    result = derived(machine, hgx("n2"))
    assert ids(result) == ["SLM004"]
    assert "220" in result["problems"][0]["message"]


@pytest.mark.parametrize("missing", [None, {}])
def test_node_without_a_record(missing: Any) -> None:
    result = derived(hgx("n1"), {"host": "n2"})
    assert result["left_out"] == ["n2"]
    assert ids(result) == ["SLM002"]
    assert ids(derived(hgx("n1"), hgx("n2"), node_hardware=missing)) == ["SLM031", "SLM001", "SLM001"]


def test_copied_record() -> None:
    result = derived(hgx("n1"))
    other = derived({**record("n1")}, node_hardware=record("n2"))
    assert ids(result) == []
    assert ids(other) == ["SLM033"]


def test_name_that_slurm_refuses() -> None:
    result = derived(hgx("GPU01"), hgx("n2"))
    assert result["left_out"] == ["GPU01"]
    assert ids(result) == ["SLM005"]


def test_skipped_problems() -> None:
    result = derived(hgx("GPU01"), hgx("n2"), site={"skip_problems": ["SLM005"]})
    assert (result["left_out"], ids(result)) == (["GPU01"], [])


@pytest.mark.parametrize(
    ("setting", "value"), [("gpu_type_style", "long"), ("memory_reserve_percent", 100), ("memory_reserve_percent", -1)]
)
def test_unusable_setting(setting: str, value: Any) -> None:
    result = derived(hgx(), site={setting: value})
    assert ids(result) == ["SLM035"]
    assert result["node_lines"] == derived(hgx())["node_lines"]


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("22.05", (22, 5)),
        ("22.05.8", (22, 5)),
        ("24.11.5-4", (24, 11)),
        ("slurm-wlm 24.11.5", (24, 11)),
        ("1:26.05.3-1~deb14", (26, 5)),
        ("", None),
        ("latest", None),
        ("2211", None),
    ],
)
def test_version(version: str, number: tuple[int, int] | None) -> None:
    assert parse(version) == number
    assert version_known(version) is (number is not None)


@pytest.mark.parametrize(("version", "cores"), [("99.05", "socket"), ("21.08", "socket"), ("new", "socket")])
def test_unknown_version(version: str, cores: str) -> None:
    result = derived(hgx(), site={"version": version})
    assert ids(result) == ["SLM032"]
    assert release("").cores == cores


# --- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory_mib", "expected"),
    [
        pytest.param(2063878, 2022400, id="2 TiB"),
        pytest.param(128616, 125952, id="R#92 R#93"),
        pytest.param(128517, 124928, id="lyulyul/shine-cluster#82"),
        pytest.param(16370687 // 1024, 14336, id="nathan-hess/docker-slurm#18 #19"),
        pytest.param(524288, 513024, id="O#3785 MiB, not GB"),
        pytest.param(1900, 896, id="toy machine"),
        pytest.param(100, 50, id="next to nothing"),
    ],
)
def test_real_memory(memory_mib: int, expected: int) -> None:
    assert real_memory(memory_mib, 2, 1024) == expected


MEMORY = st.integers(min_value=4096, max_value=8 * 1024 * 1024)


@given(MEMORY, st.integers(0, 50), st.integers(0, 4096))
def test_a_node_registers_with_a_margin(memory_mib: int, percent: int, minimum: int) -> None:
    """It may lose its whole reserve between two boots and still reports no less than RealMemory."""
    configured = real_memory(memory_mib, percent, minimum)
    assert 0 < configured <= memory_mib
    reserve = min(max(memory_mib * percent // 100, minimum), memory_mib // 2)
    assert configured <= memory_mib - reserve


@given(MEMORY, st.integers(-64, 64))
def test_small_memory_changes_change_nothing(memory_mib: int, change: int) -> None:
    """Within a step of 1 GiB nothing changes; across a border it is one step and nothing else."""
    before, after = (real_memory(value, 2, 1024) for value in (memory_mib, memory_mib + change))
    assert abs(before - after) in (0, 1024)
    usable = [value - max(-(-value * 2 // 100), 1024) for value in (memory_mib, memory_mib + change)]
    if usable[0] // 1024 == usable[1] // 1024 and min(usable) >= (memory_mib + 64) // 2:
        assert before == after


# --- any set of machines ------------------------------------------------------------------------------------------

TYPES = [
    "nvidia_h100_80gb_hbm3",
    "nvidia_a100-sxm4-40gb",
    "nvidia_a100-sxm4-80gb",
    "nvidia_geforce_rtx_3080",
    "tesla_t4",
]


@st.composite
def machines(draw: st.DrawFn, host: str) -> dict[str, Any]:
    """Any machine that detection can describe."""
    sockets, cores = draw(st.sampled_from([(1, 4), (2, 8), (4, 16)]))
    count = draw(st.integers(0, 6))
    minors = draw(st.permutations(range(count)))
    texts = [
        None,
        f"0-{cores - 1}",
        f"0-{sockets * cores - 1}",
        "1-2",
        f"{(sockets - 1) * cores}-{sockets * cores - 1}",
    ]
    gpus = []
    for at in range(count):
        parts = draw(st.sampled_from([None, None, None, ["1g.10gb"], ["1g.10gb", "3g.40gb", "1g.10gb"]]))
        instances = None
        if parts is not None:
            instances = [
                mig(one, minors[at], (minors[at] * 20 + k, minors[at] * 20 + k + 9)) for k, one in enumerate(parts)
            ]
        gpus.append(
            gpu(at, minors[at], draw(st.sampled_from(TYPES)), cores=draw(st.sampled_from(texts)), instances=instances)
        )
    links = []
    if count > 1 and draw(st.booleans()):
        links = [{"a": 0, "b": 1, "links": 4}]
    memory = draw(st.integers(8192, 4 * 1024 * 1024))
    return record(host, gpus, sockets, cores, draw(st.sampled_from([1, 2])), memory, nvlinks=links)


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One to six machines, some of them equal."""
    names = draw(
        st.lists(st.from_regex(r"[a-z]{1,2}[0-9]{0,3}[a-z]?", fullmatch=True), min_size=1, max_size=6, unique=True)
    )
    names = [name for name in names if name != "all"] or ["n1"]
    kinds = draw(st.tuples(machines("x"), machines("x")))
    return [{**draw(st.sampled_from(kinds)), "host": name} for name in names]


VERSIONS = st.sampled_from(["22.05", "24.11", "25.11", "26.05", ""])


def by_node(lines: list[str]) -> dict[str, list[str]]:
    """Return node -> what the lines say of it, without the names of the others."""
    result: dict[str, list[str]] = {}
    for line in lines:
        name, rest = line.split(" ", 1)
        for node in unfold(name.partition("=")[2]):
            result.setdefault(node, []).append(rest)
    return result


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), VERSIONS)
def test_files_are_valid_and_have_every_gpu_once(cluster: list[dict[str, Any]], version: str) -> None:
    result = derived(*cluster, site={"version": version})
    assert result["left_out"] == []
    assert [problem for problem in result["problems"] if problem["severity"] == "error"] == []
    gres = by_node(result["gres_lines"])
    nodes = by_node(result["node_lines"])
    assert sorted(nodes) == sorted(machine["host"] for machine in cluster)
    assert all(len(lines) == 1 for lines in nodes.values())
    for machine, node in ((one, next(n for n in result["nodes"] if n["name"] == one["host"])) for one in cluster):
        lines = gres.get(machine["host"], [])
        files: dict[str, list[str]] = {}
        cores = []
        for line in lines:
            words = dict(word.split("=", 1) for word in line.split())
            own = unfold(words["File"]) if "File" in words else [words["MultipleFiles"]]
            files.setdefault(words["Type"], []).extend(own)
            cores.append(words.get("Cores"))
            assert re.fullmatch(r"[a-z][a-z0-9._+-]*", words["Type"])
            if "Links" in words:
                links = words["Links"].split(",")
                assert (len(own), len(links), links.count("-1")) == (1, len(machine["gpus"]), 1)
        expected = []
        for one in machine["gpus"]:
            whole = [f"/dev/nvidia{one['minor']}"]
            expected += [",".join(part["files"]) for part in one["mig"]["instances"]] or whole
        # Every device once, those of a type in PCI order, types in the order of slurm.conf, which counts the same.
        assert sorted(file for of_type in files.values() for file in of_type) == sorted(expected)
        assert all(of_type == [file for file in expected if file in of_type] for of_type in files.values())
        assert [(name, len(of_type)) for name, of_type in files.items()] == list(node["gpus"].items())
        assert node["gres"] == ",".join(f"gpu:{name}:{count}" for name, count in node["gpus"].items())
        # Cores for all or for none, and never a part of a socket where that makes the node invalid.
        assert (None in cores) <= (set(cores) == {None})
        per_socket = machine["cpu"]["cores_per_socket"]
        for text in filter(None, cores) if version != "22.05" else ():
            low, high = (text.split("-") * 2)[:2]
            assert "," not in text or version == "24.11"
            assert int(low) % per_socket == 0
            assert (int(high) + 1) % per_socket == 0 or "," in text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.integers())
def test_order_of_hosts_plays_no_part(cluster: list[dict[str, Any]], seed: int) -> None:
    shuffled = list(cluster)
    random.Random(seed).shuffle(shuffled)
    assert derived(*shuffled) == derived(*cluster)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), machines("new1"), VERSIONS)
def test_a_new_node_changes_only_its_own_lines(
    cluster: list[dict[str, Any]], new: dict[str, Any], version: str
) -> None:
    """No node of the old ones gets another description, type name or feature; the new one joins or adds a line."""
    before = derived(*cluster, site={"version": version})
    after = derived(*cluster, new, site={"version": version})
    for kind in ("node_lines", "gres_lines"):
        old, now = by_node(before[kind]), by_node(after[kind])
        assert {name: now[name] for name in old} == old
        assert set(now) - set(old) <= {"new1"}
    assert [node for node in after["nodes"] if node["name"] != "new1"] == before["nodes"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.lists(st.integers(-64, 64), min_size=6, max_size=6), VERSIONS)
def test_small_memory_changes_change_no_line(cluster: list[dict[str, Any]], changes: list[int], version: str) -> None:
    """As long as no node crosses a step of 1 GiB, nodes may boot with some MiB more or less: not a byte changes."""
    booted = [
        {**machine, "memory_mib": machine["memory_mib"] + change}
        for machine, change in zip(cluster, changes, strict=False)
    ]
    sizes = [[real_memory(machine["memory_mib"], 2, 1024) for machine in machines] for machines in (cluster, booted)]
    assume(sizes[0] == sizes[1])
    assert derived(*booted, site={"version": version}) == derived(*cluster, site={"version": version})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_folded_lines_list_nodes_in_order(cluster: list[dict[str, Any]]) -> None:
    result = derived(*cluster)
    names = [node["name"] for node in result["nodes"]]
    assert names == sorted(names, key=natural_key)
    assert unfold(result["partitions"][0]["nodes"]) != []


def test_a_thousand_nodes_are_quick() -> None:
    cluster = [hgx(f"gpu{number:04d}", memory_mib=2063878 + number % 50) for number in range(1000)]
    start = time.perf_counter()
    result = derived(*cluster)
    assert time.perf_counter() - start < 2  # 0.1 s on a machine at rest
    assert len(result["node_lines"]) == 1
