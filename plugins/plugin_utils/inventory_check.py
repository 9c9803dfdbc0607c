# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check an inventory and its variables before anything is touched.

Everything here is known from the inventory alone: no fact of a host is needed, so a dead host changes nothing.
:func:`check` takes a :class:`Site` and returns every problem at once, in the one form that the collection uses.

>>> [problem["id"] for problem in check(Site(groups={"slurm_node": ["gpu1"]}, variables={"gpu1": {}}))]
['INV001', 'INV012', 'INV017']
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import faults as record_faults
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import CATALOGUE, Problem, make, without
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.site import DERIVED, settings_faults
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm import names as slurm_names
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.partitions import item_faults
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import MODES as SHARING_MODES
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import SharingError
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import read as read_sharing
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import parse as parse_version

__all__ = ["READ", "UNRESOLVED", "Failed", "Site", "Specs", "check", "load_specs", "release_problems"]

RECORD_SCHEMA: Final = 1
NAME_LIMIT: Final = 63  # one DNS label; Linux takes 64 bytes in all, and 64 already breaks tools
CLUSTER_NAME_LIMIT: Final = 40  # slurmdbd's longest table name adds 24 characters, MariaDB takes 64
HOST_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
CLUSTER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
CONTRACT: Final = "slurm"  # the role whose variables concern every host with a slurm_* role
# Variables that describe the cluster: two values of one of them cannot both be obeyed.
CLUSTER_WIDE: Final = (
    "slurm_cluster_name",
    "slurm_version",
    "slurm_partitions",
    "slurm_partition_all",
    "slurm_partitions_by_gpu_type",
    "slurm_gpu_type_style",
    "slurm_gres_autodetect",
    "slurm_memory_reserve_percent",
    "slurm_memory_reserve_mib",
    "slurm_def_per_gpu",
    "slurm_topology",
    "slurm_topology_source",
    "slurm_topology_adapters",
    "slurm_topology_block_sizes",
    "slurm_topology_file",
    "slurm_settings",
    "slurm_auth",
    "slurm_skip_problems",
)
# Dictionaries that go into a file of Slurm as they are -> what must not be in them.
PASSED_THROUGH: Final[Mapping[str, Sequence[str]]] = {
    "slurm_settings": DERIVED,
    "slurm_cgroup_settings": (),
    "slurm_dbd_settings": (),
}
# What the rules here read themselves, whether or not an argument specification knows it.
READ: Final = frozenset(
    {
        *CLUSTER_WIDE,
        "node_base_address",
        "node_hardware",
        *PASSED_THROUGH,
        "slurm_dbd_storage_host",
        "slurm_node_gpu_exclude",
        "slurm_node_gpu_sharing",
    }
)
NAMES_SHOWN: Final = 200  # characters of a list of hosts that one message shows

Hosts = Sequence[str]
Option = Mapping[str, Any]


class _Unresolved:
    """The value of a variable whose template needs something that is not known yet (a fact, a registered result)."""

    def __repr__(self) -> str:
        return "<not known yet>"


UNRESOLVED: Final = _Unresolved()


@dataclass(frozen=True)
class Failed:
    """The value of a variable whose template fails, whatever a host may tell later; ``detail`` says how."""

    detail: str


