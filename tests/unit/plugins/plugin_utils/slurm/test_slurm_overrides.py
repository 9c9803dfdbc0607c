# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator sets for a node, against the hardware."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.overrides import ValueTextError, value_text
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    derived,
    gpu,
    hgx,
    ids,
    record,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10, "10"),
        (True, "YES"),
        (False, "NO"),
        ("a b", '"a b"'),
        (["a", "b"], "a,b"),
        (1.5, "1.5"),
        (" UP ", "UP"),
    ],
)
def test_value_text(value: Any, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize("value", ["", " ", 'a"b', "a#b", "a\nb", "a\\", {"a": 1}, None, float("nan"), float("inf")])
def test_value_without_a_form(value: Any) -> None:
    with pytest.raises(ValueTextError):
        value_text(value)


@pytest.mark.parametrize(
    ("parameters", "problem", "part"),
    [
        pytest.param({1: 2, "b": 3}, "SLM013", "has 1,", id="names of two types"),
        pytest.param({"Weight": "heavy"}, "SLM014", "whole number", id="word for a number"),
        pytest.param({"Weight": "\u0663"}, "SLM014", "whole number", id="digit of another script"),
        pytest.param({"Weight": 1, "weight": 2}, "SLM014", "twice", id="one parameter twice"),
    ],
)
def test_parameters_that_are_not_written(parameters: dict[Any, Any], problem: str, part: str) -> None:
    result = derived(hgx(), slurm_node_parameters=parameters)
    assert any(found["id"] == problem and part in found["message"] for found in result["problems"])


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({"Weight": 10}, "Weight=10"),
        ({"weight": "10"}, "Weight=10"),
        ({"RealMemory": 2000000}, "RealMemory=2000000"),
        ({"CPUs": 112}, "CPUs=112 Sockets=2"),
        ({"procs": 224}, "CPUs=224 Sockets=2"),
        ({"MemSpecLimit": 8192}, "MemSpecLimit=8192"),
        ({"CoreSpecCount": 2}, "CoreSpecCount=2"),
        ({"Reason": "new node"}, 'Reason="new node"'),
        ({"State": "FUTURE"}, "State=FUTURE"),
        ({"Gres": "gpu:h100:8,nic:2"}, "Gres=gpu:h100:8,nic:2"),
        ({"Gres": ["nic:ib:2"]}, "Gres=gpu:h100:8,nic:ib:2"),
        ({"Features": ["x", "y"]}, "Feature=h100,h100-80gb,8gpu,x,y"),
        ({"Weight": None}, "State=UNKNOWN"),
    ],
)
def test_override_is_written(parameters: dict[str, Any], part: str) -> None:
    result = derived(hgx(), slurm_node_parameters=parameters)
    assert result["problems"] == []
    assert part in result["node_lines"][0]
    assert result["node_lines"][0].count("State=") == 1


@pytest.mark.parametrize(
    ("parameters", "problem", "both"),
    [
        pytest.param({"RealMemory": 2097152}, "SLM015", ("2097152", "2063878"), id="udel, aws-parallelcluster#1517"),
        pytest.param({"Sockets": 4}, "SLM015", ("4", "Sockets=2"), id="more sockets"),
        pytest.param({"Sockets": 1, "CoresPerSocket": 112}, "SLM015", ("1/112", "Sockets=2"), id="other split"),
        pytest.param({"CPUs": 448}, "SLM015", ("448", "224 threads"), id="more CPUs"),
        pytest.param({"CPUs": 100}, "SLM015", ("100", "112 cores"), id="CPUs that Slurm resets"),
        pytest.param({"MemSpecLimit": 9999999}, "SLM015", ("9999999", "RealMemory="), id="nothing left to jobs"),
        pytest.param({"CoreSpecCount": 112}, "SLM015", ("112", "112 cores"), id="no core left to jobs"),
        pytest.param({"Gres": "gpu:h100:16"}, "SLM015", ("gpu:h100:16", "gpu:h100:8"), id="awsome-distributed-ai#195"),
        pytest.param({"Gres": "gpu:a100:8"}, "SLM015", ("gpu:a100:8", "gpu:h100:8"), id="slurm-operator#57 #111"),
    ],
)
def test_override_over_the_hardware(parameters: dict[str, Any], problem: str, both: tuple[str, str]) -> None:
    """Slurm would make the node invalid: an error with both values, and the detected value is written."""
    result = derived(hgx(), slurm_node_parameters=parameters)
    assert ids(result) == [problem]
    assert result["problems"][0]["severity"] == "error"
    assert result["problems"][0]["host"] == "gpu001"
    assert all(value in result["problems"][0]["message"] for value in both)
    assert result["node_lines"] == derived(hgx())["node_lines"]


