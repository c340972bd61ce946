"""The plan of an edit: everything it depends on, gathered before the model is touched.

The edit's id is a digest of the plan's `identity`: two edits share an id exactly when they must
give the same numbers. A reader needs its `provenance` to check or repeat the score.

MEMIT, RECT, PRUNE and AlphaEdit start from the same target vectors, and finding them is nearly
all of their time. So a vector is found once and shared by the methods that would find the same
one: its key is a digest of everything it depends on, the shared vector is bit-identical to the
one that the method would have found, and the score's identity does not depend on who found it.
Vectors live as long as their Runtime.
"""

from __future__ import annotations

import platform
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ... import cypher
from ...editing.hparams.common import OF_THE_CORPUS
from ...editing.in_context.demonstrations import Demonstration
from ...editing.joint import joined
from ...editing.probe.matching import contains
from ...editing.probe.prompts import QUESTION, Renderer, prompt_ids
from ...loaders.records import Fact, KnowledgeGraph, RewriteRequest, digest, fill, unique
from .. import NUMBERS_VERSION, __version__
from ..models.edit import AppendOut
from . import append as appending
from . import forget as retaining
from . import method_inputs, model_graph, templates
from . import method_inputs as corpora
from .forget import refuses, with_refusal_target
from .hyperparameters import of_another_corpus
from .method_inputs import Corpus, Wanted
from .resolved import Pairs, Resolved, Scope, resolve
from .runtime import Runtime, Shared

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.objectives import Objective
    from ...editing.probe import ProbeSettings
    from .forget import Retained
    from .request import ScoreRequest


# Demonstrations for in-context editing, built from the stored graph.
#
# A demonstration must not contain anything that will be measured. So none is derived from a fact
# in the rewrite's scope (Preservation and IFR probe those), and, unless the method's
# hyperparameters say `exclude_named: false`, none is about its subject or names the subject,
# target_true or target_new by any of their names. Of each other fact whose relation has further
# objects, one of these, drawn by seed, becomes the new object: a counterfactual of the same kind
# as the edit.

SLACK = 2
"""Tokens that a text may gain where two of its parts meet."""


def state_for(resolved: Resolved) -> dict[str, Any]:
    """The state that `ike` takes: `demonstrations`, and `room` for the questions to come."""
    request, scope = resolved.request, resolved.scope
    graph = resolved.runtime.content_of(resolved.dataset)
    measured = {fact.id for fact in scope.facts}
    tokenizer = resolved.model.loaded.tokenizer
    return {
        "demonstrations": build(
            graph,
            request.rewrite,
            measured,
            seed=request.seed,
            exclude_named=getattr(resolved.hparams, "exclude_named", True),
        ),
        "room": room_for(tokenizer, request.rewrite, scope, resolved.near, request.probe),
    }


