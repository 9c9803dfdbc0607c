# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts behind the make targets."""

from __future__ import annotations

import sys

import problems_page
import pytest
import steps
import variables_page


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("=== 3 passed, 1 skipped in 0.12s ===", ["3 passed, 1 skipped"]),
        ("312 passed in 9.87s", ["312 passed"]),
        ("1 failed, 2 passed, 1 warning in 0.10s", ["1 failed, 2 passed, 1 warning"]),
        ("the check passed in 3 s", []),
        ("12 files in 3 folders", []),
    ],
)
def test_closing_lines(line: str, counts: list[str]) -> None:
    assert steps.closing_lines(["collected 4 items", line]) == counts


def test_parse_step() -> None:
    assert steps.parse_step("lint") == steps.Step("lint", ())
    assert steps.parse_step("cluster:engine,venv") == steps.Step("cluster", ("engine", "venv"))


def test_a_failed_step_stops_only_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", "import sys; print('seen'); sys.exit(sys.argv[1] == 'bad')"]
    todo = [steps.parse_step(text) for text in ("bad", "after:bad", "other", "later:other")]
    outcomes = steps.run_all(todo, command)
    assert [(outcome.name, outcome.result) for outcome in outcomes] == [
        ("bad", steps.FAILED),
        ("after", steps.NOT_RUN),
        ("other", steps.PASSED),
        ("later", steps.PASSED),
    ]
    assert "needs bad" in steps.table(outcomes)
    assert capsys.readouterr().out.count("seen") == 3


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{host} has {found:d} of {wanted!s} GPUs.", "HOST has FOUND of WANTED GPUs."),
        ("use {{ and }}", "use { and }"),
        ("{name} is unknown.{hint}", "NAME is unknown."),
        ("plain", "plain"),
    ],
)
def test_readable(template: str, text: str) -> None:
    assert problems_page.readable(template) == text


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("C(/etc/hosts)", "`/etc/hosts`"),
        ("see O(a_b) and V(true)", "see `a_b` and `true`"),
        ("C(f(x)) twice C(y)", "`f(x)` twice `y`"),
        ("a CPU (8 cores)", "a CPU (8 cores)"),
    ],
)
def test_markdown(text: str, markdown: str) -> None:
    assert variables_page.markdown(text) == markdown
