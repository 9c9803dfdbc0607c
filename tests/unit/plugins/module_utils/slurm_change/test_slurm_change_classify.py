# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change takes: a table over parameters and versions of Slurm."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import Change, classify, rules
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change.classify import merged

VERSIONS = ("22.05.8", "24.11", "26.05")
CONF = """\
ClusterName=demo
SlurmctldHost=ctl1(10.0.0.9)
GresTypes=gpu
SelectType=select/cons_tres
NodeName=gpu[1-2] NodeAddr=10.0.0.[1-2] CPUs=8 RealMemory=1000 Gres=gpu:h100:2 Feature=a,b
NodeName=cpu1 NodeAddr=10.0.0.3 CPUs=8 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES
PartitionName=h100 Nodes=gpu[1-2] MaxTime=60
"""
GRES = """\
NodeName=gpu[1-2] Name=gpu Type=h100 File=/dev/nvidia[0-1] Cores=0-3 Flags=nvidia_gpu_env
"""
CGROUP = "ConstrainCores=yes\nConstrainDevices=yes\n"
OLD = {"slurm.conf": CONF, "gres.conf": GRES, "cgroup.conf": CGROUP}

none, reconfigure, restart, restart_all = ("none", False), ("reconfigure", False), ("restart", False), ("restart", True)
everywhere = (restart_all, restart_all, restart_all)
soft = (reconfigure, reconfigure, reconfigure)
controller = (restart, restart, restart)
once_all = (restart_all, reconfigure, reconfigure)
once_controller = (restart, reconfigure, reconfigure)


def step(change: Change) -> tuple[str, bool]:
    return change.action, change.slurmd_restart


def with_(name: str, *replacements: tuple[str, str], **more: str) -> dict[str, str]:
    """Return the old files with replacements in file ``name``."""
    text = OLD[name]
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return {**OLD, name: text, **more}


CLUSTER_PARAMETERS = {
    "AccountingStorageEnforce": once_controller,
    "AccountingStorageHost": once_controller,
    "AccountingStorageTRES": once_controller,
    "AccountingStorageType": controller,
    "AuthAltTypes": controller,
    "AuthInfo": everywhere,
    "AuthType": everywhere,
    "ClusterName": everywhere,
    "CommunicationParameters": everywhere,
    "DebugFlags": soft,
    "DefCpuPerGPU": soft,
    "Epilog": soft,
    "GresTypes": everywhere,
    "HealthCheckProgram": soft,
    "JobAcctGatherType": everywhere,
    "JobCompType": controller,
    "JobContainerType": everywhere,
    "JobSubmitPlugins": soft,
    "KillWait": soft,
    "LaunchParameters": soft,
    "Licenses": soft,
    "MCSPlugin": controller,
    "MaxArraySize": soft,
    "MaxJobCount": once_controller,
    "MaxNodeCount": once_controller,
    "MessageTimeout": soft,
    "MpiDefault": soft,
    "NamespaceType": everywhere,
    "PluginDir": everywhere,
    "PreemptMode": soft,
    "PreemptType": controller,
    "PriorityType": controller,
    "PriorityWeightAge": soft,
    "PrivateData": soft,
    "ProctrackType": everywhere,
    "Prolog": soft,
    "PrologFlags": soft,
    "RebootProgram": soft,
    "ResumeProgram": soft,
    "ReturnToService": soft,
    "SchedulerParameters": soft,
    "SchedulerType": controller,
    "SelectType": everywhere,
    "SelectTypeParameters": controller,
    "SlurmUser": everywhere,
    "SlurmctldDebug": soft,
    "SlurmctldHost": once_all,
    "SlurmctldLogFile": soft,
    "SlurmctldParameters": once_controller,
    "SlurmctldPort": everywhere,
    "SlurmctldTimeout": soft,
    "SlurmdDebug": soft,
    "SlurmdParameters": everywhere,
    "SlurmdPort": everywhere,
    "SlurmdSpoolDir": everywhere,
    "StateSaveLocation": controller,
    "SuspendTime": soft,
    "SwitchType": everywhere,
    "TaskPlugin": everywhere,
    "TaskPluginParam": soft,
    "TopologyParam": once_all,
    "TopologyPlugin": everywhere,
    "TreeWidth": once_all,
    "NoSuchParameter": everywhere,
}