def described(state: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a state: digest and number of the demonstrations, and how many were used."""
    pool: Sequence[Demonstration] = state["demonstrations"]
    described = {
        "digest": digest([asdict(d) for d in pool]),
        "available": len({d.source for d in pool}),
        "room": state["room"],
    }
    return described | {key: state[key] for key in ("used", "kinds") if key in state}


def build(
    graph: KnowledgeGraph,
    rewrite: RewriteRequest,
    measured: Collection[str],
    *,
    seed: int,
    exclude_named: bool = True,
) -> tuple[Demonstration, ...]:
    """Copy, update and retain demonstrations of every fact that may be shown, in the graph's order.

    `update` asks by a paraphrase of the fact, or by its question where it has none; `retain` asks
    for a fact of another subject and relation, whose answer is the true one. A fact without either
    has no `update`, and one whose relation has no other object has no example at all.

    Args:
        measured: ids of the facts that will be probed.
        seed: of the draws; each fact has a stream of its own.
        exclude_named: True if facts that name the subject or a target are left out too.
    """
    edited = (rewrite.subject, rewrite.target_true, rewrite.target_new) if exclude_named else ()
    hidden = unique(
        name for entity in edited for name in (entity.strip(), *graph.aliases(entity.strip()))
    )
    shown = [
        fact
        for fact in sorted(graph.facts, key=lambda f: f.id)
        if fact.id not in measured and not contains(_sentence(fact), hidden)
    ]
    objects: dict[str, set[str]] = {}
    answers: dict[tuple[str, str], set[str]] = {}
    for fact in graph.facts:
        objects.setdefault(fact.relation, set()).add(fact.object)
        answers.setdefault((fact.subject, fact.relation), set()).add(fact.object)
    built: list[Demonstration] = []
    for fact in shown:
        draw = random.Random(digest([seed, fact.id]))
        others = sorted(objects[fact.relation] - answers[fact.subject, fact.relation])
        others = [name for name in others if name != fact.subject and not contains(name, hidden)]
        if others:
            built += _of(fact, draw.choice(others), shown, draw)
    return tuple(d for d in built if not contains(d.text, hidden))


def room_for(
    tokenizer: Any, rewrite: RewriteRequest, scope: Scope, near: Pairs, probe: ProbeSettings
) -> int:
    """Tokens of the longest question, as it is asked, and of the longest answer."""
    renderer = Renderer(tokenizer, probe.chat)
    rendered = [renderer.cloze(text) for text in _clozes(rewrite, scope.facts, near)]
    rendered += [renderer.question(text) for text in _questions(rewrite, scope.facts)]
    question = max(len(prompt_ids(tokenizer, text)) for text in rendered)
    names = [rewrite.target_true, rewrite.target_new, *(f.object for f in scope.facts)]
    names += [answer for _, answer in near]
    names += [alias for name in list(names) for alias in scope.aliases.get(name, ())]
    encoded = tokenizer([f" {name}" for name in unique(names)], add_special_tokens=False)
    answer = max(map(len, encoded["input_ids"]))
    return question + max(answer, probe.max_new_tokens) + SLACK


def _of(
    fact: Fact, new: str, shown: Sequence[Fact], draw: random.Random
) -> Iterator[Demonstration]:
    """The demonstrations of a fact with its new object."""
    prompt = _fill(fact.prompt, fact.subject)
    stated = joined(prompt, new)
    yield Demonstration("copy", fact.id, stated, prompt, new)
    other_words = [_fill(text, fact.subject) for text in fact.paraphrases]
    other_words = other_words or [QUESTION.replace("{question}", q) for q in fact.questions]
    if other_words:
        yield Demonstration("update", fact.id, stated, draw.choice(other_words), new)
    apart = [f for f in shown if f.subject != fact.subject and f.relation != fact.relation]
    if apart:
        other = draw.choice(apart)
        yield Demonstration(
            "retain", fact.id, stated, _fill(other.prompt, other.subject), other.object
        )


def _fill(prompt: str, subject: str) -> str:
    return fill(prompt, subject).lstrip()


def _sentence(fact: Fact) -> str:
    """A fact's sentence with all that it names."""
    return f"{_fill(fact.prompt, fact.subject)} {fact.subject} {fact.object}"


def _clozes(rewrite: RewriteRequest, facts: Iterable[Fact], near: Pairs) -> list[str]:
    """Every cloze that a score of the rewrite may ask."""
    own = [_fill(text, rewrite.subject) for text in (rewrite.prompt, *rewrite.paraphrases)]
    theirs = [_fill(text, f.subject) for f in facts for text in (f.prompt, *f.paraphrases)]
    return list(unique((*own, *theirs, *(prompt for prompt, _ in near))))


def _questions(rewrite: RewriteRequest, facts: Iterable[Fact]) -> list[str]:
    return list(unique((rewrite.question or "", *(f.question or "" for f in facts))))


@dataclass(frozen=True, slots=True)
class Plan:
    """The values of an edit that are fixed before it is carried out.

    Attributes:
        corpus: source of the covariance of `layers`; without layers none is needed.
        hypernetwork: that the method edits with; None where it needs none, or a file is named.
        demonstrations: input of an in-context method besides the rewrite; None for nothing.
        append: how an answer is appended; None where one is replaced.
        retained: facts that a method that forgets shall retain; None if it takes none.
    """

    resolved: Resolved
    corpus: Corpus
    layers: tuple[int, ...]
    identity: dict[str, object]
    provenance: dict[str, object]
    hypernetwork: Wanted | None = None
    demonstrations: dict[str, Any] | None = None
    append: AppendOut | None = None
    retained: Retained | None = None


def plan_edit(resolved: Resolved) -> Plan:
    """Find the covariance corpus and the state of the method; nothing is computed yet.

    Raises:
        EditingError, UsageError: a corpus that cannot be read, or no hypernetwork.
    """
    from ...editing import registry
    from ...editing.probe.prompts import opens_reasoning

    resolved = appending.with_trained_loss(resolved)
    runtime, request, model = resolved.runtime, resolved.request, resolved.model
    layers = registry.covariance_layers(resolved.method, resolved.hparams)
    corpus = corpora.resolve(runtime, resolved.dataset, request.covariance, model, layers)
    raised = None
    if not resolved.chosen.ridge_set:
        found, raised = corpora.with_ridge(
            runtime, model, resolved.method, resolved.hparams, corpus
        )
        resolved = replace(resolved, hparams=found)
    identity = _identity(resolved, corpus)
    network = None
    if method_inputs.needed(resolved.method):
        network = method_inputs.of_request(resolved)
        identity["hypernetwork"] = method_inputs.identify(resolved, network)
    appended = appending.described(resolved) if request.rewrite.kind == "append" else None
    if appended is not None:
        identity["append"] = appending.identity(appended)
    kept = retaining.retained(resolved) if retaining.needed(resolved.method) else None
    forget = _forget(resolved, kept)
    identity |= {key: value for key, value in forget.items() if key == "refusal"}
    if kept is not None:
        identity["retain"] = kept.identity
    provenance = _provenance(resolved, corpus, identity)
    if notice := " ".join(filter(None, (_notice(resolved, corpus, layers), raised))):
        provenance["hparams_notice"] = notice
    if resolved.chat is not None:
        provenance["chat_chosen"] = resolved.chat.as_dict()
    elif request.chat == "always":
        provenance["reasoning_closed"] = opens_reasoning(model.loaded.tokenizer)
    if forget:
        provenance["forget"] = forget
    if appended is not None:
        provenance["append"] = appended.model_dump()
    if resolved.request.anyway:
        provenance["anyway"] = True
    state = None
    if getattr(resolved.method, "NEEDS_DEMONSTRATIONS", False):
        state = state_for(resolved)
        description = described(state)
        identity["demonstrations"] = description
        provenance["demonstrations"] = description
    return Plan(resolved, corpus, layers, identity, provenance, network, state, appended, kept)


def _notice(resolved: Resolved, corpus: Corpus, layers: Sequence[int]) -> str | None:
    """Return the notice on the hyperparameters' origin; None where all of them fit."""
    from ...editing.covariance.published import Imported

    request, found = resolved.request, resolved.chosen
    if layers and not isinstance(corpus.source, Imported):
        notice = of_another_corpus(request.method, found, request.overrides, corpus.name)
        if notice is not None:
            resolved.runtime.announce(notice)
            return " ".join(filter(None, (found.notice, notice)))
    return found.notice


def _forget(resolved: Resolved, kept: Retained | None) -> dict[str, object]:
    """Return a record's fields of a request to forget; empty for another request."""
    request = resolved.request
    refusal = {"refusal": request.refusal} if refuses(request.rewrite, request) else {}
    return {**refusal, **({} if kept is None else {"retain": kept.about})}


def _identity(resolved: Resolved, corpus: Corpus) -> dict[str, object]:
    request, info = resolved.request, resolved.model.loaded.info
    return {
        "graph": resolved.dataset.digest,
        "rewrite": request.rewrite.identity,
        "model": info.digest,
        "dtype": info.dtype,
        "method": request.method,
        "hparams": resolved.hparams.as_dict(),
        "corpus": corpus.digest,
        "probe": request.probe.digest,
        "options": request.options.digested(),
        "seed": request.seed,
        "code": NUMBERS_VERSION,
    }


def _provenance(
    resolved: Resolved, corpus: Corpus, identity: dict[str, object]
) -> dict[str, object]:
    request, model = resolved.request, resolved.model
    return {
        "model": asdict(model.loaded.info) | {"name": model.name, "given": request.model},
        "method": request.method,
        "hparams": _without_corpus(resolved.hparams.as_dict()),
        "hparams_digest": digest(identity["hparams"]),
        "covariance_corpus": corpus.name,
        "covariance_corpus_digest": corpus.digest,
        "graph_digest": resolved.dataset.digest,
        "probe": request.probe.as_dict(),
        "probe_digest": request.probe.digest,
        "hypernetwork": identity.get("hypernetwork"),
        "seed": request.seed,
        "strength": request.strength,
        "queries": query_digests(),
        "versions": versions(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _without_corpus(values: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters, also those of a control's reference, without the authors' corpus."""
    return {
        key: _without_corpus(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if key not in OF_THE_CORPUS
    }


def execute(plan: Plan) -> EditEffect:
    """Step 3: let the method compute its update. The model is the same afterwards.

    The last update is stored: requested again, at another strength, it is only scaled.
    """
    from ...editing.deltas.strength import scaled

    resolved = plan.resolved
    runtime, request, model = resolved.runtime, resolved.request, resolved.model
    covariance = corpora.covariance_of(runtime, plan.corpus, model, plan.layers)
    if covariance is not None:
        ridge = getattr(resolved.hparams, "mom2_ridge", None)
        plan.provenance["covariance"] = covariance.about | {"ridge": ridge}
    last = digest([plan.identity[key] for key in _OF_EFFECTS if key in plan.identity])
    if runtime.last_effect is None or runtime.last_effect[0] != last:
        runtime.progress(0, 1, f"editing with {request.method}")
        objective = appending.of_request(resolved)
        key = targets_key(resolved, objective)
        shared = templates.key_of(model, request.method, resolved.hparams, request.seed)
        further = {} if objective is None else {"objective": objective}
        effect = resolved.method.execute(
            model.loaded.model,
            model.loaded.tokenizer,
            [with_refusal_target(request.rewrite, request)],
            resolved.hparams,
            covariance,
            state=state_of(plan),
            seed=request.seed,
            **_shared_arguments(runtime, key, shared),
            **further,
        )
        templates.keep(runtime, shared, effect.templates)
        runtime.last_effect = (last, _share(runtime, key, effect))
        runtime.progress(1, 1, f"editing with {request.method}")
    effect = runtime.last_effect[1]
    if plan.demonstrations is not None:
        plan.provenance["demonstrations"] = described(effect.state)
    return scaled(effect, request.strength)


_OF_EFFECTS = (
    "graph", "rewrite", "model", "dtype", "method", "hparams", "corpus", "seed", "hypernetwork",
    "demonstrations", "append", "refusal", "retain",
)  # fmt: skip
"""The parts of an edit's identity that its update depends on."""


def targets_key(resolved: Resolved, objective: Objective | None = None) -> str | None:
    """The key of an edit's target vectors; None where the method has none to share.

    A control that carries out another method (`reference`) shares that method's.

    Args:
        objective: further terms of the loss that the vectors minimise.
    """
    method, hparams = resolved.method, resolved.hparams
    if hasattr(method, "reference"):
        method, hparams = method.reference(hparams)
    site = getattr(method, "TARGET_SITE", None)
    if site is None:
        return None
    loaded = resolved.model.loaded
    return digest(
        [
            loaded.info.digest,
            loaded.info.dtype,
            str(loaded.device),
            hparams.target_key(site),
            with_refusal_target(resolved.request.rewrite, resolved.request).identity,
            resolved.request.seed,
            *([] if objective is None else [objective.digest]),
        ]
    )


def _shared_arguments(runtime: Runtime, key: str | None, shared: str | None) -> dict[str, Any]:
    """Arguments for `execute`: the vectors and templates that were found before, or none."""
    found = runtime.targets.get(key) if key else None
    if found is None:
        sampled = templates.stored(runtime, shared)
        return {} if sampled is None else {"context_templates": sampled}
    return {"targets": dict(found.targets), "context_templates": found.templates}


def _share(runtime: Runtime, key: str | None, effect: EditEffect) -> EditEffect:
    """Store an effect's vectors; an effect of stored ones gets the steps they once took."""
    if key is None or not effect.targets:
        return effect
    found = runtime.targets.setdefault(
        key, Shared(effect.targets, effect.n_steps, effect.templates)
    )
    return replace(effect, n_steps=dict(found.n_steps))


def prepare_model(runtime: Runtime, request: ScoreRequest) -> int:
    """Compute the values that all edits of a model share; return the number of weights.

    That is the model (trained, if an organism) and its answers before the edit.
    """
    resolved = resolve(runtime, request)
    model_graph.answers(resolved)
    return resolved.model.loaded.info.n_parameters


def prepare_method(runtime: Runtime, request: ScoreRequest) -> None:
    """Compute the shared inputs of a method's edits: covariance statistics, a hypernetwork."""
    plan = plan_edit(resolve(runtime, request))
    corpora.covariance_of(runtime, plan.corpus, plan.resolved.model, plan.layers)
    state_of(plan)


def state_of(plan: Plan, requests: Sequence[RewriteRequest] = ()) -> dict[str, Any] | None:
    """The method's state besides the model; its NEEDS_… constants declare it.

    Args:
        requests: of several edits with one state: a fact forgotten by any is not retained.
    """
    state = dict(plan.demonstrations or {})
    if method_inputs.needed(plan.resolved.method):
        state |= method_inputs.state_for(plan.resolved, plan.hypernetwork)
    if plan.retained is not None:
        kept = retaining.retained(plan.resolved, requests) if requests else plan.retained
        state["retain"] = kept.pairs
    return state or None


def query_digests(*more: str) -> dict[str, str]:
    """Digest of every query of a score, so that a changed formula shows.

    Args:
        more: names of further queries.
    """
    scoring = ("metrics/", "chains/", "probes/")
    used = [n for n in cypher.names() if n.startswith(scoring) or n in more]
    return {name: cypher.query(name).digest for name in used}


def versions() -> dict[str, str]:
    """Versions of the packages that compute the numbers."""
    packages = ("torch", "transformers", "neo4j", "numpy")
    return {"thinkeval": __version__, "python": platform.python_version()} | {
        name: version(name) for name in packages
    }
