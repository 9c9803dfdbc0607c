# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trial: its copy of slurm.conf, its reading of the log, and runs with a stand-in for slurmctld."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import trial

CONF = """\
# SlurmctldHost=comment
ClusterName=demo SlurmctldPort=6817
SlurmctldHost=ctl1(10.0.0.9)
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/slurmctld
AccountingStorageType=accounting_storage/slurmdbd AccountingStorageTRES=gres/gpu MaxJobCount=5
AccountingStorageEnforce = associations,limits
PriorityType=priority/multifactor
PriorityWeightFairshare=10
Prolog=/etc/slurm/prolog.sh
PrologFlags=Contain
SuspendProgram=/usr/sbin/off
SuspendTime=600
NodeName=n[1-2] NodeAddr=10.0.0.[1-2] CPUs=8 \\
  State=CLOUD
NodeName=n[3-4] NodeAddr=host[3-4] CPUs=8
NodeName=n5
PartitionName=all Nodes=ALL QOS=high SuspendTime=300
"""


def test_the_trial_copy_keeps_line_numbers_and_loses_what_acts() -> None:
    lines = trial.trial_conf(CONF, "/t", "here").splitlines()
    count = len(CONF.splitlines())
    assert [line.split() for line in lines[:count]] == [
        [],
        ["ClusterName=demo", "SlurmctldPort=6817"],
        [],
        ["SlurmUser=slurm"],
        [],
        ["MaxJobCount=5"],
        [],
        [],
        ["PriorityWeightFairshare=10"],
        [],
        ["PrologFlags=Contain"],
        [],
        ["SuspendTime=600"],
        ["NodeName=n[1-2]", "NodeAddr=10.0.0.[1-2]", "CPUs=8", "State=CLOUD"],
        [],
        ["NodeName=n[3-4]", "CPUs=8", "NodeAddr=127.0.0.1"],
        ["NodeName=n5", "NodeAddr=127.0.0.1"],
        ["PartitionName=all", "Nodes=ALL", "SuspendTime=300"],
    ]
    assert set(lines[count:]) >= {
        "SlurmctldHost=here",
        "StateSaveLocation=/t/state",
        "SlurmctldPidFile=/t/slurmctld.pid",
        "SlurmctldLogFile=/t/slurmctld.log",
        "SuspendProgram=/bin/true",
        "MailProg=/bin/true",
    }


def test_node_defaults_stay_as_they_are() -> None:
    assert trial.trial_lines("NodeName=DEFAULT CPUs=4") == ["NodeName=DEFAULT CPUs=4"]


LOG = """\
slurmctld: error: Configured MailProg is invalid
slurmctld: slurmctld version 22.05.8 started on cluster c
slurmctld: error: Munge encode failed: Failed to access "/run/munge/munge.socket.2"
[2026-11-30T19:52:47.868] error: _find_node_record: lookup failure for node "n4"
[2026-11-30T19:52:47.869] error: _find_node_record: lookup failure for node "n4"
"""


@pytest.mark.parametrize(
    ("log", "ended", "served", "verdict"),
    [
        ("slurmctld: Running as primary controller\n", False, True, trial.Verdict(True)),
        (
            LOG,
            False,
            True,
            trial.Verdict(True, errors=('_find_node_record: lookup failure for node "n4"',)),
        ),
        (
            LOG,
            False,
            False,
            trial.Verdict(True, errors=('_find_node_record: lookup failure for node "n4"',), undecided=True),
        ),
        (
            LOG + "[2026-11-30T19:52:47.869] fatal: Invalid node names in partition all\n",
            True,
            False,
            trial.Verdict(
                True,
                fatal=('_find_node_record: lookup failure for node "n4"', "Invalid node names in partition all"),
            ),
        ),
        ("slurmctld: fatal: too bad\n", False, True, trial.Verdict(True, fatal=("too bad",))),
        (
            "slurmctld: fatal: Failed to create MUNGE Credential\n",
            True,
            False,
            trial.Verdict(False, "munged does not answer, and without it slurmctld does not start"),
        ),
        ("", True, False, trial.Verdict(True, fatal=("slurmctld ended without a word",))),
        ("first\nsegmentation fault\n", True, False, trial.Verdict(True, fatal=("segmentation fault",))),
        (
            "error: s_p_parse_file: cannot stat file /t/topology.conf: No such file, retrying in 1sec up to 60sec",
            False,
            False,
            trial.Verdict(
                True,
                fatal=(
                    "s_p_parse_file: cannot stat file /t/topology.conf: No such file, retrying in 1sec up to 60sec",
                ),
            ),
        ),
    ],
)
def test_judge(log: str, ended: bool, served: bool, verdict: trial.Verdict) -> None:
    assert trial.judge(log, ended, served) == verdict


