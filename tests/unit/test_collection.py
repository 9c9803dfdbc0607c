# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection says about itself holds for its files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
OWN = f"{GALAXY['namespace']}.{GALAXY['name']}"


def _tracked(*patterns: str) -> list[Path]:
    """Return the files of this checkout; skip where it is none (an artefact, a copy)."""
    listing = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        pytest.skip("this is no git checkout, so there is no list of its files")
    return [ROOT / name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def test_dependencies_are_those_in_use() -> None:
    used = set()
    for path in [*ROOT.glob("roles/**/*.yml"), *ROOT.glob("playbooks/**/*.yml")]:
        used |= set(
            re.findall(r"^\s*-?\s*([a-z_]+\.[a-z_]+)\.[a-z_]+:", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        used |= set(re.findall(r"\|\s*([a-z_]+\.[a-z_]+)\.[a-z_]+", path.read_text(encoding="utf-8")))
    assert used - {"ansible.builtin", OWN} == set(GALAXY["dependencies"])


def test_no_licence_line_is_missing() -> None:
    files = _tracked("*.py", "*.yml", "*.yaml", "Makefile", "demo/*", ".ci/*", "tests/tools/*")
    files = [path for path in files if not path.is_relative_to(ROOT / "tests" / "fixtures") and path.stat().st_size]
    lacking = []
    for path in files:
        if "SPDX-License-Identifier: GPL-3.0-or-later" not in path.read_text(encoding="utf-8")[:400]:
            lacking.append(str(path.relative_to(ROOT)))
    # antsibull-changelog writes its file anew with each release.
    assert set(lacking) - {"changelogs/changelog.yaml"} == set()


def test_no_task_hides_its_failure() -> None:
    hiding = re.compile(r"^\s*(ignore_errors: (true|yes)|failed_when: (false|no))\s*$", re.MULTILINE)
    found = [
        str(path) for path in _tracked("roles/*", "playbooks/*") if hiding.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_changelog_fragment_has_a_known_section() -> None:
    config = yaml.safe_load((ROOT / "changelogs" / "config.yaml").read_text(encoding="utf-8"))
    known = {section for section, _title in config["sections"]}
    known |= {config["prelude_section_name"], config["trivial_section_name"]}
    for path in (ROOT / "changelogs" / "fragments").glob("*.yml"):
        assert set(yaml.safe_load(path.read_text(encoding="utf-8"))) <= known, path.name
