# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule of the inventory check: a sound inventory passes, one fault gives exactly its problem."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import CATALOGUE
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.inventory_check import (
    UNRESOLVED,
    Failed,
    Site,
    Specs,
    check,
    fold,
    load_specs,
    release_problems,
)

Groups = dict[str, list[str]]
Variables = dict[str, dict[str, Any]]

SPECS = Specs(
    roles=frozenset({"slurm", "slurm_controller", "slurm_dbd", "slurm_node", "slurm_login", "mariadb", "munge"}),
    options={
        "slurm_dbd_storage_host": ("slurm_dbd", {"type": "str"}),
        "slurm_skip_problems": ("slurm", {"type": "list", "elements": "str"}),
        "slurm_cluster_name": ("slurm", {"type": "str", "required": True}),
        "slurm_partitions": ("slurm", {"type": "list", "elements": "dict"}),
        "slurm_auth": ("slurm", {"type": "str", "choices": ["munge", "slurm"]}),
        "slurm_settings": ("slurm", {"type": "dict", "default": {}}),
        "slurm_dbd_settings": ("slurm_dbd", {"type": "dict"}),
        "slurm_version": ("slurm", {"type": "str"}),
        "slurm_topology_file": ("slurm", {"type": "str"}),
        "slurm_memory_reserve_percent": ("slurm", {"type": "int"}),
        "slurm_dbd_password": ("slurm_dbd", {"type": "dict", "no_log": True}),
        "slurm_node_gpu_exclude": ("slurm_node", {"type": "list", "elements": "str"}),
        "slurm_node_gpu_sharing": ("slurm_node", {"type": "dict"}),
        "munge_key": ("munge", {"type": "str", "required": True}),
    },
    names=frozenset({"slurm_cluster_name", "slurm_partitions", "slurm_auth", "munge_key"}),
)
GPU = {
    **dict.fromkeys(("device_id", "uuid", "product", "type", "memory_mib", "numa", "cores", "problem")),
    "pci": "00000000:1b:00.0",
    "minor": 3,
    "mig": {"mode": None, "instances": []},
    "fabric": dict.fromkeys(("cluster_uuid", "clique", "state", "status")),
}
NODES = [f"gpu{number:03}" for number in range(1, 5)]


def record_of(host: str, *gpus: Any) -> dict[str, Any]:
    """Return a record of which little is known."""
    keys = ("architecture", "model", "sockets", "cores_per_socket", "threads_per_core", "cpus", "offline")
    return {
        "schema": 1,
        "host": host,
        "taken_at": None,
        "cpu": {**dict.fromkeys(keys), "core_map": [], "numa_nodes": []},
        "memory_mib": None,
        "gpus": list(gpus),
        "nvlinks": [],
        "nvidia": dict.fromkeys(("driver", "flavour", "nvswitch")),
        "fabric": {"hcas": []},
        "problems": [],
    }


def sound() -> tuple[Groups, Variables]:
    """Return groups and variables in which nothing is wrong."""
    hosts = ["ctl1", "login1", *NODES]
    groups = {
        "all": hosts,
        "slurm_controller": ["ctl1"],
        "slurm_dbd": ["ctl1"],
        "mariadb": ["ctl1"],
        "slurm_login": ["login1"],
        "slurm_node": list(NODES),
        "munge": [],
    }
    variables: Variables = {
        host: {"slurm_cluster_name": "rack", "node_base_address": f"10.0.0.{index}"}
        for index, host in enumerate(hosts, start=1)
    }
    for node in NODES:
        variables[node]["node_hardware"] = record_of(node)
    return groups, variables


def found(change: Callable[[Groups, Variables], Any], **site: Any) -> list[dict[str, str]]:
    groups, variables = sound()
    change(groups, variables)
    return check(Site(groups=groups, variables=variables, **{"specs": SPECS, **site}))


def everywhere(name: str, value: Any) -> Callable[[Groups, Variables], Any]:
    def change(_groups: Groups, variables: Variables) -> None:
        for values in variables.values():
            values[name] = value

    return change


def on(host: str, name: str, value: Any) -> Callable[[Groups, Variables], Any]:
    return lambda _groups, variables: variables[host].update({name: value})


