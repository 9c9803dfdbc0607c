# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action hardware_capture and the module that reads for it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.module_utils.testing import patch_module_args

from ansible_collections.steelrack.gpu_cluster.plugins.action import hardware_capture
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.plugins.modules import hardware_capture as module

BUNDLES = Path(__file__).resolve().parents[3] / "fixtures" / "bundles"
SALT = "0123456789abcdef"


def read(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """Return what the module sends from the node."""
    with patch_module_args({"dest": "unused", "host": "gpu001", "salt": SALT, **options}), pytest.raises(SystemExit):
        module.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def run(dest: Path, answer: dict[str, Any], check_mode: bool = False) -> dict[str, Any]:
    """Return the result of the action when the node sends ``answer``."""
    action = hardware_capture.ActionModule(
        task=MagicMock(args={"dest": str(dest), "host": "gpu001", "salt": SALT}, async_val=0, check_mode=check_mode),
        connection=MagicMock(),
        play_context=MagicMock(),
        loader=MagicMock(),
        templar=MagicMock(),
        shared_loader_obj=MagicMock(),
    )
    action._execute_module = MagicMock(return_value=answer)
    return action.run(None, {})


def test_bundle_on_the_control_node_gives_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = read(capsys, roots=[str(BUNDLES / "rtx-audio-usb-functions")])
    result = run(tmp_path / "gpu001", dict(answer))
    assert (result["changed"], result["count"]) == (True, len(answer["files"]))
    assert "files" not in result
    record = take(Evidence([str(tmp_path / "gpu001")]), "gpu001", "")
    assert [gpu["type"] for gpu in record["gpus"]] == ["nvidia_geforce_rtx_2080_ti"]
    assert record["problems"] == []
    assert run(tmp_path / "gpu001", dict(answer))["changed"] is False


def test_an_older_bundle_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "sys" / "old").mkdir(parents=True)
    (tmp_path / "sys" / "old" / "file").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    run(tmp_path, {"files": {"proc/meminfo": base64.b64encode(b"new").decode()}})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "notes.txt",
        "proc/meminfo",
    ]


def test_check_mode_writes_nothing(tmp_path: Path) -> None:
    assert run(tmp_path / "gpu001", {"files": {"proc/meminfo": ""}}, check_mode=True)["changed"] is True
    assert not (tmp_path / "gpu001").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "sys/../../x", "../x", "etc/passwd", "sys", ""])
def test_paths_that_lead_out_of_the_bundle_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(AnsibleActionFail, match="not a bundle"):
        run(tmp_path / "gpu001", {"files": {"proc/meminfo": "", path: ""}})
    assert not (tmp_path / "gpu001").exists()


def test_failure_of_the_module_is_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = read(capsys, roots=["/no/such/folder"])
    assert answer["failed"] is True
    assert "gpu001" in answer["msg"]
    assert run(tmp_path / "gpu001", answer)["failed"] is True


def test_the_salt_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    answer = read(capsys, roots=[str(BUNDLES / "gh200")])
    assert SALT not in json.dumps(answer)
