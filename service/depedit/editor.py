"""Editors: apply facts to a model in both phases; MEND's training, similarity of gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from ...loaders.knowledge_sets import QA, KnowledgeSet
from ...loaders.records import SUBJECT_SLOT, Fact, RewriteRequest, unique
from ...loaders.rule_records import Rule
from ..base.errors import UsageError
from ..graphs import datasets
from ..scoring import method_inputs
from ..scoring import method_inputs as corpora
from ..scoring.hyperparameters import chosen_for
from ..scoring.method_inputs import SMALL
from .questions import derived, templates

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...editing.mend.data import Inference
    from ...editing.mend.similarity import Parameters
    from ...editing.registry import MethodInfo
    from ..scoring.runtime import Runtime, RuntimeModel


# Editors: apply facts to a model in phase establish and in phase update.
#
# An editor is an editing method with its hyperparameters and statistics. Two differ from the
# method: `finetune` is fine-tuning as in DepEdit (all requests together until they are learnt),
# and `mend` updates a model that `finetune` established, as MEND cannot edit on top of its own
# edits (DepEdit, appendix B).

ALIASES = {"finetune": "fine_tuning"}
"""Names of methods in the paper's tables."""

FINETUNE = {
    "objective_optimization": "target_new",
    "norm_constraint": None,
    "num_steps": 100,
    "stop_loss": 1e-3,
    "batch_size": 64,
}
"""Hyperparameters of `finetune` that replace the file's: no norm constraint, every target token at
its position, until the loss is small."""

FINETUNE_SMALL = {"lr": 1e-3}
"""Further ones for a model of at most `SMALL` weights, whose MLPs are all trained."""

Put = Callable[[Sequence[RewriteRequest]], "EditEffect"]


@dataclass(frozen=True, slots=True)
class EditorOptions:
    """Options of an editor.

    Attributes:
        graph: source of sentences for covariance statistics, and of facts that train MEND.
        overrides: single hyperparameters that replace the file's.
    """

    graph: str
    hparams: str | None = None
    overrides: dict[str, object] = field(default_factory=dict)
    covariance: str | None = None
    seed: int = 0