def without_value(name: str) -> Callable[[Groups, Variables], Any]:
    return lambda _groups, variables: [values.pop(name) for values in variables.values()]


def added(host: str, *groups_of_host: str) -> Callable[[Groups, Variables], Any]:
    def change(groups: Groups, variables: Variables) -> None:
        for group in groups_of_host:
            groups.setdefault(group, []).append(host)
        variables[host] = {"slurm_cluster_name": "rack", "node_hardware": record_of(host)}

    return change


def emptied(group: str) -> Callable[[Groups, Variables], Any]:
    return lambda groups, _variables: groups.update({group: []})


def partitions(*items: dict[str, Any]) -> Callable[[Groups, Variables], Any]:
    return everywhere("slurm_partitions", list(items))


def test_sound_inventory_has_no_problem() -> None:
    assert found(lambda groups, variables: None) == []


# What is changed in the sound inventory, the id that has to come out (and nothing else), and words of its text.
FAULTS: list[tuple[str, Callable[[Groups, Variables], Any], str, list[str]]] = [
    ("no controller", emptied("slurm_controller"), "INV001", ["slurm_controller"]),
    (
        "no nodes",
        lambda groups, _variables: groups.update(slurm_node=[], slurm_login=[*NODES, "login1"]),
        "INV023",
        ["slurm_node"],
    ),
    ("two spellings", added("Login1", "slurm_login"), "INV002", ["Login1 and login1"]),
    ("node name with a dot", added("gpu9.example", "slurm_node"), "INV003", ["gpu9.example", "domain"]),
    ("node name with a bracket", added("gpu[1", "slurm_node"), "INV003", ["gpu[1"]),
    ("long name", added("n" * 64, "slurm_login"), "INV004", ["64 characters"]),
    ("same address", on("gpu002", "node_base_address", "10.0.0.3"), "INV005", ["10.0.0.3", "gpu[001-002]"]),
    ("no address", on("gpu002", "node_base_address", "gpu002.lan"), "INV022", ["gpu002.lan"]),
    (
        "unknown node in a partition",
        partitions({"name": "big", "nodes": ["gpu[003-006]"]}),
        "INV006",
        ["big", "gpu[005-006]", "slurm_partitions"],
    ),
    ("unknown group", partitions({"name": "big", "nodes": ["slurm_nodes"]}), "INV006", ["Was slurm_node meant?"]),
    ("login host in a partition", partitions({"name": "big", "nodes": ["login1"]}), "INV006", ["login1"]),
    ("broken host list", partitions({"name": "big", "nodes": ["gpu[003-"]}), "INV006", ["gpu[003-"]),
    (
        "two defaults",
        partitions({"name": "a", "default": True}, {"name": "b", "default": True}),
        "INV007",
        ["a and b"],
    ),
    ("partition twice", partitions({"name": "a"}, {"name": "a"}), "INV021", ["2 items named a"]),
    ("no database", emptied("mariadb"), "INV008", ["ctl1", "slurm_dbd_storage_host"]),
    ("host without a role", added("spare", "racks"), "INV009", ["spare", "racks"]),
    ("misspelt group", added("gpu9", "slurm_nodes"), "INV009", ["Was the group slurm_node meant?"]),
    ("schema of the future", on("gpu001", "node_hardware", {"schema": 2, "host": "gpu001"}), "INV010", ["schema 2"]),
    ("record without a schema", on("gpu001", "node_hardware", {"gpus": []}), "INV010", ["schema none"]),
    ("record that is a text", on("gpu001", "node_hardware", "8 GPUs"), "INV010", ["gpu001"]),
    ("copied record", on("gpu001", "node_hardware", {"schema": 1, "host": "gpu002"}), "INV011", ["gpu001", "gpu002"]),
    (
        "record with a number as text",
        on("gpu001", "node_hardware", {**record_of("gpu001"), "memory_mib": "64 GB"}),
        "INV025",
        ["gpu001", "node_hardware.memory_mib is '64 GB'", "hardware.yml"],
    ),
    (
        "record whose GPUs are a number, with a GPU to leave out",
        lambda _groups, variables: variables["gpu001"].update(
            node_hardware={**record_of("gpu001"), "gpus": 5}, slurm_node_gpu_exclude=["0"]
        ),
        "INV025",
        ["node_hardware.gpus is not a list"],
    ),
    ("template that fails", everywhere("slurm_auth", Failed("division by zero")), "INV026", ["division by zero"]),
    ("derived parameter", everywhere("slurm_settings", {"nodeNAME": "x"}), "INV027", ["slurm_settings", "NodeName"]),
    ("number as a name", everywhere("slurm_settings", {1: 2}), "INV027", ["'1' is no name of a parameter"]),
    ("version that is none", everywhere("slurm_version", "Debian"), "INV028", ["'Debian'", "quotes"]),
    ("no such topology file", everywhere("slurm_topology_file", "/no/such.conf"), "INV029", ["/no/such.conf"]),
    ("dictionary for a text", everywhere("slurm_version", {"a": 1}), "INV015", ["slurm_version", "{'a': 1}"]),
    ("dictionary in a list", on("gpu001", "slurm_node_gpu_exclude", [{}]), "INV015", ["slurm_node_gpu_exclude"]),
    ("blank in the name of a login host", added("login 2", "slurm_login"), "INV033", ["login 2"]),
    ("null", everywhere("slurm_settings", None), "INV015", ["null"]),
    ("list as a text", on("gpu001", "slurm_node_gpu_exclude", "0000:1b:00.0"), "INV015", ["list of str"]),
    ("dictionary as a text", everywhere("slurm_settings", "ReturnToService=2"), "INV015", ["of type dict"]),
    ("sharing as a number", on("gpu001", "slurm_node_gpu_sharing", 5), "INV015", ["it is 5"]),
    ("no record", on("gpu001", "node_hardware", None), "INV012", ["gpu001", "left out"]),
    (
        "GPU to leave out that is not there",
        lambda _groups, variables: variables["gpu001"].update(
            node_hardware=record_of("gpu001", GPU),
            slurm_node_gpu_exclude=["0000:1b:00.0", 960.0],
        ),
        "INV030",
        ["960.0", "00000000:1b:00.0 (minor 3)", "quotes"],
    ),
    ("shards without a number", on("gpu001", "slurm_node_gpu_sharing", {"mode": "shard"}), "INV031", ["per_gpu"]),
    ("no shard", on("gpu001", "slurm_node_gpu_sharing", {"mode": "shard", "per_gpu": 0}), "INV031", ["1 to 1000"]),
    (
        "BiBiServ/bibigrid#178 #651 #665 memory kept from jobs, but jobs get no memory",
        everywhere("slurm_settings", {"selecttypeparameters": "CR_Core"}),
        "INV032",
        ["CR_Core", "CR_Core_Memory"],
    ),
    ("unknown variable", everywhere("slurm_partitons", []), "INV013", ["Was slurm_partitions meant?"]),
    (
        "wrong type",
        everywhere("slurm_memory_reserve_percent", "two"),
        "INV015",
        ["slurm_memory_reserve_percent", "int"],
    ),
    ("wrong choice", on("gpu001", "slurm_auth", "none"), "INV015", ["gpu001", "one of munge, slurm"]),
    ("partitions as a text", everywhere("slurm_partitions", {"a": 1}), "INV015", ["slurm_partitions", "list of dict"]),
    ("no cluster name", without_value("slurm_cluster_name"), "INV017", ["is not set"]),
    ("upper-case cluster name", everywhere("slurm_cluster_name", "Rack"), "INV017", ["'rack'"]),
    ("cluster name with a dot", everywhere("slurm_cluster_name", "rack.1"), "INV017", ["'rack.1'"]),
    ("long cluster name", everywhere("slurm_cluster_name", "r" * 41), "INV017", ["41 characters"]),
    ("unknown id", everywhere("slurm_skip_problems", ["INV99"]), "INV018", ["'INV99'"]),
    ("two cluster names", on("gpu004", "slurm_cluster_name", "other"), "INV019", ["'other' on gpu004"]),
    (
        "cluster name on some hosts only",
        lambda _groups, variables: [variables[node].pop("slurm_cluster_name") for node in NODES],
        "INV016",
        ["slurm_cluster_name", "gpu[001-004]"],
    ),
]


