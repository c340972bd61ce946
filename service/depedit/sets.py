"""Draw knowledge sets from a graph and its rules (DepEdit, section 5.1), with updated copies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from ...loaders.groundings import Grounding, Triple, conclusions, groundings
from ...loaders.knowledge_sets import SETTINGS, Copy, Implication, KnowledgeSet
from ...loaders.records import KnowledgeGraph, digest, slug
from ...loaders.rule_records import Rule
from ..base.errors import NothingStoredError, UsageError
from ..base.formatting import pluralize
from ..models.depedit import Skipped
from .questions import Wording, templates

if TYPE_CHECKING:
    from ...cypher.run import Database


# Updated copies of a set: other objects for its facts, and the changed conclusions.
#
# A new object has the kind of the old one. If possible it is an object of the set's own facts of
# that relation, so that conclusions can still be derived, and one that no updated fact has yet,
# so that most objects remain in use. No question has two conclusions with different objects, and
# no conclusion has the subject and relation of a specific fact.

ATTEMPTS = 300
"""Maximum number of draws: if each object may be used once, about one in eight succeeds."""

Key = tuple[str, str]
"""Subject and relation of a fact."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Source of new objects.

    Attributes:
        kinds: {entity: its kind}.
        objects: {relation: all objects it has in the graph}, sorted.
    """

    kinds: Mapping[str, str | None]
    objects: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of an update on implications: see `loaders.knowledge_sets.Copy`.

    Attributes:
        updated: groundings with a changed conclusion, then new ones.
    """

    updated: tuple[Grounding, ...]
    kept: tuple[Key, ...]
    lost: tuple[Key, ...]


def consistent(rule: Rule, facts: Sequence[Triple], kinds: Mapping[str, str | None]) -> bool:
    """Return True if each (subject, relation) has one object, stated or derived."""
    derived = conclusions(groundings(rule, facts, kinds))
    given = {(subject, relation) for subject, relation, _ in facts}
    return all(len(objects) == 1 and key not in given for key, objects in derived.items())


def redraw(
    rule: Rule,
    facts: Sequence[Triple],
    changed: Collection[int],
    pool: Pool,
    rng: random.Random,
    *,
    follow: int | None = None,
) -> list[Triple]:
    """The facts, with other objects at the indices `changed`.

    Args:
        follow: required number of implications afterwards, with disjoint premises; None for any.

    Raises:
        UsageError: no such objects were found.
    """
    for within in (True, False):
        choices = {i: _choices(facts, i, pool, within=within) for i in sorted(changed)}
        if not all(choices.values()):
            continue
        for _ in range(ATTEMPTS):
            drawn = _attempt(rule, facts, choices, pool.kinds, rng)
            if drawn is None:
                continue
            if follow is None or _apart(groundings(rule, drawn, pool.kinds)) == follow:
                return drawn
    raise UsageError(
        f"No other objects were found for {len(changed)} of {pluralize(len(facts), 'fact')} so that"
        " one answer"
        f" follows for each question ({rule.text()}).",
        remedy="Update fewer facts, or use a graph with more entities of these kinds.",
    )


def what_changes(rule: Rule, before: Mapping[Key, str], after: Sequence[Grounding]) -> Change:
    """Compare the conclusions before and after an update.

    Args:
        before: {key: object} of the implications, in the set's order.
    """
    now: dict[Key, Grounding] = {}
    for grounding in after:
        now.setdefault(grounding.conclusion[:2], grounding)
    remaining = {key: now[key] for key in before if key in now}
    changed = [g for key, g in remaining.items() if g.conclusion[2] != before[key]]
    new = [g for key, g in now.items() if key not in before]
    return Change(
        updated=(*changed, *new),
        kept=tuple(key for key, g in remaining.items() if g.conclusion[2] == before[key]),
        lost=tuple(key for key in before if key not in now),
    )


def _apart(found: Sequence[Grounding]) -> int | None:
    """Number of conclusions, if each has one grounding and their premises are disjoint."""
    premises = [fact for g in found for fact in g.pair]
    alone = len(conclusions(found)) == len(found) and len(set(premises)) == len(premises)
    return len(found) if alone else None


def _choices(facts: Sequence[Triple], index: int, pool: Pool, *, within: bool) -> list[str]:
    """Possible new objects of a fact: of the set (`within`), or of the complete graph."""
    subject, relation, old = facts[index]
    if within:
        objects = sorted({o for _, r, o in facts if r == relation})
    else:
        objects = list(pool.objects.get(relation, ()))
    kind = pool.kinds.get(old)
    return [o for o in objects if o not in (old, subject) and pool.kinds.get(o) == kind]