@pytest.mark.parametrize("position", range(3), ids=VERSIONS)
@pytest.mark.parametrize("parameter", CLUSTER_PARAMETERS)
def test_cluster_parameters(parameter: str, position: int) -> None:
    version = VERSIONS[position]
    base = {"slurm.conf": "NodeName=n1\nPartitionName=p Nodes=n1\n"}
    line = f"{parameter}=some/thing"
    added = classify(base, {"slurm.conf": base["slurm.conf"] + line}, version)
    assert step(added) == CLUSTER_PARAMETERS[parameter][position]
    (reason,) = added.reasons
    assert (reason.file, reason.parameter, reason.scope, reason.old) == ("slurm.conf", parameter, "cluster", None)
    changed = classify(
        {"slurm.conf": base["slurm.conf"] + line}, {"slurm.conf": base["slurm.conf"] + line.upper() + "2"}, version
    )
    removed = classify({"slurm.conf": base["slurm.conf"] + line}, base, version)
    assert step(changed) == step(removed) == step(added)
    assert ("not a parameter that is known here" in reason.note) is (parameter == "NoSuchParameter")


CHANGES: dict[str, tuple[dict[str, str], Any]] = {
    "nothing": (OLD, (none, none, none)),
    "comment": (with_("slurm.conf", ("GresTypes", "# of all nodes\nGresTypes")), (none, none, none)),
    "blanks": (with_("slurm.conf", (" CPUs=8", "   CPUs = 8 ")), (none, none, none)),
    "letter case of a name": (with_("slurm.conf", ("ClusterName", "CLUSTERNAME")), (none, none, none)),
    "order of lines": (
        with_("slurm.conf", ("ClusterName=demo\n", ""), ("GresTypes", "ClusterName=demo\nGresTypes")),
        (none,) * 3,
    ),
    "other spelling of the nodes": (
        with_(
            "slurm.conf", ("NodeName=gpu[1-2] NodeAddr=10.0.0.[1-2]", "NodeName=gpu1,gpu2 NodeAddr=10.0.0.1,10.0.0.2")
        ),
        (none, none, none),
    ),
    "defaults spelled out": (
        with_("slurm.conf", ("NodeName=gpu", "NodeName=DEFAULT CPUs=8\nNodeName=gpu"), ("[1-2] CPUs=8", "[1-2]")),
        (none, none, none),
    ),
    "comment in gres.conf": (with_("gres.conf", ("NodeName", "# GPUs\nNodeName")), (none, none, none)),
    "comment in cgroup.conf": (with_("cgroup.conf", ("ConstrainCores", "# v2\nConstrainCores")), (none, none, none)),
    "partition parameter": (with_("slurm.conf", ("MaxTime=60", "MaxTime=30")), soft),
    "partition nodes": (with_("slurm.conf", ("Nodes=gpu[1-2] MaxTime", "Nodes=gpu1 MaxTime")), soft),
    "new partition": (
        with_("slurm.conf", ("PartitionName=h100", "PartitionName=x Nodes=cpu1\nPartitionName=h100")),
        soft,
    ),
    "partition gone": (with_("slurm.conf", ("PartitionName=h100 Nodes=gpu[1-2] MaxTime=60\n", "")), soft),
    "unknown partition parameter": (with_("slurm.conf", ("MaxTime=60", "MaxTimes=30")), everywhere),
    "node added": (
        with_("slurm.conf", ("gpu[1-2] NodeAddr=10.0.0.[1-2]", "gpu[1-3] NodeAddr=10.0.0.[1-2,4]")),
        once_all,
    ),
    "node added with its GPUs": (
        {
            **with_(
                "slurm.conf", ("NodeName=gpu[1-2] NodeAddr=10.0.0.[1-2]", "NodeName=gpu[1-3] NodeAddr=10.0.0.[1-2,4]")
            ),
            "gres.conf": GRES.replace("gpu[1-2]", "gpu[1-3]"),
        },
        once_all,
    ),
    "node removed": (with_("slurm.conf", ("NodeName=cpu1 NodeAddr=10.0.0.3 CPUs=8 RealMemory=1000\n", "")), once_all),
    "node memory": (with_("slurm.conf", ("CPUs=8 RealMemory=1000\nPart", "CPUs=8 RealMemory=900\nPart")), once_all),
    "node address": (with_("slurm.conf", ("10.0.0.3", "10.0.0.4")), once_all),
    "node port": (with_("slurm.conf", ("10.0.0.3", "10.0.0.3 Port=7000")), everywhere),
    "node features": (with_("slurm.conf", ("Feature=a,b", "Feature=a,c")), soft),
    "order of features": (with_("slurm.conf", ("Feature=a,b", "Features=b,a")), (none, none, none)),
    "node weight": (with_("slurm.conf", ("10.0.0.3", "10.0.0.3 Weight=5")), soft),
    "node gres": (with_("slurm.conf", ("gpu:h100:2", "gpu:h100:1")), once_all),
    "node core specialisation": (with_("slurm.conf", ("10.0.0.3", "10.0.0.3 CoreSpecCount=1")), once_all),
    "unknown node parameter": (with_("slurm.conf", ("10.0.0.3", "10.0.0.3 Colour=red")), everywhere),
    "garbage line": (with_("slurm.conf", ("GresTypes", "what is this\nGresTypes")), everywhere),
    "gres cores": (with_("gres.conf", ("Cores=0-3", "Cores=0-7")), everywhere),
    "gres cores gone": (with_("gres.conf", (" Cores=0-3", "")), everywhere),
    "gres file": (with_("gres.conf", ("nvidia[0-1]", "nvidia[0-2]")), once_all),
    "order of the gres files": (with_("gres.conf", ("nvidia[0-1]", "nvidia[1,0]")), once_all),
    "other spelling of the gres files": (with_("gres.conf", ("nvidia[0-1]", "nvidia[0,1]")), (none, none, none)),
    "gres type": (with_("gres.conf", ("Type=h100", "Type=h200")), once_all),
    "gres flags": (with_("gres.conf", ("nvidia_gpu_env", "opencl_env")), once_all),
    "gres links": (with_("gres.conf", ("Cores=0-3", "Cores=0-3 Links=-1,4")), once_all),
    "gres.conf of foreign nodes": (with_("gres.conf", (GRES, GRES + "NodeName=z9 Name=gpu Count=1\n")), (none,) * 3),
    "gres.conf gone": ({key: text for key, text in OLD.items() if key != "gres.conf"}, once_all),
    "autodetect for all": (with_("gres.conf", (GRES, "AutoDetect=nvidia\n" + GRES)), once_all),
    "cgroup limit": (with_("cgroup.conf", ("ConstrainDevices=yes", "ConstrainDevices=no")), soft),
    "cgroup plugin": (with_("cgroup.conf", ("ConstrainCores", "CgroupPlugin=cgroup/v1\nConstrainCores")), everywhere),
    "cgroup unknown": (with_("cgroup.conf", ("ConstrainCores", "Bogus=1\nConstrainCores")), everywhere),
    "topology": ({**OLD, "topology.conf": "SwitchName=s1 Nodes=gpu[1-2]\n"}, soft),
    "job_submit.lua": ({**OLD, "job_submit.lua": "function"}, (none, none, none)),
    "plugstack.conf": ({**OLD, "plugstack.conf": "optional spank.so\n"}, soft),
    "comment in plugstack.conf": ({**OLD, "plugstack.conf": "# nothing\n"}, (none, none, none)),
    "job_container.conf": ({**OLD, "job_container.conf": "BasePath=/x\n"}, everywhere),
    "unknown file": ({**OLD, "strange.conf": "A=1\n"}, everywhere),
    "several": (
        with_("slurm.conf", ("MaxTime=60", "MaxTime=30"), ("ClusterName=demo", "ClusterName=demo\nMaxJobCount=5")),
        once_controller,
    ),
}