@pytest.mark.parametrize(("change", "problem_id", "words"), [pytest.param(*row[1:], id=row[0]) for row in FAULTS])
def test_fault_gives_its_problem_only(
    change: Callable[[Groups, Variables], Any], problem_id: str, words: list[str]
) -> None:
    problems = found(change)
    assert [problem["id"] for problem in problems] == [problem_id]
    for word in words:
        assert word in problems[0]["message"] + problems[0]["remedy"]


@pytest.mark.parametrize(
    ("item", "problem_id", "word"),
    [
        pytest.param({"name": "a b"}, "SLM026", "'a b'", id="blank in the name"),
        pytest.param({"name": "a\n"}, "SLM026", "a", id="line break in the name"),
        pytest.param({"name": "a", "parameters": {"MaxTym": 1}}, "SLM029", "MaxTym", id="unknown parameter"),
        pytest.param({"name": "a", "parameters": {"MaxTime": 1, "maxtime": 2}}, "SLM029", "twice", id="set twice"),
        pytest.param({"name": "a", "parameters": {"MaxTime": "1#"}}, "SLM029", "'#'", id="comment sign"),
        pytest.param({"name": "a", "default": "yes"}, "SLM030", "default", id="default that is a text"),
        pytest.param({"name": "a", "nodes": "gpu001"}, "SLM030", "nodes", id="nodes that are a text"),
    ],
)
def test_partition_item_is_judged_before_anything_is_touched(item: dict[str, Any], problem_id: str, word: str) -> None:
    [problem] = found(partitions(item))
    assert problem["id"] == problem_id
    assert word in problem["message"]


