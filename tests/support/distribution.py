"""Distribution of the tests to pytest-xdist's processes: by file, and some files together.

A file is run by one process, as its fixtures are made once a file. Files that use one running
service, or that kill processes and start servers, are dealt together: one process runs them one
after another, and there is one service. The longest go first, so that the processes end together.

Of three processes or more, the last is a helper: it takes files that need no server, as a third
database costs more than it gives, and uses what the others leave of the processors while they wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from support.tiers import takes_server

TOGETHER = {
    "kills": (
        "tests/acceptance/service/jobs/",
        "tests/acceptance/service/depedit/test_job.py",
        "tests/acceptance/service/cli/test_interrupts.py",
    ),
    "service": (
        *(
            f"tests/acceptance/service/api/pages/test_{name}.py"
            for name in (
                "accessibility",
                "data_pages",
                "depedit",
                "experiments",
                "first_screen",
                "growth",
                "home",
                "navigation",
                "pages",
            )
        ),
        "tests/acceptance/service/api/test_edits.py",
        "tests/acceptance/service/cli/test_crawl.py",
        "tests/acceptance/service/client/test_session.py",
        "tests/acceptance/service/rules/test_implications.py",
    ),
    "documents": ("tests/acceptance/docs/test_blocks.py", "tests/acceptance/examples/"),
    "organism server": (
        "tests/model/service/states/test_compare_served.py",
        "tests/model/service/states/test_endpoint.py",
        "tests/model/service/growth/test_crawl_served.py",
    ),
    "servers": ("tests/graph/cypher/embedded/",),
    "site": ("tests/acceptance/docs/test_site.py", "tests/unit/docs/test_site.py"),
    "tests/unit/service/api/": ("tests/unit/service/api/",),
}
"""Files and folders that one process runs, by the name of their group."""

WITH_SERVER = (
    "tests/model/editing/methods/test_ike.py",
    "tests/model/editing/methods/test_joint_targets.py",
    "tests/model/editing/objectives/test_value_optimisation.py",
)
"""Files in folders of `WITHOUT_SERVER` in which a test uses the server."""

FIRST = (
    "kills",
    "tests/model/editing/methods/test_contract.py",
    "servers",
    "service",
    "documents",
    "tests/acceptance/",
    "organism server",
    *WITH_SERVER,
    "tests/model/service/",
    "tests/graph/",
    "",
)
"""The order in which groups and files are dealt, by name or beginning; last is what any process may
take. The organism is trained in the first, while the next process takes what needs none."""

GRAPH_FIRST = ("servers", "tests/graph/")
"""What the process before the helper takes before the rest. Each process has a database, and most
of what a query costs is that the database plans it the first time: these are planned by one."""

WITHOUT_SERVER = (
    "site",
    "tests/acceptance/test_wheel.py",
    "tests/model/editing/",
    "tests/model/benchmarks/",
    "tests/model/docs/test_reference_pages.py",
    "tests/model/service/growth/endpoints/",
    "tests/unit/",
)
"""What the helper takes, in this order, the longest first: folders, files and groups whose tests
need no server."""

HELPER_NICENESS = 19
"""More than that of the workers of a service, which are waited for."""


def helper_of(processes: int) -> str | None:
    """The id of the process that is the helper, where there are enough of them for one."""
    return f"gw{processes - 1}" if processes > 2 else None


def without_server(group: str) -> bool:
    """Return True if the helper may take a file, or a group."""
    return group.startswith(WITHOUT_SERVER) and group not in WITH_SERVER


def group_of(nodeid: str) -> str:
    """The name of the group that a test's file is in, else the file."""
    file = nodeid.split("::", 1)[0]
    for group, files in TOGETHER.items():
        if file.startswith(files):
            return group
    return file


def in_order(items: Sequence[pytest.Item], *, dealt: bool) -> list[pytest.Item]:
    """The tests, group by group.

    Args:
        items: as they were collected.
        dealt: they are dealt to several processes, in the order of `FIRST`.

    Raises:
        pytest.UsageError: a test that the helper may be given takes the server.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        group = group_of(item.nodeid)
        if without_server(group) and takes_server(item):
            raise pytest.UsageError(f"{item.nodeid}: name its file in distribution.WITH_SERVER.")
        groups.setdefault(group, []).append(item)
    names = list(groups)
    if dealt:
        last = len(FIRST)
        names.sort(
            key=lambda name: next(
                (i for i, each in enumerate(FIRST) if name.startswith(each)), last
            )
        )
    return [item for name in names for item in groups[name]]


class ByGroup(LoadScopeScheduling):
    """Deals a group of files at a time, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._helper = helper_of(self.numnodes)
        with_server = self.numnodes - (self._helper is not None)
        self._graph_first = f"gw{with_server - 1}"

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        if self._is_helper(node) and not node.shutting_down and not self._for_helper:
            node.shutdown()
            return
        super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        chosen = None
        if self._is_helper(node):
            chosen = self._for_helper
        elif node.gateway.id == self._graph_first:
            chosen = next(self._waiting(GRAPH_FIRST), None)
        if chosen:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _is_helper(self, node: WorkerController) -> bool:
        return node.gateway.id == self._helper

    @property
    def _for_helper(self) -> str | None:
        """The next file that needs no server, in the order of `WITHOUT_SERVER`."""
        return next(filter(without_server, self._waiting(WITHOUT_SERVER)), None)

    def _waiting(self, beginnings: Sequence[str]) -> Iterator[str]:
        """Yield the files not yet dealt that begin with one of these, in their order."""
        return (
            file
            for beginning in beginnings
            for file in self.workqueue
            if file.startswith(beginning)
        )
