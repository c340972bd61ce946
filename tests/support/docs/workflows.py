"""Check of a workflow of GitHub Actions, without GitHub.

Of the workflow syntax only what a workflow here may use: a key, an action or an expression that is
not listed is refused, as GitHub refuses a misspelt one only when it runs.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

KEYS = {
    "workflow": {"name", "on", "concurrency", "permissions", "env", "jobs"},
    "job": {"name", "runs-on", "timeout-minutes", "needs", "strategy", "env", "steps", "if"},
    "step": {"name", "id", "if", "uses", "with", "run", "env", "shell", "timeout-minutes"},
}
NEEDED = {"workflow": {"name", "on", "permissions", "jobs"}, "job": {"runs-on", "steps"}}
EVENTS = {"push", "pull_request", "schedule", "workflow_dispatch"}
RUNNERS = re.compile(r"(ubuntu|macos|windows)-(latest|\d+(\.\d+)?)")
VERSION = re.compile(r"v\d+(\.\d+){0,2}|[0-9a-f]{40}")
INPUTS = {
    "actions/checkout": {"ref", "fetch-depth"},
    "actions/setup-python": {"python-version", "cache", "cache-dependency-path"},
    "actions/cache": {"path", "key", "restore-keys"},
    "actions/upload-artifact": {"name", "path", "if-no-files-found", "retention-days"},
}
"""The actions that are used, and those of their inputs that are."""

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
CONTEXT = re.compile(
    r"(github|env|matrix|runner|steps|needs)(\.[\w-]+)+|hashFiles\((?P<files>.*)\)"
)
CONDITION = re.compile(r"(always|success|failure|cancelled)\(\)")
PATH = re.compile(r"\.?[\w-]+(?:/[\w.-]+)+|[\w-]+\.(?:py|sh|toml|txt)")


def problems(file: Path, root: Path) -> list[str]:
    """Return the defects of a workflow, a line each.

    Args:
        root: the repository's folder; files that the workflow names are looked for in it.
    """
    text = file.read_text(encoding="utf-8")
    try:
        flow = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"not YAML: {error}"]
    if not isinstance(flow, dict):
        return ["not a mapping"]
    # YAML 1.1 reads the key `on` as true.
    flow = {"on" if key is True else key: value for key, value in flow.items()}
    found = [*_keys("workflow", flow, ""), *_expressions(text, root)]
    events = flow.get("on") or {}
    found += [f"no event {each!r}" for each in events if each not in EVENTS]
    for name, job in (flow.get("jobs") or {}).items():
        found += _job(name, job, flow["jobs"], root)
    return found


def _keys(kind: str, given: Mapping[str, Any], where: str) -> Iterator[str]:
    for key in given:
        if key not in KEYS[kind]:
            yield f"{where}{kind}: no key {key!r}"
    for key in NEEDED.get(kind, set()) - given.keys():
        yield f"{where}{kind}: {key!r} is missing"


def _job(name: str, job: Mapping[str, Any], jobs: Iterable[str], root: Path) -> Iterator[str]:
    where = f"{name}: "
    yield from _keys("job", job, where)
    if not RUNNERS.fullmatch(str(job.get("runs-on"))):
        yield f"{where}no runner {job.get('runs-on')!r}"
    needs = job.get("needs", [])
    for each in [needs] if isinstance(needs, str) else needs:
        if each not in jobs:
            yield f"{where}needs {each!r}, which is no job"
    if not job.get("timeout-minutes"):
        yield f"{where}no timeout-minutes: a hanging test would take six hours"
    for number, step in enumerate(job.get("steps", ()), 1):
        for problem in _step(step, root):
            yield f"{where}step {number}: {problem}"


def _step(step: Mapping[str, Any], root: Path) -> Iterator[str]:
    yield from _keys("step", step, "")
    if ("uses" in step) == ("run" in step):
        yield "one of `uses` and `run`"
    if "if" in step and not CONDITION.fullmatch(str(step["if"])):
        yield f"no condition {step['if']!r}"
    if "uses" in step:
        action, _, version = str(step["uses"]).partition("@")
        if action not in INPUTS:
            yield f"no action {action!r} is used here"
        if not VERSION.fullmatch(version):
            yield f"{action} is not pinned to a version or a commit: {version!r}"
        for given in step.get("with", {}).keys() - INPUTS.get(action, set()):
            yield f"{action} has no input {given!r}"
        named = step.get("with", {}).get("cache-dependency-path")
        if named and not (root / named).is_file():
            yield f"{named} is not in the repository"
    if "run" in step:
        yield from _commands(str(step["run"]), root)


def _commands(script: str, root: Path) -> Iterator[str]:
    """Yield the defects of a shell script: its syntax, and missing files that it names."""
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"bash: {done.stderr.strip()}"
        return
    for word in shlex.split(script, comments=True):
        if PATH.fullmatch(word) and not (root / word).exists():
            yield f"{word} is not in the repository"


def _expressions(text: str, root: Path) -> Iterator[str]:
    if text.count("${{") != len(EXPRESSION.findall(text)):
        yield "an expression ${{ is not closed"
    for expression in EXPRESSION.findall(text):
        known = CONTEXT.fullmatch(expression)
        if known is None:
            yield f"no expression {expression!r}"
            continue
        for pattern in re.findall(r"'([^']*)'", known["files"] or ""):
            if not any(root.glob(pattern)):
                yield f"hashFiles: {pattern} is no file of the repository"