@pytest.mark.parametrize("value", [5, float("inf"), [float("inf")], {"mode": "shard", "per_gpu": float("inf")}])
def test_value_that_ansible_cannot_convert_is_a_problem(value: Any) -> None:
    option = {"type": "dict", "options": {"mode": {"type": "str"}, "per_gpu": {"type": "int"}}}
    specs = Specs(SPECS.roles, {**SPECS.options, "slurm_node_gpu_sharing": ("slurm_node", option)}, SPECS.names)
    problems = found(on("gpu001", "slurm_node_gpu_sharing", value), specs=specs)
    assert [problem["id"] for problem in problems] == ["INV015"]


def test_password_is_not_repeated() -> None:
    [problem] = found(everywhere("slurm_dbd_settings", {"StoragePass": "hunter#2"}))
    assert problem["id"] == "INV027"
    assert "hunter" not in str(problem)


def test_every_kind_of_problem_has_a_test() -> None:
    elsewhere = {"INV014", "INV020", "INV024"}  # INV024: tests/unit/playbooks
    tested = {row[2] for row in FAULTS} | elsewhere
    assert tested == {problem_id for problem_id in CATALOGUE if problem_id.startswith("INV")}


def test_variable_of_an_earlier_release_is_an_error_that_names_the_new_one() -> None:
    """D#859: old variables in a site's inventory are not passed over in silence."""
    replaced = {"slurm_gpu_types": "Use slurm_gpu_type_style instead of slurm_gpu_types."}
    [problem] = found(everywhere("slurm_gpu_types", "short"), replaced=replaced)
    assert (problem["id"], problem["severity"], problem["remedy"]) == ("INV014", "error", replaced["slurm_gpu_types"])


def test_partition_may_name_hosts_groups_lists_and_gpu_types() -> None:
    nodes = ["gpu001", "slurm_node", "gpu[002-003],gpu004", "gpu_type:h100"]
    assert found(partitions({"name": "a", "nodes": nodes, "default": True}, {"name": "b", "default": False})) == []


def test_database_of_the_site_itself_is_enough() -> None:
    def change(groups: Groups, variables: Variables) -> None:
        groups["mariadb"] = []
        variables["ctl1"]["slurm_dbd_storage_host"] = "db.example.org"

    assert found(change) == []


def test_value_that_is_not_known_yet_is_not_judged() -> None:
    assert found(everywhere("slurm_memory_reserve_percent", UNRESOLVED)) == []
    assert found(everywhere("slurm_cluster_name", UNRESOLVED)) == []


def test_secret_is_not_repeated() -> None:
    [problem] = found(everywhere("slurm_dbd_password", "hunter2"))
    assert problem["id"] == "INV015"
    assert "hunter2" not in str(problem)


