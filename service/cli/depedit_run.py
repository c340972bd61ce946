"""`thinkeval depedit run` and `similarity`: the protocol on a model, and its gradients."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..reports.formats import Column, Table
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import JsonFlag, ModelOption, OutputOption, ProbeOptions
from .output import emit_json, emit_rows, emit_table, require_json
from .progress import ProgressBars

if TYPE_CHECKING:
    from ..depedit.run import Done
    from ..depedit.similarity import Similarity

GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        "-g",
        help="Graph whose organism, sentences and facts are used; default: the set's data set.",
    ),
]


SIMILARITIES: list[Column[Similarity]] = [
    Column("pairs", lambda one: one.kind),
    Column("mean cosine", lambda one: one.mean),
    Column("sd", lambda one: one.sd),
    Column("n", lambda one: one.n),
]


class ParametersName(StrEnum):
    """Over which parameters gradients are taken (`editing.mend.similarity`)."""

    linear = "linear"
    all = "all"


def run(
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="SET...", help="Knowledge sets; default: all of --graph."),
    ] = None,
    graph: GraphOption = None,
    model: ModelOption = "organism",
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help="Strategy, or EDITOR+STRATEGY; several may be given. Default: random, base,"
            " finetune, memit, and forwchain and backchain on both. There are also finetune_rule,"
            " mend, mend_imp and derive.",
        ),
    ] = None,
    editor: Annotated[
        str | None,
        typer.Option(
            help="What forwchain, backchain and derive wrap: finetune, memit, mend, any method"
            " that edits weights, or base for none."
        ),
    ] = None,
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option("--set", help="One hyperparameter, as key=value.")
    ] = None,
    covariance: Annotated[
        str | None,
        typer.Option(help="Source of the covariance statistics; default: the graph's sentences."),
    ] = None,
    chat: ProbeOptions.chat = "auto",
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    seed: ProbeOptions.seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Run again what is stored.")] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Establish knowledge sets in a model, update them, and measure which implications follow.

    A strategy is DepEdit's word for a way to put a set's facts into the model: a method
    (`memit`), or a method and a choice of further facts (`memit+forwchain`). After each, the model
    is asked everything. Then each copy's updates are put in, from the established model, and
    everything is asked again. Answers are greedy, and right if they are the expected name. Runs are
    stored; what is stored is not run again. Printed are the paper's two tables: facts (specificity)
    and implications, the paper's word for the questions that test a conclusion.
    """
    require_json(output, json)
    from ..depedit import run as running

    wanted = running.methods(strategy or [], editor)
    options = running.RunOptions(
        model=model,
        graph=graph,
        hparams=hparams,
        overrides=read_overrides(override or []),
        covariance=covariance,
        chat=chat,
        dtype=dtype,
        revision=revision,
        seed=seed,
        force=force,
    )
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        knowledge = running.chosen(runtime, sets or [], graph)
        done = running.run(runtime, knowledge, wanted, options)
        _show(runtime, done, running.model_name(options), json=json, output=output)


def similarity(
    knowledge_set: Annotated[str, typer.Argument(metavar="SET", help="Knowledge set.")],
    graph: GraphOption = None,
    model: ModelOption = "organism",
    parameters: Annotated[
        ParametersName,
        typer.Option(
            help="linear: all linear maps but the head, in batches; all: every parameter, fact by"
            " fact."
        ),
    ] = ParametersName.linear,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of each kind at most.")] = 24,
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    seed: ProbeOptions.seed = 0,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Cosines of the gradients that learning two facts of a set would take (the paper's table 5).

    Where premises and implication are no more alike than two random facts, learning the premises
    says nothing of the implication.
    """
    require_json(output, json)
    from ..depedit import run as running
    from ..depedit import similarity as measured

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        knowledge = running.chosen(runtime, [knowledge_set], None)[0]
        named = running.graph_of(knowledge, graph)
        loaded = runtime.model(model, named, dtype=dtype, revision=revision)
        chosen = measured.pairs_of(
            knowledge, measured.wordings(runtime.db, named), most=pairs, seed=seed
        )
        found = measured.similarities(runtime, loaded, chosen, parameters=parameters.value)
    title = f"Gradients of {knowledge.id} in {loaded.name} ({parameters.value} parameters)"
    emit_rows(Table("similarities", title, SIMILARITIES, found), json=json, output=output)


def _show(
    runtime: Runtime, done: list[Done], name: str, *, json: bool, output: Path | None
) -> None:
    """What was run, and the paper's tables of these methods over these sets."""
    from ..depedit import report

    sets = list(dict.fromkeys(one.knowledge_set for one in done))
    methods = {one.method for one in done}
    found = [
        row for row in report.methods(runtime.db, sets=sets, model=name) if row.method in methods
    ]
    if json:
        tables = loads(report.text(found, list(report.TABLES), "json"))
        emit_json({"runs": [asdict(one) for one in done], **tables}, output)
        return
    for table in report.TABLES:
        emit_table(report.narrow(found, table, name))
    fresh = [one for one in done if not one.reused]
    took = sum(one.seconds or 0 for one in fresh)
    typer.echo(
        f"{len(fresh)} runs in {took:.0f} s; {len(done) - len(fresh)} were stored already.",
        err=True,
    )