@pytest.fixture
def slurmctld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that makes a stand-in for slurmctld; no namespace is needed for it."""
    monkeypatch.setattr(trial, "_isolation", lambda files: None)
    monkeypatch.setattr(trial, "_SETTLE", 0.2)
    monkeypatch.setattr(trial, "_STOP", 0.3)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "lchown", lambda path, uid, gid: None)

    def make(script: str) -> str:
        path = tmp_path / "slurmctld"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return make


FILES = {
    "slurm.conf": "SlurmUser=root\nInclude nodes.conf\n",
    "nodes.conf": "NodeName=n1\nQOS=x\n",
    "gres.conf": "#g\n",
}
SERVE = "echo 'slurmctld: Running as primary controller'; exec sleep 30"


def test_a_configuration_that_serves(tmp_path: Path, slurmctld: Callable[[str], str]) -> None:
    seen = tmp_path / "seen"
    conf_dir = tmp_path / "conf"
    conf_dir.mkdir()
    (conf_dir / "plugstack.conf").write_text("optional x.so\n")
    (conf_dir / "slurmdbd.conf").write_text("StoragePass=secret\n")
    (conf_dir / "slurm.conf").write_text("old\n")
    script = f'echo "$@" > {seen}; cd "$(dirname "$4")"; head -99 * >> {seen} 2>/dev/null; {SERVE}'
    verdict = trial.run(FILES, str(conf_dir), slurmctld(script), 5)
    assert verdict == trial.Verdict(True)
    text = seen.read_text()
    assert text.startswith("-D -c -f /")
    for part in ("NodeName=n1 NodeAddr=127.0.0.1", "#g", "optional x.so", "StateSaveLocation="):
        assert part in text
    for part in ("QOS", "secret", "old"):
        assert part not in text
    folder = Path(text.split()[3]).parent
    assert not folder.exists()


def test_a_configuration_that_is_refused(tmp_path: Path, slurmctld: Callable[[str], str]) -> None:
    script = 'echo "slurmctld: error: in $4"; echo "slurmctld: fatal: no"; exit 1'
    verdict = trial.run(FILES, str(tmp_path), slurmctld(script), 5)
    assert verdict.fatal == (f"in {tmp_path}/slurm.conf", "no")


def test_a_late_death_counts(tmp_path: Path, slurmctld: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_SETTLE", 5)
    script = "echo 'Running as primary controller'; sleep 0.1; echo 'slurmctld: fatal: no scheduler'; exit 1"
    assert trial.run(FILES, str(tmp_path), slurmctld(script), 10).fatal == ("no scheduler",)


def test_a_trial_that_hangs_is_stopped_with_its_children(tmp_path: Path, slurmctld: Callable[[str], str]) -> None:
    pid = tmp_path / "pid"
    script = f"trap '' TERM; sleep 77 & echo $! > {pid}; wait"
    verdict = trial.run(FILES, str(tmp_path), slurmctld(script), 1)
    assert verdict == trial.Verdict(True, undecided=True)
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", pid.read_text().strip()], capture_output=True, check=False
    ).stdout
    assert state[:1] in (b"", b"Z")  # further letters tell of priority and the like


def test_a_program_that_cannot_be_started(tmp_path: Path, slurmctld: Callable[[str], str]) -> None:
    verdict = trial.run(FILES, str(tmp_path), str(tmp_path / "absent"), 1)
    assert (verdict.done, verdict.reason) == (False, f"{tmp_path}/absent cannot be started: No such file or directory")


def test_without_rights_there_is_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert trial.run(FILES, str(tmp_path), "/bin/true", 1).done is False


def test_a_machine_without_namespaces(
    tmp_path: Path, slurmctld: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError("unshare")

    monkeypatch.setattr(trial, "_isolation", lambda files: refuse)
    verdict = trial.run(FILES, str(tmp_path), slurmctld(SERVE), 1)
    assert verdict.done is False
    assert "network namespace" in verdict.reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network namespace")
@pytest.mark.parametrize("auth", ["auth/munge", "auth/slurm"])
def test_the_namespace_has_no_way_out(tmp_path: Path, auth: str) -> None:
    isolate = trial._isolation({"slurm.conf": f"AuthType={auth}\n"})
    command = ["sh", "-c", "cat /proc/net/dev /proc/net/fib_trie; ls -A /run | wc -l"]
    try:
        out = subprocess.run(command, preexec_fn=isolate, capture_output=True, text=True, check=True).stdout
    except subprocess.SubprocessError:
        pytest.skip("this machine does not allow new namespaces")
    devices = [line.split(":")[0].strip() for line in out.splitlines() if ":" in line and "|" not in line]
    # Kernels may offer tunnel devices in every namespace; they are down.
    assert "lo" in devices
    assert not [name for name in devices if name.startswith(("eth", "en", "wl", "ib"))]
    assert "192.0.2.1" in out
    assert (out.splitlines()[-1] == "0") is (auth == "auth/slurm")
