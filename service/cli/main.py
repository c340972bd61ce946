"""The command line: `thinkeval`. One file a group of commands; this file assembles them.

Exit codes are in `codes.py`. An error is one line on standard error: the problem and its place,
then the remedy. Nothing here imports torch, so that `--help` starts quickly.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

from ...cypher.driver_tables import leave_out_tables
from .. import __version__
from ..base.errors import DISK_REMEDY, KNOWN_ERRORS, describe, is_disk_full, is_interrupt
from ..base.processes import collect_seldom, interrupt_after_imports
from ..kinds import KINDS
from ..operations.every import OPERATIONS
from . import INTERRUPTED_TEXT, operations
from .audit_subject import audit_subject
from .backup import backup, restore, verify
from .catalog import doctor, methods, metrics, queries
from .codes import ERROR, INTERRUPTED, WORKED
from .compare import audit, compare
from .crawl import crawl
from .deltas import deltas
from .demo import demo
from .depedit import depedit
from .experiments import command_of
from .fleet import fleet
from .graphs import graphs, import_, rewrites
from .grow import grow
from .leakcut import coedit, leakcut
from .models import audit_knowledge, covariance, hparams, organism, probe, train_mend, tune
from .options import GroupedCommand, GroupOfCommands
from .output import emit_error, emit_text, print_unencodable, set_up_logs
from .report import chains, report
from .score import score
from .serve import db, serve, worker
from .show import show
from .sweep import sequence, sweep

app = typer.Typer(
    name="thinkeval",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Measure how deep an edit of a language model goes: edit a fact, and find the chains of"
        " facts through which the old answer survives.\n\n"
        "Begin with [bold]thinkeval demo[/bold]. Then: [bold]import[/bold], [bold]score[/bold],"
        " [bold]show[/bold], [bold]report[/bold]."
    ),
)

COMMANDS, GROUPS = "Commands", "Groups of commands"
"""The two panels of the root: the commands that most users need, and groups of all others."""

for _name, _run in {
    "demo": demo, "import": import_, "probe": probe, "score": score, "compare": compare,
    "report": report, "show": show, "sweep": sweep, "serve": serve, "doctor": doctor,
}.items():  # fmt: skip
    app.command(_name, rich_help_panel=COMMANDS)(_run)

results = typer.Typer(help="List, show and delete what is stored: edits, graphs, sweeps ...")
for _kind in KINDS:
    results.command(_kind.plural)(command_of(_kind))
results.command()(graphs)
results.command()(chains)
results.command()(audit)
results.add_typer(deltas, name="deltas")

graph = typer.Typer(help="Rewrites and rules of a graph; graphs grown from a model.")
graph.command()(rewrites)
rules = typer.Typer(
    help="If-Then rules of a data set: one or two premises and a conclusion that follows.\n\n"
    "[bold]mine[/bold] finds candidates in a graph's own triangles, [bold]add[/bold] reads"
    " hand-written ones, [bold]label[/bold] lets two annotators decide which are kept;"
    " [bold]instantiate[/bold] shows what a rule says of a graph, [bold]closure[/bold] all that"
    " follows."
)
graph.add_typer(rules, name="rules")
graph.add_typer(grow, name="grow")
graph.add_typer(crawl, name="crawl")

model = typer.Typer(help="Editing methods, hyperparameters, covariances, small models.")
model.command()(methods)
model.command()(tune)
model.add_typer(hparams, name="hparams")
model.add_typer(covariance, name="covariance")
model.command("train-mend")(train_mend)
model.command("audit-knowledge")(audit_knowledge)
model.add_typer(organism, name="organism")

lab = typer.Typer(help="What else to edit, edits in sequence, and DepEdit's protocol.")
lab.command()(leakcut)
lab.command()(coedit)
lab.command()(sequence)
lab.command()(audit_subject)
lab.add_typer(depedit, name="depedit")

db.command()(backup)
db.command()(restore)
db.command()(verify)
db.command()(worker)
db.command()(fleet)
db.command()(queries)
db.command()(metrics)

_GROUPS = {"results": results, "graph": graph, "model": model, "lab": lab, "db": db}
_PLACES = _GROUPS | {"graph rules": rules}
for _operation in OPERATIONS:
    if _operation.command:
        _path, _, _name = _operation.command.rpartition(" ")
        _PLACES[_path].command(_name)(operations.command_of(_operation))
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name, rich_help_panel=GROUPS)


_WRAPPED = re.compile(r"\n(?!\s*(?:thinkeval |curl |\$ |[-*] |\d+\. ))")
"""Line breaks of a paragraph in source, not those before an example or an item of a list."""


def _arrange(group: typer.Typer) -> None:
    """Have help texts flow at the terminal's width, not the source's, and options be grouped."""
    if not isinstance(group.info.cls, type):  # it has none of its own
        group.info.cls = GroupOfCommands
    for command in group.registered_commands:
        command.cls = GroupedCommand
        text = command.help or inspect.getdoc(command.callback) or ""
        command.help = "\n\n".join(
            each if each.lstrip(" ").startswith("\b") else _WRAPPED.sub(" ", each)
            for each in text.split("\n\n")
        )
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _arrange(inner.typer_instance)


_arrange(app)


def _version(show: bool) -> None:
    if show:
        emit_text(f"thinkeval {__version__}", None)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Print each stage as a line."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress and no notices."),
    log_file: Annotated[Path | None, typer.Option(help="Append all of it to this file.")] = None,
) -> None:
    del version
    set_up_logs(verbose=verbose, quiet=quiet, file=log_file)


@cache
def _command() -> Any:
    """Every command with its options; made once a process, also where `main` runs many times."""
    return typer.main.get_command(app)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with a code of `codes.py`."""
    print_unencodable()
    collect_seldom()
    interrupt_after_imports()
    leave_out_tables()
    try:
        code = _command()(args=argv, prog_name="thinkeval", standalone_mode=False)
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        command = where.command_path if where is not None else "thinkeval"
        _print_error(error.format_message(), f"See `{command} --help`.")
        code = ERROR
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if is_interrupt(error):
            code = INTERRUPTED
        elif isinstance(error, KNOWN_ERRORS):
            problem = describe(error)
            _print_error(problem.detail, problem.remedy)
            code = ERROR
        elif is_disk_full(error):
            _print_error(f"{error}.", DISK_REMEDY)
            code = ERROR
        else:
            raise
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code and prints nothing
        emit_error(INTERRUPTED_TEXT)
    sys.exit(code if isinstance(code, int) else WORKED)


def _print_error(detail: str, remedy: str) -> None:
    """Print an error as one line; library messages may have several."""
    line = " ".join(f"error: {detail} → {remedy}".split())
    emit_error(line)


if __name__ == "__main__":
    main()
