"""The pages of the documentation, and one of them run as a reader would run it."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shlex
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from getpass import GetPassWarning
from io import StringIO
from pathlib import Path
from typing import Any

import neo4j
import pytest
import typer
import yaml

from support.commands import Cli, Done
from support.docs.blocks import Block, Command, commands, differences
from support.docs.shell import PageShell
from support.serving import until
from thinkeval import Client
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.cli import main
from thinkeval.service.graphs.delete import delete_graph
from thinkeval.service.growth.schemas import GrowthOut

ROOT = Path(__file__).resolve().parents[3]
GENERATED = ("docs/decisions", "docs/generate", "docs/project/changelog.md")
"""Generated from the code, or records of their time: not run."""

HERE = re.compile(r"(http://)?(?:localhost|127\.0\.0\.1):8000(?!\d)")
STAYS = (["serve"], ["db", "worker"], ["db", "start"], ["db", "stop"])
"""Commands that wait for ever, or stop what other tests use: their options are checked only."""

QUICK_S = 120
"""No command of a page takes longer."""


def pages() -> list[Path]:
    """The README and every written page under docs/."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    left_out = [ROOT / name for name in GENERATED]
    return [page for page in found if not any(page.is_relative_to(each) for each in left_out)]


def parsed(words: list[str]) -> str | None:
    """Return the error of the command line for a command, without running it; None without one."""
    command = typer.main.get_command(main.app)
    context = None
    name = "thinkeval"
    try:
        while True:
            context = command.make_context(name, words, parent=context)
            resolve = getattr(command, "resolve_command", None)
            words = [*context._protected_args, *context.args]
            if resolve is None or not words:
                return None
            name, command, words = resolve(context, words)
    except typer.Exit:
        return None
    except GetPassWarning:  # it would ask for a password, and nobody types one
        return None
    except typer.TyperException as error:
        return error.format_message()


def inside(program: Cli, words: list[str], env: Mapping[str, str]) -> Done:
    """`thinkeval` in this process; what would stay for ever is only looked at."""
    if any(words[: len(each)] == each for each in STAYS) and "--help" not in words:
        problem = parsed(words)
        return Done(2 if problem else 0, "", f"error: {problem}\n" if problem else "")
    with nothing_typed():
        try:
            return program(*words, code=None, **env)
        except Exception:  # a defect of the program: reported like any other failure
            return Done(99, "", traceback.format_exc(limit=-6))


@contextmanager
def nothing_typed() -> Iterator[None]:
    """Standard input of a program that nobody types at."""
    before = sys.stdin
    with open(os.devnull, encoding="utf-8") as sys.stdin:
        try:
            yield
        finally:
            sys.stdin = before