def test_equal_finding_of_many_hosts_is_one_problem_and_that_of_one_host_names_it() -> None:
    [shared] = found(everywhere("slurm_auth", "none"))
    assert shared["host"] == ""
    assert "ctl1,gpu[001-004],login1" in shared["message"]
    [single] = found(on("gpu003", "slurm_auth", "none"))
    assert single["host"] == "gpu003"


def test_required_variable_counts_only_where_the_role_is_applied() -> None:
    [problem] = found(lambda groups, variables: groups.update(munge=["ctl1"]))
    assert (problem["id"], problem["host"]) == ("INV016", "ctl1")


def test_all_problems_are_told_at_once() -> None:
    def change(groups: Groups, variables: Variables) -> None:
        emptied("slurm_controller")(groups, variables)
        partitions({"name": "a", "default": True}, {"name": "b", "default": True})(groups, variables)
        on("gpu001", "node_hardware", {"schema": 9, "host": "gpu001"})(groups, variables)

    assert [problem["id"] for problem in found(change)] == ["INV001", "INV007", "INV010"]


def test_skipped_problem_is_not_told() -> None:
    def change(groups: Groups, variables: Variables) -> None:
        on("gpu002", "node_base_address", "10.0.0.3")(groups, variables)
        everywhere("slurm_skip_problems", ["INV005"])(groups, variables)

    assert found(change) == []


def test_long_list_of_hosts_is_cut() -> None:
    text = fold(f"node{number}" for number in range(1, 4000, 2))
    assert len(text) < 250
    assert text.endswith("(2000 hosts)")


@pytest.mark.parametrize(
    ("distribution", "version", "accepted"),
    [
        ("Debian", "12", True),
        ("Debian", "12.5", True),
        ("Debian", "13.1", True),
        ("Debian", "11.9", False),
        ("Debian", "120", False),
        ("Ubuntu", "24.04", True),
        ("Ubuntu", "24.10", False),
        ("Rocky", "9.4", False),
        ("an unknown system", "", False),
    ],
)
def test_release(distribution: str, version: str, accepted: bool) -> None:
    supported = {"Debian": ["12", "13"], "Ubuntu": ["22.04", "24.04"]}
    problems = release_problems("n1", distribution, version, supported)
    assert not problems if accepted else [problem["id"] for problem in problems] == ["INV020"]
    if problems:
        assert "Debian 12 and 13, Ubuntu 22.04 and 24.04" in problems[0]["message"]


def test_specs_are_read_from_the_roles(tmp_path: Path) -> None:
    specs = {"argument_specs": {"main": {"options": {"a_x": {"type": "int"}}}, "other": {"options": {"a_y": {}}}}}
    (tmp_path / "a" / "meta").mkdir(parents=True)
    (tmp_path / "a" / "meta" / "argument_specs.yml").write_text(yaml.safe_dump(specs), encoding="utf-8")
    (tmp_path / "b").mkdir()
    assert load_specs(tmp_path) == Specs(
        roles=frozenset({"a", "b"}), options={"a_x": ("a", {"type": "int"})}, names=frozenset({"a_x", "a_y"})
    )


def test_replaced_variable_is_no_longer_an_option() -> None:
    roles = Path(__file__).resolve().parents[4] / "roles"
    known = load_specs(roles).names
    replaced = yaml.safe_load((roles / "validate_inventory" / "vars" / "main.yml").read_text(encoding="utf-8"))
    assert known.isdisjoint(replaced["__validate_inventory_replaced"])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(
    name=st.sampled_from([*SPECS.options, "node_hardware", "node_base_address", "slurm_skip_problems", "slurm_other"]),
    value=JUNK,
    host=st.sampled_from(["ctl1", "gpu001"]),
)
def test_no_value_breaks_the_check(name: str, value: Any, host: str) -> None:
    groups, variables = copy.deepcopy(sound())
    variables[host][name] = value
    check(Site(groups=groups, variables=variables, specs=SPECS))


def test_partition_items_of_any_form_do_not_break_the_check() -> None:
    for item in ({"name": 1}, {"name": "a", "nodes": 5}, {"name": "a", "nodes": [1, None]}, {}, {"nodes": "gpu001"}):
        found(partitions(item))
