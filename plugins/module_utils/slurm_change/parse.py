# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring the text of Slurm's configuration files into a form that can be compared.

Comments, blanks, the order of lines, line continuation and the letter case of parameter names do not matter to Slurm
and are gone afterwards; values of ``NodeName=DEFAULT`` and ``PartitionName=DEFAULT`` are spread over the lines they
rule. Source of the grammar: common/parse_config.c of Slurm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, NamedTuple, Tuple

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import hostlist

# A line of pairs; the same regular expression as Slurm's own keyvalue_pattern.
_PAIR = re.compile(r'^\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*(?:"([^"]*)"|(\S+))(?=\s|$)')
_INCLUDE = re.compile(r"^\s*include\s+(\S+)\s*$", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*$")

_LIST_PARAMETERS = {"slurmctldhost", "nodeset", "downnodes", "frontendname"}
_PER_NODE_LISTS = {"nodeaddr", "nodehostname", "bcastaddr", "port"}
_NODE_ALIASES = {"procs": "cpus", "features": "feature"}
_PARTITION_ALIASES = {"shared": "oversubscribe"}


class Value(NamedTuple):
    """The name of a parameter as it is written, and its value; repeated parameters are joined with blanks."""

    name: str
    text: str


Pairs = List[Tuple[str, str]]
Values = Dict[str, Value]  # lower-case name -> value


@dataclass
class SlurmConf:
    """A slurm.conf.

    ``parameters``: everything that rules the whole cluster; ``nodes`` and ``partitions``: parameters by name of the
    node or partition; ``unparsed``: lines and rests of lines that are no pairs.
    """

    parameters: Values = field(default_factory=dict)
    nodes: dict[str, Values] = field(default_factory=dict)
    partitions: dict[str, Values] = field(default_factory=dict)
    unparsed: tuple[str, ...] = ()


class Device(NamedTuple):
    """One device (or one group without files) that gres.conf gives a node; texts are as in the file."""

    name: str
    type: str
    file: str
    quantity: str
    cores: str
    links: str
    flags: str
    autodetect: str


@dataclass
class GresConf:
    """A gres.conf: devices by node in their order (``""``: lines without NodeName); ``unparsed`` as above."""

    nodes: dict[str, tuple[Device, ...]] = field(default_factory=dict)
    unparsed: tuple[str, ...] = ()


def logical_lines(text: str) -> list[str]:
    """Return the lines of ``text`` without comments and blank lines, continued lines joined."""
    lines: list[str] = []
    held = ""
    for raw in text.splitlines():
        line = _COMMENT.sub("", raw).replace("\\#", "#").rstrip()
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        line = (held + line).strip()
        held = ""
        if line:
            lines.append(line)
    if held.strip():
        lines.append(held.strip())
    return lines


def pairs(line: str) -> tuple[Pairs, str]:
    """Return the ``key=value`` pairs of a line and what is left of it (empty for a sound line)."""
    found: Pairs = []
    rest = line
    while rest.strip():
        match = _PAIR.match(rest)
        if match is None:
            return found, rest.strip()
        value = match.group(3) if match.group(3) is not None else match.group(4)
        found.append((match.group(1) + match.group(2), value))
        rest = rest[match.end() :]
    return found, ""


def key_values(text: str) -> tuple[Values, tuple[str, ...]]:
    """Return parameters and unparsed rests of a file of plain parameters, such as cgroup.conf."""
    values: Values = {}
    unparsed: list[str] = []
    for line in logical_lines(text):
        found, rest = pairs(line)
        values.update((name.lower(), Value(name, value)) for name, value in found)
        if rest:
            unparsed.append(rest)
    return values, tuple(unparsed)


def slurm_conf(text: str, others: Mapping[str, str] | None = None) -> SlurmConf:
    """Return the comparable form of a slurm.conf; ``others`` are files (name -> text) that it may include."""
    conf = SlurmConf()
    unparsed: list[str] = []
    node_defaults: Values = {}
    partition_defaults: Values = {}
    for line in _with_includes(text, others or {}, 5):
        include = _INCLUDE.match(line)
        if include:
            _append(conf.parameters, "Include", include.group(1))
            continue
        found, rest = pairs(line)
        if rest:
            unparsed.append(line)
        if not found:
            continue
        kind = found[0][0].lower()
        if kind == "nodename":
            _add_nodes(conf.nodes, node_defaults, found)
        elif kind == "partitionname":
            _add_partition(conf.partitions, partition_defaults, found)
        elif kind in _LIST_PARAMETERS:
            _append(conf.parameters, found[0][0], " ".join("=".join(pair) for pair in found))
        else:
            conf.parameters.update((name.lower(), Value(name, value)) for name, value in found)
    conf.unparsed = tuple(unparsed)
    return conf


def gres_conf(text: str) -> GresConf:
    """Return the comparable form of a gres.conf."""
    nodes: dict[str, list[Device]] = {}
    unparsed: list[str] = []
    for line in logical_lines(text):
        found, rest = pairs(line)
        if rest:
            unparsed.append(line)
        values = {name.lower(): value for name, value in found}
        devices = _devices(values)
        for node in names(values.get("nodename", "")) or [""]:
            nodes.setdefault(node, []).extend(devices)
    return GresConf({node: tuple(devices) for node, devices in nodes.items()}, tuple(unparsed))


def topology_conf(text: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the lines of a topology.conf as pairs.

    Switches are sorted by name. Blocks keep their order, because topology/block fills them in the order of the file.
    """
    switches: list[tuple[tuple[str, str], ...]] = []
    blocks: list[tuple[tuple[str, str], ...]] = []
    for line in logical_lines(text):
        found, rest = pairs(line)
        entry = tuple((name.lower(), _members(name, value)) for name, value in found) + ((("", rest),) if rest else ())
        (switches if found and found[0][0].lower() == "switchname" else blocks).append(entry)
    return tuple(sorted(switches) + blocks)


def names(text: str) -> list[str]:
    """Return the names of a host list; a list that cannot be expanded stands for itself as one name."""
    try:
        return hostlist.expand(text)
    except ValueError:
        return [text]


def _with_includes(text: str, others: Mapping[str, str], depth: int) -> list[str]:
    lines: list[str] = []
    for line in logical_lines(text):
        include = _INCLUDE.match(line)
        if include and depth and include.group(1) in others:
            lines.extend(_with_includes(others[include.group(1)], others, depth - 1))
        else:
            lines.append(line)
    return lines


def included(text: str, others: Mapping[str, str]) -> list[str]:
    """Return the names of those ``others`` that a slurm.conf includes, directly or through another one."""
    found: list[str] = []
    todo = [text]
    while todo:
        for line in logical_lines(todo.pop()):
            match = _INCLUDE.match(line)
            if match and match.group(1) in others and match.group(1) not in found:
                found.append(match.group(1))
                todo.append(others[match.group(1)])
    return found


def _append(values: Values, name: str, text: str) -> None:
    old = values.get(name.lower())
    values[name.lower()] = Value(name, f"{old.text} {text}" if old else text)


def _add_nodes(nodes: dict[str, Values], defaults: Values, found: Pairs) -> None:
    values: Values = {}
    for name, value in found[1:]:
        key = _NODE_ALIASES.get(name.lower(), name.lower())
        values[key] = Value(name, ",".join(sorted(value.split(","))) if key in ("gres", "feature") else value)
    if found[0][1].upper() == "DEFAULT":
        defaults.update(values)
        return
    line = {**defaults, **values}
    members = names(found[0][1])
    per_node = {key: names(line[key].text) for key in _PER_NODE_LISTS if key in line}
    per_node = {key: many for key, many in per_node.items() if len(many) == len(members) > 1}
    for position, node in enumerate(members):
        own = {key: Value(line[key].name, many[position]) for key, many in per_node.items()}
        nodes[node] = {**line, **own} if own else line


def _add_partition(partitions: dict[str, Values], defaults: Values, found: Pairs) -> None:
    values: Values = {}
    for name, value in found[1:]:
        values[_PARTITION_ALIASES.get(name.lower(), name.lower())] = Value(name, value)
    if "nodes" in values:
        values["nodes"] = Value("Nodes", _members("Nodes", values["nodes"].text))
    if found[0][1].upper() == "DEFAULT":
        defaults.update(values)
    else:
        for partition in found[0][1].split(","):
            partitions[partition] = {**defaults, **values}


def _members(name: str, value: str) -> str:
    """Return a host list in its one normal form, any other value as it is."""
    return hostlist.fold(names(value)) if name.lower() in ("nodes", "switches") else value


def _devices(values: Mapping[str, str]) -> list[Device]:
    def device(file: str, count: str) -> Device:
        return Device(
            name=values.get("name", "").lower(),
            type=values.get("type", ""),
            file=file,
            quantity=count,
            cores=values.get("cores", values.get("cpus", "")),
            links=values.get("links", ""),
            flags=values.get("flags", "").lower(),
            autodetect=values.get("autodetect", "").lower(),
        )

    if "file" in values:
        files = names(values["file"])
        # Count beside File is the number of shards of these files, not the number of devices.
        return [device(file, values.get("count", "")) for file in files]
    return [device(values.get("multiplefiles", ""), values.get("count", ""))]
