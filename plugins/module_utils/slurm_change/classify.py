# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare two sets of configuration files and say what the difference takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, Iterable, Mapping, Sequence, Tuple

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import hostlist, parse, rules
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change.rules import Step, Version

Files = Mapping[str, str]
Devices = Tuple[parse.Device, ...]

_ACTIONS = {
    Step.NONE: "none",
    Step.RECONFIGURE: "reconfigure",
    Step.RESTART_CONTROLLER: "restart",
    Step.RESTART_ALL: "restart",
}
_SEVERAL = 8  # different values of one node parameter that are listed one by one
_SHOWN = 200  # characters of a value that are shown


@dataclass(frozen=True)
class Reason:
    """Why a step is needed.

    ``scope`` is cluster, node or partition; ``name`` the nodes (host list) or the partition; ``old`` and ``new`` are
    the values, None where the parameter is absent; ``action`` and ``slurmd_restart`` what this change alone takes;
    ``note`` what else an operator should know.
    """

    file: str
    parameter: str
    scope: str
    name: str
    old: str | None
    new: str | None
    action: str
    slurmd_restart: bool
    note: str = ""


@dataclass(frozen=True)
class Change:
    """The sum of all reasons.

    ``drain_first``: nodes whose devices or cores of devices change: jobs on them that hold GPUs do not survive.
    ``stop_slurmd_first``: nodes whose slurmd should be down while slurmctld takes the change over.
    """

    action: str
    slurmd_restart: bool
    reasons: tuple[Reason, ...]
    drain_first: tuple[str, ...]
    stop_slurmd_first: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries and strings for results and filters."""
        values = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def classify(old: Files, new: Files, version: str) -> Change:
    """Return what it takes to get from the files ``old`` to the files ``new`` (both: name -> text).

    ``version`` is the version of Slurm that runs them, for example "24.11" or "22.05.8". A file that is absent on one
    side counts as empty; without an old slurm.conf nothing ran before and everything is to be started.
    Raises ValueError for text that is no Slurm version.
    """
    release = rules.version(version)
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    if not changed:
        return Change("none", False, (), (), ())
    if "slurm.conf" not in old:
        note = "first configuration of this cluster"
        return _sum([_reason("slurm.conf", "", "cluster", "", None, "new file", Step.RESTART_ALL, note)], (), ())
    before, after = _slurm_conf(old), _slurm_conf(new)
    common = set(before.nodes) & set(after.nodes)
    reasons: list[Reason] = []
    devices_of: list[str] = []
    if _slurm_changed(changed, old, new):
        reasons += _cluster(before, after, release)
        reasons += _node_lines(before, after, release)
        reasons += _partitions(before, after, release)
        devices_of += [node for node in common if _text(before.nodes[node], "gres") != _text(after.nodes[node], "gres")]
    if "gres.conf" in changed:
        gres_reasons, touched = _gres(old.get("gres.conf", ""), new.get("gres.conf", ""), common, release)
        reasons += gres_reasons
        devices_of += touched
    inlined = {name for files in (old, new) for name in parse.included(files.get("slurm.conf", ""), files)}
    for name in changed:
        if name not in inlined:
            reasons += _other_file(name, old.get(name), new.get(name), _scripts(before) | _scripts(after), release)
    return _sum(reasons, devices_of, _slurmd_first(before, after, common) | set(devices_of))


def _slurm_conf(files: Files) -> parse.SlurmConf:
    return parse.slurm_conf(files.get("slurm.conf", ""), files)


def _slurm_changed(changed: Iterable[str], old: Files, new: Files) -> bool:
    """Whether slurm.conf or a file that it includes differs."""
    sources = {"slurm.conf", *parse.included(old["slurm.conf"], old), *parse.included(new.get("slurm.conf", ""), new)}
    return not sources.isdisjoint(changed)


def _sum(reasons: Sequence[Reason], drain_first: Iterable[str], stop_first: Iterable[str]) -> Change:
    actions = {reason.action for reason in reasons}
    action = next((name for name in ("restart", "reconfigure") if name in actions), "none")
    return Change(
        action=action,
        slurmd_restart=any(reason.slurmd_restart for reason in reasons),
        reasons=tuple(reasons),
        drain_first=tuple(_sorted(drain_first)),
        stop_slurmd_first=tuple(_sorted(stop_first)),
    )


def _sorted(names: Iterable[str]) -> list[str]:
    """Return names once each, gpu2 before gpu10."""
    folded = hostlist.fold(names)
    return hostlist.expand(folded) if folded else []


def _reason(
    file: str, parameter: str, scope: str, name: str, old: str | None, new: str | None, step: Step, note: str = ""
) -> Reason:
    return Reason(
        file=file,
        parameter=parameter,
        scope=scope,
        name=name,
        old=_short(old),
        new=_short(new),
        action=_ACTIONS[step],
        slurmd_restart=step is Step.RESTART_ALL,
        note=note,
    )


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _text(values: Mapping[str, parse.Value], key: str) -> str | None:
    value = values.get(key)
    return value.text if value else None


def _differences(
    old: Mapping[str, parse.Value], new: Mapping[str, parse.Value]
) -> list[tuple[str, str, str | None, str | None]]:
    """Return (key, name as written, old, new) of the parameters that differ, by name."""
    found = []
    for key in sorted({*old, *new}):
        before, after = _text(old, key), _text(new, key)
        if before != after:
            found.append((key, (new.get(key) or old[key]).name, before, after))
    return found


def _ruled(table: dict[str, tuple[Step, Step]], key: str, release: Version) -> tuple[Step, str]:
    """Return the step of a parameter and the note that goes with it."""
    step, known = rules.step(table, key, release)
    if not known:
        return step, "not a parameter that is known here, so the safe step is taken"
    return step, ""


def _cluster(old: parse.SlurmConf, new: parse.SlurmConf, release: Version) -> list[Reason]:
    reasons = []
    for key, name, before, after in _differences(old.parameters, new.parameters):
        step, note = _ruled(rules.PARAMETERS, key, release)
        secret = key.endswith("pass")
        reasons.append(
            _reason(
                "slurm.conf",
                name,
                "cluster",
                "",
                "(secret)" if secret and before is not None else before,
                "(secret)" if secret and after is not None else after,
                step,
                rules.NOTES.get(key, note),
            )
        )
    return reasons + _unparsed("slurm.conf", old.unparsed, new.unparsed)


def _unparsed(file: str, old: Sequence[str], new: Sequence[str]) -> list[Reason]:
    if sorted(old) == sorted(new):
        return []
    note = "these lines are no pairs of name and value, so the safe step is taken"
    return [_reason(file, "", "cluster", "", "; ".join(old) or None, "; ".join(new) or None, Step.RESTART_ALL, note)]


def _node_lines(old: parse.SlurmConf, new: parse.SlurmConf, release: Version) -> list[Reason]:
    reasons = []
    step, _known = rules.step(rules.NODE, "NodeName", release)
    added, removed = set(new.nodes) - set(old.nodes), set(old.nodes) - set(new.nodes)
    if added:
        nodes = hostlist.fold(added)
        reasons.append(_reason("slurm.conf", "NodeName", "node", nodes, None, "added", step))
    if removed:
        nodes = hostlist.fold(removed)
        note = "jobs that still run on the removed nodes are killed"
        reasons.append(_reason("slurm.conf", "NodeName", "node", nodes, "removed", None, step, note))
    # One set of parameters usually serves thousands of nodes, so equal pairs of old and new sets are compared once.
    groups: dict[tuple[int, int], list[str]] = {}
    for node in set(old.nodes) & set(new.nodes):
        groups.setdefault((id(old.nodes[node]), id(new.nodes[node])), []).append(node)
    found: dict[tuple[str, str, str | None, str | None], list[str]] = {}
    for members in groups.values():
        for difference in _differences(old.nodes[members[0]], new.nodes[members[0]]):
            found.setdefault(difference, []).extend(members)
    return reasons + _node_reasons("slurm.conf", found, lambda key: _ruled(rules.NODE, key, release))


def _node_reasons(
    file: str,
    found: Mapping[tuple[str, str, str | None, str | None], list[str]],
    rule: Callable[[str], tuple[Step, str]],
) -> list[Reason]:
    """Return one reason for each (key, name, old, new), or one for all where a parameter differs from node to node."""
    different = Counter(key for key, _name, _old, _new in found)
    reasons: list[Reason] = []
    crowded: dict[tuple[str, str], list[str]] = {}
    for (key, name, old, new), nodes in sorted(found.items(), key=lambda item: tuple(map(str, item[0]))):
        if different[key] > _SEVERAL:
            crowded.setdefault((key, name), []).extend(nodes)
        else:
            step, note = rule(key)
            reasons.append(_reason(file, name, "node", hostlist.fold(nodes), old, new, step, note))
    for (key, name), nodes in crowded.items():
        step, note = rule(key)
        values = "differs from node to node"
        reasons.append(_reason(file, name, "node", hostlist.fold(nodes), values, values, step, note))
    return reasons


def _partitions(old: parse.SlurmConf, new: parse.SlurmConf, release: Version) -> list[Reason]:
    reasons = []
    step, _known = rules.step(rules.PARTITION, "PartitionName", release)
    for name in sorted({*old.partitions, *new.partitions}):
        before, after = old.partitions.get(name), new.partitions.get(name)
        if before is None:
            reasons.append(_reason("slurm.conf", "PartitionName", "partition", name, None, "added", step))
        elif after is None:
            note = "its jobs are cancelled"
            reasons.append(_reason("slurm.conf", "PartitionName", "partition", name, "removed", None, step, note))
        else:
            for key, parameter, value, wanted in _differences(before, after):
                own, note = _ruled(rules.PARTITION, key, release)
                reasons.append(_reason("slurm.conf", parameter, "partition", name, value, wanted, own, note))
    return reasons


def _gres(old: str, new: str, common: Iterable[str], release: Version) -> tuple[list[Reason], list[str]]:
    """Return the reasons that gres.conf gives and the nodes whose devices or cores of devices change.

    Nodes that are only in one of the two slurm.conf do not count: adding and removing nodes is a reason of its own. A
    line without NodeName rules all nodes.
    """
    before, after = parse.gres_conf(old), parse.gres_conf(new)
    found: dict[tuple[str, str, str | None, str | None], list[str]] = {}
    touched = []
    for node in ["", *common]:
        was, wanted = before.nodes.get(node, ()), after.nodes.get(node, ())
        if was == wanted:
            continue
        for name, value, target in _device_differences(was, wanted):
            found.setdefault((name.lower(), name, value, target), []).append(node or "ALL")
            if node and name in ("File", "Count", "Cores"):
                touched.append(node)
    reasons = _node_reasons("gres.conf", found, lambda key: _ruled(rules.GRES, key, release))
    return reasons + _unparsed("gres.conf", before.unparsed, after.unparsed), touched


def _device_differences(old: Devices, new: Devices) -> list[tuple[str, str | None, str | None]]:
    """Return (parameter, old, new) for the properties in which two lists of devices differ.

    Files are compared in their order, because jobs number the devices by it. The other properties are compared device
    by device, so that a device that comes or goes is told as one difference of File, not as five.
    """
    found = []
    files = [device.file for device in old if device.file], [device.file for device in new if device.file]
    if files[0] != files[1]:
        found.append(("File", *_listed(files)))
    before = {(device.name, device.file or str(index)): device for index, device in enumerate(old)}
    after = {(device.name, device.file or str(index)): device for index, device in enumerate(new)}
    both = [key for key in before if key in after]
    for parameter in ("Count", "Type", "Cores", "Links", "Flags", "AutoDetect"):
        attribute = "quantity" if parameter == "Count" else parameter.lower()
        values = [(getattr(before[key], attribute), getattr(after[key], attribute)) for key in both]
        if any(was != wanted for was, wanted in values):
            sides = [was for was, _wanted in values], [wanted for _was, wanted in values]
            found.append((parameter, *_listed(sides)))
    if not found:  # the same files and values under another name, or lines without files that came or went
        found.append(("Name", *_listed(([device.name for device in old], [device.name for device in new]))))
    return found


def _listed(sides: tuple[list[str], list[str]]) -> tuple[str | None, str | None]:
    """Return both lists as texts; equal neighbours once."""

    def text(values: list[str]) -> str | None:
        kept = [value for index, value in enumerate(values) if index == 0 or values[index - 1] != value]
        return " ".join(kept).strip() or None

    return text(sides[0]), text(sides[1])


def _slurmd_first(old: parse.SlurmConf, new: parse.SlurmConf, common: Iterable[str]) -> set[str]:
    return {
        node
        for node in common
        if old.nodes[node] is not new.nodes[node]
        and any(_text(old.nodes[node], key) != _text(new.nodes[node], key) for key in rules.SLURMD_FIRST)
    }


def _scripts(conf: parse.SlurmConf) -> set[str]:
    """Return the names of the scripts beside slurm.conf that it refers to."""
    texts = (_text(conf.parameters, key) for key in rules.SCRIPTS)
    return {name for text in texts if text for name in text.split(",")}


def _other_file(name: str, old: str | None, new: str | None, scripts: set[str], release: Version) -> list[Reason]:
    if name in ("slurm.conf", "gres.conf"):
        return []
    before, after = old or "", new or ""
    if name == "cgroup.conf":
        return _cgroup(before, after, release)
    if name == "topology.conf" and parse.topology_conf(before) == parse.topology_conf(after):
        return []
    texts = "present" if old is not None else None, "changed" if new is not None else None
    if name in scripts:
        return [_reason(name, "", "cluster", "", *texts, Step.RECONFIGURE)]
    if name.endswith((".conf", ".yaml")) and parse.logical_lines(before) == parse.logical_lines(after):
        return []
    step = rules.FILES.get(name)
    if step is None:
        note = "not a file that is known here, so the safe step is taken"
        return [_reason(name, "", "cluster", "", *texts, Step.RESTART_ALL, note)]
    return [_reason(name, "", "cluster", "", *texts, step)] if step else []


def _cgroup(old: str, new: str, release: Version) -> list[Reason]:
    (before, lines_before), (after, lines_after) = parse.key_values(old), parse.key_values(new)
    reasons = []
    for key, name, value, wanted in _differences(before, after):
        step, note = _ruled(rules.CGROUP, key, release)
        reasons.append(_reason("cgroup.conf", name, "cluster", "", value, wanted, step, note))
    return reasons + _unparsed("cgroup.conf", lines_before, lines_after)


def merged(first: Change, second: Change) -> Change:
    """Return the change that covers both, for a change that meets an earlier one which was never carried out."""
    both = _sum(
        [*first.reasons, *(reason for reason in second.reasons if reason not in first.reasons)],
        {*first.drain_first, *second.drain_first},
        {*first.stop_slurmd_first, *second.stop_slurmd_first},
    )
    return replace(both, slurmd_restart=first.slurmd_restart or second.slurmd_restart)
