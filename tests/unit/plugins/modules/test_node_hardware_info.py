# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module node_hardware_info: its documentation and its thin code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import RECORD, faults
from ansible_collections.steelrack.gpu_cluster.plugins.modules import node_hardware_info

BUNDLES = Path(__file__).resolve().parents[3] / "fixtures" / "bundles"


def documented(entry: dict[str, Any]) -> Any:
    """Return the form of a documented value in the terms of the schema."""
    if "contains" not in entry:
        assert entry["type"] != "list" or entry["elements"] == "str"
        return entry["type"]
    form = {key: documented(value) for key, value in entry["contains"].items()}
    return [form] if entry["type"] == "list" else form


def test_return_block_and_schema_have_the_same_keys_and_types_in_the_same_order() -> None:
    returned = yaml.safe_load(node_hardware_info.RETURN)["node_hardware"]
    assert json.dumps(documented(returned)) == json.dumps(RECORD)


def check_types(value: Any, entry: dict[str, Any], path: str) -> None:
    """Fail where a value has not the documented type; unknown values are null."""
    kinds = {"str": str, "int": int, "float": (int, float), "bool": bool, "dict": dict, "list": list}
    assert value is None or isinstance(value, kinds[entry["type"]]), path
    assert entry["description"], path
    if entry["type"] == "dict":
        for key, inner in entry["contains"].items():
            check_types(value[key], inner, f"{path}.{key}")
    elif entry["type"] == "list":
        for item in value or []:
            if "contains" in entry:
                check_types(item, {**entry, "type": "dict"}, path)
            else:
                assert isinstance(item, kinds[entry["elements"]]), path


def run(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """Return the result of the module."""
    with patch_module_args(options), pytest.raises(SystemExit):
        node_hardware_info.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("name", sorted(path.name for path in BUNDLES.iterdir()))
def test_values_have_the_documented_types(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, host="gpu001", roots=[str(BUNDLES / name)])
    entry = yaml.safe_load(node_hardware_info.RETURN)["node_hardware"]
    check_types(result["node_hardware"], entry, "node_hardware")
    assert faults(result["node_hardware"]) == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_result(check_mode: bool, capsys: pytest.CaptureFixture[str]) -> None:
    roots = [str(BUNDLES / "hgx-h100-8gpu"), str(BUNDLES / "cpu-2x56c-smt2")]
    result = run(capsys, host="gpu001", roots=roots, _ansible_check_mode=check_mode)
    assert result["changed"] is False
    record = result["node_hardware"]
    assert (record["host"], record["cpu"]["cpus"], len(record["gpus"])) == ("gpu001", 224, 8)
    assert record["taken_at"].endswith("Z")


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever machine this is: the record of it is complete and has its CPUs."""
    record = run(capsys, host="here")["node_hardware"]
    assert faults(record) == []
    assert record["cpu"]["cpus"] > 0


def test_root_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, host="gpu001", roots=["/no/such/bundle"])
    assert result["failed"] is True
    assert "gpu001" in result["msg"]
    assert "/no/such/bundle" in result["msg"]


def test_options_and_their_documentation_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    class StopError(Exception):
        """Ends the module at once."""

    def stop(self: Any, argument_spec: dict[str, Any], **_rest: Any) -> None:
        seen.update(argument_spec)
        raise StopError

    monkeypatch.setattr(basic.AnsibleModule, "__init__", stop)
    with pytest.raises(StopError):
        node_hardware_info.main()
    options = yaml.safe_load(node_hardware_info.DOCUMENTATION)["options"]
    assert {
        name: {key: value for key, value in option.items() if key != "description"} for name, option in options.items()
    } == seen
