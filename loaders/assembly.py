"""Merge the facts of a file into one graph, and report every change.

Every loader reads its own format and passes facts, rewrites and aliases to a `GraphAssembly`, which
contains the rules for merging them.

Entities whose names differ only in case, in spaces (doubled, non-breaking), in invisible
characters or in Unicode's composition are one entity, unless `distinct_spellings` is set. Its name
is the spelling that most facts use (a tie goes to the spelling that sorts first), with single
spaces and in NFC; the other spellings become aliases. A fact whose subject or object is a
placeholder (`N/A`, `unknown`, a dash) is left out where a loader says so, and flagged elsewhere. A
surname such as `Null` is kept, with a note, where most rows of the relation have names there.
Facts with the same subject, relation and object are one fact, with the questions and cases of all.
Facts, entities and rewrites are sorted, so two files with the same
content give the same graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import label_audit
from .errors import SchemaError
from .reading.growing_index import GrowingIndex
from .reading.sources import Place
from .records import (
    Entity,
    Fact,
    ImportNote,
    ImportReport,
    KnowledgeGraph,
    LoadedGraph,
    RewriteRequest,
    unique,
)
from .texts import (
    SURNAMES,
    ascii_quoted,
    enumeration,
    examples,
    fitted,
    folded,
    is_placeholder,
    name_flaw,
    prompt_flaw,
    quoted,
    text_flaw,
    tidy,
)

SEARCH_STEPS = 5_000_000
"""Budget of the search for rewrites without a chain: facts followed in total (some seconds)."""


def _key(item: Fact | RewriteRequest) -> tuple[str, str]:
    return (folded(item.subject), tidy(item.relation))


@dataclass
class GraphAssembly:
    """Collects facts, rewrites, aliases and notes, and builds the graph.

    Attributes:
        name: the data set's name.
        read: counts of the file's records, filled by the loader.
        notes: every merge, repair, refusal and warning, in the order of discovery.
        distinct_spellings: True if names that differ only in case are different entities.
        declared: names that the file lists as entities, so that none is taken for a placeholder.
        layouts: of each table, its separator and encoding, and which column became what.
    """

    name: str
    facts: list[Fact] = field(default_factory=list)
    rewrites: list[RewriteRequest] = field(default_factory=list)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    notes: list[ImportNote] = field(default_factory=list)
    distinct_spellings: bool = False
    declared: frozenset[str] = frozenset()
    layouts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left_out: list[tuple[Place, str]] = []
        self._numbers: list[str] = []
        self._facts_by_key = GrowingIndex(self.facts, _key)
        self._rewrites_by_key = GrowingIndex(self.rewrites, _key)
        self._rewrites_by_id = GrowingIndex(self.rewrites, lambda rewrite: rewrite.id)

    def facts_about(self, subject: str, relation: str) -> Sequence[Fact]:
        """The facts of a subject, in any case, and a relation."""
        return self._facts_by_key[folded(subject), tidy(relation)]

    def rewrites_about(self, subject: str, relation: str) -> Sequence[RewriteRequest]:
        """The rewrites of a subject, in any case, and a relation."""
        return self._rewrites_by_key[folded(subject), tidy(relation)]

    def has_rewrite(self, id_: str) -> bool:
        """Return True if there is a rewrite with this id."""
        return bool(self._rewrites_by_id[id_])

    def leaves_out(self, place: Place, *names: str) -> bool:
        """Count a fact that is left out, as one of the names is a placeholder; False for others."""
        found = [name for name in names if self._is_placeholder(name)]
        if found:
            self._left_out.append((place, found[0]))
        return bool(found)

    def _is_placeholder(self, name: str) -> bool:
        return name not in self.declared and is_placeholder(name)

    def text(self, place: Place, value: object) -> str:
        """The value as a text; a number is converted, and counted for a note."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._numbers.append(f"{place.where}: {value}")
            return str(value)
        return place.text(value)

    def object_name(self, place: Place, value: object) -> str:
        """The value as the name of an entity (`Place.object_name`), which a number may be."""
        return place.object_name(self.text(place, value))

    def note(self, kind: str, where: str, reason: str, code: str = "") -> None:
        """Add a note of the kind `merged`, `repaired`, `refused` or `flagged` to the report."""
        self.notes.append(ImportNote(kind, fitted(where), fitted(reason), code))

    def refuse(self, error: SchemaError, file: str = "") -> None:
        """Report a record that is left out because of an error, in a file of several."""
        where = ", ".join(filter(None, (file, error.where)))
        self.note("refused", where, error.problem, error.code)

    def finish(self, source: str, format_key: str) -> LoadedGraph:
        """The graph and the report of its import.

        Raises:
            SchemaError: a name or text cannot be stored (`loaders/texts.py`).
        """
        for where, flaw in self._flaws():
            raise SchemaError(source, where, flaw)
        self._report_placeholders(source)
        if self._numbers:
            self.note(
                "repaired",
                f"{len(self._numbers)} values",
                f"are numbers in the file and are read as text: {examples(self._numbers)}",
            )
        spelling = self._spellings()
        facts = self._merge_facts(spelling)
        rewrites = tuple(
            sorted((self._respell_rewrite(r, spelling) for r in self.rewrites), key=lambda r: r.id)
        )
        entities = self._entities(spelling, facts, rewrites)
        self._report_unreachable(facts, rewrites)
        for each in label_audit.findings(entities, facts, rewrites):
            self.note(label_audit.KIND, each.where, each.reason, each.code)
        graph = KnowledgeGraph(self.name, entities, facts, rewrites)
        kept = {"facts": len(facts), "entities": len(entities), "rewrites": len(rewrites)}
        report = ImportReport(
            source, format_key, dict(self.read), kept, tuple(self.notes), tuple(self.layouts)
        )
        return LoadedGraph(graph, report)

    def _report_placeholders(self, source: str) -> None:
        """Note the facts that were left out, and the placeholders that are kept as names."""
        self._decide_surnames()
        if self._left_out:
            place, _ = self._left_out[0]
            names = enumeration(quoted(name) for name in unique(n for _, n in self._left_out))
            if not self.facts:
                raise SchemaError(source, place.where, f"every fact has a placeholder: {names}")
            self.note(
                "refused",
                f"{len(self._left_out)} facts",
                f"left out, as a name is a placeholder: {names}; the first is in {place.path.name},"
                f" {place.where}. A name under `entities` of a graph in ThinkEval's YAML is kept",
                "placeholder",
            )
        kept = unique(
            name
            for each in (*self.facts, *self.rewrites)
            for name in (each.subject, each.object if isinstance(each, Fact) else each.target_new)
            if self._is_placeholder(name)
        )
        if kept:
            listed = examples(kept)
            self.note(
                "flagged", f"{len(kept)} names", f"look like placeholders: {listed}", "placeholder"
            )
        for key, values in self.aliases.items():
            if any(map(self._is_placeholder, values)):
                self.aliases[key] = tuple(v for v in values if not self._is_placeholder(v))
                self.note("refused", f"aliases of {quoted(key)}", "a placeholder is left out")

    def _decide_surnames(self) -> None:
        """Leave out the facts whose surname, such as `Null`, is a placeholder by the other rows."""
        doubtful = SURNAMES - self.declared
        for end in ("subject", "object"):
            rows = [fact for fact in self.facts if getattr(fact, end) in doubtful]
            for relation in {fact.relation for fact in rows}:
                column = [getattr(f, end) for f in self.facts if f.relation == relation]
                found = [name for name in column if name in doubtful]
                names = sum(name[:1].isupper() for name in column) - len(found)
                where, listed = f"{end} of {quoted(relation)}", enumeration(unique(found))
                if names > len(found):
                    reason = f"{listed} is kept as a name: {names} other rows have names there"
                    self.note("flagged", where, reason, "placeholder")
                    continue
                place = Place(Path(self.name), f"relation {quoted(relation)}")
                self._left_out += [(place, name) for name in found]
                # In place: indices of the facts are kept by number.
                self.facts[:] = [
                    fact
                    for fact in self.facts
                    if fact.relation != relation or getattr(fact, end) not in doubtful
                ]

    def _flaws(self) -> Iterator[tuple[str, str]]:
        """Place and problem of every name and text that cannot be stored."""
        for where, names, texts in self._names_and_texts():
            yield from ((where, flaw) for name in names if (flaw := name_flaw(name)))
            yield from ((where, flaw) for text in texts if (flaw := text_flaw(text)))
        for i, fact in enumerate(self.facts):
            if (flaw := prompt_flaw(fact.prompt)) is not None:
                yield f"fact {i}", flaw

    def _names_and_texts(self) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
        """Place, names and texts of every record."""
        yield "name of the data set", (self.name,), ()
        for i, f in enumerate(self.facts):
            names = (f.subject, f.relation, f.object, *f.cases)
            yield f"fact {i}", names, (*f.questions, *f.paraphrases)
        for i, r in enumerate(self.rewrites):
            names = (r.subject, r.relation, r.target_true, r.target_new, r.id)
            yield f"rewrite {i}", names, (
                r.prompt, r.question or "", *r.paraphrases, *r.neighborhood,
                *r.neighborhood_objects, *r.generation_prompts, *r.reference_texts,
                *r.correct, *r.hard, *r.random,
                *(text for check in r.checks for text in check.texts),
            )  # fmt: skip
        for name, values in self.aliases.items():
            yield f"aliases of {quoted(name)}", (name, *values), ()
        for name, kind in self.kinds.items():
            yield f"kind of {quoted(name)}", (name, kind), ()

    def _spellings(self) -> dict[str, str]:
        """Map every spelling of a name to the name of its entity."""
        counts: Counter[str] = Counter()
        for fact in self.facts:
            counts.update((fact.subject, fact.object))
        for rewrite in self.rewrites:
            # Rewrites decide only between spellings that no fact uses.
            for name in filter(None, (rewrite.subject, rewrite.target_true, rewrite.target_new)):
                counts.setdefault(name, 0)
        groups: dict[str, list[str]] = defaultdict(list)
        for name in counts:
            groups[folded(name)].append(name)
        if self.distinct_spellings:
            self._report_spellings(groups.values())
            return {name: name for name in counts}
        spelling: dict[str, str] = {}
        cleaned: list[str] = []
        for names in groups.values():
            usual = min(names, key=lambda name: (-counts[name], name))
            chosen = tidy(usual)
            spelling.update(dict.fromkeys(names, chosen))
            others = [name for name in sorted(names) if name != chosen]
            if len(names) == 1:
                cleaned += others
                continue
            cases = {name.casefold() for name in names}
            how = "case" if len(cases) == 1 else "case, spaces or the composition of letters"
            written = ", ".join(map(quoted if len(cases) == 1 else ascii_quoted, others))
            self.note(
                "merged",
                f"entity {quoted(chosen)}",
                f"also written {written}; they differ only in {how}, so they are one entity",
            )
        if cleaned:
            self.note(
                "repaired",
                f"{len(cleaned)} names",
                "are stored with single spaces, without invisible characters and with composed"
                f" letters: {examples(ascii_quoted(name) for name in cleaned)}",
            )
        return spelling

    def _report_spellings(self, groups: Iterable[list[str]]) -> None:
        several = [" / ".join(sorted(names)) for names in groups if len(names) > 1]
        if several:
            self.note(
                "flagged",
                f"{len(several)} names",
                "have several spellings that differ only in case; each spelling is an entity of its"
                f" own: {examples(several)}",
            )

    def _merge_facts(self, spelling: dict[str, str]) -> tuple[Fact, ...]:
        merged: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
        repeats: list[str] = []
        for raw in self.facts:
            fact = replace(
                raw,
                subject=spelling[raw.subject],
                relation=self._relation(raw.relation),
                object=spelling[raw.object],
            )
            if fact.subject == fact.object:
                self.note(
                    "refused",
                    f"fact {quoted(fact.subject)} {fact.relation}",
                    "subject and object are one entity, so it lies on no chain",
                )
                continue
            key = (fact.subject, fact.relation, fact.object)
            if key in merged:
                repeats.append(" / ".join(key))
            merged[key].append(fact)
        if repeats:
            distinct = list(dict.fromkeys(repeats))
            self.note(
                "merged",
                f"{len(distinct)} facts",
                f"listed {len(repeats)} further times, stored once each with all their questions "
                f"and cases: {examples(distinct)}",
            )
        return tuple(_joined(merged[key]) for key in sorted(merged))

    def _respell_rewrite(self, rewrite: RewriteRequest, spelling: dict[str, str]) -> RewriteRequest:
        names = (rewrite.subject, rewrite.target_true, rewrite.target_new)
        # A request to forget has no new object.
        subject, target_true, target_new = (spelling[name] if name else "" for name in names)
        return replace(
            rewrite,
            subject=subject,
            relation=self._relation(rewrite.relation),
            target_true=target_true,
            target_new=target_new,
        )

    def _relation(self, name: str) -> str:
        return name if self.distinct_spellings else tidy(name)

    def _report_unreachable(
        self, facts: tuple[Fact, ...], rewrites: tuple[RewriteRequest, ...]
    ) -> None:
        """Flag the rewrites that have no chain of any length, whose IFR is undefined."""
        # By case, None for any: searching all facts for every rewrite would take quadratic time.
        out: dict[str | None, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for fact in facts:
            for of in fact.cases or (None,):
                out[of][fact.subject].add(fact.object)
        objects = {fact.object for fact in facts}
        unlisted = [rewrite.id for rewrite in rewrites if rewrite.target_true not in objects]
        if unlisted:
            self.note(
                "flagged",
                f"{len(unlisted)} rewrites",
                "have a target_true that is the object of no fact, so their IFR is undefined:"
                f" {examples(unlisted)}",
            )
        steps = SEARCH_STEPS
        for i, rewrite in enumerate(rewrites):
            if rewrite.target_true not in objects:
                continue
            any_, own = out[None], out[rewrite.id]
            reached, todo = {rewrite.subject}, [rewrite.subject]
            while todo and rewrite.target_true not in reached:
                name = todo.pop()
                following = any_[name] | own[name]
                steps -= len(following)
                new = following - reached
                reached |= new
                todo.extend(new)
            if rewrite.target_true not in reached:
                self.note(
                    "flagged",
                    f"rewrite {quoted(rewrite.id)}",
                    f"no chain leads from {quoted(rewrite.subject)} to"
                    f" {quoted(rewrite.target_true)}",
                )
            if steps <= 0 and (left := len(rewrites) - i - 1):
                self.note(
                    "flagged",
                    f"{left} rewrites",
                    "are not checked for a chain: the graph is too large to search it for each",
                )
                break

    def _entities(
        self,
        spelling: dict[str, str],
        facts: tuple[Fact, ...],
        rewrites: tuple[RewriteRequest, ...],
    ) -> tuple[Entity, ...]:
        names = {name for fact in facts for name in (fact.subject, fact.object)}
        for rewrite in rewrites:
            names |= {rewrite.subject, rewrite.target_true, rewrite.target_new}
        names.discard("")
        by_fold = {folded(name): name for name in names}
        self._report_alias_keys(by_fold)
        aliases: dict[str, list[str]] = {name: [] for name in names}
        for written, name in spelling.items():
            if name in aliases and written != name:
                aliases[name].append(written)
        for key, values in self.aliases.items():
            if (name := by_fold.get(folded(key))) is not None:
                aliases[name].extend(values)
        cleaned = {name: self._clean(name, values) for name, values in aliases.items()}
        self._report_shared_aliases(cleaned)
        kinds = {by_fold.get(folded(key), key): kind for key, kind in self.kinds.items()}
        return tuple(Entity(n, cleaned[n], kinds.get(n)) for n in sorted(names))

    def _clean(self, name: str, values: list[str]) -> tuple[str, ...]:
        return tuple(value for value in unique(values) if value != name)

    def _report_alias_keys(self, by_fold: dict[str, str]) -> None:
        unused = [key for key in self.aliases if folded(key) not in by_fold]
        recased = [
            f"{quoted(key)} for {quoted(by_fold[folded(key)])}"
            for key in self.aliases
            if by_fold.get(folded(key), key) != key
        ]
        doubled = [key for key, v in self.aliases.items() if len(set(v)) < len(v)]
        own = [key for key, v in self.aliases.items() if key in v]
        for kind, items, reason in (
            ("flagged", unused, "no fact or rewrite mentions them, so their aliases are unused"),
            ("repaired", recased, "matched in another case or with other spaces"),
            ("merged", doubled, "the same alias is listed twice, stored once"),
            ("merged", own, "the entity's own name is among its aliases, removed there"),
        ):
            if items:
                self.note(kind, f"{len(items)} alias entries", f"{reason}: {examples(items)}")

    def _report_shared_aliases(self, aliases: dict[str, tuple[str, ...]]) -> None:
        owners: dict[str, set[str]] = defaultdict(set)
        for name, values in aliases.items():
            for value in (name, *values):
                owners[value if self.distinct_spellings else folded(value)].add(name)
        for alias, names in sorted(owners.items()):
            if len(names) > 1:
                self.note(
                    "flagged",
                    f"alias {quoted(alias)}",
                    f"is shared by {' and '.join(sorted(names))}: an answer with it fits each",
                )


def _joined(facts: list[Fact]) -> Fact:
    """Merge facts with the same triple: questions, phrasings and cases of all."""
    first, *others = facts
    if not others:
        return first
    phrasings = [*first.paraphrases]
    for other in others:
        phrasings += (other.prompt, *other.paraphrases)
    return replace(
        first,
        questions=unique(question for fact in facts for question in fact.questions),
        paraphrases=unique(text for text in phrasings if text != first.prompt),
        cases=tuple(sorted({case for fact in facts for case in fact.cases})),
    )
