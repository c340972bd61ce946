"""`thinkeval demo`: edit a real model by every method, or a small one that is trained here.

`run_demo` makes the same calls as the commands `import`, `score` and `report`.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from ...loaders import graphs
from ...loaders.records import RewriteRequest
from ..base.database import embedded_server
from ..base.errors import in_one_line
from ..base.formatting import number, percent, pluralize
from ..base.settings import Settings
from ..graphs import datasets
from ..leakcut import words
from ..leakcut.coedit_kind import COEDIT
from ..models.edit import Measure, Score
from ..models.leakcut import CoEditIn, CoEditOut, CutOut
from ..reports.comparison import compare
from ..reports.edit import chain_tree
from ..reports.formats import Table, indexed
from ..reports.verdict import BestMethod, best_method, judged, rank
from ..scoring.forget import methods_for
from ..scoring.metrics import chain_rows
from ..scoring.request import ScoreRequest
from ..scoring.runtime import ORGANISM, SMOLLM2, Runtime, parse
from .experiments import emit_result
from .options import JsonFlag
from .output import ProgressBars, emit_command, emit_json, emit_note, emit_table
from .render import show_each_table, show_method_table
from .show import show_tree, show_verdict

if TYPE_CHECKING:
    from ...cypher.run import Database

MEASURE: Measure = "likelihood"
"""Measure of the demo's table and verdict."""


@dataclass(frozen=True, slots=True)
class Story:
    """An edit of a shipped graph.

    Attributes:
        rewrite: the beginning of its id.
        opening: printed before the progress bars, which do not name the purpose.
        samples: sampled answers a prompt. Those of a real model take minutes on a CPU.
        drift_facts: known facts that are asked for side effects alone, at most.
        rounds: of co-edits.
        per_round: facts that a round adds.
    """

    graph: str
    rewrite: str
    opening: str
    samples: int
    drift_facts: int
    rounds: int
    per_round: int


TAUGHT = Story(
    "hogwarts",
    "harry-potter--studied-at",
    'Changes "Harry Potter studied at Hogwarts" to Ilvermorny in a model, by one method after the'
    " other, and measures how much of Hogwarts can still be deduced. The first time takes two"
    " to five minutes: Neo4j is fetched, and a small model trained.",
    samples=5,
    drift_facts=1000,
    rounds=2,
    per_round=1,
)
"""For organisms, which are trained on the graph."""
KNOWN = Story(
    "world",
    "shanghai--is-a-city-on",
    'Changes "Shanghai is located on the continent of Asia" to Europe in a real model, by one'
    " method after the other, and measures how much of Asia can still be deduced: Shanghai is a"
    " city in China, and China is a country of Asia. The first time takes some minutes: Neo4j"
    " and, for smollm2, the model are fetched.",
    samples=0,
    drift_facts=100,
    rounds=1,
    per_round=4,
)
"""For real models, which know the graph's facts as they are."""


def story_of(model: str) -> Story:
    """Return the edit that is shown with this model."""
    return KNOWN if parse(model).organism is None else TAUGHT


@dataclass(frozen=True, slots=True)
class Demo:
    """The results of the demo.

    Attributes:
        scores: one a method.
        shown: the one to look at, and why.
        failed: method and reason of each failure.
        seconds: by stage.
    """

    scores: list[Score]
    shown: BestMethod
    failed: list[tuple[str, str]]
    seconds: dict[str, float]


def default_model(runtime: Runtime) -> str:
    """Return SmolLM2 after it is fetched, or the organism where nothing can be fetched."""
    from ...editing.errors import FetchError

    try:
        runtime.fetch(SMOLLM2)
    except FetchError as error:
        runtime.announce(f"{error.detail}. A small model is trained here and edited instead.")
        return ORGANISM
    return SMOLLM2


@contextmanager
def opened(runtime: Runtime) -> Iterator[Future[Database]]:
    """Open the runtime's database in a thread, which ends with the process: Ctrl-C does not wait.

    An error does, so that the database is closed with the runtime.
    """
    found: Future[Database] = Future()

    def run() -> None:
        try:
            found.set_result(runtime.db)
        except BaseException as error:  # raised where the result is needed
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        yield found
    except Exception:
        found.exception()
        raise


