"""The tiers of the tests: a test's tier by its file.

`unit` needs neither torch nor a server, `graph` the database, `model` torch, `acceptance` the
installed program and a service. `heavy` is taken out of the others: tests that kill processes,
build the site or all pages of the reference, start servers, drive a browser or damage files, and
files that take longer than half a minute, where shorter ones look at the same code.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

TIERS = ("unit", "graph", "model", "acceptance", "heavy")
FOLDERS = TIERS[:-1]
OF_CONTRIBUTORS = "unit or graph or model"
"""The tiers that `pytest` runs where neither `-m` nor a path is given; `.ci/run` runs all."""
HEAVY = (
    "acceptance/docs/test_site.py",
    "acceptance/test_wheel.py",
    "acceptance/service/api/pages",
    "acceptance/service/api/test_openapi.py",
    "acceptance/service/cli/test_interrupts.py",
    "acceptance/service/depedit/test_job.py",
    "acceptance/service/jobs",
    "acceptance/service/reports/test_browser.py",
    "graph/cypher/append/test_additivity.py",
    "graph/cypher/append/test_false_answers.py",
    "graph/cypher/embedded/test_addresses.py",
    "graph/cypher/embedded/test_full_disk.py",
    "graph/cypher/embedded/test_server.py",
    "graph/cypher/metrics/test_reference.py",
    "graph/service/api/pages/test_offers.py",
    "graph/service/growth/test_loop.py",
    "graph/service/test_backup.py",
    "model/editing/test_smollm2.py",
    "model/service/depedit/test_organism.py",
    "model/service/forms/test_asking.py",
    "model/service/growth/test_real_growth.py",
    "model/service/leakcut/test_coedit.py",
    "model/service/scoring/test_estimate.py",
    "model/service/scoring/test_implications.py",
    "model/service/scoring/test_real_probe.py",
    "model/service/scoring/test_real_world.py",
    "model/service/scoring/test_sweep.py",
    "model/service/scoring/test_tasks.py",
    "model/service/scoring/test_tuning.py",
    "model/service/states/test_sequence.py",
    "model/service/test_hostile_files.py",
    "unit/loaders/test_fuzz.py",
)
"""Files and folders of the heavy tier. A single test elsewhere is marked `heavy` where it is."""


def of_path(path: PurePosixPath) -> str:
    """The tier of a file, by its path below `tests`."""
    if any(path.is_relative_to(heavy) for heavy in HEAVY):
        return "heavy"
    tier = path.parts[0]
    if tier not in FOLDERS:
        raise pytest.UsageError(f"tests/{path}: tests are in {', '.join(FOLDERS)}.")
    return tier


def elsewhere(path: PurePosixPath, expression: str) -> bool:
    """Return True if a folder, by its path below `tests`, has no test of `-m`: tiers with "or"."""
    first, named = path.parts[0] if path.parts else "", expression.split(" or ")
    return {*named} <= {*FOLDERS} and first in FOLDERS and first not in named


def mark(items: Iterable[pytest.Item], tests: Path) -> None:
    """Mark each test with its one tier.

    Raises:
        pytest.UsageError: a test is outside the tiers' folders, or a unit test takes the server.
    """
    of_file: dict[Path, str] = {}
    for item in items:
        if item.get_closest_marker("heavy"):
            continue
        if item.path not in of_file:
            path = PurePosixPath(item.path.relative_to(tests).as_posix())
            of_file[item.path] = of_path(path)
        tier = of_file[item.path]
        if tier == "unit" and "server" in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid}: a unit test uses no server.")
        item.add_marker(tier)
