"""`thinkeval grow from-text`, `augment`: graphs that begin with a text, or with another graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag
from ..progress import ProgressBars
from .start import (
    ElicitName,
    JudgeName,
    endpoint_of,
    request_of,
    run_here,
    show_first_calls,
)

ModelArg = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Model that answers; with --endpoint its name at that server."
    ),
]
EndpointArg = Annotated[
    str | None, typer.Option(metavar="URL", help="Server of the OpenAI protocol.")
]
GraphArg = Annotated[
    str | None, typer.Option("--graph", "-g", help="Id of the graph that is made.")
]
SamplesArg = Annotated[int, typer.Option(min=1, max=100, help="Answers to a validating question.")]
PassArg = Annotated[
    float | None, typer.Option("--pass", help="Least fraction of right answers; 1/samples.")
]
GreedyArg = Annotated[
    bool, typer.Option("--greedy", help="One most likely answer a question, no sampling.")
]
JudgeArg = Annotated[JudgeName, typer.Option(help="Who decides about found triplets.")]
CallsArg = Annotated[int | None, typer.Option(min=1, help="Most answers.")]
DryRunArg = Annotated[
    bool, typer.Option("--dry-run", help="Print what the first iteration asks; ask nothing.")
]
AsNewArg = Annotated[bool, typer.Option("--as-new", help="Begin another run of the same request.")]


def from_text(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Documents (.txt, .md), or forget sets: .json or .jsonl with the field text,"
            " statement, sentence or answer."
        ),
    ],
    base: Annotated[
        str | None,
        typer.Option(help="Stored graph whose relations and names the text is read with."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="'SUBJECT|RELATION|OBJECT'", help="Fact that rewrite requests are made for."
        ),
    ] = None,
    model: ModelArg = None,
    endpoint: EndpointArg = None,
    graph: GraphArg = None,
    samples: SamplesArg = 5,
    pass_share: PassArg = None,
    greedy: GreedyArg = False,
    judge: JudgeArg = JudgeName.none,
    max_calls: CallsArg = None,
    dry_run: DryRunArg = False,
    as_new: AsNewArg = False,
    json: JsonFlag = False,
) -> None:
    """Grow a graph from texts: documents, or what a model shall forget.

    Texts are cut into statements; the model reads triplets from each by structured output, with the
    sentence as their source, so it must be a chat model;
    then the model is asked about them, and what it knows becomes a fact with prompt, question,
    paraphrases and aliases, so that `thinkeval score` takes the graph as it is. Rewrite requests
    are the --base graph's whose fact was found; --seed makes some for one fact.

    A statement from which nothing can be read is kept as unparsed; `thinkeval grow export RUN
    --format audit` lists them.

    [bold]thinkeval grow from-text notes.txt --base hogwarts --model NAME[/bold]
    """
    from ...growth.documents import read

    _run(
        {
            "elicit": "text", "texts": read(files), "base": base,
            "seed": seed, "graph": graph, "samples": samples, "pass_share": pass_share,
            "greedy": greedy, "judge": judge.value, "max_calls": max_calls,
        },
        model, endpoint, dry_run=dry_run, as_new=as_new, json=json,
    )  # fmt: skip


def augment(
    base: Annotated[str, typer.Argument(metavar="GRAPH", help="A stored graph.")],
    elicit: Annotated[
        ElicitName, typer.Option(help="cot: step-by-step reasoning; crawl: relation templates.")
    ] = ElicitName.cot,
    model: ModelArg = None,
    endpoint: EndpointArg = None,
    graph: GraphArg = None,
    samples: SamplesArg = 5,
    pass_share: PassArg = None,
    greedy: GreedyArg = False,
    judge: JudgeArg = JudgeName.none,
    iterations: Annotated[int, typer.Option(min=1, max=1000, help="Most iterations.")] = 10,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of the crawl, as depth=3."),
    ] = None,
    max_calls: CallsArg = None,
    dry_run: DryRunArg = False,
    as_new: AsNewArg = False,
    json: JsonFlag = False,
) -> None:
    """Begin with all facts of a stored graph, and add what the model knows around them.

    The graph's facts are validated like a seed; those that the model does not know are left out of
    the new graph. Its rewrite requests are kept where their fact is. The stored graph itself does
    not change.

    [bold]thinkeval grow augment hogwarts --model organism --elicit crawl[/bold]
    """
    _run(
        {
            "elicit": elicit.value, "base": base, "graph": graph, "samples": samples,
            "pass_share": pass_share, "greedy": greedy, "judge": judge.value,
            "iterations": iterations, "max_calls": max_calls,
            "crawl": {k: v for k, _, v in (each.partition("=") for each in set_ or [])},
        },
        model, endpoint, dry_run=dry_run, as_new=as_new, json=json,
    )  # fmt: skip


def _run(
    values: dict[str, Any],
    model: str | None,
    endpoint: str | None,
    *,
    dry_run: bool,
    as_new: bool,
    json: bool,
) -> None:
    settings = Settings()
    posted = request_of(answers=endpoint_of(settings, model, endpoint), **values)
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if dry_run:
            show_first_calls(runtime, posted, as_new=as_new, json=json)
        else:
            run_here(runtime, posted, as_new=as_new, json=json)