def run_demo(
    runtime: Runtime,
    database: Future[Database],
    *,
    model: str,
    methods: Sequence[str] | None,
    seed: int,
    samples: int,
) -> Demo:
    """Load the model or train it, import the graph, score the edit by every method.

    A method that cannot edit this model (say MEND without its hypernetwork) is reported at the end.

    Args:
        database: the runtime's; nothing may open it before this has a result.

    Raises:
        EditingError: of the first method, when none gave a score.
    """
    from ...editing.errors import EditingError
    from ...editing.registry import names
    from ..scoring.resolved import require_hparams
    from ..scoring.score import Stopwatch, score_edit

    watch, graph = Stopwatch(), story_of(model).graph

    def load() -> None:
        runtime.log(f"loads {model}")
        with watch.stage("model"):
            runtime.model(model, graph, seed=seed)

    trained = parse(model).organism is not None  # on the imported graph
    if not trained:
        load()
    runtime.log("starts Neo4j")
    with watch.stage("database"):
        db = database.result()
    runtime.log(f"imports the graph {graph}")
    with watch.stage("import"):
        datasets.store(db, datasets.read(graphs.path(graph)), replace=True)
    if trained:
        load()
    rewrite = _rewrite(runtime, model)
    requests = [
        ScoreRequest.of(
            rewrite,
            graph=graph,
            model=model,
            method=method,
            samples=samples,
            seed=seed,
            organism_seed=seed,
            drift_facts=story_of(model).drift_facts,
            anyway=True,  # every step is shown, whatever the model knows
        )
        for method in methods or methods_for([rewrite], names())
    ]
    with suppress(EditingError):  # of a method: raised again below
        require_hparams(runtime, requests)
    scores: list[Score] = []
    errors: dict[str, EditingError] = {}
    for done, request in enumerate(requests):
        runtime.progress(done, len(requests), "edits")
        runtime.log(f"{done + 1} of {len(requests)}: {request.method}")
        with watch.stage(f"score {request.method}"):
            try:
                scores.append(score_edit(runtime, request))
                runtime.log(f"{request.method}: {scores[-1].in_brief()}")
            except EditingError as error:
                errors[request.method] = error
                runtime.log(f"{request.method}: {in_one_line(error)}")
    if not scores:
        raise next(iter(errors.values()))
    failed = [(method, in_one_line(error)) for method, error in errors.items()]
    return Demo(scores, best_method(scores, MEASURE), failed, watch.seconds)


def _rewrite(runtime: Runtime, model: str) -> RewriteRequest:
    story = story_of(model)
    stored = datasets.list_rewrites(runtime.db, story.graph)
    return next(each for each in stored if each.id.startswith(story.rewrite))


def _what_else(
    runtime: Runtime, found: Demo, model: str, seed: int
) -> tuple[CutOut, CoEditOut] | None:
    """Return the leak cut of the edit to look at, and its co-edits by the same method.

    Of a method that edits no batch, those of the next one in the order that does; None without one.
    """
    from ..leakcut.coedit import WITH_JOINT_TARGETS, co_edit
    from ..leakcut.request import edit_cut

    ranked = rank(found.scores, MEASURE)
    score = next((each for each in ranked if each.method in WITH_JOINT_TARGETS), None)
    if score is None:
        return None
    runtime.log(f"what else to edit, by {score.method}")
    rewrite, story = _rewrite(runtime, model), story_of(model)
    posted = CoEditIn(
        graph=score.dataset, model=model, rewrite=rewrite.id, method=score.method,
        seed=seed, organism_seed=seed, rounds=story.rounds, per_round=story.per_round,
        anyway=True, drift_facts=story.drift_facts,
    )  # fmt: skip
    return edit_cut(runtime.db, score, "likelihood"), co_edit(runtime, posted, rewrite)


def browser_address(runtime: Runtime) -> str:
    """The address of Neo4j Browser; of an external server, its Bolt address."""
    settings = runtime.settings
    if settings.neo4j_uri:
        return settings.neo4j_uri
    return str(embedded_server(settings).status().browser)


