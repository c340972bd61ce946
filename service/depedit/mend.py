"""MEND's hypernetwork for a knowledge set: trained on the graph's facts but those of the set.

For MEND_IMP its training edits are premises whose new objects entail other conclusions by the
graph's kept rules. The paper trains on the set's own rule with other entities; a stored graph may
have few of those left, so groundings of its other rules are used too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...loaders.knowledge_sets import KnowledgeSet
from ...loaders.records import Fact
from ...loaders.rule_records import Rule
from ..errors import UsageError
from ..graphs import datasets
from ..scoring import hypernetwork
from .editor import EditorOptions
from .inference import derived

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.mend.data import Inference
    from ..scoring.runtime import Runtime, RuntimeModel

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
    wanted = hypernetwork.wanted(runtime, dataset, model, hparams, excluded, follows)
    if not wanted.path.is_file() and model.loaded.info.n_parameters > hypernetwork.SMALL:
        raise UsageError(
            f"No hypernetwork is stored for {model.name} without the facts of {knowledge.id}.",
            remedy="Train one with `thinkeval train-mend` and name its file by --set archive=FILE.",
        )
    hypernetwork.train(runtime, wanted, model, hparams)
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
