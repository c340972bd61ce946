"""`thinkeval depedit run` and `similarity`: the protocol on a model, and its gradients."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..depedit.schemas import RunsIn
from ..reports.formats import Column, Table
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from ..settings import Settings
from .experiments import Printed, emit_result, prints
from .options import JsonFlag, ModelOption, OutputOption, ProbeOptions, takes
from .output import emit_rows, require_json
from .progress import ProgressBars

if TYPE_CHECKING:
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


@takes(
    "graph", "model", "strategies", "editor", "hparams", "overrides", "covariance", "chat", "dtype",
    "revision", "seed", "force",
    of=RunsIn,
    help={"force": "Run again what is stored."},
)  # fmt: skip
@prints
def run(
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="SET...", help="Knowledge sets; default: all of --graph."),
    ] = None,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Establish knowledge sets in a model, update them, and measure which implications follow.

    A strategy is DepEdit's word for a way to put a set's facts into the model: a method
    (`memit`), or a method and a choice of further facts (`memit+forwchain`). After each, the model
    is asked everything. Then each copy's updates are put in, from the established model, and
    everything is asked again. Answers are greedy, and right if they are the expected name. Runs are
    stored; what is stored is not run again. Printed are the paper's two tables: facts (specificity)
    and implications, the paper's word for the questions that test a conclusion.
    """
    from ..depedit import run as running
    from ..depedit.kind import DEPEDIT, run_protocol
    from ..experiments.kind import COMMAND

    wanted = running.methods(options["strategies"] or [], options["editor"])
    options["overrides"] = read_overrides(options["overrides"] or [])
    named = [method.label for method in wanted]
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        knowledge = running.chosen(runtime, sets or [], options["graph"])
        asked = options | {"sets": [one.id for one in knowledge], "strategies": named}
        # Not validated: a command may name files, which a request to the service may not.
        request = RunsIn.model_construct(**asked)
        found = run_protocol(runtime, knowledge, wanted, request, COMMAND)
        emit_result(runtime.db, DEPEDIT, found, printed)


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
