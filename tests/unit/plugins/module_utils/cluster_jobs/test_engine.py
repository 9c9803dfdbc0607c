# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs through stand-ins of Slurm's commands: started, waiting, failing, hanging; nothing is left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import engine

# Each stand-in writes its name and arguments to a log. A node's name says how a job on it goes.
_SRUN = """
for word in "$@"; do case "$word" in --job-name=*) name="${word#*=}";; --nodelist=*) node="${word#*=}";; esac; done
cat > /dev/null
case "$node" in
  good*) printf 'STEELRACK-PROBE {"job": "%s", "cpus": 1}' "${node#good}";;
  bad*) echo "srun: error: one" >&2; echo "srun: error: Invalid account" >&2; exit 1;;
  silent*) exit 3;;
  hung*) echo "1|$name|RUNNING|None" >> "$STATE/queue"; exec sleep 60;;
  *) echo "1|$name|PENDING|Resources" >> "$STATE/queue"; exec sleep 60;;
esac
"""
_SACCT = """
for word in "$@"; do case "$word" in --jobs=*) jobs="${word#*=}";; esac; done
for job in $(echo "$jobs" | tr , ' '); do echo "$job|COMPLETED|0:0|n|a|2026-11-30T20:00:00|cpu=1,gres/gpu=1"; done
"""


@pytest.fixture
def slurm(tmp_path: Path) -> engine.Slurm:
    for name, body in {
        "srun": _SRUN,
        "sacct": _SACCT,
        "squeue": 'cat "$STATE/queue" 2>/dev/null; exit 0',
        "scancel": "exit 0",
        "scontrol": "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1",
    }.items():
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "$STATE/log"\n{body}\n', encoding="utf-8")
        path.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "STATE": str(tmp_path)}
    return engine.Slurm(engine.Options(timeout=20, at_once=4), environment)


@pytest.fixture(autouse=True)
def _path(slurm: engine.Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    # Programs are looked up in the caller's PATH, not in the one handed on.
    monkeypatch.setenv("PATH", slurm.environment["PATH"])


def job(node: str, gpu_type: str | None = None) -> engine.Job:
    return engine.Job(node=node, partition="all", cpus=2, gpu_type=gpu_type, files=("/dev/nvidia0",))


def log(slurm: engine.Slurm) -> str:
    return (Path(slurm.environment["STATE"]) / "log").read_text(encoding="utf-8")


def test_finished_jobs_have_their_answer_and_their_record(slurm: engine.Slurm) -> None:
    outcomes = engine.run(slurm, [job("good1", "h100"), job("good2", "")], accounting_wait=5)
    assert [outcome.status for outcome in outcomes] == [engine.DONE, engine.DONE]
    assert outcomes[0].seen == {"job": "1", "cpus": 1}
    assert outcomes[1].accounted is not None
    assert outcomes[1].accounted["jobid"] == "2"
    text = log(slurm)
    assert "--nodelist=good1 --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=100M --time=1" in text
    assert "--gres=gpu:h100:1" in text
    assert "--gres=gpu:1" in text


def test_without_accounting_sacct_is_not_asked(slurm: engine.Slurm) -> None:
    [outcome] = engine.run(slurm, [job("good1")])
    assert outcome.accounted is None
    assert "sacct" not in log(slurm)


def test_failing_job_keeps_the_words_of_srun(slurm: engine.Slurm) -> None:
    bad, silent = engine.run(slurm, [job("bad"), job("silent")])
    assert (bad.status, bad.message) == (engine.FAILED, "srun: error: one; srun: error: Invalid account")
    assert (silent.status, silent.message) == (engine.FAILED, "srun ended with status 3 and said nothing")


def test_at_the_deadline_waiting_and_hanging_jobs_are_told_apart_and_withdrawn(slurm: engine.Slurm) -> None:
    slurm.options = engine.Options(timeout=1.5, at_once=3)
    start = time.monotonic()
    outcomes = engine.run(slurm, [job("good1"), job("busy1"), job("hung1"), job("busy2"), job("busy3")])
    assert time.monotonic() - start < 15
    assert [outcome.status for outcome in outcomes] == [engine.DONE, engine.BUSY, engine.HUNG, engine.BUSY, engine.BUSY]
    assert outcomes[1].message == "Resources"
    assert outcomes[2].message == "state RUNNING at the end of the time"
    assert outcomes[4].message == "its turn did not come in time"
    assert "scancel 1" in log(slurm)


def test_not_more_jobs_at_once_than_allowed(slurm: engine.Slurm) -> None:
    slurm.options = engine.Options(timeout=1.0, at_once=2)
    engine.run(slurm, [job(f"busy{number}") for number in range(6)])
    assert log(slurm).count("srun ") == 2


def test_other_jobs_in_the_queue_are_not_touched(slurm: engine.Slurm) -> None:
    (Path(slurm.environment["STATE"]) / "queue").write_text("7|train|RUNNING|None\n", encoding="utf-8")
    engine.run(slurm, [job("good1")])
    assert "scancel" not in log(slurm)


def test_slurm_that_does_not_answer(slurm: engine.Slurm) -> None:
    with pytest.raises(engine.SlurmError, match="Unable to contact slurm controller"):
        slurm.nodes()


def test_job_as_an_ordinary_user(slurm: engine.Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    slurm.options = engine.Options(user="root", account="research")
    command = slurm.srun(job("n1"), "name")
    assert command[:4] == ["setpriv", "--reuid=root", "--regid=0", "--init-groups"]
    assert command[command.index("env") + 1].startswith("PATH=")
    assert "--account=research" in command


def test_unknown_user_is_a_failed_job(slurm: engine.Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    slurm.options = engine.Options(user="no-such-user", timeout=5)
    [outcome] = engine.run(slurm, [job("good1")])
    assert outcome.status == engine.FAILED
    assert "no-such-user" in outcome.message
