# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages tell a reader to type, open or look up exists, and the generated pages are up to date."""

from __future__ import annotations

import re
from pathlib import Path

import problems_page
import pytest
import variables_page
import yaml

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "inventories").rglob("*.md"))


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


pages = pytest.mark.parametrize("page", PAGES, ids=_name)
# A decision also names what was decided against.
manuals = pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=_name)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _code(page: Path) -> str:
    """Return what the page sets in code: blocks and spans."""
    text = _text(page)
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL) + re.findall(r"^ {4,}\S.*$", text, re.MULTILINE)
    return "\n".join(blocks + re.findall(r"`([^`\n]+)`", text))


def _make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def _variables() -> set[str]:
    """Return the names of all variables, and their defaults, some of which look like names."""
    names = set()
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry_point in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
            for name, spec in entry_point.get("options", {}).items():
                names |= {name, str(spec.get("default"))}
    return names


def _headings(page: Path) -> set[str]:
    """Return the anchors of a page as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pages
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _text(page)):
        if target.startswith(("https://", "http://")):
            continue
        name, _hash, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), target
        assert not anchor or anchor in _headings(linked), target


@pages
def test_make_targets_exist(page: Path) -> None:
    named = set(re.findall(r"\bmake ([a-z][a-z-]+)", _code(page)))
    assert named - _make_targets() == set()


@pages
def test_playbooks_exist(page: Path) -> None:
    code = _code(page)
    files = set(re.findall(r"\bplaybooks/[\w/-]+\.yml", code))
    named = set(re.findall(r"(?:ansible-playbook|import_playbook:) steelrack\.gpu_cluster\.(\w+)", code))
    missing = [path for path in files | {f"playbooks/{name}.yml" for name in named} if not (ROOT / path).is_file()]
    assert missing == []


@pages
def test_named_paths_exist(page: Path) -> None:
    folders = "plugins|roles|tests|molecule|demo|docs|changelogs|inventories"
    named = set(re.findall(rf"(?<![\w./<-])((?:{folders})/[\w./-]*\w)(?![\w*<{{])", _code(page)))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@manuals
def test_variables_exist(page: Path) -> None:
    """A word in code that looks like a variable of a role is one. Names of roles and groups look alike."""
    roles = {path.name for path in (ROOT / "roles").iterdir()}
    prefix = "|".join(sorted(roles, key=len, reverse=True))
    known = _variables() | roles | {path.stem for path in ROOT.glob("plugins/*/*.py")}
    named = set(re.findall(rf"(?<![\w./-])((?:{prefix})_\w+)(?![\w./(-])", _code(page)))
    assert named - known == set()


@pages
def test_problem_ids_exist(page: Path) -> None:
    prefixes = "|".join(problems_page.SECTIONS)
    assert set(re.findall(rf"\b(?:{prefixes})\d{{3}}\b", _text(page))) - set(CATALOGUE) == set()


def test_problems_page_is_up_to_date() -> None:
    current = _text(ROOT / "docs" / "problems.md") == problems_page.page(CATALOGUE.values())
    assert current, "docs/problems.md differs from the catalogue: run `make docs`"


def test_variables_page_is_up_to_date() -> None:
    current = _text(ROOT / "docs" / "variables.md") == variables_page.page(ROOT)
    assert current, "docs/variables.md differs from the roles: run `make docs`"


def test_every_page_is_reachable_from_the_index() -> None:
    index = _text(ROOT / "docs" / "index.md")
    pages_of_docs = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {name for name in pages_of_docs if f"({name})" not in index} == set()