@pytest.mark.parametrize("position", range(3), ids=VERSIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_changes(change: str, position: int) -> None:
    new, steps = CHANGES[change]
    result = classify(OLD, new, VERSIONS[position])
    assert step(result) == steps[position]
    assert bool(result.reasons) is (result.action != "none")


def test_first_configuration() -> None:
    change = classify({}, OLD, "24.11")
    assert step(change) == restart_all
    assert [reason.note for reason in change.reasons] == ["first configuration of this cluster"]
    assert step(classify({"plugstack.conf": ""}, {**OLD, "plugstack.conf": ""}, "24.11")) == restart_all


def test_a_script_beside_slurm_conf_is_handed_to_the_nodes() -> None:
    old = {"slurm.conf": "Prolog=prolog.sh\n", "prolog.sh": "exit 0\n"}
    assert step(classify(old, {**old, "prolog.sh": "exit 1\n"}, "24.11")) == reconfigure


def test_an_included_file_counts_as_a_part_of_slurm_conf() -> None:
    old = {"slurm.conf": "Include nodes.conf\n", "nodes.conf": "NodeName=n1 Weight=1\n"}
    new = {"slurm.conf": "Include nodes.conf\n", "nodes.conf": "NodeName=n1 Weight=2\n"}
    change = classify(old, new, "24.11")
    assert step(change) == reconfigure
    assert [(reason.parameter, reason.name) for reason in change.reasons] == [("Weight", "n1")]
    moved = {"slurm.conf": "NodeName=n1 Weight=1\n"}
    assert step(classify(old, moved, "24.11")) == none


def test_reasons_fold_nodes_and_name_old_and_new() -> None:
    change = classify(OLD, with_("slurm.conf", ("RealMemory=1000 Gres", "RealMemory=900 Gres")), "24.11")
    (reason,) = change.reasons
    assert (reason.name, reason.old, reason.new, reason.scope) == ("gpu[1-2]", "1000", "900", "node")


def test_a_parameter_that_differs_from_node_to_node_is_one_reason() -> None:
    old = {"slurm.conf": "NodeName=n[1-50] NodeAddr=10.0.0.[1-50]\n"}
    new = {"slurm.conf": "NodeName=n[1-50] NodeAddr=10.0.1.[1-50]\n"}
    (reason,) = classify(old, new, "24.11").reasons
    assert (reason.parameter, reason.name, reason.new) == ("NodeAddr", "n[1-50]", "differs from node to node")


def test_nodes_to_drain_and_to_stop_first() -> None:
    """R#199 R#200: a slurmd that keeps the old CoreSpecCount over a reconfiguration makes its node invalid."""
    cores = classify(OLD, with_("gres.conf", ("Cores=0-3", "Cores=0-7")), "24.11")
    assert cores.drain_first == cores.stop_slurmd_first == ("gpu1", "gpu2")
    gres = classify(OLD, with_("slurm.conf", ("gpu:h100:2", "gpu:h100:1")), "24.11")
    assert gres.drain_first == gres.stop_slurmd_first == ("gpu1", "gpu2")
    spec = classify(OLD, with_("slurm.conf", ("10.0.0.3", "10.0.0.3 CoreSpecCount=1")), "24.11")
    assert (spec.drain_first, spec.stop_slurmd_first) == ((), ("cpu1",))
    weight = classify(OLD, with_("slurm.conf", ("10.0.0.3", "10.0.0.3 Weight=1")), "24.11")
    assert (weight.drain_first, weight.stop_slurmd_first) == ((), ())
    types = classify(OLD, with_("gres.conf", ("Type=h100", "Type=h200")), "24.11")
    assert types.drain_first == ()


def test_dangerous_changes_are_told() -> None:
    change = classify(OLD, with_("slurm.conf", ("select/cons_tres", "select/linear")), "24.11")
    assert "jobs can be lost" in change.reasons[0].note


def test_secrets_are_not_shown() -> None:
    old, new = ({"slurm.conf": f"AccountingStoragePass={word}\n"} for word in ("swordfish", "mellon"))
    (reason,) = classify(old, new, "24.11").reasons
    assert (reason.old, reason.new) == ("(secret)", "(secret)")


def test_long_values_are_cut() -> None:
    change = classify(OLD, with_("slurm.conf", ("GresTypes", f"Licenses={'x' * 500}\nGresTypes")), "24.11")
    assert len(change.reasons[0].new or "") == 200


def test_as_dict_is_plain() -> None:
    values = classify(OLD, with_("slurm.conf", ("MaxTime=60", "MaxTime=30")), "24.11").as_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["reasons"] == [
        {
            "file": "slurm.conf",
            "parameter": "MaxTime",
            "scope": "partition",
            "name": "h100",
            "old": "60",
            "new": "30",
            "action": "reconfigure",
            "slurmd_restart": False,
            "note": "",
        }
    ]


def test_merged_takes_the_larger_step() -> None:
    small = classify(OLD, with_("slurm.conf", ("MaxTime=60", "MaxTime=30")), "24.11")
    large = classify(OLD, with_("gres.conf", ("Cores=0-3", "Cores=0-7")), "24.11")
    both = merged(small, large)
    assert step(both) == restart_all
    assert both.reasons == (*small.reasons, *large.reasons)
    assert both.drain_first == ("gpu1", "gpu2")
    assert merged(large, large).reasons == large.reasons


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("24.11", (24, 11)),
        ("22.05.8", (22, 5)),
        ("24.11.5-4+deb13u1", (24, 11)),
        ("slurm 21.08.5", (21, 8)),
        ("slurm-wlm 26.05.5", (26, 5)),
    ],
)
def test_version(text: str, version: tuple[int, int]) -> None:
    assert rules.version(text) == version


