# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_config on a temporary folder with a stand-in for slurmctld."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import store, trial
from ansible_collections.steelrack.gpu_cluster.plugins.modules import slurm_config

CONF = """\
ClusterName=demo
SlurmUser=root
SlurmctldHost=HOST
NodeName=n1 CPUs=4
PartitionName=all Nodes=n1 MaxTime=60
""".replace("HOST", os.uname().nodename.split(".")[0])
FILES = {"slurm.conf": CONF, "cgroup.conf": "ConstrainCores=yes\n"}
SOFTER = {**FILES, "slurm.conf": CONF.replace("MaxTime=60", "MaxTime=30")}
HARDER = {**FILES, "slurm.conf": CONF + "GresTypes=gpu\n"}
SERVE = "echo 'slurmctld: Running as primary controller'; exec sleep 30"
REFUSE = (
    "echo 'slurmctld: error: no such key: Bogus'; echo 'slurmctld: fatal: Unable to process configuration file'; exit 1"
)


class Site:
    """A controller host: the module runs on ``conf``; ``slurmctld`` decides what the trial does."""

    def __init__(self, folder: Path, run_module: Callable[..., dict[str, Any]]) -> None:
        self.conf = folder / "conf"
        self.conf.mkdir()
        self.program = folder / "slurmctld"
        self.runs = folder / "runs"
        self._run_module = run_module
        self.slurmctld(SERVE)

    def slurmctld(self, script: str) -> None:
        self.program.write_text(f"#!/bin/sh\necho run >> {self.runs}\n{script}\n", encoding="utf-8")
        self.program.chmod(0o755)

    def run(self, files: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
        values = {"conf_dir": str(self.conf), "slurmctld": str(self.program), "version": "24.11", **options}
        if files is not None:
            values["files"] = files
        return self._run_module(slurm_config, **values)

    def settled(self) -> Site:
        """Put FILES in place and apply them."""
        self.run(FILES)
        self.run(state="applied")
        return self

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.conf.iterdir() if path.is_file()}

    def pending(self) -> dict[str, Any] | None:
        return store.Store(str(self.conf)).pending()

    def trials(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0


@pytest.fixture
def site(tmp_path: Path, run_module: Any, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(trial, "_isolation", lambda files: None)
    monkeypatch.setattr(trial, "_SETTLE", 0.05)
    monkeypatch.setattr(trial, "_POLL", 0.02)
    monkeypatch.setattr(trial, "_STOP", 0.2)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # no power fails here, and it takes most of the time
    return Site(tmp_path, run_module)


def test_first_configuration(site: Site) -> None:
    result = site.run(FILES, _diff=True)
    assert (result["changed"], result["action"], result["slurmd_restart"]) == (True, "restart", True)
    assert result["check"] == {"done": True, "reason": "", "warnings": []}
    assert result["changed_files"] == ["cgroup.conf", "slurm.conf"]
    assert [entry["before"] for entry in result["diff"]] == ["", ""]
    assert result["diff"][1]["after"] == CONF
    assert site.files() == FILES
    assert (site.conf / "slurm.conf").stat().st_mode & 0o777 == 0o644
    assert (site.conf / ".steelrack").stat().st_mode & 0o777 == 0o700
    assert result["problems"] == []


def test_a_settled_site_does_not_change(site: Site) -> None:
    first = site.run(FILES)
    applied = site.run(state="applied")
    assert (applied["changed"], applied["since"]) == (True, first["since"])
    trials = site.trials()
    again = site.run(FILES)
    assert (again["changed"], again["action"], again["changed_files"], again["resumed"]) == (False, "none", [], False)
    assert again["since"] == first["since"]
    assert site.trials() == trials
    assert site.run(state="applied")["changed"] is False


def test_since_moves_only_with_restarts_of_slurmd(site: Site) -> None:
    since = site.settled().run(FILES)["since"]
    softer = site.run(SOFTER)
    assert (softer["action"], softer["slurmd_restart"], softer["since"]) == ("reconfigure", False, since)
    site.run(state="applied")
    harder = site.run(HARDER)
    assert harder["slurmd_restart"] is True
    assert harder["since"] > since
    site.run(state="applied")
    assert site.run(HARDER)["since"] == harder["since"]


def test_a_comment_is_written_without_an_action(site: Site) -> None:
    result = site.settled().run({**FILES, "slurm.conf": f"# hello\n{CONF}"})
    assert (result["changed"], result["action"], result["reasons"]) == (True, "none", [])
    assert site.files()["slurm.conf"].startswith("# hello")
    assert site.pending() is None
    assert site.run({**FILES, "slurm.conf": f"# hello\n{CONF}"})["changed"] is False


def test_an_interrupted_run_is_made_good(site: Site) -> None:
    site.settled().run(SOFTER)
    again = site.run(SOFTER)
    assert (again["changed"], again["action"], again["resumed"], again["changed_files"]) == (
        True,
        "reconfigure",
        True,
        [],
    )
    assert [reason["parameter"] for reason in again["reasons"]] == ["MaxTime"]
    assert again["generation"] is None
    site.run(state="applied")
    assert site.run(SOFTER)["changed"] is False


def test_a_waiting_change_and_a_new_one_are_done_together(site: Site) -> None:
    site.settled()
    harder = site.run(HARDER)
    back = site.run(FILES)
    assert (back["action"], back["slurmd_restart"], back["resumed"]) == ("restart", True, True)
    assert back["since"] >= harder["since"]
    site.run(HARDER)
    softer = site.run({**HARDER, "slurm.conf": HARDER["slurm.conf"].replace("60", "30")})
    assert (softer["action"], softer["slurmd_restart"]) == ("restart", True)
    assert {reason["parameter"] for reason in softer["reasons"]} == {"GresTypes", "MaxTime"}


def test_an_interruption_between_the_files(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.settled()
    wanted = {"slurm.conf": HARDER["slurm.conf"], "cgroup.conf": "ConstrainCores=no\n"}
    real = store.Store.replace

    def fail(self: store.Store, name: str, text: str, attributes: store.Attributes) -> None:
        if name == "slurm.conf":
            raise KeyboardInterrupt
        real(self, name, text, attributes)

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "replace", fail)
        with pytest.raises(KeyboardInterrupt):
            site.run(wanted)
    assert site.files() == {**FILES, "cgroup.conf": "ConstrainCores=no\n"}
    again = site.run(wanted)
    assert (again["action"], again["slurmd_restart"], again["resumed"]) == ("restart", True, True)
    assert {reason["parameter"] for reason in again["reasons"]} == {"GresTypes", "ConstrainCores"}
    assert site.run(state="rolled_back")["changed"] is True
    assert site.files() == FILES


def test_refused_files_do_not_replace_the_old_ones(site: Site) -> None:
    site.settled()
    site.slurmctld(REFUSE)
    result = site.run(HARDER)
    assert result["failed"] is True
    for text in ("nothing", "no such key: Bogus", "Unable to process configuration file"):
        assert text in result["msg"].replace("none of them", "nothing")
    assert result["problems"][0]["id"] == "SLM050"
    assert site.files() == FILES
    assert site.pending() is None


def test_a_file_changed_by_hand_is_put_right(site: Site) -> None:
    site.settled()
    (site.conf / "slurm.conf").write_text(CONF + "MaxJobCount=7\n")
    result = site.run(FILES)
    assert (result["action"], [reason["parameter"] for reason in result["reasons"]]) == ("reconfigure", ["MaxJobCount"])
    assert site.files() == FILES


def test_a_file_that_vanished_comes_back(site: Site) -> None:
    site.settled()
    (site.conf / "cgroup.conf").unlink()
    result = site.run(FILES)
    assert result["changed_files"] == ["cgroup.conf"]
    assert site.files() == FILES


def test_a_file_that_is_not_wanted_any_more_goes(site: Site) -> None:
    site.settled()
    (site.conf / "plugstack.conf").write_text("of the package\n")
    with_topology = {**FILES, "topology.conf": "SwitchName=s Nodes=n1\n"}
    site.run(with_topology)
    site.run(state="applied")
    result = site.run(FILES, _diff=True)
    assert (result["action"], result["changed_files"]) == ("reconfigure", ["topology.conf"])
    assert result["diff"][0]["after_header"] == "/dev/null"
    assert set(site.files()) == {*FILES, "plugstack.conf"}
    assert site.run(state="rolled_back")["changed_files"] == ["topology.conf"]
    assert site.files()["topology.conf"] == with_topology["topology.conf"]


def test_rolled_back(site: Site) -> None:
    since = site.settled().run(FILES)["since"]
    (site.conf / "slurm.conf").chmod(0o640)
    site.run({**HARDER, "topology.conf": "SwitchName=s Nodes=n1\n"}, mode="0640")
    result = site.run(state="rolled_back", _diff=True)
    assert (result["changed"], result["action"], result["since"]) == (True, "restart", since)
    assert result["changed_files"] == ["slurm.conf", "topology.conf"]
    assert site.files() == FILES
    assert (site.conf / "slurm.conf").stat().st_mode & 0o777 == 0o640
    assert site.run(state="rolled_back")["changed"] is False
    assert site.run(HARDER)["action"] == "restart"


def test_rolled_back_over_two_changes_leads_to_what_ran(site: Site) -> None:
    site.settled()
    site.run(SOFTER)
    site.run(HARDER)
    site.run(state="rolled_back")
    assert site.files() == FILES


def test_there_may_be_nothing_to_go_back_to(site: Site) -> None:
    site.run(FILES)
    result = site.run(state="rolled_back")
    assert result["failed"] is True
    assert result["problems"][0]["id"] == "SLM056"
    assert site.files() == FILES


def test_check_mode_writes_nothing(site: Site) -> None:
    fresh = site.run(FILES, _check=True, _diff=True)
    assert (fresh["changed"], fresh["action"]) == (True, "restart")
    assert list(site.conf.iterdir()) == []
    site.settled()
    before = {path: path.stat().st_mtime_ns for path in site.conf.rglob("*")}
    planned = site.run(HARDER, _check=True)
    assert (planned["changed"], planned["action"], planned["generation"]) == (True, "restart", None)
    assert planned["check"]["done"] is True
    site.slurmctld(REFUSE)
    assert site.run(SOFTER, _check=True)["failed"] is True
    assert site.run(FILES, _check=True)["changed"] is False
    assert {path: path.stat().st_mtime_ns for path in site.conf.rglob("*")} == before


def test_check_mode_of_applied_and_rolled_back(site: Site) -> None:
    site.settled().run(SOFTER)
    assert site.run(state="applied", _check=True)["changed"] is True
    assert site.run(state="rolled_back", _check=True)["changed"] is True
    assert site.pending() is not None
    assert site.files() == SOFTER


def test_check_mode_before_anything_is_installed(site: Site, tmp_path: Path) -> None:
    site.program.unlink()
    result = site.run(FILES, _check=True, conf_dir=str(tmp_path / "absent"))
    assert (result["changed"], result["action"]) == (True, "restart")
    assert result["check"]["done"] is False
    assert "not installed yet" in result["check"]["reason"]
    assert result["problems"] == []


def test_without_slurmctld_the_missing_trial_is_told(site: Site) -> None:
    site.program.unlink()
    result = site.run(FILES)
    assert [problem["id"] for problem in result["problems"]] == ["SLM053"]
    assert site.files() == FILES


def test_the_folder_must_be_there(site: Site, tmp_path: Path) -> None:
    result = site.run(FILES, conf_dir=str(tmp_path / "absent"))
    assert "Install the package" in result["msg"]


def test_the_trial_can_be_left_out(site: Site) -> None:
    site.slurmctld(REFUSE)
    result = site.run(FILES, check_start=False)
    assert (result["changed"], result["check"]["done"]) == (True, False)
    assert site.trials() == 0


def test_a_trial_that_hangs_is_a_warning(site: Site) -> None:
    site.slurmctld("exec sleep 30")
    result = site.run(FILES, check_timeout=0.3)
    assert [problem["id"] for problem in result["problems"]] == ["SLM052"]
    assert "0.3 s" in result["problems"][0]["message"]
    assert site.files() == FILES


def test_errors_of_a_trial_are_warnings(site: Site) -> None:
    site.slurmctld(f"echo 'slurmctld: error: something odd'; {SERVE}")
    result = site.run(FILES)
    assert result["check"]["warnings"] == ["something odd"]
    assert [problem["id"] for problem in result["problems"]] == ["SLM051"]


def test_what_the_trial_cannot_see(site: Site) -> None:
    conf = CONF.replace("SlurmctldHost=", "SlurmctldHost=other") + "PrologSlurmctld=/nowhere/prolog -v\n"
    result = site.run({"slurm.conf": conf})
    assert [problem["id"] for problem in result["problems"]] == ["SLM054", "SLM055"]
    assert "/nowhere/prolog" in result["problems"][1]["message"]


def test_owner_and_rights(site: Site) -> None:
    result = site.settled().run(FILES, modes={"cgroup.conf": "0600"})
    assert (result["changed"], result["action"], result["changed_files"]) == (True, "none", ["cgroup.conf"])
    assert (site.conf / "cgroup.conf").stat().st_mode & 0o777 == 0o600
    assert site.run(FILES, modes={"cgroup.conf": "0600"})["changed"] is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_and_group(site: Site) -> None:
    result = site.run(FILES, owner="daemon", group="daemon")
    assert result["changed"] is True
    assert (site.conf / "slurm.conf").owner() == "daemon"
    assert (site.conf / "slurm.conf").group() == "daemon"
    site.run(state="applied")
    assert site.run(FILES, owner="daemon", group="daemon")["changed"] is False


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"owner": "nobody-here"}, "there is no user nobody-here"),
        ({"group": "nobody-here"}, "there is no group nobody-here"),
        ({"mode": "rw-r--r--"}, "the mode 'rw-r--r--' of"),
        ({"version": "new"}, "'new' is not a Slurm version"),
        ({"files": {**FILES, "sub/x.conf": "x"}}, "'sub/x.conf' is not a name of a file"),
        ({"files": {**FILES, "..": "x"}}, "'..' is not a name of a file"),
        ({"files": {**FILES, "slurmdbd.conf": "x"}}, "'slurmdbd.conf' is not a name of a file"),
        ({"files": {**FILES, "gres.conf": ["x"]}}, "the text of gres.conf is a list"),
        ({"files": {"gres.conf": "x"}}, "slurm.conf is missing"),
    ],
)
def test_bad_options_fail_before_anything_is_written(site: Site, options: dict[str, Any], text: str) -> None:
    result = site.run(**{"files": FILES, **options})
    assert result["failed"] is True
    assert text in result["msg"]
    assert list(site.conf.iterdir()) == []


