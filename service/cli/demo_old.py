"""The demo's story as a function: the same calls that `import`, `score` and `report` make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinkeval.loaders import graphs
from thinkeval.service.errors import in_one_line
from thinkeval.service.graphs import datasets
from thinkeval.service.schemas import Score
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Workbench, embedded_server
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.scoring.stopwatch import Stopwatch

GRAPH = "hogwarts"
REWRITE = "harry-potter--studied-at"


@dataclass(frozen=True, slots=True)
class Told:
    """What the demo found.

    Attributes:
        scores: one a method.
        shown: the one whose chains are shown.
        failed: method and reason of each that gave no score.
        seconds: by stage.
    """

    scores: list[Score]
    shown: Score
    failed: list[tuple[str, str]]
    seconds: dict[str, float]


def tell(
    bench: Workbench, *, model: str, methods: Sequence[str] | None, seed: int, samples: int
) -> Told:
    """Import the graph, train or load the model, score the edit by every method.

    A method that cannot edit this model (MEND without its hypernetwork, say) is told of at the end.

    Raises:
        EditingError: of the first method, when none gave a score.
    """
    from thinkeval.editing.errors import EditingError
    from thinkeval.editing.methods import names
    from thinkeval.editing.probe import ProbeSettings

    watch = Stopwatch()
    with watch.stage("database"):
        db = bench.db
    with watch.stage("import"):
        datasets.store(db, datasets.read(graphs.path(GRAPH)), replace=True)
    with watch.stage("model"):
        bench.model(model, GRAPH, seed=seed)
    rewrite = next(r for r in datasets.list_rewrites(db, GRAPH) if r.id.startswith(REWRITE))
    scores: list[Score] = []
    errors: dict[str, EditingError] = {}
    chosen = methods or names()
    for done, method in enumerate(chosen):
        bench.progress(done, len(chosen), "edits")
        request = ScoreRequest(
            graph=GRAPH,
            rewrite=rewrite,
            model=model,
            method=method,
            probe=ProbeSettings(samples=samples, seed=seed),
            seed=seed,
            organism_seed=seed,
        )
        with watch.stage(f"score {method}"):
            try:
                scores.append(score_edit(bench, request))
            except EditingError as error:
                errors[method] = error
    if not scores:
        raise next(iter(errors.values()))
    failed = [(method, in_one_line(error)) for method, error in errors.items()]
    return Told(scores, _most_telling(scores), failed, watch.seconds)


def _most_telling(scores: Sequence[Score]) -> Score:
    """The edit that took (efficacy > .5) and still leaks most: what the demo is about."""

    def leak(score: Score) -> tuple[bool, float]:
        efficacy, ifr = (score.get(m, score.measures[0]) for m in ("efficacy", "ifr"))
        took = efficacy is not None and efficacy.value > 0.5
        return took, ifr.value if ifr is not None else 0.0

    return max(scores, key=leak)


def browser_address(bench: Workbench) -> str:
    """Where Neo4j Browser is, or the server's address where it is not ours."""
    settings = bench.settings
    if settings.neo4j_uri:
        return settings.neo4j_uri
    return str(embedded_server(settings).status().browser)
