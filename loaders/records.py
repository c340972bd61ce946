"""Records of the project: facts, rewrite requests, knowledge graphs, and import reports.

Frozen records in plain Python. Every package imports them; they import no other module.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

SUBJECT_SLOT = "{}"
"""Placeholder for the subject in a prompt, as in ROME's `requested_rewrite`."""
LITERAL_SLOT = "\\{}"
"""`{}` that is text and no placeholder, in a paraphrase from a complete text of a file."""

_SLOT = re.compile(r"(?<!\\)\{\}")


def slot_parts(template: str) -> list[str]:
    """Return the text around each placeholder of a template; one part if it has none."""
    return [part.replace(LITERAL_SLOT, SUBJECT_SLOT) for part in _SLOT.split(template)]


def fill(template: str, subject: str) -> str:
    """Return the template with the subject in place of its first placeholder.

    Every other `{}` of it is text.
    """
    head, *tail = slot_parts(template)
    return head + subject + SUBJECT_SLOT.join(tail) if tail else head


def as_template(text: str, subject: str, *, last: bool = False) -> str:
    """Return a complete text as a template: `{}` where it names the subject first, or last.

    A `{}` of the text itself is kept as text, so `fill` with the subject gives the text again. A
    text that does not name the subject has no placeholder.
    """
    at = text.rfind(subject) if last else text.find(subject)
    # A backslash before the name would make a literal of the placeholder.
    while at > 0 and text[at - 1] == "\\":
        at = text.rfind(subject, 0, at) if last else text.find(subject, at + 1)
    if at < 0:
        return _literal(text)
    return _literal(text[:at]) + SUBJECT_SLOT + _literal(text[at + len(subject) :])


def _literal(text: str) -> str:
    return text.replace(SUBJECT_SLOT, LITERAL_SLOT)


def slug(text: str) -> str:
    """Lower-case ASCII words joined by hyphens, for readable ids (`harry-potter`)."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-") or "x"


_encoded = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def canonical(value: object) -> str:
    """A JSON value as its one text: keys sorted, no spaces, letters unescaped."""
    return _encoded(value)


def digest(value: object, length: int = 16) -> str:
    """First `length` hex digits of the SHA-256 of a JSON value; stable across runs."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]


@dataclass(frozen=True, slots=True)
class Entity:
    """A subject or object of facts. `aliases` never includes the name."""

    name: str
    aliases: tuple[str, ...] = ()
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One (subject, relation, object) with prompts and questions that probe it.

    Attributes:
        relation: the relation's name, unique within a graph (for KnowGIC a slug of the prompt).
        prompt: cloze with one `{}` for the subject; the object follows it.
        questions: natural questions with the subject filled in; the first is used.
        paraphrases: further clozes with one `{}` each.
        cases: ids of the rewrite requests to whose scope the data set assigns the fact; empty
            if the data set has no scopes (then every rewrite may use it).
    """

    subject: str
    relation: str
    object: str
    prompt: str
    questions: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Unique within a graph; depends on subject, relation and object only."""
        return digest([self.subject, self.relation, self.object])

    @property
    def question(self) -> str | None:
        """The question for probing, if the data set has one."""
        return self.questions[0] if self.questions else None


@dataclass(frozen=True, slots=True)
class Check:
    """A question that a data set asks after an edit, with the answers that it accepts.

    Attributes:
        criterion: the paper's name: `multi_hop`, `portability/Reasoning`, `Compositionality_I`.
        prompt: complete text.
        answers: accepted ones, the canonical one first, then its aliases; () if the file states
            only numbers for the question (EasyEdit's fluency).
        further: more answers that the same reply must have, each with its aliases (RippleEdits).
        group: the questions of one group and criterion are one item, such as MQuAKE's three
            multi-hop questions; empty if each is its own.
        every: True if all questions of the group must be right; False if one is enough.
        old_answers: accepted before the edit; () if unknown.
        wrong: false answers to compare with (TOFU's perturbed answers).
        conditions: questions that the model must answer before the edit, or the item is left out.
        pre: the result before the edit that the file states, if it does.
        post: the result after the edit that the file states, if it does.
    """

    criterion: str
    prompt: str
    answers: tuple[str, ...]
    further: tuple[tuple[str, ...], ...] = ()
    group: str = ""
    every: bool = False
    old_answers: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    conditions: tuple[Check, ...] = ()
    pre: float | None = None
    post: float | None = None

    @property
    def stated(self) -> dict[str, Any]:
        """The fields that are not empty, as JSON values."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        kept = {each.name for each in fields(self) if found[each.name] != each.default}
        found["conditions"] = [each.stated for each in self.conditions]
        return {name: _lists(value) for name, value in found.items() if name in kept}

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Check:
        """The check with these fields (`stated`)."""
        nested = tuple(cls.of(each) for each in stated.get("conditions", ()))
        found = {name: _tuples(stated[name]) for name in stated if name != "conditions"}
        return cls(**found, conditions=nested)

    @classmethod
    def of_json(cls, text: str) -> Check:
        """The check of a stored text, `canonical(check.stated)`."""
        return cls.of(json.loads(text))

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text of it, its conditions' too."""
        nested = (text for each in self.conditions for text in each.texts)
        further = (answer for each in self.further for answer in each)
        own = (self.criterion, self.prompt, self.group, *self.answers, *self.old_answers)
        return (*own, *self.wrong, *further, *nested)


