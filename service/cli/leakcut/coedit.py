"""`thinkeval coedit`: further facts edited with a rewrite, round by round."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import number
from ...graphs import datasets
from ...graphs import rewrites as selection
from ...leakcut.coedit.kind import COEDIT
from ...leakcut.schemas import CoEditIn, CutIn
from ...scoring.request import read_overrides
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..experiments import Printed, emit_result, prints
from ..options import request_of, takes
from ..progress import ProgressBars

CUT = ("leak", "lock", "only_subject", "not_subject", "keys", "collateral", "efficacy")
"""Options of the cut that a co-edit takes; chains have the length of the score."""


@takes(*CUT, of=CutIn)
@takes(
    "graph", "model", "method", "choose", "per_round", "rounds", "new", "anchors", "objective",
    "draw", "seed", "chat", "bare", "max_steps", "revision", "hparams", "overrides", "dtype",
    "force", "anyway",
    of=CoEditIn,
    help={
        "new": "New object of a fact, as FACT=OBJECT with the fact's id; repeatable; default: one"
        " that leads nowhere.",
    },
)  # fmt: skip
@prints
def coedit(
    rewrite: Annotated[
        str, typer.Argument(help="Rewrite id, its beginning, or subject (`thinkeval rewrites`).")
    ],
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Edit a rewrite together with further facts, until little of the old fact is left.

    [bold]thinkeval coedit harry-potter--studied-at -m memit[/bold] scores the edit alone, then adds
    one fact a round: of the facts that [bold]thinkeval leakcut EDIT[/bold] lists, that which lowers
    IFR most, with a new object that leads nowhere. All requests
    of a round are edited at once from the unedited model. Each round is a stored edit
    (`thinkeval chains EDIT`); run again, a co-edit resumes.

    With --objective "ifr<=.1,preservation>=.95" the first round that meets it is chosen, and the
    exit code is 1 where none does.
    """
    from ...leakcut.coedit.run import co_edit

    posted = _request(rewrite, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, posted.graph)
        own = selection.OwnRewrite()
        (found,) = selection.rewrites(runtime.db, posted.graph, [rewrite], own, False)
        done = co_edit(runtime, posted.model_copy(update={"rewrite": found.id}), found)
        emit_result(runtime.db, COEDIT, done, printed)
    if done.met is False:
        row = done.rounds[done.chosen]
        typer.echo(
            f"objective: no round meets {posted.objective}; the best is round {row.number}"
            f" (IFR {number(row.ifr)}, Preservation {number(row.preservation)},"
            f" efficacy {number(row.efficacy)})",
            err=True,
        )
        raise typer.Exit(1)


def _request(rewrite: str, options: dict[str, Any]) -> CoEditIn:
    """The co-edit that the options ask for.

    Raises:
        UsageError: a value that the request does not have.
    """
    cut = request_of(CutIn, {name: options.pop(name) for name in CUT} | _steps(options))
    options["overrides"] = read_overrides(options["overrides"] or [])
    options["new"] = dict(_given(text) for text in options["new"] or [])
    return request_of(CoEditIn, options | {"rewrite": rewrite, "cut": cut})


def _steps(options: dict[str, Any]) -> dict[str, int]:
    return {"max_steps": options["max_steps"]}


def _given(text: str) -> tuple[str, str]:
    fact, sign, object_ = text.partition("=")
    if not (fact and sign and object_):
        raise UsageError(
            f"--new {text!r} is not FACT=OBJECT.",
            remedy="`thinkeval leakcut EDIT --json` lists the facts with their ids.",
        )
    return fact, object_
