# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role declares its variables once: defaults and argument_specs agree, each variable is typed and described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").glob("*") if path.is_dir())

# A number says what it counts or in which unit it is.
UNIT = re.compile(
    r"\b(seconds?|minutes?|hours?|days?|MiB|GiB|bytes|percent|ports?|number of|how many|characters|(user|group) id)\b",
    re.IGNORECASE,
)


def _load(path: Path) -> dict[str, Any]:
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}


def _defaults(role: str) -> dict[str, Any]:
    return _load(ROOT / "roles" / role / "defaults" / "main.yml")


def _entry_points(role: str) -> dict[str, Any]:
    return _load(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]


def _options(role: str) -> dict[str, list[dict[str, Any]]]:
    """Return each public variable of the role with its declaration in every entry point that has it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry_point in _entry_points(role).values():
        for name, spec in entry_point.get("options", {}).items():
            found.setdefault(name, []).append(spec)
    return found


def _all_options(options: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the options and the keys of their dictionaries, each with its path."""
    for name, spec in options.items():
        yield f"{path}{name}", spec
        yield from _all_options(spec.get("options", {}), f"{path}{name}.")


def _described(role: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    for entry_point in _entry_points(role).values():
        for name, spec in _all_options(entry_point.get("options", {})):
            text = spec.get("description", "")
            yield name, spec, " ".join(text) if isinstance(text, list) else text


def test_there_are_roles() -> None:
    assert ROLES


@pytest.mark.parametrize("role", ROLES)
def test_every_default_is_declared(role: str) -> None:
    assert set(_defaults(role)) - set(_options(role)) == set()


@pytest.mark.parametrize("role", ROLES)
def test_every_declared_default_is_the_default(role: str) -> None:
    defaults = _defaults(role)
    declared = {name: spec["default"] for name, specs in _options(role).items() for spec in specs if "default" in spec}
    assert declared == {name: defaults.get(name, "missing in defaults/main.yml") for name in declared}


@pytest.mark.parametrize("role", ROLES)
def test_a_default_without_declared_value_is_computed(role: str) -> None:
    """The value of a secret or of a longer expression is not repeated in the specification; a plain value is."""
    undeclared = {name for name, specs in _options(role).items() if not any("default" in spec for spec in specs)}
    plain = {name: value for name, value in _defaults(role).items() if name in undeclared and "{{" not in str(value)}
    assert plain == {}


@pytest.mark.parametrize("role", ROLES)
def test_a_required_variable_has_no_default(role: str) -> None:
    required = {name for name, specs in _options(role).items() if any(spec.get("required") for spec in specs)}
    assert required & set(_defaults(role)) == set()


@pytest.mark.parametrize("role", ROLES)
def test_names_start_with_the_role(role: str) -> None:
    assert [name for name in _options(role) if not name.startswith(f"{role}_")] == []


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_is_described_and_exists(role: str) -> None:
    tasks = ROOT / "roles" / role / "tasks"
    for name, entry_point in _entry_points(role).items():
        assert entry_point.get("short_description"), name
        # The shared role has variables and handlers only, so its main entry point has no tasks.
        assert (tasks / f"{name}.yml").exists() or name == "main", f"{role} has no tasks/{name}.yml"


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_is_typed_and_described(role: str) -> None:
    for name, spec, text in _described(role):
        assert "type" in spec, name
        assert spec["type"] != "list" or "elements" in spec, f"{name} does not say what the list holds"
        assert len(text) > 10, f"{name} is not described"
        assert text.rstrip().endswith((".", ")")), f"the description of {name} is no sentence"


@pytest.mark.parametrize("role", ROLES)
def test_every_quantity_has_a_unit(role: str) -> None:
    lacking = [
        name for name, spec, text in _described(role) if spec["type"] in ("int", "float") and not UNIT.search(text)
    ]
    assert lacking == []


@pytest.mark.parametrize("role", ROLES)
def test_secrets_are_not_logged(role: str) -> None:
    secret = re.compile(r"(password|_key|token|secret)$")
    shown = [name for name, spec, _text in _described(role) if secret.search(name) and not spec.get("no_log")]
    assert shown == []
