"""The files of docs/inside/extending.md are found in a copy of the tree, and their tests pass.

The tests are the page's own. They run once, together, in a process that imports the copy; beside
them run those tests of the tree that a reader's addition has to pass too.
"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from support.docs.blocks import Block, blocks
from support.docs.pages import ROOT
from support.docs.tree_copy import TreeCopy, changed

PAGE = "inside/extending.md"
TESTS = (
    "tests/graph/cypher/test_hubs.py",
    "tests/unit/loaders/test_ntriples.py",
    "tests/unit/service/scoring/test_temperature.py",
    "tests/graph/service/api/test_hubs.py",
    "tests/graph/service/api/pages/test_hubs.py",
    "tests/graph/service/jobs/test_snapshots.py",
)
OF_THE_TREE = (
    "tests/unit/cypher/test_catalog.py",
    "tests/unit/service/api/test_descriptions.py",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> TreeCopy:
    made = TreeCopy(tmp_path_factory.mktemp("extended") / "tree")
    made.add(PAGE)
    return made


@pytest.fixture(scope="module")
def outcomes(copy: TreeCopy, server: dict[str, str]) -> dict[str, list[str]]:
    """By file of tests what each test said: nothing where it passed."""
    report = copy.root / "report.xml"
    done = copy.python(
        "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", f"--junitxml={report}",
        "-o", "junit_family=xunit1", *TESTS, *OF_THE_TREE, env=server,
    )  # fmt: skip
    assert report.is_file(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        said = [part.text or "" for part in case if part.tag in ("failure", "error", "skipped")]
        found.setdefault(case.get("file") or "", []).append("\n".join(said))
    return found


def test_every_test_of_the_page_is_run(copy: TreeCopy) -> None:
    assert {name for name in copy.written if name.startswith("tests/")} == set(TESTS)


@pytest.mark.parametrize("file", [*TESTS, *OF_THE_TREE])
def test_its_tests_pass(outcomes: dict[str, list[str]], file: str) -> None:
    assert outcomes.get(file), f"no test of {file} was run"
    failed = [said for said in outcomes[file] if said]
    assert not failed, "\n".join(failed)


def test_its_files_are_as_ruff_wants_them(copy: TreeCopy) -> None:
    files = sorted(name for name in copy.written if name.endswith(".py"))
    changes = [each.title for each in page_blocks() if each.language == "diff" and each.title]
    for check in (("check",), ("format", "--check")):
        done = copy.python("ruff", *check, "--no-cache", *files, *changes, env={})
        assert done.returncode == 0, done.stdout + done.stderr


def page_blocks() -> list[Block]:
    return list(blocks((ROOT / "docs" / PAGE).read_text(encoding="utf-8")))


def test_a_change_whose_place_is_gone_is_refused() -> None:
    change = Block(1, "diff", "a.py", None, " b\n+new\n@@\n-d\n+e")
    assert changed("a\nb\nc\nd", change) == "a\nb\nnew\nc\ne"
    for gone in ("a\nc\nd", "b\nb\nd", "d\nb"):
        with pytest.raises(ValueError, match=r"a\.py"):
            changed(gone, change)
