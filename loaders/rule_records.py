"""If-Then rules: one or two premises and a conclusion over typed variables (DepEdit, section 3.1).

    if   person  -born in->    city       premise of person and city
    and  city    -located in-> country    premise of city and country
    then person  -citizen of-> country    conclusion

Every rule has the same normal form: its conclusion goes from `x` to `z`; `y` is the variable that
two premises share; the first premise relates x and y, the second y and z. Each premise may have
either direction, which gives the four shapes of a triangle of facts around its conclusion:
x→y→z, x←y→z (shared subject), x→y←z (shared object) and x←y←z.

The premise of a rule with one premise relates x and z. Its two shapes are x→z (a relation contains
another one) and x←z (the inverse of a relation; where both relations are one, it is symmetric).

Frozen records in plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .errors import RuleError
from .records import SUBJECT_SLOT, digest, unique
from .texts import quoted

SHAPES = ("x→y→z", "x→y←z", "x←y→z", "x←y←z")
"""Indexed by the directions of the first and the second premise."""
ONE_PREMISE = ("x→z", "x←z")
"""Shapes of rules with one premise."""


@dataclass(frozen=True, slots=True)
class Atom:
    """`subject relation object` over two variables.

    Attributes:
        subject: name of the variable that is the subject.
        relation: name of the relation, as `Fact.relation`.
        object: name of the variable that is the object.
        templates: sentences for the atom, `[Person A] is from [City A]`, with each variable's word
            in brackets (`Rule.words`). The first is the uniform wording, all of them together are
            the diverse one. () if none were written.
    """

    subject: str
    relation: str
    object: str
    templates: tuple[str, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> Atom:
        """The atom with its variables renamed."""
        return Atom(names[self.subject], self.relation, names[self.object], self.templates)


@dataclass(frozen=True, slots=True)
class Rule:
    """One or two premises and a conclusion in normal form; `rule` creates it.

    Attributes:
        first: the premise about x and y; about x and z if it is the only one.
        second: the premise about y and z; None for a rule with one premise.
        conclusion: from x to z.
        kinds: {variable: the kind its entities must have}; a variable without one binds any.
        words: {variable: its word in the templates, without brackets}.
        support: number of groundings whose conclusion is known; None if not counted.
        body: number of groundings of the premises; None if not counted.
        source: `given` by hand, `mined`, or the loader's key.
    """

    first: Atom
    second: Atom | None
    conclusion: Atom
    kinds: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    support: int | None = None
    body: int | None = None
    source: str = field(default="given")

    @property
    def id(self) -> str:
        """Depends on relations, shape and kinds, not on wording or counts."""
        return digest([self.relations, self.inverse, sorted(self.kinds)])

    @property
    def premises(self) -> tuple[Atom, ...]:
        """The one or two premises."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def pair(self) -> tuple[Atom, Atom]:
        """The two premises; RuleError for a rule with one."""
        if self.second is None:
            raise RuleError(f"{self.text()!r} has one premise; two are needed here")
        return (self.first, self.second)

    @property
    def relations(self) -> tuple[str, str | None, str]:
        """Relations of the first premise, the second (None without one), and the conclusion."""
        second = None if self.second is None else self.second.relation
        return (self.first.relation, second, self.conclusion.relation)

    @property
    def inverse(self) -> tuple[bool, bool]:
        """Two flags: the first premise goes to x; the second one starts at z."""
        return (self.first.object == "x", self.second is not None and self.second.subject == "z")

    @property
    def shape(self) -> str:
        """One of SHAPES or ONE_PREMISE."""
        first, second = self.inverse
        return ONE_PREMISE[first] if self.second is None else SHAPES[2 * first + second]

    @property
    def confidence(self) -> float | None:
        """Support / body; None if not counted, or if the premises have no grounding."""
        if self.support is None or not self.body:
            return None
        return self.support / self.body

    def kind(self, variable: str) -> str | None:
        """The kind that a variable's entities must have; None for any."""
        return dict(self.kinds).get(variable)

    def word(self, variable: str) -> str:
        """The word for a variable in the templates; by default its name."""
        return dict(self.words).get(variable, variable)

    def conclusion_clozes(self) -> tuple[str, ...]:
        """Clozes from the templates of the conclusion that end with the object.

        They probe a conclusion whose relation no fact of the graph has:
        `[Person A] is from [Country A].` gives `{} is from`.
        """
        x, z = (f"[{self.word(variable)}]" for variable in "xz")
        clozes = []
        for template in self.conclusion.templates:
            text = template.rstrip(". ")
            if text.endswith(z) and text.count(x) == 1 and SUBJECT_SLOT not in text:
                clozes.append(text.removesuffix(z).rstrip().replace(x, SUBJECT_SLOT))
        return unique(clozes)

    def text(self) -> str:
        """The rule as a sentence, from its uniform templates or else its relations."""
        premises = ", and ".join(self.sentence(atom) for atom in self.premises)
        return f"If {premises}, then {self.sentence(self.conclusion)}."

    def sentence(self, atom: Atom) -> str:
        """An atom as a sentence without its full stop: `[Person A] is from [City A]`.

        Without a template the sentence consists of the relation's name. Then variables without a
        word are called by their kinds, unless other templates use their names.
        """
        if atom.templates:
            return atom.templates[0].rstrip(".")
        worded = any(a.templates for a in (*self.premises, self.conclusion))
        words = ({} if worded else kind_words(dict(self.kinds))) | dict(self.words)
        subject, object_ = (words.get(name, name) for name in (atom.subject, atom.object))
        return f"[{subject}] {' '.join(atom.relation.replace('_', ' ').split())} [{object_}]"


