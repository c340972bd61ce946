"""Everything an edit depends on, gathered before the model is touched, and the edit itself.

The plan's `identity` is what the edit's id is a digest of: two edits share an id exactly when they
must give the same numbers. Its `provenance` is what a reader needs to check or repeat the score.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from thinkeval import cypher
from thinkeval.loaders.records import digest
from thinkeval.service import __version__
from thinkeval.service.graphs.datasets import graph_digest
from thinkeval.service.scoring import (
    corpora,
    demonstrations,
    hypernetwork,
    model_graph,
    shared_targets,
)
from thinkeval.service.scoring.corpora import Corpus
from thinkeval.service.scoring.runtime import BenchModel, Workbench
from thinkeval.service.scoring.scope import facts_in_scope

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.service.scoring.request import ScoreRequest


@dataclass(frozen=True, slots=True)
class Plan:
    """What is fixed about an edit before it is carried out.

    Attributes:
        corpus: where the covariance of `layers` comes from; without layers none is needed.
        state: what the method gets besides the rewrite (worked examples); None for nothing.
    """

    method: Any
    hparams: Any
    corpus: Corpus
    layers: tuple[int, ...]
    identity: dict[str, object]
    provenance: dict[str, object]
    state: dict[str, Any] | None = None


def plan(bench: Workbench, request: ScoreRequest, model: BenchModel) -> Plan:
    """Resolve method, hyperparameters and covariance corpus; nothing is computed yet.

    Raises:
        EditingError: unknown method, no hyperparameters for this model, unknown key.
    """
    from thinkeval.editing import hparams as hparams_files
    from thinkeval.editing import methods
    from thinkeval.editing.architectures import adapter_for

    method = methods.get(request.method)
    edits = methods.info(request.method).kind == "weights"
    if edits or hasattr(method, "reference"):  # a control that carries out such a method
        adapter_for(model.loaded.model)  # refused now, not after an hour of probing
    info = model.loaded.info
    hparams = hparams_files.load(
        request.method, request.hparams or model.source, overrides=request.overrides
    )
    layers = methods.covariance_layers(method, hparams)
    corpus = corpora.resolve(bench, request.graph, request.covariance, model, layers)
    values = asdict(hparams)
    identity: dict[str, object] = {
        "graph": graph_digest(bench.db, request.graph),
        "rewrite": asdict(request.rewrite),
        "weights": info.weights_digest,
        "dtype": info.dtype,
        "method": request.method,
        "hparams": values,
        "corpus": corpus.digest,
        "probe": request.probe.digest,
        "options": request.options.model_dump(),
        "seed": request.seed,
        "code": __version__,
    }
    if hypernetwork.needed(method):
        identity["hypernetwork"] = hypernetwork.identify(bench, request, model, hparams)
    provenance = {
        "model": asdict(info) | {"name": model.name},
        "method": request.method,
        "hparams": values,
        "hparams_digest": digest(values),
        "covariance_corpus": corpus.name,
        "covariance_corpus_digest": identity["corpus"],
        "graph_digest": identity["graph"],
        "probe": request.probe.as_dict(),
        "probe_digest": request.probe.digest,
        "hypernetwork": identity.get("hypernetwork"),
        "seed": request.seed,
        "strength": request.strength,
        "queries": query_digests(),
        "versions": versions(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    state = None
    if getattr(method, "NEEDS_DEMONSTRATIONS", False):
        state = demonstrations.state_for(bench, request, model)
        told = demonstrations.described(state)
        identity["demonstrations"] = told
        provenance["demonstrations"] = told
    return Plan(method, hparams, corpus, layers, identity, provenance, state)


def execute(bench: Workbench, made: Plan, request: ScoreRequest, model: BenchModel) -> EditEffect:
    """Step 3: let the method compute its update. The model is the same afterwards.

    The last update is kept: asked for again, at another strength, it is only scaled.
    """
    from thinkeval.editing.deltas.strength import scaled

    covariance = corpora.covariance_of(bench, made.corpus, model, made.layers)
    if covariance is not None:
        made.provenance["covariance"] = covariance.about
    last = digest([made.identity[key] for key in _OF_EFFECTS if key in made.identity])
    if bench.last_effect is None or bench.last_effect[0] != last:
        bench.progress(0, 1, f"editing with {request.method}")
        shared = shared_targets.key_of(made, request, model)
        effect = made.method.execute(
            model.loaded.model,
            model.loaded.tokenizer,
            [request.rewrite],
            made.hparams,
            covariance,
            state=state_of(bench, made, request, model),
            seed=request.seed,
            **shared_targets.given(bench, shared),
        )
        bench.last_effect = (last, shared_targets.kept(bench, shared, effect))
        bench.progress(1, 1, f"editing with {request.method}")
    effect = bench.last_effect[1]
    if made.state is not None:
        made.provenance["demonstrations"] = demonstrations.described(effect.state)
    return scaled(effect, request.strength)


_OF_EFFECTS = (
    "graph", "rewrite", "weights", "dtype", "method", "hparams", "corpus", "seed", "hypernetwork",
    "demonstrations",
)  # fmt: skip
"""What an update depends on, of all that an edit's identity names."""


def prepare_model(bench: Workbench, request: ScoreRequest) -> int:
    """Make what all edits of a model share, so that it is there; the number of weights.

    That is the model (trained, if an organism) and its answers before the edit.
    """
    model = bench.model_of(request)
    model_graph.answers(bench, request, model, facts_in_scope(bench.db, request))
    return model.loaded.info.n_parameters


def prepare_method(bench: Workbench, request: ScoreRequest) -> None:
    """Make what a method's edits of a model share: key statistics, a hypernetwork."""
    model = bench.model_of(request)
    made = plan(bench, request, model)
    corpora.covariance_of(bench, made.corpus, model, made.layers)
    state_of(bench, made, request, model)


def state_of(
    bench: Workbench, made: Plan, request: ScoreRequest, model: BenchModel
) -> dict[str, Any] | None:
    """What the method is given besides the model; it says by a NEEDS_… constant what."""
    state: dict[str, Any] = {}
    if made.state is not None:
        state |= made.state
    if hypernetwork.needed(made.method):
        state |= hypernetwork.state_for(bench, request, model, made.hparams)
    return state or None


def query_digests() -> dict[str, str]:
    """Digest of every query a score is made with, so that a changed formula shows."""
    used = [n for n in cypher.names() if n.startswith(("metrics/", "chains/", "probes/"))]
    return {name: cypher.query(name).digest for name in used}


def versions() -> dict[str, str]:
    """Versions of what computes the numbers."""
    packages = ("torch", "transformers", "neo4j", "numpy")
    return {"thinkeval": __version__, "python": platform.python_version()} | {
        name: version(name) for name in packages
    }