def demo(
    model: Annotated[
        str | None,
        typer.Option(
            help="smollm2 (fetched), a hub name, a folder, a GGUF file, or organism: a small model"
            " that is trained here; default: smollm2, or organism without a network."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Editing method; repeatable; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the small model, sampling and editing.")] = 0,
    samples: Annotated[
        int | None,
        typer.Option(
            help="Sampled answers a prompt; default: 5 of the organism, none of a real model, whose"
            " answers take minutes on a CPU."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, all ...")] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Also print all metrics, the co-edit, the rules, and the seconds."
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Edit a fact that a real model knows, and show how it survives.

    Starts Neo4j, fetches SmolLM2-135M-Instruct, loads a graph of countries, cities and landmarks,
    probes the model, edits it by each method, and probes again. It prints the method to look at,
    why, its verdict, the chains through which the old fact survives, what else to edit, and all
    methods as a table. The first time fetches Neo4j and the model (about 250 MB); everything is
    kept after that, and what is interrupted resumes where it stopped.
    With --model organism, or without a network, a model of a million weights is trained on the
    facts of Harry Potter's school, and "Harry Potter studied at Hogwarts" is changed.
    """
    began = time.perf_counter()
    settings = Settings() if device is None else Settings(device=device)
    if not json:
        emit_note(story_of(model or SMOLLM2).opening)
    with (
        ProgressBars(lines=True) as progress,
        Runtime(settings, progress) as runtime,
        opened(runtime) as database,  # starts meanwhile
    ):
        runtime.log("fetches Neo4j and the model, where they are not stored yet")
        chosen = model or default_model(runtime)
        if model is None and chosen == ORGANISM and not json:
            emit_note(story_of(chosen).opening)
        if samples is None:
            samples = story_of(chosen).samples
        found = run_demo(
            runtime, database, model=chosen, methods=method, seed=seed, samples=samples
        )
        if json:
            emit_json(
                {
                    "scores": [s.model_dump() for s in found.scores],
                    "failed": [{"method": m, "reason": r} for m, r in found.failed],
                    "look_at": {"edit": found.shown.score.edit, "why": found.shown.why},
                    "stages": found.seconds,
                    "seconds": round(time.perf_counter() - began, 2),
                }
            )
            return
        further = _what_else(runtime, found, chosen, seed)
        _show_best(runtime, found)
        if further is not None:
            cut, frontier = further
            emit_note(f"What else to edit, by {cut.method}: {words.headline(cut)}", "bold")
            if cut.facts:
                emit_note(_tried(frontier))
            if details:
                emit_result(runtime.db, COEDIT, frontier)
        if details:
            compared = compare(runtime.db, found.scores, MEASURE)
            show_method_table(compared, MEASURE, protocol=True)
        else:
            show_each_table(found.scores, MEASURE)
        if found.failed and details:
            title = "Methods that gave no score"
            emit_table(Table("failed", title, indexed("method", "reason"), found.failed))
        elif found.failed:
            emit_note(f"No score: {', '.join(method for method, _ in found.failed)}.", "dim")
        if details:
            stages = ", ".join(f"{name} {spent:.1f}" for name, spent in found.seconds.items())
            emit_note(f"{time.perf_counter() - began:.1f} s in all: {stages}.", "dim")
        _show_end(runtime, found)


def _tried(frontier: CoEditOut) -> str:
    """Return what the last round of a co-edit did, and if it is worth its damage, in words."""
    alone, row = frontier.rounds[0], frontier.rounds[-1]
    kept = row.preservation_unedited
    around = "" if kept is None else (
        f"; neighbours that were not edited keep {percent(kept)}, where a rise counts as a change"
        f" too ({pluralize(row.n_preservation_unedited, 'fact')})"
    )  # fmt: skip
    worth = "" if frontier.chosen == row.number else " That is too much damage: edit it alone."
    return (
        f"Tried {len(row.coedits)} of them: IFR {number(alone.ifr)} → {number(row.ifr)}{around}."
        f"{worth}"
    )


def _show_best(runtime: Runtime, found: Demo) -> None:
    """Print the method to look at and why, its verdict, and through whom the old fact survives."""
    shown = found.shown.score
    rows = chain_rows(runtime.db, shown, MEASURE)
    emit_note(f"Look at {shown.method}: {found.shown.why}", "bold")
    found_out = judged(runtime.db, shown, MEASURE, rows)
    show_verdict(shown, MEASURE, found_out)
    if not found_out.nothing:
        show_tree(shown, chain_tree(rows), depth=1, limit=6)


def _show_end(runtime: Runtime, found: Demo) -> None:
    """Print where to read on."""
    shown = found.shown.score
    emit_note("Next: this edit, all methods as a table, the web UI.")
    emit_command(f"thinkeval show {shown.edit}")
    emit_command(f"thinkeval report -g {shown.dataset}")
    emit_command("thinkeval serve")
    emit_note(
        f"Or open Neo4j at {browser_address(runtime)} and paste what this prints:",
    )
    emit_command(f"thinkeval db queries chains/scored --edit {shown.edit}")
    if missing := not_on_path(Path(sys.argv[0])):
        emit_note("This shell does not find thinkeval by its name yet; before these commands:")
        emit_command(missing)


def not_on_path(program: Path) -> str | None:
    """The command that puts the running program on the shell's path; None where it is on it.

    Args:
        program: as it was typed, such as `.venv/bin/thinkeval`.
    """
    activate = program.with_name("activate")
    if shutil.which("thinkeval") is not None or not activate.is_file():
        return None
    return f". {activate}"