class Method:
    """One editing method with its settings, applied to the current state of one model."""

    def __init__(
        self,
        runtime: Runtime,
        model: RuntimeModel,
        name: str,
        options: EditorOptions,
        state: Callable[[Any, Any], dict[str, Any] | None] | None = None,
    ) -> None:
        from ...editing import registry

        self.name = ALIASES.get(name, name)
        require_weights(name, registry.info(self.name))
        self._runtime, self._model, self._seed = runtime, model, options.seed
        self._method = registry.get(self.name)
        own = finetune_overrides(model) if name == "finetune" else {}
        chosen = chosen_for(
            runtime, self.name, model, options.hparams, {**own, **options.overrides}
        )
        self.hparams = chosen.values
        layers = registry.covariance_layers(self._method, self.hparams)
        dataset = datasets.dataset(runtime.db, options.graph)
        corpus = corpora.resolve(runtime, dataset, options.covariance, model, layers)
        if not chosen.ridge_set:
            self.hparams, _ = corpora.with_ridge(runtime, model, self._method, self.hparams, corpus)
        self._covariance = corpora.covariance_of(runtime, corpus, model, layers)
        self._state = state(self._method, self.hparams) if state else None
        self._templates: Any = None

    def __call__(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        """The update of the current model by the requests."""
        loaded = self._model.loaded
        effect = self._method.execute(
            loaded.model,
            loaded.tokenizer,
            requests,
            self.hparams,
            self._covariance,
            context_templates=self._templates,
            state=self._state,
            seed=self._seed,
        )
        # Sampled once, from the unedited model: an edited one would generate other prefixes.
        self._templates = self._templates or effect.templates or None
        return effect


def require_weights(name: str, info: MethodInfo) -> None:
    """Check that a method edits weights.

    Raises:
        UsageError: it changes prompts, or only forgets.
    """
    if info.kind == "prompt":
        raise UsageError(
            f"{name} changes prompts; facts are established in weights.",
            remedy="Take a method that edits weights, or --strategy derive.",
        )
    from ...editing import registry

    if registry.forgets(info.name):
        raise UsageError(
            f"{name} makes a model forget; facts are established in weights.",
            remedy="Take a method that replaces an object, such as memit, or --strategy derive.",
        )


def finetune_overrides(model: RuntimeModel) -> dict[str, object]:
    """Hyperparameters by which `finetune` differs from `fine_tuning` on a model."""
    if model.loaded.info.n_parameters > SMALL:
        return dict(FINETUNE)
    from ...editing.architectures import adapter_for

    adapter = adapter_for(model.loaded.model)
    name = adapter.mlp_out(0).name.rpartition(".")[0].replace(".0.", ".{}.")
    layers = list(range(model.loaded.model.config.num_hidden_layers))
    return {**FINETUNE, **FINETUNE_SMALL, "layers": layers, "rewrite_module_tmp": name}


def below_mend(model: RuntimeModel) -> dict[str, object]:
    """Hyperparameters to fine-tune a small model before MEND: the first layer's projection only.

    MEND's hypernetwork is trained for the unedited weights. After fine-tuning of all layers its
    updates broke an organism; after fine-tuning below its layers they still had an effect.
    """
    if model.loaded.info.n_parameters > SMALL:
        return {}
    from ...editing.architectures import adapter_for

    name = adapter_for(model.loaded.model).mlp_out(0).name.replace(".0.", ".{}.")
    return {"layers": [0], "rewrite_module_tmp": name, "lr": 1e-2}


class Editor:
    """Computes the updates of both phases, and caches the last ones, which strategies share.

    Attributes:
        name: as given by the user.
    """

    def __init__(self, name: str, establish: Method, update: Method) -> None:
        self.name = name
        self._methods = {"establish": establish, "update": update}
        self._cache: dict[object, EditEffect] = {}

    @property
    def hparams(self) -> dict[str, object]:
        """The hyperparameters, for the record."""
        first, then = self._methods["establish"], self._methods["update"]
        return {first.name: first.hparams.as_dict(), then.name: then.hparams.as_dict()}

    def establish(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        """The update that establishes the requests in the unedited model."""
        return self._put("establish", requests, ())

    def update(self, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        """The update of the established model.

        Args:
            state: identifies the updates applied to the model; cached updates are reused only for
                the same state.
        """
        return self._put("update", requests, state)

    def _put(self, phase: str, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        key = (phase, tuple(requests), state)
        if key in self._cache:
            return self._cache[key]
        method = self._methods[phase]
        effect = method(requests)
        if sum(delta.numel() for delta in effect.deltas.values()) <= SMALL:
            self._cache[key] = effect
        return effect


def editor(
    runtime: Runtime,
    model: RuntimeModel,
    name: str,
    options: EditorOptions,
    mend_state: Callable[[Any, Any], dict[str, Any] | None],
) -> Editor:
    """The editor of that name.

    Args:
        mend_state: gives the state of MEND, from the method and its hyperparameters.

    Raises:
        EditingError, UsageError: no such method, no hyperparameters for the model, a method that
            changes prompts.
    """
    if name in ("mend", "mend_imp"):
        plain = EditorOptions(
            options.graph,
            overrides=below_mend(model),
            covariance=options.covariance,
            seed=options.seed,
        )
        first = Method(runtime, model, "finetune", plain)
        return Editor(name, first, Method(runtime, model, "mend", options, mend_state))
    method = Method(runtime, model, name, options)
    return Editor(name, method, method)


def request(qa: QA) -> RewriteRequest:
    """Convert a fact to a rewrite request without `target_true`."""
    return RewriteRequest(
        id=f"{qa.subject} | {qa.relation}",
        dataset="",
        prompt=qa.prompt,
        subject=qa.subject,
        relation=qa.relation,
        target_true="",
        target_new=qa.object,
    )


# MEND's hypernetwork for a knowledge set: trained on the graph's facts but those of the set.
#
# For MEND_IMP its training edits are premises whose new objects entail other conclusions by the
# graph's kept rules. The paper trains on the set's own rule with other entities; a stored graph
# may have few of those left, so groundings of its other rules are used too.

CIMP = 1.0
"""Weight of the implications in MEND_IMP's loss (equation 3)."""


def adapted(options: EditorOptions, knowledge: KnowledgeSet, name: str) -> EditorOptions:
    """The options of MEND for a set: trained for batches of the size of an update.

    Args:
        name: `mend`, or `mend_imp`, which has the implications in its loss.
    """
    n = max((len(copy.updates) for copy in knowledge.copies), default=1)
    own: dict[str, object] = {"n_edits": n, "batch_size": n, "n_locality": 1}
    if name == "mend_imp":
        own["cimp"] = CIMP
    return replace(options, overrides={**own, **options.overrides})


def state(
    runtime: Runtime,
    model: RuntimeModel,
    knowledge: KnowledgeSet,
    options: EditorOptions,
    hparams: Any,
) -> dict[str, Any]:
    """The state of MEND: its hypernetwork, trained on demand for small models.

    Raises:
        UsageError: no training edit has a conclusion, or the model is too large to train one on
            demand.
    """
    from ...editing.mend import store

    if hparams.archive is not None:
        return {"hypernetwork": store.load(hparams.archive, model.loaded.device)[0]}
    excluded = held_out(knowledge)
    follows: Sequence[Inference] = ()
    if hparams.cimp:
        follows = inferences(runtime.db, options.graph, knowledge, excluded)
    dataset = datasets.dataset(runtime.db, options.graph)
    wanted = method_inputs.wanted(runtime, dataset, model, hparams, excluded, follows)
    if not wanted.path.is_file() and model.loaded.info.n_parameters > method_inputs.SMALL:
        raise UsageError(
            f"No hypernetwork is stored for {model.name} without the facts of {knowledge.id}.",
            remedy="Train one with `thinkeval model train-mend` and name its file by --set"
            " archive=FILE.",
        )
    method_inputs.train(runtime, wanted, model, hparams)
    return {"hypernetwork": store.load(wanted.path, model.loaded.device)[0]}


def held_out(knowledge: KnowledgeSet) -> set[tuple[str, str]]:
    """Subject and relation of all questions of the set."""
    implied = [i.qa.key for i in knowledge.implications]
    later = [i.qa.key for copy in knowledge.copies for i in copy.updated]
    facts = [qa.key for qa in (*knowledge.specific, *knowledge.unrelated)]
    return {*facts, *implied, *later}


def inferences(
    db: Database, graph: str, knowledge: KnowledgeSet, excluded: set[tuple[str, str]]
) -> list[Inference]:
    """Conclusions of edits of a premise to another object of its relation, by all kept rules.

    Neither premises nor conclusions belong to the set.

    Raises:
        UsageError: there is no such conclusion.
    """
    from ..rules import store as rules

    facts = [
        f for f in datasets.stored_graph(db, graph).facts if (f.subject, f.relation) not in excluded
    ]
    stored = [each.rule for each in rules.rules_of(db, graph)]
    kept = {rule.id: rule for rule in stored if rule.second is not None}
    kept.setdefault(knowledge.rule.id, knowledge.rule)
    found = [one for rule in kept.values() for one in _of_rule(db, rule, facts, excluded)]
    if not found:
        raise UsageError(
            f"No edit of a fact of {graph} that is not in {knowledge.id} changes a conclusion.",
            remedy="MEND_IMP needs more facts of the rules' relations, or more rules.",
        )
    return found


def _of_rule(
    db: Database, rule: Rule, facts: Sequence[Fact], excluded: set[tuple[str, str]]
) -> list[Inference]:
    from ...editing.mend.data import Inference

    wording = {f.relation: f.prompt for f in sorted(facts, key=lambda f: f.id)}
    conclusion = rule.conclusion.relation
    if conclusion not in wording:
        return []
    new = []
    for relation in dict.fromkeys(rule.relations[:2]):
        mine = [f for f in facts if f.relation == relation]
        objects = sorted({f.object for f in mine})
        new += [
            {"subject": f.subject, "relation": relation, "object": other}
            for f in sorted(mine, key=lambda f: f.id)
            for other in objects
            if other not in (f.object, f.subject)
        ]
    known = [{"subject": f.subject, "relation": f.relation, "object": f.object} for f in facts]
    return [
        Inference(
            premise=(new[one.source]["subject"], new[one.source]["relation"]),
            object=new[one.source]["object"],
            subject=one.subject,
            prompt=wording[conclusion],
            answer=one.object,
        )
        for one in derived(db, rule, new, known)
        if one.key not in excluded
    ]


# Similarity of the gradients of a set's facts, in the four kinds of pairs of DepEdit's table 5.
#
# premises & implication   both premises of each implication with it similar surface form
# facts of one relation with one template original & rephrased     a fact with its prompt, and
# with another cloze of the graph random                   facts of different relations that share
# no entity

KINDS = (
    "premises & implication",
    "similar surface form",
    "original & rephrased",
    "random",
)


@dataclass(frozen=True, slots=True)
class Similarity:
    """The cosines of one kind of pairs: mean, standard deviation (None below 2), number."""

    kind: str
    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Facts and pairs of them to compare.

    Attributes:
        facts: each once, with its prompt.
        by_kind: {kind: indices into `facts`}.
    """

    facts: tuple[QA, ...]
    by_kind: dict[str, tuple[tuple[int, int], ...]]


def pairs_of(
    knowledge: KnowledgeSet,
    wordings: dict[str, tuple[str, ...]],
    *,
    most: int = 24,
    seed: int = 0,
) -> Pairs:
    """The pairs of a set, drawn with the seed.

    Args:
        wordings: {relation: its clozes}, for rephrasing; a relation with one cloze has no pair.
        most: maximum number of pairs of each kind.
    """
    by_key = {qa.key: qa for qa in knowledge.specific}
    specific = list(knowledge.specific)
    facts = [*specific, *knowledge.unrelated]
    implied = [
        (by_key[premise], implication.qa)
        for implication in knowledge.implications
        for premise in implication.premises
        if premise in by_key
    ]
    alike = [
        # The same template for both, whatever the set's setting, makes the pair similar.
        (a, replace(b, prompt=a.prompt))
        for a, b in itertools.combinations(specific, 2)
        if a.relation == b.relation
    ]
    rephrased = [
        (qa, replace(qa, prompt=other))
        for qa in facts
        for other in unique((qa.asked, *wordings.get(qa.relation, ())))
        if other != qa.prompt and other.count(SUBJECT_SLOT) == 1
    ]
    apart = [
        (a, b)
        for a, b in itertools.combinations(facts, 2)
        if a.relation != b.relation and not {a.subject, a.object} & {b.subject, b.object}
    ]
    place: dict[QA, int] = {}
    chosen: dict[str, tuple[tuple[int, int], ...]] = {}
    for kind, pairs in zip(KINDS, (implied, alike, rephrased, apart), strict=True):
        drawn = Random(f"{seed}|{kind}").sample(pairs, min(most, len(pairs)))
        chosen[kind] = tuple((_place(place, a), _place(place, b)) for a, b in drawn)
    return Pairs(tuple(place), chosen)


def _place(place: dict[QA, int], qa: QA) -> int:
    plain = replace(qa, asked=qa.prompt)
    return place.setdefault(plain, len(place))


def similarities(
    runtime: Runtime,
    model: RuntimeModel,
    pairs: Pairs,
    *,
    parameters: Parameters = "linear",
) -> list[Similarity]:
    """Mean, spread and number of each kind's cosines.

    Raises:
        EditingError: a fact the model cannot read, or gradients that do not fit.
    """
    from ...editing.mend import similarity

    loaded = model.loaded
    requests: list[RewriteRequest] = [
        replace(request(qa), id=str(i)) for i, qa in enumerate(pairs.facts)
    ]
    flat = [pair for kind in KINDS for pair in pairs.by_kind[kind]]
    values = iter(
        similarity.cosines(
            loaded.model,
            loaded.tokenizer,
            similarity.rows_of(loaded.tokenizer, requests),
            flat,
            parameters=parameters,
            done=lambda done, total: runtime.progress(done, total, "gradients"),
        )
    )
    by_kind = {kind: [next(values) for _ in pairs.by_kind[kind]] for kind in KINDS}
    return [_summary(kind, found) for kind, found in by_kind.items()]


def _summary(kind: str, found: Sequence[float | None]) -> Similarity:
    defined = [value for value in found if value is not None]
    return Similarity(
        kind,
        fmean(defined) if defined else None,
        stdev(defined) if len(defined) > 1 else None,
        len(defined),
    )


def wordings(db: Database, graph: str) -> dict[str, tuple[str, ...]]:
    """{relation: its clozes in the graph}."""
    from ..graphs.datasets import stored_graph

    found = templates(stored_graph(db, graph).facts)
    return {relation: tuple(sorted(texts)) for relation, texts in found.items()}