def kind_words(kinds: Mapping[str, str]) -> dict[str, str]:
    """Words for variables from their kinds, as in DepEdit: `Person A`, `Person B`, `City A`.

    Variables without a kind, and those whose kind contains brackets, get no word.
    """
    letters: dict[str, int] = {}
    words = {}
    for variable, kind in kinds.items():
        if "[" in kind or "]" in kind:
            continue
        letters[kind] = letters.get(kind, -1) + 1
        words[variable] = f"{kind[:1].upper()}{kind[1:]} {'ABC'[letters[kind]]}"
    return words


def rule(
    premises: tuple[Atom, ...] | list[Atom],
    conclusion: Atom,
    *,
    kinds: Mapping[str, str | None] | None = None,
    words: Mapping[str, str] | None = None,
    support: int | None = None,
    body: int | None = None,
    source: str = "given",
) -> Rule:
    """Create a rule in normal form, from atoms over any variable names.

    Args:
        premises: one atom, or two in either order.
        kinds, words: by the variables' names.

    Raises:
        RuleError: there are neither one nor two premises, a variable of the conclusion is unbound,
            an atom has only one variable, two premises do not share exactly one variable, or the
            conclusion is the premise.
    """
    shared = _shared_variable(premises, conclusion)
    names = {conclusion.subject: "x", conclusion.object: "z"} | ({shared: "y"} if shared else {})
    first, *rest = (atom.renamed(names) for atom in premises)
    second = rest[0] if rest else None
    if second is not None and "x" not in (first.subject, first.object):
        first, second = second, first
    unknown = sorted({*(kinds or {}), *(words or {})} - set(names))
    if unknown:
        raise RuleError(f"{unknown[0]!r} is not a variable of the rule ({', '.join(names)})")
    return Rule(
        first,
        second,
        conclusion.renamed(names),
        kinds=_by_variable(names, kinds),
        words=_by_variable(names, words),
        support=support,
        body=body,
        source=source,
    )


def _shared_variable(premises: Sequence[Atom], conclusion: Atom) -> str:
    """The variable that two premises share, "" for one premise; RuleError if they form no rule."""
    if len(premises) not in (1, 2):
        raise RuleError(f"a rule has one or two premises, this one has {len(premises)}")
    for atom in (*premises, conclusion):
        if atom.subject == atom.object:
            raise RuleError(f"{quoted(atom.relation)} relates {atom.subject!r} to itself")
    bound = {name for atom in premises for name in (atom.subject, atom.object)}
    for name in (conclusion.subject, conclusion.object):
        if name not in bound:
            raise RuleError(
                f"the conclusion uses {name!r}, which no premise binds (they bind"
                f" {', '.join(sorted(map(repr, bound)))})"
            )
    if len(premises) == 1:
        if (premises[0].subject, premises[0].relation) == (conclusion.subject, conclusion.relation):
            raise RuleError(f"the conclusion is the premise ({quoted(conclusion.relation)})")
        return ""
    shared = {premises[0].subject, premises[0].object} & {premises[1].subject, premises[1].object}
    outer = {conclusion.subject, conclusion.object}
    if len(shared) != 1 or shared & outer:
        raise RuleError(
            "the premises must share exactly one variable, and the conclusion relate the two others"
        )
    return shared.pop()


def _by_variable(
    names: Mapping[str, str], values: Mapping[str, str | None] | None
) -> tuple[tuple[str, str], ...]:
    renamed = {names[name]: value for name, value in (values or {}).items() if value}
    return tuple(sorted(renamed.items()))
