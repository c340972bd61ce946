"""Everything an edit depends on, gathered before the model is touched, and the edit itself.

The plan's `identity` is what the edit's id is a digest of: two edits share an id exactly when they
must give the same numbers. Its `provenance` is what a reader needs to check or repeat the score.

Target vectors found once and used by every method that would find the same ones.

MEMIT, RECT, PRUNE and AlphaEdit start from the same z, and finding it is nearly all of their time.
What is kept is keyed by everything z depends on, so a shared vector is the one that the method
would have found, to the bit, and the score's identity does not say who found it. It lives as long
as its Runtime.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from thinkeval import cypher
from thinkeval.loaders.records import digest
from thinkeval.service import __version__
from thinkeval.service.graphs.datasets import graph_digest
from thinkeval.service.scoring import covariance as corpora
from thinkeval.service.scoring import demonstrations, hypernetwork, model_graph
from thinkeval.service.scoring.covariance import Corpus
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel, Shared
from thinkeval.service.scoring.scope import facts_in_scope

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.service.scoring.request import ScoreRequest
    from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def key_of(made: Plan, request: ScoreRequest, model: RuntimeModel) -> str | None:
    """What this edit's targets go by; None where the method has none to share.

    A control that carries out another method (`reference`) shares that method's.
    """
    method, hparams = made.method, made.hparams
    if hasattr(method, "reference"):
        method, hparams = method.reference(hparams)
    site = getattr(method, "TARGET_SITE", None)
    if site is None:
        return None
    info = model.loaded.info
    return digest(
        [
            info.weights_digest,
            info.dtype,
            str(model.loaded.device),
            hparams.target_key(site),
            asdict(request.rewrite),
            request.seed,
        ]
    )


def given(runtime: Runtime, key: str | None) -> dict[str, Any]:
    """Arguments for `execute`: the vectors and templates that are known, or none."""
    found = runtime.targets.get(key) if key else None
    if found is None:
        return {}
    return {"targets": dict(found.targets), "context_templates": found.templates}


def kept(runtime: Runtime, key: str | None, effect: EditEffect) -> EditEffect:
    """Keep what was found; of what was given, the effect tells the steps it once took."""
    if key is None or not effect.targets:
        return effect
    found = runtime.targets.setdefault(
        key, Shared(effect.targets, effect.n_steps, effect.templates)
    )
    return replace(effect, n_steps=dict(found.n_steps))


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


def plan(runtime: Runtime, request: ScoreRequest, model: RuntimeModel) -> Plan:
    """Resolve method, hyperparameters and covariance corpus; nothing is computed yet.

    Raises:
        EditingError: unknown method, no hyperparameters for this model, unknown key.
    """
    from thinkeval.editing import hparams as hparams_files
    from thinkeval.editing import registry
    from thinkeval.editing.architectures import adapter_for

    method = registry.get(request.method)
    edits = registry.info(request.method).kind == "weights"
    if edits or hasattr(method, "reference"):  # a control that carries out such a method
        adapter_for(model.loaded.model)  # refused now, not after an hour of probing
    info = model.loaded.info
    hparams = hparams_files.load(
        request.method, request.hparams or model.source, overrides=request.overrides
    )
    layers = registry.covariance_layers(method, hparams)
    corpus = corpora.resolve(runtime, request.graph, request.covariance, model, layers)
    values = asdict(hparams)
    identity: dict[str, object] = {
        "graph": graph_digest(runtime.db, request.graph),
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
        identity["hypernetwork"] = hypernetwork.identify(runtime, request, model, hparams)
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
        state = demonstrations.state_for(runtime, request, model)
        told = demonstrations.described(state)
        identity["demonstrations"] = told
        provenance["demonstrations"] = told
    return Plan(method, hparams, corpus, layers, identity, provenance, state)


def execute(runtime: Runtime, made: Plan, request: ScoreRequest, model: RuntimeModel) -> EditEffect:
    """Step 3: let the method compute its update. The model is the same afterwards.

    The last update is kept: asked for again, at another strength, it is only scaled.
    """
    from thinkeval.editing.deltas.strength import scaled

    covariance = corpora.covariance_of(runtime, made.corpus, model, made.layers)
    if covariance is not None:
        made.provenance["covariance"] = covariance.about
    last = digest([made.identity[key] for key in _OF_EFFECTS if key in made.identity])
    if runtime.last_effect is None or runtime.last_effect[0] != last:
        runtime.progress(0, 1, f"editing with {request.method}")
        shared = key_of(made, request, model)
        effect = made.method.execute(
            model.loaded.model,
            model.loaded.tokenizer,
            [request.rewrite],
            made.hparams,
            covariance,
            state=state_of(runtime, made, request, model),
            seed=request.seed,
            **given(runtime, shared),
        )
        runtime.last_effect = (last, kept(runtime, shared, effect))
        runtime.progress(1, 1, f"editing with {request.method}")
    effect = runtime.last_effect[1]
    if made.state is not None:
        made.provenance["demonstrations"] = demonstrations.described(effect.state)
    return scaled(effect, request.strength)


_OF_EFFECTS = (
    "graph", "rewrite", "weights", "dtype", "method", "hparams", "corpus", "seed", "hypernetwork",
    "demonstrations",
)  # fmt: skip
"""What an update depends on, of all that an edit's identity names."""


def prepare_model(runtime: Runtime, request: ScoreRequest) -> int:
    """Make what all edits of a model share, so that it is there; the number of weights.

    That is the model (trained, if an organism) and its answers before the edit.
    """
    model = runtime.model_of(request)
    model_graph.answers(runtime, request, model, facts_in_scope(runtime.db, request))
    return model.loaded.info.n_parameters


def prepare_method(runtime: Runtime, request: ScoreRequest) -> None:
    """Make what a method's edits of a model share: key statistics, a hypernetwork."""
    model = runtime.model_of(request)
    made = plan(runtime, request, model)
    corpora.covariance_of(runtime, made.corpus, model, made.layers)
    state_of(runtime, made, request, model)


def state_of(
    runtime: Runtime, made: Plan, request: ScoreRequest, model: RuntimeModel
) -> dict[str, Any] | None:
    """What the method is given besides the model; it says by a NEEDS_… constant what."""
    state: dict[str, Any] = {}
    if made.state is not None:
        state |= made.state
    if hypernetwork.needed(made.method):
        state |= hypernetwork.state_for(runtime, request, model, made.hparams)
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
