# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is wrong with a topology.conf or topology.yaml, also one written by hand.

slurmctld stops at the first fault that it cannot live with, and says nothing of some that make jobs wait for ever
(nodes that share no switch). Here all are told at once. Sources: switch_record.c, block_record.c, topology.conf(5),
topology.yaml(5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import HostlistError, fold, unfold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import parse as parse_version
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.blocks import sizes_fault

__all__ = ["faults", "kind_of"]

SWITCH = "switch"
BLOCK = "block"
_PASSES = 22  # passes over its switches after which switch_record.c gives up, saying "not a tree"
_NAME = 63
_PARTIAL_BLOCKS_SINCE = (25, 5)
_EMPTY_SWITCHES_SINCE = (26, 5)
_ANY_KEY_ORDER_SINCE = (26, 5)
_YAML_KINDS = ("tree", "block", "flat", "ring", "torus3d")
_SHOWN = 200  # characters of a host list in a message

_PAIR = re.compile(r'([A-Za-z]+)\s*=\s*("[^"]*"|[^\s"]+)')
_COMMENT = re.compile(r"(?<!\\)#.*$")
_KEYS = {
    "switchname": ("switchname", "nodes", "switches", "linkspeed"),
    "blockname": ("blockname", "nodes"),
    "blocksizes": ("blocksizes",),
}


@dataclass(frozen=True)
class _Entry:
    """A switch or block. ``where``: for people; ``nodes``, ``children``: host lists, None where the file has none."""

    where: str
    kind: str
    name: str
    nodes: str | None
    children: str | None = None


@dataclass
class _File:
    """What one topology of a file says; ``unread``: (where, what is wrong) of what is no part of it."""

    label: str
    entries: list[_Entry] = field(default_factory=list)
    sizes: list[tuple[str, str]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    needs_entries: bool = True


def kind_of(text: str) -> str:
    """Return ``tree`` or ``block``, whichever a topology.conf describes first; empty for neither.

    >>> kind_of("BlockName=b1 Nodes=n[1-4]")
    'block'
    """
    entries = _conf(text, "").entries
    return "" if not entries else "block" if entries[0].kind == BLOCK else "tree"


def faults(text: str, nodes: Iterable[str], version: str = "", name: str = "topology.conf") -> list[Problem]:
    """Return the problems of a topology file.

    ``nodes``: the nodes of slurm.conf; ``version`` of Slurm like ``24.11`` (empty: the strictest rules); ``name`` of
    the file for messages: one that ends in ``.yaml`` or ``.yml`` is read as topology.yaml. A problem of severity error
    keeps Slurm from starting or drops a part of the file.
    """
    known = list(dict.fromkeys(nodes))
    number = parse_version(version)
    key_order = number is None or number < _ANY_KEY_ORDER_SINCE
    parts = _yaml(text, name, key_order) if name.endswith((".yaml", ".yml")) else [_conf(text, name)]
    return [problem for part in parts for problem in _Check(part, known, version).problems()]


# --- reading --------------------------------------------------------------------------------------------------------


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, text) without comments, continued lines joined."""
    held, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).rstrip()
        start = start or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        if (held + line).strip():
            yield start, (held + line).strip()
        held, start = "", 0
    if held.strip():
        yield start, held.strip()


def _conf(text: str, name: str) -> _File:
    part = _File(name)
    for number, line in _logical_lines(text):
        where = f"line {number}"
        pairs = [(key.lower(), value.strip('"')) for key, value in _PAIR.findall(line)]
        rest = _PAIR.sub("", line).strip()
        first = pairs[0][0] if pairs else ""
        if rest or first not in _KEYS:
            part.unread.append((where, f"'{rest or line}' is not understood"))
            continue
        strange = [key for key, _value in pairs if key not in _KEYS[first]]
        if strange:
            part.unread.append((where, f"{', '.join(strange)} does not belong to {first}"))
            continue
        values = dict(pairs)
        if first == "blocksizes":
            part.sizes.append((where, values[first]))
        else:
            kind = SWITCH if first == "switchname" else BLOCK
            part.entries.append(_Entry(where, kind, values[first], values.get("nodes"), values.get("switches")))
    return part


def _yaml(text: str, name: str, key_order: bool) -> list[_File]:
    """Return the topologies of a topology.yaml; what cannot be read at all is one file with that fault.

    ``key_order``: whether the name must be the first key.
    """
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: what looks like a date and is none
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "the file"
        return [_File(name, unread=[(where, "it is not YAML")], needs_entries=False)]
    if content is None:
        return [_File(name)]
    if not isinstance(content, list):
        return [_File(name, unread=[("the file", "it is not a list of topologies")], needs_entries=False)]
    parts = []
    seen: dict[str, int] = {}
    for position, item in enumerate(content, 1):
        given = item if isinstance(item, Mapping) else {}
        label = str(given.get("topology") or "")
        part = _File(f"{name}, topology {label or position}", needs_entries=False)
        kinds = [kind for kind in _YAML_KINDS if kind in given]
        if not label:
            part.unread.append(("it", "the key 'topology' with its name is missing"))
        elif key_order and next(iter(given)) != "topology":
            part.unread.append(("it", "the first key of a topology must be 'topology'"))
        if label and seen.setdefault(label, position) != position:
            part.unread.append(("it", f"topology {seen[label]} has the same name"))
        if len(kinds) != 1:
            what = f"of {', '.join(kinds)} only one can be" if kinds else f"one of {', '.join(_YAML_KINDS)} must be"
            part.unread.append(("it", f"{what} in it"))
        elif kinds[0] in ("tree", "block"):
            _yaml_part(part, given)
            part.needs_entries = not part.unread
        parts.append(part)
    defaults = [item for item in content if isinstance(item, Mapping) and item.get("cluster_default") is True]
    if len(defaults) > 1:
        parts[0].unread.append(("cluster_default", f"it is true for {len(defaults)} topologies, and a cluster has one"))
    return parts or [_File(name)]


def _yaml_part(part: _File, item: Mapping[str, Any]) -> None:
    for kind, listed, key in ((SWITCH, "switches", "switch"), (BLOCK, "blocks", "block")):
        body = item.get("tree" if kind == SWITCH else "block")
        if body is None:
            continue
        if not isinstance(body, Mapping) or not isinstance(body.get(listed), list):
            part.unread.append(("it", f"there is no list '{listed}'"))
            continue
        for number, entry in enumerate(body[listed], 1):
            where = f"{key} {number}"
            if not isinstance(entry, Mapping) or not entry.get(key):
                part.unread.append((where, f"the key '{key}' with its name is missing"))
                continue
            children = entry.get("children")
            part.entries.append(
                _Entry(where, kind, str(entry[key]), _optional(entry.get("nodes")), _optional(children))
            )
        if kind == BLOCK and "block_sizes" in body:
            given = body["block_sizes"]
            part.sizes.append(("block_sizes", ",".join(map(str, given)) if isinstance(given, list) else str(given)))


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


# --- judging --------------------------------------------------------------------------------------------------------


class _Check:
    """Checks one topology of a file."""

    def __init__(self, part: _File, nodes: Sequence[str], version: str) -> None:
        self.part = part
        self.nodes = nodes
        number = parse_version(version)
        self.partial_blocks = number is not None and number >= _PARTIAL_BLOCKS_SINCE
        self.empty_switches = number is not None and number >= _EMPTY_SWITCHES_SINCE
        self.found: list[Problem] = []

    def _tell(self, problem_id: str, **fields: Any) -> None:
        self.found.append(make(problem_id, "", file=self.part.label, **fields))

    def problems(self) -> list[Problem]:
        """Return all that is wrong, in the order of the ids."""
        part = self.part
        for where, detail in part.unread:
            self._tell("SLM077", where=where, detail=detail)
        if not part.entries:
            if part.needs_entries:
                self._tell("SLM076")
            return self.found
        kinds = {entry.kind for entry in part.entries}
        if len(kinds) > 1:
            self._tell("SLM077", where="the file", detail="switches and blocks cannot be in one topology")
        self._names()
        members = self._members()
        children = self._children()
        self._shape()
        self._places(members)
        if SWITCH in kinds:
            if not self._links(children):  # a loop has no top
                self._roots(members, children)
        else:
            self._sizes(members)
        return sorted(self.found, key=lambda problem: problem.id)

    def _names(self) -> None:
        seen: dict[str, str] = {}
        for entry in self.part.entries:
            if entry.name in seen:
                self._tell("SLM078", what=entry.kind, name=entry.name, first=seen[entry.name], second=entry.where)
            seen.setdefault(entry.name, entry.where)
            if len(entry.name) > _NAME:
                detail = f"the name {entry.name} has {len(entry.name)} characters, Slurm takes {_NAME}"
                self._tell("SLM077", where=entry.where, detail=detail)

    def _unfolded(self, entry: _Entry, text: str | None) -> list[str]:
        try:
            return unfold(text) if text else []
        except HostlistError as error:
            self._tell("SLM079", where=entry.where, name=entry.name, detail=str(error))
            return []

    def _members(self) -> list[tuple[_Entry, list[str]]]:
        """Return the nodes on each entry."""
        return [(entry, self._unfolded(entry, entry.nodes)) for entry in self.part.entries]

    def _children(self) -> dict[str, list[str]]:
        """Return the switches below each switch, a repeated name first wins."""
        found: dict[str, list[str]] = {}
        for entry in self.part.entries:
            if entry.kind == SWITCH:
                found.setdefault(entry.name, self._unfolded(entry, entry.children))
        return found

    def _shape(self) -> None:
        for entry in self.part.entries:
            if entry.kind == SWITCH and entry.nodes and entry.children:
                self._tell("SLM080", where=entry.where, name=entry.name, what="has both nodes and switches below it")
            elif entry.kind == SWITCH and not entry.nodes and not entry.children and not self.empty_switches:
                self._tell("SLM080", where=entry.where, name=entry.name, what="has neither nodes nor switches")
            elif entry.kind == BLOCK and not entry.nodes and not self.partial_blocks:
                self._tell("SLM080", where=entry.where, name=entry.name, what="has no nodes")

    def _places(self, members: Sequence[tuple[_Entry, list[str]]]) -> None:
        """Tell of nodes that are unknown, on several leaves, on none."""
        known = set(self.nodes)
        where: dict[str, list[str]] = {}
        for entry, inside in members:
            unknown = sorted({node for node in inside if node not in known})
            if unknown:
                self._tell("SLM084", where=entry.where, name=entry.name, nodes=_shown(unknown))
            for node in dict.fromkeys(inside):
                where.setdefault(node, []).append(entry.name)
            repeated = [node for node, count in Counter(inside).items() if count > 1]
            if repeated:
                self._tell("SLM085", nodes=_shown(repeated), places=f"{entry.name} twice")
        alike: dict[tuple[str, ...], list[str]] = {}
        for node, places in where.items():
            if len(places) > 1:
                alike.setdefault(tuple(places), []).append(node)
        for names, shared in alike.items():
            self._tell("SLM085", nodes=_shown(shared), places=" and ".join(names))
        missing = [node for node in self.nodes if node not in where]
        if missing:
            self._tell("SLM086", nodes=_shown(missing), what=self.part.entries[0].kind)

    def _links(self, children: Mapping[str, Sequence[str]]) -> bool:
        """Tell of unknown switches, switches below several others, loops and trees that are too deep.

        Return whether there is a loop.
        """
        parents: dict[str, list[str]] = {}
        first = {entry.name: entry for entry in reversed(self.part.entries)}
        for name, below in children.items():
            for child in dict.fromkeys(below):
                if child == name:
                    self._tell("SLM081", where=first[name].where, name=name, child="itself")
                elif child not in children:
                    self._tell("SLM081", where=first[name].where, name=name, child=child)
                else:
                    parents.setdefault(child, []).append(name)
        for child, above in parents.items():
            if len(above) > 1:
                self._tell("SLM088", name=child, parents=" and ".join(above))
        looped, passes = _unresolved(children)
        if looped:
            self._tell("SLM082", names=_shown(looped), what="are below themselves or above such switches")
        elif passes > _PASSES:
            what = f"stand in more than {_PASSES} levels, higher ones written before lower ones"
            self._tell("SLM082", names=_shown(list(children)), what=what)
        return bool(looped)

    def _roots(self, members: Sequence[tuple[_Entry, list[str]]], children: Mapping[str, Sequence[str]]) -> None:
        """Tell if no switch reaches all nodes that are on a leaf."""
        of_switch: dict[str, set[str]] = {}
        for entry, inside in members:
            of_switch.setdefault(entry.name, set()).update(inside)
        everything = set().union(*of_switch.values()) & set(self.nodes)
        below = {child for name, names in children.items() for child in names if child != name}
        tops = [name for name in children if name not in below]
        reached = {name: _reach(name, children, of_switch) for name in tops}
        if everything and not any(everything <= nodes for nodes in reached.values()):
            self._tell("SLM087", tops=_shown(tops) if tops else "none")

    def _sizes(self, members: Sequence[tuple[_Entry, list[str]]]) -> None:
        lengths = [len(set(inside)) for _entry, inside in members]
        if len(self.part.sizes) > 1:
            self._tell("SLM083", where=self.part.sizes[-1][0], detail="it is given again, and only the last one counts")
        base = lengths[0]  # Slurm's default
        for where, text in self.part.sizes[-1:]:
            pieces = [piece.strip() for piece in text.split(",")]
            numbers = [int(piece) for piece in pieces if piece.isdecimal()]
            fault = sizes_fault(numbers) if len(numbers) == len(pieces) else f"'{text}' is not a list of numbers"
            if fault:
                self._tell("SLM083", where=where, detail=fault)
                return
            base = numbers[0]
        small = [entry.name for (entry, _inside), length in zip(members, lengths, strict=True) if 0 < length < base]
        if small and not self.partial_blocks:
            detail = f"the blocks {', '.join(small)} have fewer than {base} nodes, which ends slurmctld before 25.05"
            self._tell("SLM083", where=self.part.sizes[-1][0] if self.part.sizes else "the file", detail=detail)


def _reach(top: str, children: Mapping[str, Sequence[str]], members: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes below a switch."""
    seen, todo, found = {top}, [top], set()
    while todo:
        name = todo.pop()
        found |= members.get(name, set())
        for child in children.get(name, ()):
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return found


def _unresolved(children: Mapping[str, Sequence[str]]) -> tuple[list[str], int]:
    """Return the switches in or above a loop, and how many passes over the file it takes to find all other levels.

    Slurm goes over the switches in the order of the file and gives a level to each whose children have one; a switch
    that stands below its children costs no pass of its own.
    """
    open_ = {
        name: [child for child in below if child in children and child != name] for name, below in children.items()
    }
    passes = 0
    while open_:
        left: dict[str, list[str]] = {}
        done: set[str] = set()
        for name, below in open_.items():
            waiting = [child for child in below if child in open_ and child not in done]
            if waiting:
                left[name] = waiting
            else:
                done.add(name)
        if not done:
            break
        open_ = left
        passes += 1
    return list(open_), passes


def _shown(names: Sequence[str]) -> str:
    text = fold(names)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(names)} in all)"
