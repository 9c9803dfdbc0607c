# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter slurm_change_class."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm_change import FilterModule

slurm_change_class = FilterModule().filters()["slurm_change_class"]


def test_classification() -> None:
    result = slurm_change_class({"slurm.conf": "KillWait=1\n"}, {"slurm.conf": "KillWait=2\n"}, "24.11")
    assert result["action"] == "reconfigure"
    assert result["reasons"][0]["parameter"] == "KillWait"


def test_a_version_that_yaml_read_as_a_number() -> None:
    assert slurm_change_class({"slurm.conf": ""}, {"slurm.conf": ""}, 24.11)["action"] == "none"


@pytest.mark.parametrize(
    ("old", "new", "version", "text"),
    [
        ([], {}, "24.11", "the old files must be a dictionary"),
        ({}, {"slurm.conf": None}, "24.11", "the new files must be a dictionary"),
        ({"slurm.conf": ""}, {"slurm.conf": "A=1"}, "latest", "set slurm_version"),
    ],
)
def test_bad_input(old: Any, new: Any, version: str, text: str) -> None:
    with pytest.raises(AnsibleFilterError, match=text):
        slurm_change_class(old, new, version)
