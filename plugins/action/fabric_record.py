# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the switches of every node in files beside the inventory. Runs on the control node alone, once for all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.steelrack.gpu_cluster.plugins.action.hardware_record import write
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.host_files import single_file
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.host_variables import HostVariables, plain
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology import infiniband, lldp
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import (
    FABRIC_VARIABLE,
    INFINIBAND,
    LLDP,
    Link,
    as_variable,
    links_of,
)

_HEADER = """\
# Written by the playbook steelrack.gpu_cluster.discover_fabric; keep it under version control.
---
"""
_FILE = "fabric.yml"


def render(fabric: Mapping[str, Any]) -> str:
    """Return the text of a file: one line a cable, so that a moved cable is one line in a comparison."""
    lines = [f"{FABRIC_VARIABLE}:", f"  schema: {fabric['schema']}", f"  host: {_scalar(fabric['host'])}"]
    for kind in (INFINIBAND, LLDP):
        links = fabric[kind]
        lines.append(f"  {kind}:" if links else f"  {kind}: []")
        lines += [f"    - {{{', '.join(f'{key}: {_scalar(value)}' for key, value in link.items())}}}" for link in links]
    return _HEADER + "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    """Return a value as YAML on one line, texts that look like something else in quotes."""
    text: str = yaml.safe_dump([value], default_flow_style=True, width=10**6, allow_unicode=True)
    return text.strip()[1:-1]


def load(path: Path, host: str) -> tuple[str, dict[str, tuple[Link, ...]], list[Problem]]:
    """Return the text of a file and the cables in it; of a file that cannot be used, a problem instead."""
    nothing: dict[str, tuple[Link, ...]] = {INFINIBAND: (), LLDP: ()}
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return "", nothing, []
    except UnicodeDecodeError:
        return "", nothing, [make("SLM075", host, detail="it is not text in UTF-8")]
    try:
        content = yaml.safe_load(text)
        fabric = content[FABRIC_VARIABLE]
        return text, {kind: links_of(fabric, kind) for kind in nothing}, []
    except (yaml.YAMLError, ValueError, KeyError, TypeError, RecursionError) as error:
        return text, nothing, [make("SLM075", host, detail=str(error).splitlines()[0])]


def _infiniband(
    text: str, nodes: Sequence[str], hostvars: Mapping[str, Any]
) -> tuple[infiniband.Joined, list[Problem]]:
    """Return the InfiniBand cables of the nodes."""
    adapters: list[infiniband.Adapter] = []
    expected = []
    for node in nodes:
        record = HostVariables(hostvars, node).record()
        try:
            adapters += infiniband.adapters_of(node, record) if record else []
            if record and any(_active(port) for hca in record["fabric"]["hcas"] for port in hca["ports"]):
                expected.append(node)
        except (KeyError, TypeError, AttributeError):
            continue  # such a record is a problem of the derivation of nodes
    joined = infiniband.join(infiniband.parse(text), adapters, nodes)
    problems = []
    if joined.by_name:
        problems.append(make("SLM073", "", nodes=fold(joined.by_name)))
    unseen = [node for node in expected if node not in joined.links]
    if unseen:
        problems.append(make("SLM074", "", nodes=fold(unseen)))
    return joined, problems


def _active(port: Mapping[str, Any]) -> bool:
    return bool(port["state"] == "active" and port["link_layer"] == "InfiniBand")


class ActionModule(ActionBase):
    """The action ``fabric_record``; its options are documented in the module of that name."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Join cables and nodes and write the files that differ."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            argument_spec={
                "dir": {"type": "path", "required": True},
                "nodes": {"type": "list", "elements": "str", "required": True},
                "infiniband": {"type": "str", "default": ""},
                "lldp": {"type": "dict", "default": {}},
            }
        )
        folder = Path(options["dir"])
        nodes = [str(plain(node)) for node in options["nodes"]]
        shadowed = [node for node in nodes if single_file(folder, node)]
        if shadowed:
            raise AnsibleActionFail(
                f"{folder} has variables of {fold(shadowed)} in a file of that name, which Ansible does not read "
                f"beside a folder of that name. Move each to {folder}/<node>/main.yml."
            )
        joined, problems = _infiniband(plain(options["infiniband"]), nodes, (task_vars or {}).get("hostvars", {}))
        diffs = []
        for node in nodes:
            path = folder / node / _FILE
            text, cables, faults = load(path, node)
            problems += faults
            seen = {INFINIBAND: joined.links.get(node, ()), LLDP: self._lldp(node, plain(options["lldp"].get(node)))}
            if not any(seen.values()):
                continue
            found = {kind: seen[kind] or cables[kind] for kind in seen}
            new = render(as_variable(node, found[INFINIBAND], found[LLDP]))
            if new != text:
                diffs.append((node, path, text, new))
        if not self._task.check_mode:
            for _node, path, _text, new in diffs:
                write(path, new)
        result.update(
            changed=bool(diffs),
            nodes=[node for node, *_rest in diffs],
            problems=[problem.as_dict() for problem in problems],
            diff=[
                {"before": text, "after": new, "before_header": str(path), "after_header": str(path)}
                for _node, path, text, new in diffs
            ],
        )
        return result

    @staticmethod
    def _lldp(node: str, seen: Any) -> tuple[Link, ...]:
        """Return the cables that a node's own answer tells; a node that was not asked or has no lldpd tells none."""
        if not isinstance(seen, Mapping) or not seen.get("lldp"):
            return ()
        try:
            return lldp.parse(str(seen["lldp"]), seen.get("default_interfaces") or ())
        except lldp.LldpError as error:
            raise AnsibleActionFail(
                f"The LLDP neighbours of {node} cannot be read: {error}. Give the output of `lldpctl -f keyvalue`."
            ) from error