def _attempt(
    rule: Rule,
    facts: Sequence[Triple],
    choices: Mapping[int, Sequence[str]],
    kinds: Mapping[str, str | None],
    rng: random.Random,
) -> list[Triple] | None:
    """One draw, fact by fact; None if a fact has no possible object left."""
    drawn: dict[int, Triple] = {i: f for i, f in enumerate(facts) if i not in choices}
    # How often each object may be used without being more frequent than before.
    free = Counter((facts[i][1], facts[i][2]) for i in choices)
    order = list(choices)
    rng.shuffle(order)
    for index in order:
        subject, relation, _ = facts[index]
        objects = rng.sample(list(choices[index]), len(choices[index]))
        for object_ in sorted(objects, key=lambda o, r=relation: free[r, o] <= 0):
            triple = (subject, relation, object_)
            if consistent(rule, [*drawn.values(), triple], kinds):
                drawn[index] = triple
                free[relation, object_] -= 1
                break
        else:
            return None
    return [drawn[i] for i in range(len(facts))]


# `draw` makes one set from facts and one rule, without the database; `build` reads facts and
# rules and draws the sets of all rules.

Init = Literal["stored", "shuffled"]
RESTARTS = 20
"""Number of random orders in which groundings are selected, until one gives enough."""


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Options of a set; the defaults are the paper's.

    Attributes:
        facts: number of specific facts; at least twice the implications. Facts beyond that are
            premises of no grounding.
        copies: number of updated copies, each with `updates` changed specific facts.
        init: objects of the facts as `stored` in the graph, or `shuffled` within their kind, so
            that a model trained on the graph does not know them beforehand.
    """

    setting: str = "CQ_DT"
    seed: int = 0
    facts: int = 24
    unrelated: int = 5
    implications: int = 12
    copies: int = 3
    updates: int = 20
    init: Init = "stored"

    def check(self) -> None:
        """UsageError if the numbers are inconsistent."""
        if self.setting not in SETTINGS:
            raise UsageError(
                f"{self.setting!r} is not a setting.", remedy=f"Use one of {', '.join(SETTINGS)}."
            )
        if min(self.facts, self.implications, self.copies) < 1 or self.unrelated < 0:
            raise UsageError(
                "A set has at least one fact, implication and copy.", remedy="Ask for more."
            )
        if self.facts < 2 * self.implications:
            raise UsageError(
                f"{self.implications} implications need {2 * self.implications} facts, two each;"
                f" {self.facts} are asked for.",
                remedy="Ask for more --facts, or for fewer --implications.",
            )
        if not 1 <= self.updates <= self.facts:
            raise UsageError(
                f"{self.updates} of {self.facts} facts cannot be updated.",
                remedy=f"Ask for 1 to {self.facts} --updates.",
            )


@dataclass(frozen=True, slots=True)
class Material:
    """Source of sets: the facts of a graph that are the only answer to their question.

    Attributes:
        dataset: id of the graph.
        content: its content digest.
        facts: (subject, relation, object), sorted.
        templates: {relation: clozes}.
    """

    dataset: str
    content: str
    facts: tuple[Triple, ...]
    pool: Pool
    templates: Mapping[str, tuple[str, ...]]


class TooSmallError(UsageError):
    """A graph has too few facts for a set.

    Attributes:
        apart: number of groundings that fit into one set.
    """

    def __init__(self, detail: str, *, remedy: str, apart: int) -> None:
        super().__init__(detail, remedy=remedy)
        self.apart = apart


def material_of(graph: KnowledgeGraph) -> Material:
    """The source of sets of a graph."""
    objects: dict[tuple[str, str], set[str]] = {}
    by_relation: dict[str, set[str]] = {}
    for fact in graph.facts:
        objects.setdefault((fact.subject, fact.relation), set()).add(fact.object)
        by_relation.setdefault(fact.relation, set()).add(fact.object)
    single = sorted((*key, *found) for key, found in objects.items() if len(found) == 1)
    return Material(
        dataset=graph.name,
        content=graph.content_digest,
        facts=tuple((s, r, o) for s, r, o in single if s != o),
        pool=Pool(
            {entity.name: entity.kind for entity in graph.entities},
            {relation: sorted(found) for relation, found in by_relation.items()},
        ),
        templates=templates(graph.facts),
    )


def draw(material: Material, rule: Rule, options: SetOptions) -> KnowledgeSet:
    """Draw one set by one rule.

    Raises:
        UsageError: the graph has too few facts or wordings; the message counts them.
    """
    options.check()
    conclusion = rule.conclusion.relation
    words = {conclusion: rule.conclusion_clozes(), **material.templates}
    wording = Wording(words, options.setting, options.seed)
    wording.require(rule)
    rng = random.Random(f"{options.seed}|{rule.id}|facts")
    facts = _specific(material, rule, options, rng)
    if options.init == "shuffled":
        every = range(len(facts))
        facts = redraw(rule, facts, every, material.pool, rng, follow=options.implications)
    unrelated = _unrelated(material, rule, options, rng)
    kinds = material.pool.kinds
    follows = {g.conclusion[:2]: g for g in groundings(rule, facts, kinds)}
    before = {key: g.conclusion[2] for key, g in follows.items()}
    copies = []
    for i in range(options.copies):
        again = random.Random(f"{options.seed}|{rule.id}|copy|{i}")
        changed = sorted(again.sample(range(len(facts)), options.updates))
        after = redraw(rule, facts, changed, material.pool, again)
        change = what_changes(rule, before, groundings(rule, after, kinds))
        copies.append(
            Copy(
                updates=tuple(wording.specific(*after[index]) for index in changed),
                updated=tuple(_implication(wording, g) for g in change.updated),
                kept=change.kept,
                lost=change.lost,
            )
        )
    return KnowledgeSet(
        id=_id(material, rule, options),
        dataset=material.dataset,
        setting=options.setting,
        seed=options.seed,
        rule=rule,
        specific=tuple(wording.specific(*fact) for fact in facts),
        unrelated=tuple(wording.other(*fact) for fact in unrelated),
        implications=tuple(_implication(wording, g) for g in follows.values()),
        copies=tuple(copies),
        init=options.init,
    )


def _specific(
    material: Material, rule: Rule, options: SetOptions, rng: random.Random
) -> list[Triple]:
    """The premises of `options.implications` disjoint groundings, and facts that ground nothing."""
    kinds = material.pool.kinds
    usable = [fact for fact in material.facts if fact[1] in rule.relations[:2]]
    found = groundings(rule, usable, kinds)
    best: list[Grounding] = []
    for _ in range(RESTARTS):
        rng.shuffle(found)
        chosen = _build_apart(rule, found, options.implications, kinds)
        best = max(best, chosen, key=len)
        if len(best) == options.implications:
            break
    facts = [fact for g in best for fact in g.pair]
    if len(best) == options.implications:
        _fill(rule, facts, usable, options.facts, kinds, rng)
    if len(best) < options.implications or len(facts) < options.facts:
        raise TooSmallError(
            f"{material.dataset!r} is too small for a set of {options.facts} facts and"
            f" {options.implications} implications by the rule '{rule.text()}' It has"
            f" {pluralize(len(usable), 'fact')} of the premises without another answer to their"
            f" question, and {pluralize(len(found), 'grounding')}, {len(best)} of them with"
            " premises of their own that do not meet.",
            remedy=f"Ask for --facts {2 * len(best)} --implications {len(best)} and fewer"
            " --updates, or take another rule."
            if best
            else "Take another rule; `thinkeval graph rules instantiate` shows what grounds one.",
            apart=len(best),
        )
    rng.shuffle(facts)
    return facts


def _build_apart(
    rule: Rule, found: Sequence[Grounding], wanted: int, kinds: Mapping[str, str | None]
) -> list[Grounding]:
    """Groundings in this order that share no premise and whose facts ground nothing else."""
    chosen: list[Grounding] = []
    facts: list[Triple] = []
    for grounding in found:
        pair = list(grounding.pair)
        if len(chosen) == wanted or any(fact in facts for fact in pair) or pair[0] == pair[1]:
            continue
        together = [*facts, *pair]
        grounded = groundings(rule, together, kinds)
        if len(grounded) == len(chosen) + 1 and consistent(rule, together, kinds):
            follows = {g.conclusion[:2] for g in grounded}
            if len(follows) == len(grounded):
                chosen.append(grounding)
                facts = together
    return chosen


def _fill(
    rule: Rule,
    facts: list[Triple],
    usable: Sequence[Triple],
    wanted: int,
    kinds: Mapping[str, str | None],
    rng: random.Random,
) -> None:
    """Add facts of the premises' relations that ground nothing with the others."""
    there = len(groundings(rule, facts, kinds))
    for fact in rng.sample(list(usable), len(usable)):
        if len(facts) == wanted:
            return
        together = [*facts, fact]
        if (
            fact not in facts
            and len(groundings(rule, together, kinds)) == there
            and consistent(rule, together, kinds)
        ):
            facts.append(fact)