@dataclass(frozen=True)
class Specs:
    """What the roles' argument specifications say.

    ``options``: option -> (role, specification), of the entry points ``main``; ``names``: options of all entry points.
    """

    roles: frozenset[str] = frozenset()
    options: Mapping[str, tuple[str, Option]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Site:
    """An inventory: groups with their hosts, and per host the variables whose value matters here.

    A value is :data:`UNRESOLVED` where its template needs a fact; such a value is not judged, its role will do that.
    ``replaced`` maps a variable of an earlier release to a sentence saying what to write now. ``single_files`` maps a
    node to the one file of host variables that would no longer be read once its record has a folder beside it.
    """

    groups: Mapping[str, Hosts]
    variables: Mapping[str, Mapping[str, Any]]
    specs: Specs = field(default_factory=Specs)
    replaced: Mapping[str, str] = field(default_factory=dict)
    single_files: Mapping[str, str] = field(default_factory=dict)

    def group(self, name: str) -> Hosts:
        """Return the hosts of a group, none if the inventory lacks it."""
        return self.groups.get(name, ())

    @property
    def hosts(self) -> Hosts:
        """All hosts, in the order of the inventory."""
        return list(self.variables)

    def value(self, host: str, name: str) -> Any:
        """Return a host's variable, None where it is unset or not known yet."""
        value = self.variables.get(host, {}).get(name)
        return None if value is UNRESOLVED or isinstance(value, Failed) else value

    def cluster_value(self, name: str) -> Any:
        """Return a cluster-wide variable as the controller sees it, else as the first host that has it does."""
        for host in [*self.group("slurm_controller"), *self.hosts]:
            value = self.value(host, name)
            if value is not None:
                return value
        return None


def load_specs(roles_dir: Path) -> Specs:
    """Read ``meta/argument_specs.yml`` of every role below ``roles_dir``. Raises OSError and yaml.YAMLError."""
    roles, options, names = set(), {}, set()
    for role_dir in sorted(path for path in roles_dir.iterdir() if path.is_dir()):
        roles.add(role_dir.name)
        path = role_dir / "meta" / "argument_specs.yml"
        if not path.exists():
            continue
        entry_points = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
        for entry_point, spec in entry_points.items():
            names.update(spec.get("options", {}))
            if entry_point == "main":
                options.update({name: (role_dir.name, option) for name, option in spec.get("options", {}).items()})
    return Specs(frozenset(roles), options, frozenset(names))


def check(site: Site) -> list[dict[str, str]]:
    """Return all problems of the site as dictionaries, without those whose id is on its ``slurm_skip_problems``."""
    found: list[Problem] = []
    for rule in _RULES:
        found.extend(rule(site))
    ids = [str(item) for item in _listed(site.cluster_value("slurm_skip_problems"))]
    return [dict(problem) for problem in without([problem.as_dict() for problem in found], ids)]


def release_problems(
    host: str, distribution: str, version: str, supported: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """Return the problem of a host whose operating system is not among ``supported`` (distribution -> versions).

    ``12`` stands for 12 and every 12.x.
    """
    if any(version == known or version.startswith(f"{known}.") for known in supported.get(distribution, ())):
        return []
    text = ", ".join(f"{name} {' and '.join(versions)}" for name, versions in supported.items())
    return [make("INV020", host, release=f"{distribution} {version}".strip(), supported=text).as_dict()]


# --- names and groups ---------------------------------------------------------------------------------------------


def _single_files(site: Site) -> Iterator[Problem]:
    for host, path in site.single_files.items():
        yield make("INV024", host, path=path, folder=str(Path(path).with_suffix("")))


def _controller(site: Site) -> Iterator[Problem]:
    if not site.group("slurm_controller"):
        yield make("INV001", "")


def _nodes(site: Site) -> Iterator[Problem]:
    if not site.group("slurm_node"):
        near = _nearest("slurm_node", [name for name, hosts in site.groups.items() if hosts])
        yield make("INV023", "", hint=f" Was the group {near} meant?" if near else "")


def _same_name(site: Site) -> Iterator[Problem]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for host in site.hosts:
        by_name[host.lower()].append(host)
    for names in by_name.values():
        if len(names) > 1:
            yield make("INV002", "", names=" and ".join(sorted(names)))


def _names(site: Site) -> Iterator[Problem]:
    for host in site.hosts:
        if len(host) > NAME_LIMIT:
            yield make("INV004", host, length=len(host), limit=NAME_LIMIT)
    for host in site.group("slurm_node"):
        fault = slurm_names.name_fault(host)
        if fault and len(host) <= NAME_LIMIT:
            yield make("INV003", host, fault=fault.rstrip("."))
    nodes = set(site.group("slurm_node"))
    for host in _slurm_hosts(site):
        if host not in nodes and not HOST_NAME.fullmatch(host):
            yield make("INV033", host)


def _roleless(site: Site) -> Iterator[Problem]:
    if not site.specs.roles:
        return
    groups_of: dict[str, list[str]] = {host: [] for host in site.hosts}
    for group, hosts in site.groups.items():
        if group not in ("all", "ungrouped"):
            for host in hosts:
                groups_of.setdefault(host, []).append(group)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for host, groups in groups_of.items():
        if host != "localhost" and not site.specs.roles.intersection(groups):
            alike[tuple(sorted(groups))].append(host)
    for groups_key, hosts in alike.items():
        near = next(filter(None, (_nearest(group, site.specs.roles) for group in groups_key)), None)
        yield make(
            "INV009",
            _one(hosts),
            names=fold(hosts),
            groups=", ".join(groups_key) or "none",
            hint=f" Was the group {near} meant?" if near else "",
        )


def _addresses(site: Site) -> Iterator[Problem]:
    by_address: dict[str, list[str]] = defaultdict(list)
    for host in site.hosts:
        value = site.value(host, "node_base_address")
        if value in (None, ""):
            continue
        try:
            by_address[str(ipaddress.ip_address(str(value)))].append(host)
        except ValueError:
            yield make("INV022", host, address=str(value))
    for address, hosts in by_address.items():
        if len(hosts) > 1:
            yield make("INV005", "", address=address, names=fold(hosts))


def _database(site: Site) -> Iterator[Problem]:
    if site.group("mariadb"):
        return
    for host in site.group("slurm_dbd"):
        if not site.value(host, "slurm_dbd_storage_host"):
            yield make("INV008", host)


# --- cluster-wide settings ----------------------------------------------------------------------------------------


def _cluster_name(site: Site) -> Iterator[Problem]:
    if any(isinstance(site.variables[host].get("slurm_cluster_name"), (_Unresolved, Failed)) for host in site.hosts):
        return
    name = site.cluster_value("slurm_cluster_name")
    if name is None:
        fault = "is not set"
    elif not isinstance(name, str):
        fault = f"is {name!r}, which is not a text (put it in quotes)"
    elif len(name) > CLUSTER_NAME_LIMIT:
        fault = f"has {len(name)} characters"
    elif name != name.lower():
        fault = f"is {name!r}, which Slurm would silently change to {name.lower()!r}"
    elif not CLUSTER_NAME.fullmatch(name):
        fault = f"is {name!r}, which contains characters that Slurm's accounting cannot store"
    else:
        return
    yield make("INV017", "", fault=fault, limit=CLUSTER_NAME_LIMIT)


def _cluster_wide(site: Site) -> Iterator[Problem]:
    """Two values among the hosts of the cluster; an unset variable has its default, which only the role knows."""
    hosts = _slurm_hosts(site)
    for name in CLUSTER_WIDE:
        places: dict[str, list[str]] = defaultdict(list)
        for host in hosts:
            value = site.value(host, name)
            if value is not None:
                places[repr(value)].append(host)
        if len(places) > 1:
            values = "; ".join(f"{_short(value)} on {fold(where)}" for value, where in places.items())
            yield make("INV019", "", variable=name, values=values)


def _partitions(site: Site) -> Iterator[Problem]:
    partitions = site.cluster_value("slurm_partitions")
    if not isinstance(partitions, list):
        return  # the wrong type is reported by the argument specification
    items = [item for item in partitions if isinstance(item, Mapping) and isinstance(item.get("name"), str)]
    counts: dict[str, int] = defaultdict(int)
    for item in items:
        counts[item["name"]] += 1
    for name, count in counts.items():
        if count > 1:
            yield make("INV021", "", partition=name, count=count)
    defaults = [name for name in counts if any(item["name"] == name and item.get("default") is True for item in items)]
    if len(defaults) > 1:
        yield make("INV007", "", partitions=" and ".join(defaults))
    for item in items:
        yield from _partition_nodes(site, item)
    _role, option = site.specs.options.get("slurm_partitions", ("", {}))
    if not _fault("slurm_partitions", partitions, option):  # that is told of the variable as a whole
        yield from item_faults(items)


def _settings(site: Site) -> Iterator[Problem]:
    """Entries of pass-through dictionaries that no file of Slurm can hold; equal ones of many hosts become one."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for host in site.hosts:
        for variable, denied in PASSED_THROUGH.items():
            given = site.value(host, variable)
            for fault in settings_faults(given, denied) if isinstance(given, Mapping) else ():
                found[variable, fault].append(host)
    for (variable, fault), hosts in found.items():
        yield make("INV027", _one(hosts), variable=variable, names=fold(hosts), fault=fault)


def _version(site: Site) -> Iterator[Problem]:
    version = site.cluster_value("slurm_version")
    # A list or dictionary is told of already.
    if version not in (None, "") and not isinstance(version, (Mapping, list)) and parse_version(str(version)) is None:
        yield make("INV028", "", version=repr(version))


def _topology_file(site: Site) -> Iterator[Problem]:
    name = site.cluster_value("slurm_topology_file")
    if not name or not isinstance(name, str):
        return
    fault = "is not an absolute path" if not name.startswith("/") else "is no file" if not Path(name).is_file() else ""
    if fault:
        yield make("INV029", "", path=name, fault=fault)


def _partition_nodes(site: Site, partition: Mapping[str, Any]) -> Iterator[Problem]:
    nodes = partition.get("nodes")
    entries = [nodes] if isinstance(nodes, str) else nodes if isinstance(nodes, list) else []
    known = set(site.group("slurm_node"))
    unknown: list[str] = []
    for entry in entries:
        if not isinstance(entry, str) or entry in known or entry in site.groups or entry.startswith("gpu_type:"):
            continue  # a GPU type is judged by the derivation, which knows the records
        try:
            unknown.extend(name for name in slurm_names.unfold(entry) if name not in known)
        except slurm_names.HostlistError:
            unknown.append(entry)
    if unknown:
        near = _nearest(unknown[0], [*known, *site.groups])
        hint = f" Was {near} meant?" if near else ""
        yield make("INV006", "", partition=partition["name"], unknown=fold(unknown), hint=hint)


def _memory_selection(site: Site) -> Iterator[Problem]:
    """What is kept from jobs is kept only where jobs get memory at all."""
    settings = site.cluster_value("slurm_settings")
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if str(name).lower() == "selecttypeparameters" and "memory" not in text.lower():
            yield make("INV032", "", given=text)


def _skipped_ids(site: Site) -> Iterator[Problem]:
    for item in _listed(site.cluster_value("slurm_skip_problems")):
        if str(item) not in CATALOGUE:
            near = _nearest(str(item).upper(), CATALOGUE)
            yield make("INV018", "", unknown=repr(str(item)), hint=f" Was {near} meant?" if near else "")


# --- hardware records ---------------------------------------------------------------------------------------------


def _records(site: Site) -> Iterator[Problem]:
    missing = []
    for host in site.group("slurm_node"):
        record = site.value(host, "node_hardware")
        if record is None:
            missing.append(host)
        elif not isinstance(record, Mapping) or record.get("schema") != RECORD_SCHEMA:
            schema = (
                record.get("schema") if isinstance(record, Mapping) else f"nowhere (it is a {type(record).__name__})"
            )
            yield make("INV010", host, schema="none" if schema is None else schema, supported=RECORD_SCHEMA)
        elif record.get("host") != host:
            yield make("INV011", host, other=record.get("host"))
        else:
            faults = record_faults(record)
            if faults:
                more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
                yield make("INV025", host, fault=faults[0], more=more)
    if missing:
        yield make("INV012", _one(missing), names=fold(missing))


def _gpu_wishes(site: Site) -> Iterator[Problem]:
    """GPUs to leave out must be in the record: a slip would hand out the GPU that somebody wants to keep."""
    for host in site.group("slurm_node"):
        record, entries = site.value(host, "node_hardware"), site.value(host, "slurm_node_gpu_exclude")
        if entries and not _is_of_another_kind(entries, "list") and not record_faults(record):
            usable = [entry for entry in entries if not _is_of_another_kind(entry, "str")]
            for entry in left_out(record["gpus"], usable)[1]:
                known = ", ".join(f"{gpu['pci']} (minor {gpu['minor']})" for gpu in record["gpus"])
                yield make("INV030", host, entry=entry, known=known or "none")
        yield from _sharing(host, site.value(host, "slurm_node_gpu_sharing"))


def _sharing(host: str, sharing: Any) -> Iterator[Problem]:
    """What the argument specification cannot say: the number of parts that a mode needs."""
    if not isinstance(sharing, Mapping) or sharing.get("mode") not in SHARING_MODES:
        return
    try:
        read_sharing({name: sharing[name] for name in ("mode", "per_gpu") if name in sharing})
    except SharingError as error:
        if isinstance(sharing.get("per_gpu", 0), int):
            yield make("INV031", host, reason=error)


# --- variables against the roles' argument specifications -----------------------------------------------------------


def _variables(site: Site) -> Iterator[Problem]:
    """Judge every variable that carries the prefix of a role; equal findings of many hosts become one problem."""
    prefixes = tuple(f"{role}_" for role in site.specs.roles)
    if not prefixes and not site.replaced:
        return
    unknown: dict[str, list[str]] = defaultdict(list)
    replaced: dict[str, list[str]] = defaultdict(list)
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    failed: dict[tuple[str, str], list[str]] = defaultdict(list)
    verdicts: dict[tuple[str, str], str] = {}
    for host in site.hosts:
        for name, value in site.variables[host].items():
            if name in site.replaced:
                replaced[name].append(host)
            elif isinstance(value, Failed):
                failed[name, value.detail].append(host)
            elif name in site.specs.options:
                if value is UNRESOLVED:
                    continue
                key = (name, repr(value))
                if key not in verdicts:
                    verdicts[key] = _fault(name, value, site.specs.options[name][1])
                if verdicts[key]:
                    wrong[name, verdicts[key]].append(host)
            elif prefixes and name.startswith(prefixes) and name not in site.specs.names:
                unknown[name].append(host)
    for (name, fault), hosts in wrong.items():
        role, option = site.specs.options[name]
        wanted = _wanted(option)
        yield make("INV015", _one(hosts), names=fold(hosts), variable=name, fault=fault, wanted=wanted, role=role)
    for (name, detail), hosts in failed.items():
        secret = name in site.specs.options and site.specs.options[name][1].get("no_log")
        text = "" if secret else f": {detail}"
        yield make("INV026", _one(hosts), names=fold(hosts), variable=name, detail=text)
    for name, hosts in replaced.items():
        yield make("INV014", _one(hosts), names=fold(hosts), variable=name, replacement=site.replaced[name])
    for name, hosts in unknown.items():
        near = _nearest(name, site.specs.names)
        hint = f" Was {near} meant?" if near else ""
        yield make("INV013", _one(hosts), names=fold(hosts), variable=name, hint=hint)


def _required(site: Site) -> Iterator[Problem]:
    for name, (role, option) in site.specs.options.items():
        if not option.get("required") or (name == "slurm_cluster_name" and site.cluster_value(name) is None):
            continue  # INV017 says it for the whole cluster
        hosts = _slurm_hosts(site) if role == CONTRACT else site.group(role)
        missing = [host for host in hosts if site.variables.get(host, {}).get(name) is None]
        if missing:
            yield make("INV016", _one(missing), names=fold(missing), variable=name, role=role)


def _fault(name: str, value: Any, option: Option) -> str:
    """Return what Ansible's own validation says of one value, "" if nothing; a secret's value is not repeated."""
    # Ansible would make a list or a dictionary of some texts for its own check, while the roles go on with the text.
    if _is_of_another_kind(value, option.get("type", "str")) or (
        isinstance(value, list) and any(_is_of_another_kind(item, option.get("elements", "raw")) for item in value)
    ):
        return f"it is {value!r}" if not option.get("no_log") else "its value does not fit"
    if value is None and option.get("default") is not None:
        return "it is null (a key without a value in YAML)"
    # A required option that is absent is another rule's matter, and relations between options are the role's.
    try:
        result = ArgumentSpecValidator({name: dict(option)}).validate({name: value}, validate_role_argument_spec=True)
    except (TypeError, ValueError, ArithmeticError):  # not all odd values are caught by Ansible's own conversions
        return "a value in it does not fit"
    if not result.error_messages:
        return ""
    if option.get("no_log"):
        return "its value does not fit"
    return "; ".join(message.strip().rstrip(".") for message in result.error_messages)


def _is_of_another_kind(value: Any, kind: str) -> bool:
    if kind == "dict":
        return value is not None and not isinstance(value, Mapping)
    if kind == "list":
        return value is not None and not isinstance(value, list)
    return kind in ("str", "path") and isinstance(value, (Mapping, list))


def _wanted(option: Option) -> str:
    kind = option.get("type", "str")
    if kind == "list" and option.get("elements"):
        kind = f"list of {option['elements']}"
    if option.get("choices"):
        return f"one of {', '.join(str(choice) for choice in option['choices'])}"
    return f"of type {kind}"


# --- words ----------------------------------------------------------------------------------------------------------


def fold(names: Iterable[str]) -> str:
    """Return host names as one short text, ``gpu[001-064]``; a text that stays long is cut.

    >>> fold(["gpu1", "gpu2", "login"])
    'gpu[1-2],login'
    """
    listed = list(names)
    text = slurm_names.fold(listed)
    return text if len(text) <= NAMES_SHOWN else f"{text[:NAMES_SHOWN]}... ({len(listed)} hosts)"


def _listed(value: Any) -> list[Any]:
    """Return a list setting; like Ansible's own check, take ``a,b`` for two items, and nothing for another type."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return list(value) if isinstance(value, list) else []


def _one(hosts: Hosts) -> str:
    """Return the host that a problem belongs to: the only one, or "" where several share it."""
    return hosts[0] if len(hosts) == 1 else ""


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _nearest(name: str, known: Iterable[str]) -> str | None:
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return matches[0] if matches and matches[0] != name else None


def _slurm_hosts(site: Site) -> Hosts:
    """Return the hosts of all groups whose role follows the contract of the role slurm, each once."""
    groups = [group for group in site.groups if group.startswith("slurm_")]
    return list(dict.fromkeys(host for group in groups for host in site.groups[group]))


_RULES: Final = (
    _controller,
    _nodes,
    _same_name,
    _names,
    _single_files,
    _addresses,
    _database,
    _cluster_name,
    _cluster_wide,
    _partitions,
    _settings,
    _version,
    _topology_file,
    _memory_selection,
    _skipped_ids,
    _records,
    _gpu_wishes,
    _variables,
    _required,
    _roleless,
)
