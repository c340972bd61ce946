"""The files of examples/ do what their headers say, on the small model and a running service."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support.commands import PROGRAM
from support.docs.pages import as_before, inside
from support.docs.shell import page_shell
from support.serving import Service
from thinkeval.cypher.run import Database
from thinkeval.service.scoring.runtime import RuntimeModel

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SAID = {
    "first_edit.sh": ("IFR", "Through whom"),
    "compare_methods.sh": ("\nmemit & 1 &", "none"),
    "own_graph.sh": ("Ben Okafor", "Carla Reyes", "by 1 rule"),
    "rest.sh": ("succeeded", '"items"'),
}
NOTEBOOKS = {
    "leakage.ipynb": {"image/png": 2, "image/svg+xml": 1},
    "compare_states.ipynb": {"image/svg+xml": 2, "text/html": 4},
}
"""What each notebook shows at least, by type."""


@pytest.fixture
def variables(
    db: Database, environment: dict[str, str], organism: RuntimeModel, service: Service
) -> Iterator[dict[str, str]]:
    """The environment of an example; what it stores is deleted."""
    del organism  # trained before, as a second run finds it
    with as_before(db, set()):
        yield (
            os.environ
            | environment
            | {
                "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
                "URL": service.url,
                "THINKEVAL_URL": service.url,
            }
        )


@pytest.mark.parametrize(("name", "words"), SAID.items())
def test_a_script_runs_and_says_what_its_header_promises(
    variables: dict[str, str], tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    """As a program of its own, started by a shell; `thinkeval` in it runs in this process."""
    calls = tmp_path / "calls"
    calls.mkdir()
    with page_shell(tmp_path, calls, variables, inside) as shell:
        # Scripts say themselves how curl takes a refusal.
        done = shell.run(f"unset -f curl\n{shlex.quote(str(EXAMPLES / name))}")
    assert done.code == 0, done.err
    assert not [word for word in words if word not in done.out], done.out


def test_every_script_is_tested_and_opens_with_what_it_shows() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.sh")}
    assert scripts == SAID.keys()
    for name in scripts:
        lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#!/usr/bin/env bash"
        assert lines[1].startswith("# ")
        assert lines[2].startswith("# Needs "), name


def test_every_notebook_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == NOTEBOOKS.keys()


@pytest.mark.parametrize(("name", "shown"), NOTEBOOKS.items())
def test_a_notebook_runs_and_is_stored_without_outputs(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str, shown: dict[str, int]
) -> None:
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    kinds = [output.get("data", {}).keys() for cell in cells for output in cell.outputs]
    for kind, n in shown.items():
        assert sum(kind in found for found in kinds) >= n, kind
    assert any("text/html" in kind for kind in kinds)