def _unrelated(
    material: Material, rule: Rule, options: SetOptions, rng: random.Random
) -> list[Triple]:
    others = [fact for fact in material.facts if fact[1] not in rule.relations]
    if len(others) < options.unrelated:
        raise UsageError(
            f"{material.dataset!r} has {len(others)} facts of other relations than the rule's that"
            f" are the only answer to their question; {options.unrelated} are asked for.",
            remedy=f"Ask for --unrelated {len(others)}.",
        )
    return rng.sample(others, options.unrelated)


def _implication(wording: Wording, grounding: Grounding) -> Implication:
    first, second = grounding.pair
    premises = (first[:2], second[:2])
    return Implication(wording.other(*grounding.conclusion), premises)


def _id(material: Material, rule: Rule, options: SetOptions) -> str:
    """A readable id, with a digest of everything that the set depends on."""
    parts = (material.dataset, options.setting.lower(), slug(rule.conclusion.relation)[:30])
    about = digest([material.content, rule.id, asdict(options)], 6)
    return f"{'-'.join(parts)}-s{options.seed}-{about}"


Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Built:
    """Drawn sets, and rules that yielded none, those with most groundings first."""

    sets: tuple[KnowledgeSet, ...]
    skipped: tuple[Skipped, ...]


def build(
    db: Database,
    dataset: str,
    options: SetOptions,
    *,
    rules: Sequence[str] | None = None,
    candidates: bool = False,
    per_rule: int = 1,
    progress: Progress | None = None,
) -> Built:
    """Draw sets from a stored graph, `per_rule` for each of its rules, without storing them.

    The rules of a bundled graph are stored first if it has none.

    Args:
        rules: ids of the rules; default: the kept ones, with `candidates` also those without a
            review.
        per_rule: number of sets of each rule, with the seeds options.seed, options.seed + 1, ...

    Raises:
        NotFoundError: no such graph or rule.
        NothingStoredError: the graph has no such rules.
        UsageError: no rule yields a set, or one of `rules` does not; the message counts facts.
    """
    from ..rules.store import rules_of

    options.check()
    _store_bundled(db, dataset)
    status = ("kept", "candidate") if candidates else ("kept",)
    # A set's implications have two premises each (DepEdit, section 3.1).
    every = rules_of(db, dataset, status=status, ids=rules)
    found = [stored for stored in every if stored.rule.second is not None]
    if not found:
        raise NothingStoredError(
            f"{dataset!r} has no rules to build sets from.",
            remedy=f"Find some with `thinkeval graph rules mine {dataset}` and review them,"
            f" write some"
            f" with `thinkeval graph rules add {dataset} FILE`, or use unreviewed ones:"
            " --candidates.",
        )
    from ..graphs.datasets import stored_graph

    material = material_of(stored_graph(db, dataset))
    sets: list[KnowledgeSet] = []
    skipped: list[Skipped] = []
    for number, stored in enumerate(found, start=1):
        try:
            sets += [
                draw(material, stored.rule, replace(options, seed=options.seed + i))
                for i in range(per_rule)
            ]
        except UsageError as error:
            if rules is not None:
                raise
            apart = error.apart if isinstance(error, TooSmallError) else 0
            skipped.append(Skipped(stored.id, stored.rule.text(), error.detail, apart))
        if progress is not None:
            progress(number, len(found), "drawing sets")
    skipped.sort(key=lambda each: -each.apart)
    if not sets:
        closest = "" if len(skipped) == 1 else " The closest one:"
        raise UsageError(
            f"None of {pluralize(len(skipped), 'rule')} yields a set.{closest} {skipped[0].reason}",
            remedy="Ask for smaller sets (--facts, --implications, --updates, --unrelated), or"
            " take a larger graph.",
        )
    return Built(tuple(sets), tuple(skipped))


def _store_bundled(db: Database, dataset: str) -> None:
    """Store a bundled graph, and its bundled rules if none has been reviewed."""
    from ...loaders import rules as bundled
    from ..graphs import datasets
    from ..rules import mining
    from ..rules.store import rules_of

    datasets.get_or_import(db, dataset)
    path = bundled.path(dataset)
    if path is not None and not rules_of(db, dataset, status=("kept", "rejected")):
        mining.add_file(db, dataset, path)
