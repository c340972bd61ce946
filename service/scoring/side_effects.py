"""Further probes of an edit: conclusions of rules, facts about its subject, own answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact, digest
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..graphs.datasets import to_fact
from ..graphs.edges import KEPT_RATIO
from ..models.edit import SubjectOutcome
from ..rules.implications import other_premise, read
from ..rules.schemas import Triple, rules_digest
from ..rules.store import StoredRule, kept_rules, rules_of
from . import model_graph
from . import probe as probes
from .probe import EXACT, Answer, ProbedFact, Question, probe

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...editing.probe import ProbeSettings
    from .request import ScoreRequest
    from .resolved import Resolved, Scope


# The additional probes of `score --implications`: conclusions that an edit touches, and premises.
#
# They are probed separately, after the facts in scope, so that no other number changes; in the
# edit's graph they have the role `implication`, which no chain passes.

ROLE = "implication"


@dataclass(frozen=True, slots=True)
class Implied:
    """The additional probes of one edit.

    Attributes:
        rules: ids of the rules that were applied.
        unasked: conclusions that cannot be probed, as their relation has no cloze.
    """

    questions: tuple[Question, ...]
    rules: tuple[str, ...]
    unasked: int
    identity: str

    def about(self) -> dict[str, object]:
        """For the record."""
        return {"asked": len(self.questions), "unasked": self.unasked, "rules": list(self.rules)}


def implied(db: Database, request: ScoreRequest, scope: Scope) -> Implied:
    """The conclusions and premises of every grounding an edit touches, without those in scope.

    Raises:
        UsageError: the data set has no rules with the status `kept`.
    """
    rules = rules_of(db, request.graph)
    if not rules:
        raise UsageError(
            f"{request.graph!r} has no rules with the status `kept`: an edit implies nothing.",
            remedy=f"`thinkeval graph rules add {request.graph} FILE`, or mine and review some.",
        )
    rewrite = request.rewrite
    edited = (rewrite.subject, rewrite.relation, rewrite.target_true, rewrite.target_new)
    found = read(db, request.graph, edited, rules)
    wanted = dict.fromkeys(
        triple
        for row in found
        for triple in (other_premise(row), (row.subject, row.relation, row.conclusion))
        if triple is not None
    )
    known = {(f.subject, f.relation, f.object) for f in scope.facts}
    known |= {(rewrite.subject, rewrite.relation, o) for o in edited[2:]}
    open_ = [triple for triple in wanted if triple not in known]
    stored = (
        [to_fact(row) for row in db.read(rows.FactRow, "graph/facts", graph=request.graph)]
        if open_
        else []
    )
    facts = {(f.subject, f.relation, f.object): f for f in stored}
    clozes = _clozes(stored, rules)
    questions = []
    for triple in open_:
        fact = facts.get(triple) or _fact(triple, clozes)
        if fact is not None:
            aliases = scope.aliases.get(fact.object, ())
            questions.append(Question(fact, aliases, role=ROLE, listed=triple in facts))
    return Implied(
        tuple(questions),
        tuple(stored.id for stored in rules),
        len(open_) - len(questions),
        digest([rules_digest(rules), sorted(q.fact.id for q in questions)]),
    )


def _clozes(facts: Sequence[Fact], rules: Sequence[StoredRule]) -> dict[str, str]:
    """{relation: cloze}: of most facts of the data set, else of a rule."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        seen[fact.relation][fact.prompt] += 1
    out = {relation: counts.most_common(1)[0][0] for relation, counts in seen.items()}
    for stored in rules:
        relation = stored.rule.conclusion.relation
        if relation not in out and (clozes := stored.rule.conclusion_clozes()):
            out[relation] = clozes[0]
    return out


def _fact(triple: Triple, clozes: dict[str, str]) -> Fact | None:
    subject, relation, object_ = triple
    cloze = clozes.get(relation)
    return None if cloze is None else Fact(subject, relation, object_, prompt=cloze)


# Known facts about an edited subject: kept, weakened, replaced or lost, by likelihood.
#
# Subject retention cannot tell a subject that was moved (Paris lies in Italy, so that Italian is
# spoken there) from one that was forgotten. Facts of the subject that are on no chain are asked
# too, and the model for its own answer to those that are not kept.


def before(resolved: Resolved, probed: Sequence[ProbedFact]) -> list[ProbedFact]:
    """The unedited model's answers about the subject's facts that are not among the probed ones."""
    rewrite = resolved.request.rewrite
    if rewrite.kind == "append":
        return []
    asked = {each.question.fact.id for each in probed}
    found = resolved.runtime.db.read(
        rows.FactRow, "probes/about_subject",
        graph=resolved.dataset.id, subject=rewrite.subject, relation=rewrite.relation,
        objects=[rewrite.target_true, rewrite.target_new],
    )  # fmt: skip
    questions = [
        Question(fact, resolved.scope.aliases.get(fact.object, ()), role="subject", listed=False)
        for fact in map(to_fact, found)
        if fact.id not in asked
    ]
    if not questions:
        return []
    runtime, loaded, settings = resolved.runtime, resolved.model.loaded, settings_of(resolved)
    key = digest([asdict(question) for question in questions])
    answers: Sequence[Answer] = runtime.memoised(
        ("subject", loaded.info.digest, loaded.info.dtype, settings.digest, key),
        lambda: probe(loaded, questions, settings, progress=runtime.progress),
    )
    return [ProbedFact(q, answer) for q, answer in zip(questions, answers, strict=True)]