class Page:
    """A page that is being run, block by block.

    Args:
        program: in the page's folder.
        real: a text with ids for its placeholders.
        url: the address of the running service.
        session: a session that may not write.
        names: what rows of tables are about, longest first.
    """

    def __init__(
        self,
        program: Cli,
        shell: PageShell,
        session: neo4j.Session,
        real: Callable[[str], str],
        url: str,
        names: tuple[str, ...] = (),
    ) -> None:
        self._program, self._shell, self._session = program, shell, session
        self._real_ids, self._url, self._names = real, url, names
        self._python: dict[str, Any] = {}

    def close(self) -> None:
        """Close the clients that the page's code left open."""
        for value in self._python.values():
            if isinstance(value, Client):
                value.close()

    def real(self, text: str) -> str:
        """A text of the page with real ids and the service's address."""
        bare = self._url.removeprefix("http://")
        return HERE.sub(lambda m: (m[1] or "") + bare, self._real_ids(text))

    def run(self, block: Block) -> Iterator[tuple[int, str]]:
        """Run a block; return the lines with errors, and the errors."""
        if block.title is not None:
            file = self._program.cwd / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.real(block.text) + "\n", encoding="utf-8")
        if block.language in ("sh", "console"):
            look = self._command if block.not_run is None else _options
            for command in commands(block):
                if problem := look(command):
                    yield command.line, problem
            return
        try:
            problem = self._other(block)
        except (ValueError, SyntaxError, yaml.YAMLError) as error:
            problem = str(error)
        if problem:
            yield block.line, problem

    def _other(self, block: Block) -> str | None:
        match block.language:
            case "python" if block.not_run is None:
                return self._exec(block)
            case "python":
                ast.parse(block.text)
            case "cypher" if block.not_run is None:
                return self._query(block)
            case "json":
                json.loads(block.text)
            case "yaml":
                list(yaml.safe_load_all(block.text))
            case "toml":
                tomllib.loads(block.text)
        return None

    def _command(self, command: Command) -> str | None:
        text = self.real(command.text)
        done = self._shell.run(text, QUICK_S)
        output = f"\n--- output\n{done.out}{done.err}---"
        if done.code not in command.expected and not _refused(command):
            return f"{text}\nended with {done.code}, not {set(command.expected)}{output}"
        if command.shown is None:
            return None
        shown = [self.real(line) for line in command.shown]
        found = differences(shown, done.out, done.err, self._names)
        return "\n".join([text, *found]) + output if found else None

    def _exec(self, block: Block) -> str | None:
        out = StringIO()
        text = self.real(block.text).replace("Client()", f"Client({self._url!r})")
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(self._program.cwd),
            contextlib.redirect_stdout(out),
        ):
            for key, value in self._program.env.items():
                patch.setenv(key, value)
            try:
                exec(compile("\n" * (block.line - 1) + text, "page", "exec"), self._python)
            except Exception:
                return f"{traceback.format_exc(limit=-4)}{out.getvalue()}"
        return None

    def _query(self, block: Block) -> str | None:
        text = self.real(block.text).strip()
        result = self._session.run(text, edit=self.real("EDIT"))  # pyright: ignore
        found = result.fetch(1)
        notices = [
            s for s in result.consume().gql_status_objects if s.gql_status[:2] in ("01", "03")
        ]
        if notices:
            return f"{text}\n{[s.status_description for s in notices]}"
        return None if found else f"{text}\nfinds nothing"


def _refused(command: Command) -> bool:
    """Return True if the page shows the output of a refusal or of a gate that failed."""
    return any(line.startswith(("error:", "gate failed")) for line in command.shown or ())


def _options(command: Command) -> str | None:
    """Check that a command that is not run exists, with its options."""
    for call in re.findall(r"(?:^|[;&|(]\s*|/bin/)thinkeval\s+([^|;&<>]*)", command.text):
        try:
            words = shlex.split(call.replace("\\\n", " "), comments=True)
        except ValueError:
            continue  # a quoted text that holds one of the separators
        if problem := parsed(words):
            return f"thinkeval {' '.join(words)}\n{problem}"
    return None


@contextmanager
def as_before(db: Database, kept: set[str]) -> Iterator[None]:
    """Delete at the end what was stored since, save for the ids in `kept` then."""
    before = _datasets(db)
    runs = {run.id for run in db.read(GrowthOut, "growth/runs")}
    try:
        yield
    finally:
        until(lambda: not any(found.active for found in _datasets(db).values()), 300)
        for run in {run.id for run in db.read(GrowthOut, "growth/runs")} - runs - kept:
            db.autocommit(int, "growth/delete_run", id=run)
        for graph, found in _datasets(db).items():
            if graph in before or kept & _made_from(found):
                _forget(db, graph, before.get(graph), found, kept)
            else:
                delete_graph(db, graph, with_dependents=True)


def _datasets(db: Database) -> dict[str, rows.DependentsRow]:
    """Data sets, and the records derived from each."""
    return {
        graph.graph: db.read(rows.DependentsRow, "graph/dependents", graph=graph.graph)[0]
        for graph in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
        if graph.kind == "dataset"
    }


def _made_from(found: rows.DependentsRow) -> set[str]:
    return {*found.sweeps, *found.jobs, *found.sets, *found.experiments, *found.edits}


def _forget(
    db: Database,
    graph: str,
    old: rows.DependentsRow | None,
    new: rows.DependentsRow,
    kept: set[str],
) -> None:
    known = _made_from(old) if old else set()
    for ids, row, name in (
        (new.sweeps, int, "jobs/delete_sweep"),
        (new.jobs, int, "jobs/delete"),
        (new.sets, rows.DeleteSetRow, "depedit/delete_set"),
        (new.experiments, rows.DeleteExperimentRow, "experiments/delete"),
        (new.edits, rows.DeleteEditRow, "edits/delete_edit"),
    ):
        for each in set(ids) - known - kept:
            db.write(row, name, id=each)
    if new.rules and not (old and old.rules) and not kept & {"RULE"}:
        db.write(int, "rules/delete_rules", dataset=graph)
