# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the record of a node in a file beside the inventory. Runs on the control node alone."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.compare import settle
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import SCHEMA, faults, ordered
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import WARNING, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.host_files import single_file
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out

VARIABLE = "node_hardware"
_HEADER = """\
# Written by the playbook steelrack.gpu_cluster.discover; keep it under version control.
# To accept changed hardware, run that playbook with `-e hardware_accept={host}`.
---
"""
_MODE = 0o644
_PCI = re.compile(r"\b[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")


@dataclass(frozen=True)
class Stored:
    """What a file holds: its text, and a record or the problems that keep it from being one."""

    text: str = ""
    record: Mapping[str, Any] | None = None
    problems: list[dict[str, str]] = field(default_factory=list)


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, as yamllint wants it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def render(record: Mapping[str, Any]) -> str:
    """Return the text of the file for ``record``: the same record always gives the same bytes."""
    body = yaml.dump(
        {VARIABLE: ordered(record)},
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=None,
        width=120,
        allow_unicode=True,
    )
    return _HEADER.format(host=record["host"]) + body


def load(path: Path, host: str) -> Stored:
    """Return what the file holds; a file that is not there holds nothing."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Stored()
    except UnicodeDecodeError:
        return _unusable("", host, path, "it is not text in UTF-8")
    except OSError as error:
        raise AnsibleActionFail(_io_fault("read", path, host, error)) from None  # Ansible would show both
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: what looks like a date and is none
        return _unusable(text, host, path, f"it is not YAML ({str(error).splitlines()[0]})")
    if not isinstance(content, dict) or set(content) != {VARIABLE}:
        return _unusable(text, host, path, f"it must define {VARIABLE} and no other variable")
    record = content[VARIABLE]
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        return Stored(text, None, [make("REC001", host, stored=schema, known=SCHEMA).as_dict()])
    wrong = faults(record)
    if wrong:
        return _unusable(text, host, path, wrong[0])
    if record["host"] != host:
        return Stored(text, None, [make("REC003", host, path=path, other=record["host"]).as_dict()])
    return Stored(text, record)


def _io_fault(what: str, path: Path, host: str, error: OSError) -> str:
    return (
        f"The record of {host} cannot be {what}: {error.strerror or error} ({path}). Correct owner and mode of the "
        "file and its folder, or keep the records elsewhere with hardware_record_dir."
    )


def _unusable(text: str, host: str, path: Path, detail: str) -> Stored:
    return Stored(text, None, [make("REC002", host, path=path, detail=detail).as_dict()])


def without_weight(
    problems: Sequence[Mapping[str, str]], gpus: Sequence[Mapping[str, Any]], excluded: Sequence[Any]
) -> list[dict[str, str]]:
    """Return the problems; those of GPUs that are not handed out anyway (``excluded``) are warnings only.

    A problem of single GPUs names each by its PCI address.
    """
    unused = {gpus[position]["pci"] for position in left_out(gpus, excluded)[0]}

    def concerns_no_job(problem: Mapping[str, str]) -> bool:
        named = set(_PCI.findall(problem["message"]))
        return bool(named) and named <= unused

    return [{**problem, "severity": WARNING} if concerns_no_job(problem) else {**problem} for problem in problems]


def write(path: Path, text: str) -> None:
    """Replace the file in one step: a reader, or a run that is killed, sees the old or the new text, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _MODE)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class ActionModule(ActionBase):
    """The action ``hardware_record``; its options are documented in the module of that name."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Settle which record is in force, write it if it is a new one, and return it with all problems."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            argument_spec={
                "path": {"type": "path", "required": True},
                "evidence": {"type": "dict", "required": True},
                "accept": {"type": "bool", "default": False},
                "health": {"type": "list", "elements": "dict", "default": []},
                "excluded": {"type": "list", "elements": "raw", "default": []},
            }
        )
        path = Path(options["path"])
        evidence = _plain(options["evidence"])
        wrong = faults(evidence)
        if wrong:
            raise AnsibleActionFail(
                f"The option evidence is no record of steelrack.gpu_cluster.node_hardware_info: {wrong[0]}. "
                "Give it the value node_hardware of that module's result."
            )
        hidden = single_file(path.parents[1], path.parent.name)
        if hidden:
            raise AnsibleActionFail(
                f"The record of {evidence['host']} is not written: the variables in {hidden} would no longer be read "
                f"beside the folder {path.parent}. Make that folder and move the file to {path.parent}/main.yml."
            )
        stored = load(path, evidence["host"])
        health = _plain(options["health"])
        if stored.problems and not options["accept"]:
            result.update(changed=False, record=None, problems=stored.problems + evidence["problems"] + health)
            return result
        record, problems = settle(stored.record, evidence, options["accept"], health)
        gpus = [*evidence["gpus"], *record["gpus"]]
        weighed = without_weight(problems, gpus, _plain(options["excluded"]))
        text = stored.text if record == stored.record else render(record)
        if text != stored.text and not self._task.check_mode:
            try:
                write(path, text)
            except OSError as error:
                raise AnsibleActionFail(_io_fault("written", path, evidence["host"], error)) from None
        result.update(
            changed=text != stored.text,
            record=ordered(record),
            problems=weighed,
            ansible_facts={VARIABLE: ordered(record)},
            diff={"before": stored.text, "after": text, "before_header": str(path), "after_header": str(path)},
        )
        return result


def _plain(value: Any) -> Any:
    """Return ``value`` made of Python's own types; Ansible's carry tags that YAML cannot write."""
    return json.loads(json.dumps(value))