def _lists(value: Any) -> Any:
    return [_lists(each) for each in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


RequestKind = Literal["replace", "append", "forget"]
"""The kind of a request: another object, one more, or none in place of the present one."""


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    r"""A request to change the object from `target_true` to `target_new` (Meng et al., ROME §3).

    With `correct` it is a request to append (PEAK, Ma et al. 2024, §3.2): target_new is added to
    the answers that the model gives for (subject, relation), and those shall stay. Without
    `target_new` it is a request to forget: the model shall not give `target_true` any more.

    Attributes:
        id: unique within its data set, readable: `harry-potter--studied-at--ilvermorny-school-...`.
        prompt: cloze with one `{}` for the subject.
        relation: same name space as `Fact.relation`.
        target_new: empty in a request to forget.
        paraphrases: further clozes, for generalization; one without `{}` is a complete text, and
            `\{}` in one is the text `{}`.
        n_records: number of records with this rewrite in the source file (0: not from a file).
        neighborhood: complete prompts about other subjects whose answer, target_true, the edit
            must not change (CounterFact, Meng et al. 2022, §3.3), for specificity.
        neighborhood_objects: their correct answers, one each, if those are not target_true
            (zsRE's unrelated questions); () if all are.
        generation_prompts: complete prompts that the model continues freely, for fluency.
        reference_texts: texts about subjects that have target_new, for consistency.
        correct: of a request to append, the correct answers O; target_true is the first one.
        hard: false answers that are linked to target_new (O_h, §5.1).
        random: false answers that are far from target_new (O_r, §5.1).
        checks: questions that the data set asks after the edit (MQuAKE, RippleEdits, KnowEdit).
    """

    id: str
    dataset: str
    prompt: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    question: str | None = None
    paraphrases: tuple[str, ...] = ()
    n_records: int = 0
    neighborhood: tuple[str, ...] = ()
    neighborhood_objects: tuple[str, ...] = ()
    generation_prompts: tuple[str, ...] = ()
    reference_texts: tuple[str, ...] = ()
    correct: tuple[str, ...] = ()
    hard: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def kind(self) -> RequestKind:
        """`append` where it adds an answer, `forget` where it names no new one, else `replace`."""
        return kind_of(self.target_new, appends=bool(self.correct))

    @property
    def identity(self) -> dict[str, Any]:
        """The fields that are not empty, for digests."""
        return {name: value for name, value in self.fields.items() if value}

    @property
    def fields(self) -> dict[str, Any]:
        """All fields, JSON-compatible."""
        return asdict(self) | {"checks": [check.stated for check in self.checks]}

    @staticmethod
    def make_id(subject: str, relation: str, target_new: str, target_true: str = "") -> str:
        """The readable id of a rewrite request; one to forget is named by `target_true`."""
        parts = (subject, relation, target_new or f"forget {target_true}")
        return "--".join(slug(part)[:48].strip("-") for part in parts)

    @property
    def filled_prompt(self) -> str:
        """The prompt with the subject in place of `{}`."""
        return fill(self.prompt, self.subject)

    @property
    def neighbors(self) -> tuple[tuple[str, str], ...]:
        """Each prompt of the neighborhood with its correct answer."""
        answers = self.neighborhood_objects or (self.target_true,) * len(self.neighborhood)
        return tuple(zip(self.neighborhood, answers, strict=True))


def kind_of(target_new: str, *, appends: bool) -> RequestKind:
    """The kind of a request with this new object, or of an edit by one."""
    return "append" if appends else "replace" if target_new else "forget"


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """A set of facts with its entities and rewrite requests.

    Attributes:
        name: the data set's name; becomes the id of its graph in Neo4j.
        entities: every subject and object of a fact or rewrite request, once.
    """

    name: str
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    rewrites: tuple[RewriteRequest, ...] = ()

    @property
    def content_digest(self) -> str:
        """Changes with any change of an entity, fact or rewrite, but not with their order."""
        # Not by `asdict`, whose copies take most of the time; both give the same JSON.
        names = [[each.name for each in fields(of)] for of in (Entity, Fact)]
        parts = [
            sorted(digest({name: getattr(x, name) for name in of}) for x in xs)
            for of, xs in zip(names, (self.entities, self.facts), strict=True)
        ]
        parts.append(sorted(digest(x.identity) for x in self.rewrites))
        return digest(parts)

    def aliases(self, name: str) -> tuple[str, ...]:
        """The aliases of an entity; empty if it has none or is unknown."""
        return next((e.aliases for e in self.entities if e.name == name), ())


@dataclass(frozen=True, slots=True)
class ImportNote:
    """One change or warning of an import.

    Attributes:
        kind: `merged`, `repaired`, `refused`, `flagged` or `audit`.
        where: record and field, as precise as the format allows.
        reason: the reason, in a sentence.
        code: of a finding about a label (`label_audit.py`); empty for other notes.
    """

    kind: str
    where: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts and notes of an import; nothing is dropped silently.

    Attributes:
        source: the path that was read.
        format: the loader's key.
        read: counts of the file's content, by kind (`records`, `links`, `rows`, ...).
        kept: counts of the graph's content (`facts`, `entities`, `rewrites`, ...).
        notes: every merge, repair, refusal and warning, with its reason.
        layouts: of each table, its separator and encoding, and which column became what.
    """

    source: str
    format: str
    read: dict[str, int]
    kept: dict[str, int]
    notes: tuple[ImportNote, ...] = ()
    layouts: tuple[str, ...] = ()

    def counts(self) -> Counter[str]:
        """Number of notes of each kind."""
        return Counter(note.kind for note in self.notes)

    @property
    def findings(self) -> tuple[ImportNote, ...]:
        """The notes about labels that are probably wrong."""
        return tuple(note for note in self.notes if note.code)

    @property
    def audit(self) -> Counter[str]:
        """Number of findings of each code."""
        return Counter(note.code for note in self.findings)


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """A graph and the report of its import."""

    graph: KnowledgeGraph
    report: ImportReport


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """The values without repeats and blanks, in order of first occurrence."""
    return tuple(dict.fromkeys(v for v in values if v and v.strip()))