@pytest.mark.parametrize("text", ["", "latest", "24", "2024.11x"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a Slurm version"):
        rules.version(text)


LINES = st.lists(
    st.sampled_from([*CONF.splitlines(), "MaxJobCount=1", "# x", "", "junk", "NodeName=DEFAULT Weight=2", "Include a"]),
    max_size=12,
)


@settings(deadline=None)  # the machine may be busy
@given(LINES, LINES, st.sampled_from(VERSIONS))
def test_any_files_can_be_compared(old: list[str], new: list[str], version: str) -> None:
    before, after = {"slurm.conf": "\n".join(old)}, {"slurm.conf": "\n".join(new)}
    change = classify(before, after, version)
    assert step(classify(before, before, version)) == none
    assert (change.action == "none") is (not change.reasons)
    assert step(classify(after, before, version)) == step(change)


def test_ten_thousand_nodes_are_quick() -> None:
    def files(weight: int, cores: str) -> dict[str, str]:
        return {
            "slurm.conf": f"NodeName=n[00001-10000] NodeAddr=10.[0-9].[0-9].[1-100] Weight={weight}\n"
            "PartitionName=all Nodes=n[00001-10000]\n",
            "gres.conf": f"NodeName=n[00001-10000] Name=gpu Type=h100 File=/dev/nvidia[0-7] Cores={cores}\n",
        }

    begin = time.process_time()
    change = classify(files(1, "0-3"), files(2, "0-7"), "24.11")
    assert time.process_time() - begin < 3
    assert [reason.name for reason in change.reasons] == ["n[00001-10000]"] * 2
