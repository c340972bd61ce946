"""The workflows of GitHub Actions are such as GitHub takes, and name what the repository has."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from support.docs.workflows import problems

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "gate.yml"
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").iterdir()), EXAMPLE]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))

GOOD = """\
name: CI
on: { push: { branches: [main] } }
permissions: { contents: read }
jobs:
  run:
    runs-on: ubuntu-latest
    timeout-minutes: 9
    steps:
      - uses: actions/checkout@v4
      - uses: actions/cache@v4
        with: { path: x, key: "${{ hashFiles('*.toml') }}" }
      - run: bash .ci/run
"""


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_is_one_that_github_takes(file: Path) -> None:
    assert problems(file, ROOT) == []


def test_the_whole_check_is_what_runs_on_a_machine_too() -> None:
    """One script, so that a failure can be repeated anywhere."""
    steps = [
        step
        for file in WORKFLOWS
        for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
    ]
    assert "bash .ci/run" in [step.get("run") for step in steps]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("jobs:", "jobs: [", "not YAML"),
        ("name: CI", "nme: CI", "no key 'nme'"),
        ("name: CI", "", "'name' is missing"),
        ("push:", "pushed:", "no event 'pushed'"),
        ("permissions: { contents: read }", "", "'permissions' is missing"),
        ("ubuntu-latest", "ubuntu", "no runner 'ubuntu'"),
        ("timeout-minutes: 9", "needs: build", "needs 'build'"),
        ("    timeout-minutes: 9\n", "", "no timeout-minutes"),
        ("checkout@v4", "checkout@main", "not pinned"),
        ("checkout@v4", "checkout", "not pinned"),
        ("actions/checkout", "action/checkout", "no action 'action/checkout'"),
        ("path: x", "paths: x", "no input 'paths'"),
        ("*.toml", "*.tml", "hashFiles: *.tml"),
        ("hashFiles(", "hashfiles(", "no expression"),
        (" }}", "", "not closed"),
        ("run: bash", "script: bash", "one of `uses` and `run`"),
        (".ci/run", ".ci/runs", ".ci/runs is not in the repository"),
        ("bash .ci/run", "if true", "bash: "),
    ],
)
def test_what_github_would_refuse_is_found(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    file = tmp_path / "ci.yml"
    file.write_text(GOOD, encoding="utf-8")
    assert problems(file, ROOT) == []
    assert right in GOOD
    file.write_text(GOOD.replace(right, wrong), encoding="utf-8")
    assert any(says in line for line in problems(file, ROOT)), problems(file, ROOT)


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.name)
def test_a_form_for_issues_has_what_github_asks_of_it(file: Path) -> None:
    form = yaml.safe_load(file.read_text(encoding="utf-8"))
    if file.stem == "config":
        assert form.keys() <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= form.keys()
    assert form.keys() <= {"name", "description", "title", "labels", "body"}
    labels = [part["attributes"].get("label") for part in form["body"]]
    asked = [label for label in labels if label is not None]
    assert len(set(asked)) == len(asked)
    for part in form["body"]:
        assert part["type"] in ("markdown", "input", "textarea", "dropdown", "checkboxes")
        wanted = "value" if part["type"] == "markdown" else "label"
        assert part["attributes"][wanted]


def test_the_example_runs_the_command_that_the_page_on_gates_has() -> None:
    """Blocks of a page are run by tests, a workflow is not."""
    page = (ROOT / "docs" / "how-to" / "gate-in-ci.md").read_text(encoding="utf-8")
    steps = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if "thinkeval score" in step.get("run", "")]
    assert " ".join(command.split()) in " ".join(page.replace("\\\n", " ").split())