@pytest.mark.parametrize(
    ("parameters", "problem", "part", "with_cores"),
    [
        pytest.param({"RealMemory": 2063878}, "SLM017", "RealMemory=2063878", True, id="R#92 R#93 100 percent"),
        pytest.param({"ThreadsPerCore": 1}, "SLM016", "CPUs=112 Sockets=2", False, id="geopm#375 cores only"),
        pytest.param({"Sockets": 1}, "SLM016", "CPUs=112 Sockets=1", False, id="half of the node"),
        pytest.param(
            {"Sockets": 8, "CoresPerSocket": 14}, "SLM018", "Sockets=8", True, id="gpu-rules 3 NUMA node as socket"
        ),
        pytest.param({"Gres": "gpu:h100:6"}, "SLM016", "Gres=gpu:h100:6", True, id="fewer GPUs by wish"),
    ],
)
def test_override_beside_the_hardware(parameters: dict[str, Any], problem: str, part: str, with_cores: bool) -> None:
    result = derived(hgx(), slurm_node_parameters=parameters)
    assert ids(result) == [problem]
    assert result["problems"][0]["severity"] == "warning"
    assert part in result["node_lines"][0]
    # Core ids mean something only if slurm.conf states the cores that the machine has.
    assert ("Cores=" in result["gres_lines"][0]) is with_cores


@pytest.mark.parametrize(
    ("parameters", "version", "problem"),
    [
        pytest.param({"Wieght": 10}, "24.11", "SLM013", id="misspelt"),
        pytest.param({"NodeName": "x"}, "24.11", "SLM013", id="NodeName"),
        pytest.param({"NodeAddr": "10.0.0.1"}, "24.11", "SLM013", id="NodeAddr"),
        pytest.param({"Topology": "default:s1"}, "24.11", "SLM013", id="newer than Slurm"),
        pytest.param({"Weight": "a#b"}, "24.11", "SLM014", id="comment"),
        pytest.param({"Weight": {"a": 1}}, "24.11", "SLM014", id="dictionary"),
        pytest.param({"RealMemory": "2 TB"}, "24.11", "SLM014", id="unit"),
        pytest.param({"RealMemory": -5}, "24.11", "SLM014", id="negative"),
        pytest.param({"State": "IDLE"}, "24.11", "SLM014", id="state"),
        pytest.param({"Boards": 2}, "24.11", "SLM014", id="boards"),
        pytest.param({"Gres": "gpu:4090"}, "24.11", "SLM015", id="count of 4,090 GPUs"),
        pytest.param({"Gres": "gpu:h100"}, "24.11", "SLM014", id="no count"),
    ],
)
def test_override_that_the_parser_would_refuse(parameters: dict[str, Any], version: str, problem: str) -> None:
    """Such a line would stop every daemon of the cluster."""
    result = derived(hgx(), site={"version": version}, slurm_node_parameters=parameters)
    assert ids(result) == [problem]
    assert result["problems"][0]["severity"] == "error"
    assert result["node_lines"] == derived(hgx(), site={"version": version})["node_lines"]


def test_newer_parameters_with_newer_slurm() -> None:
    parameters = {"Topology": "default:s1", "Parameters": "numa_node_as_socket"}
    result = derived(hgx(), site={"version": "25.11"}, slurm_node_parameters=parameters)
    assert ids(result) == []
    assert "Parameters=numa_node_as_socket Topology=default:s1" in result["node_lines"][0]


def test_core_and_cpu_lists_exclude_each_other() -> None:
    result = derived(hgx(), slurm_node_parameters={"CoreSpecCount": 2, "CpuSpecList": "0-3"})
    assert ids(result) == ["SLM014"]
    assert "CpuSpecList" not in result["node_lines"][0]


def test_gpus_asked_of_a_node_without() -> None:
    result = derived(record("n1"), slurm_node_parameters={"Gres": "gpu:h100:8"})
    assert ids(result) == ["SLM015"]
    assert "Gres=" not in result["node_lines"][0]


def test_other_gres_need_their_type() -> None:
    assert derived(hgx(), slurm_node_parameters={"Gres": "nic:2"})["gres_types"] == ["gpu", "nic"]


@pytest.mark.parametrize(
    ("names", "problems", "gpus"),
    [
        ({"nvidia_h100_80gb_hbm3": "hopper"}, [], {"hopper": 8}),
        ({"NVIDIA_H100_80GB_HBM3": "hopper"}, [], {"hopper": 8}),
        ({"nvidia_h100_80gb_hbm3": "Hop per"}, ["SLM019"], {"h100": 8}),
        ({"nvidia_h100_80gb_hbm3": "100"}, ["SLM019"], {"h100": 8}),
        ({"nvidia_h200": "h200x"}, ["SLM020"], {"h100": 8}),
    ],
)
def test_names_of_the_operator(names: dict[str, str], problems: list[str], gpus: dict[str, int]) -> None:
    result = derived(hgx(), slurm_node_gpu_type_names=names)
    assert ids(result) == problems
    assert result["nodes"][0]["gpus"] == gpus
    assert [partition["name"] for partition in result["partitions"]] == ["all", next(iter(gpus))]


def test_one_name_for_two_models() -> None:
    result = derived(
        hgx("n1"),
        hgx("n2", "nvidia_a100-sxm4-80gb"),
        slurm_node_gpu_type_names={"nvidia_a100-sxm4-80gb": "h100"},
    )
    assert ids(result) == ["SLM021"]
    assert "a100, h100" in result["problems"][0]["message"]


def test_features() -> None:
    result = derived(
        record("n1", [gpu(1, 0), gpu(2, 1)]), slurm_node_features=["ib", "ib", "bad|one"], slurm_node_rack="r 7"
    )
    assert result["nodes"][0]["features"] == ["h100", "h100-80gb", "2gpu", "ib"]
    assert ids(result) == ["SLM023", "SLM023"]
    assert derived(record("n1"), slurm_node_rack="r7")["nodes"][0]["features"] == ["rack-r7"]