def test_files_are_required(site: Site) -> None:
    assert "files" in site.run()["msg"]


def test_the_version_is_asked(site: Site) -> None:
    site.settled()
    site.slurmctld(f'if [ "$1" = -V ]; then echo slurm-wlm 22.05.8; exit; fi; {SERVE}')
    softer = {**FILES, "slurm.conf": CONF + "MaxJobCount=7\n"}
    assert site.run(softer, version="")["action"] == "restart"
    site.program.unlink()
    assert "version of Slurm is unknown" in site.run(HARDER, version="")["msg"]


def test_old_generations_go(site: Site) -> None:
    site.settled()
    for count in range(5):
        site.run({**FILES, "slurm.conf": CONF + f"MaxJobCount={count + 1}\n"}, keep=2)
        site.run(state="applied")
    folder = site.conf / ".steelrack" / "generations"
    kept = sorted((path / "files" / "slurm.conf").read_text().splitlines()[-1] for path in folder.iterdir())
    assert kept == ["MaxJobCount=3", "MaxJobCount=4"]


def test_the_generation_that_is_needed_stays(site: Site) -> None:
    site.settled()
    for count in range(4):
        site.run({**FILES, "slurm.conf": CONF + f"MaxJobCount={count + 1}\n"}, keep=1)
    site.run(state="rolled_back")
    assert site.files() == FILES


@pytest.mark.parametrize(
    ("text", "why"), [("{", "is damaged"), ('{"schema": 9}', "another version"), ("[]", "another version")]
)
def test_a_damaged_memory_is_told(site: Site, text: str, why: str) -> None:
    site.settled()
    (site.conf / ".steelrack" / "manifest.json").write_text(text)
    result = site.run(FILES)
    assert result["failed"] is True
    assert "manifest.json" in result["msg"]
    assert why in result["msg"]


def test_no_temporary_file_is_left(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.settled()

    def fail(source: str, target: str) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            store.Store(str(site.conf)).replace("slurm.conf", "x", store.Attributes(None, None, 0o644))
    assert site.files() == FILES


def test_text_that_is_not_utf8_survives(site: Site) -> None:
    site.settled()
    (site.conf / "slurm.conf").write_bytes(CONF.encode() + b"# \xff\n")
    assert site.run(HARDER)["changed"] is True
    site.run(state="rolled_back")
    assert (site.conf / "slurm.conf").read_bytes().endswith(b"# \xff\n")


def test_the_result_is_json(site: Site) -> None:
    assert json.dumps(site.run(FILES))
