# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""package_hold against a stand-in for dpkg."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.modules import package_hold

INSTALLED = "\n".join(
    (
        r"slurmd\tslurmd\tinstall\tinstalled",
        r"slurm-client\tslurm-client\thold\tinstalled",
        r"libslurm38\tlibslurm38:amd64\tinstall\tinstalled",
        r"munge\tmunge\tdeinstall\tconfig-files",
        "",
    )
)


@pytest.fixture
def dpkg(program: Any) -> Any:
    """Install the stand-ins; return the file in which what is written to ``dpkg --set-selections`` arrives."""
    program("dpkg-query", f"shift 3; for name; do printf '{INSTALLED}' | grep \"^$name\t\"; done; exit 1")
    return program("dpkg", "cat > $LOG/dpkg")


def test_holds_what_is_not_held_with_one_call(run_module: Any, dpkg: Any) -> None:
    result = run_module(package_hold, names=["slurmd", "slurm-client", "libslurm38"], _diff=True)
    assert result["changed"] is True
    assert result["packages"] == ["libslurm38:amd64", "slurmd"]
    assert dpkg.read_text() == "libslurm38:amd64\thold\nslurmd\thold\n"
    assert result["diff"] == {
        "before": "libslurm38:amd64 install\nslurmd install\n",
        "after": "libslurm38:amd64 hold\nslurmd hold\n",
    }


def test_nothing_to_do(run_module: Any, dpkg: Any) -> None:
    assert run_module(package_hold, names=["slurm-client"])["changed"] is False
    assert run_module(package_hold, names=["slurmd"], state="unheld")["changed"] is False
    assert run_module(package_hold, names=[])["changed"] is False
    assert not dpkg.exists()


def test_unheld(run_module: Any, dpkg: Any) -> None:
    assert run_module(package_hold, names=["slurm-client"], state="unheld")["packages"] == ["slurm-client"]
    assert dpkg.read_text() == "slurm-client\tinstall\n"


def test_missing_packages_are_listed(run_module: Any, dpkg: Any) -> None:
    result = run_module(package_hold, names=["slurmd", "slurmdbd", "munge"])
    assert result["failed"] is True
    assert "munge, slurmdbd" in result["msg"]
    assert not dpkg.exists()


def test_check_mode_writes_nothing_and_expects_packages_to_come(run_module: Any, dpkg: Any) -> None:
    result = run_module(package_hold, names=["slurmd", "slurmdbd"], _check=True)
    assert result["packages"] == ["slurmd", "slurmdbd"]
    assert not dpkg.exists()


def test_broken_dpkg_is_told(run_module: Any, program: Any) -> None:
    program("dpkg-query", "echo 'database is locked' >&2; exit 2")
    result = run_module(package_hold, names=["slurmd"])
    assert result["failed"] is True
    assert "database is locked" in result["msg"]


def test_refused_selections_are_told(run_module: Any, dpkg: Any, program: Any) -> None:
    program("dpkg", "cat > /dev/null; echo 'no space left' >&2; exit 1")
    assert "no space left" in run_module(package_hold, names=["slurmd"])["msg"]