def own_answers(
    resolved: Resolved, effect: EditEffect, probed: Sequence[ProbedFact]
) -> list[ProbedFact]:
    """The facts, those that the edit changed with the model's own answers; it is restored.

    The edited fact, and known facts that are not kept, are asked. The unedited model is asked where
    the answer is no longer right, once for all edits.

    Args:
        probed: all facts of an edit, with both probabilities.
    """
    from ...editing.deltas import applied

    runtime, loaded = resolved.runtime, resolved.model.loaded
    places = [i for i, each in enumerate(probed) if _is_asked(each, resolved.request.known)]
    settings = settings_of(resolved)
    later = [(probed[i].question, probed[i].post or probed[i].pre) for i in places]
    if effect.changes_nothing:
        after = model_graph.own_answers(runtime, loaded, loaded.info.digest, later, settings)
    else:
        with applied(loaded.model, effect):
            after = probes.own_answers(loaded, later, settings, prompt_change=effect.prompt_change)
    both = list(probed)
    for i, text in zip(places, after, strict=True):
        post = both[i].post
        both[i] = replace(both[i], post=post and replace(post, says=text))
    # Where the answer is still right, that of the unedited model decides nothing.
    asked = [i for i in places if _is_edited(both[i]) or probes.replaced(both[i]) is not False]
    pre = [(both[i].question, both[i].pre) for i in asked]
    before = model_graph.own_answers(runtime, loaded, loaded.info.digest, pre, settings)
    for i, text in zip(asked, before, strict=True):
        both[i] = replace(both[i], pre=replace(both[i].pre, says=text))
    return _named(resolved, both)


def _is_asked(each: ProbedFact, least: float) -> bool:
    """Return True for the edited fact, and for a known fact that is not kept."""
    if _is_edited(each):
        return True
    pre = each.pre.values.get(EXACT)
    post = each.post.values.get(EXACT) if each.post is not None else None
    return bool(pre) and post is not None and pre >= least and post < KEPT_RATIO * pre


def _is_edited(each: ProbedFact) -> bool:
    return each.question.role in ("target_true", "target_new", "coedit")


def _named(resolved: Resolved, probed: Sequence[ProbedFact]) -> list[ProbedFact]:
    """The facts, those about the subject with the name that their own answer gives instead."""
    from ...editing.probe.matching import gives

    rewrite, db = resolved.request.rewrite, resolved.runtime.db
    about = [
        each.question.fact.subject == rewrite.subject and probes.replaced(each) is True
        for each in probed
    ]
    if not any(about):
        return list(probed)
    (following,) = db.read(
        rows.FollowingRow, "edits/following",
        graph=resolved.dataset.id, new=rewrite.target_new or None,
    )  # fmt: skip
    facts = [each.question.fact for each in probed]
    concluded = (each["object"] for each in entailed(db, resolved.request))
    ends = (name for fact in facts for name in (fact.subject, fact.object))
    # The longest name is meant: `Equatorial Guinea` is not `Guinea`.
    names = sorted({*following.names, *concluded, *ends}, key=lambda name: (-len(name), name))
    aliases = resolved.scope.aliases

    def named(each: ProbedFact) -> str | None:
        says = (each.post.says if each.post is not None else None) or ""
        return next((n for n in names if gives(says, (n, *aliases.get(n, ())))), None)

    return [
        replace(each, named=named(each)) if moved else each
        for each, moved in zip(probed, about, strict=True)
    ]


def counted(db: Database, edit: str, request: ScoreRequest) -> SubjectOutcome | None:
    """The facts of a stored edit graph by change; None of a request to append."""
    rewrite = request.rewrite
    if rewrite.kind == "append":
        return None
    (found,) = db.read(
        SubjectOutcome, "edits/subject_facts",
        edit=edit, graph=request.graph, subject=rewrite.subject,
        new=rewrite.target_new or None, known=request.known, entailed=entailed(db, request),
    )  # fmt: skip
    reason = None
    if not found.n:
        reason = f"the graph has no other fact about {rewrite.subject}"
        if found.excluded:
            reason = (
                f"the model knows 0 of {pluralize(found.excluded, 'other fact')}"
                f" about {rewrite.subject}"
            )
    return found.model_copy(update={"reason": reason})


def entailed(db: Database, request: ScoreRequest) -> list[dict[str, str]]:
    """The conclusions about the subject that the kept rules of the graph draw from the new object.

    The other premise of a rule, if it has two, is a fact of the graph.
    """
    rewrite = request.rewrite
    edited = (rewrite.subject, rewrite.relation, rewrite.target_true, rewrite.target_new)
    found = read(db, request.graph, edited, kept_rules(db, request.graph))
    return [
        {"relation": relation, "object": name}
        for relation, name in dict.fromkeys(
            (row.relation, row.conclusion)
            for row in found
            if row.side == "new" and row.subject == rewrite.subject
        )
    ]


def settings_of(resolved: Resolved) -> ProbeSettings:
    """The settings of the request's probe, by likelihood alone."""
    return replace(resolved.request.probe, measures=(EXACT,))
