"""The tiers of the tests: a test's tier by its file.

`unit` needs neither torch nor a server, `graph` the database, `model` torch, `acceptance` the
installed program and a service. `heavy` is taken out of the others: tests that kill processes,
build the site or all pages of the reference, start servers, drive a browser or damage files.
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
    "graph/cypher/embedded/test_addresses.py",
    "graph/cypher/embedded/test_server.py",
    "graph/service/test_backup.py",
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
