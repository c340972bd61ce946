"""If-Then rules: two premises and a conclusion over typed variables (DepEdit, section 3.1).

    if   person  -born in->    city       premise of person and city
    and  city    -located in-> country    premise of city and country
    then person  -citizen of-> country    conclusion

Every rule is kept in one form: its conclusion goes from `x` to `z`; `y` is the variable that the
premises share; the first premise is about x and y, the second about y and z. Either may point
either way, which gives the four shapes that a triangle of facts can have around its conclusion:
x→y→z, x←y→z (shared subject), x→y←z (shared object) and x←y←z.

Frozen records in plain Python; they import nothing of ours but the other records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thinkeval.loaders.errors import RuleError
from thinkeval.loaders.records import SUBJECT_SLOT, digest, unique
from thinkeval.loaders.texts import quoted

SHAPES = ("x→y→z", "x→y←z", "x←y→z", "x←y←z")
"""By whether the first and the second premise point backwards."""


@dataclass(frozen=True, slots=True)
class Atom:
    """`subject relation object` over two variables.

    Attributes:
        subject: name of the variable that is the subject.
        relation: name of the relation, as `Fact.relation`.
        object: name of the variable that is the object.
        templates: sentences that say it, `[Person A] is from [City A]`, with each variable's word
            in brackets (`Rule.words`). The first is the uniform wording, all of them together the
            diverse one. () where nobody wrote any.
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
    """If both premises then the conclusion, in the form above. Make one with `rule`.

    Attributes:
        first: the premise about x and y.
        second: the premise about y and z.
        conclusion: from x to z.
        kinds: {variable: the kind its entities must have}; a variable without one takes any.
        words: {variable: what stands for it in the templates, without brackets}.
        support: groundings whose conclusion is known, where it was counted.
        body: groundings of the premises, likewise.
        source: `given` by hand, `mined`, or the loader's key.
    """

    first: Atom
    second: Atom
    conclusion: Atom
    kinds: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    support: int | None = None
    body: int | None = None
    source: str = field(default="given")

    @property
    def id(self) -> str:
        """Stable: depends on relations, shape and kinds, not on wording or counts."""
        return digest([self.relations, self.inverse, sorted(self.kinds)])

    @property
    def relations(self) -> tuple[str, str, str]:
        """Relations of the first premise, the second, and the conclusion."""
        return (self.first.relation, self.second.relation, self.conclusion.relation)

    @property
    def inverse(self) -> tuple[bool, bool]:
        """Whether the first premise goes from y to x, and the second from z to y."""
        return (self.first.subject == "y", self.second.subject == "z")

    @property
    def shape(self) -> str:
        """One of SHAPES."""
        first, second = self.inverse
        return SHAPES[2 * first + second]

    @property
    def confidence(self) -> float | None:
        """Support / body; None where it was not counted, or the premises hold nowhere."""
        if self.support is None or not self.body:
            return None
        return self.support / self.body

    def kind(self, variable: str) -> str | None:
        """The kind that a variable's entities must have; None for any."""
        return dict(self.kinds).get(variable)

    def word(self, variable: str) -> str:
        """What stands for a variable in the templates: its own name where nobody chose another."""
        return dict(self.words).get(variable, variable)

    def conclusion_clozes(self) -> tuple[str, ...]:
        """The rule's own words for its conclusion, where they end with the object.

        For a conclusion that no fact of a graph has: `[Person A] is from [Country A].` asks
        `{} is from`.
        """
        x, z = (f"[{self.word(variable)}]" for variable in "xz")
        clozes = []
        for template in self.conclusion.templates:
            text = template.rstrip(". ")
            if text.endswith(z) and text.count(x) == 1 and SUBJECT_SLOT not in text:
                clozes.append(text.removesuffix(z).rstrip().replace(x, SUBJECT_SLOT))
        return unique(clozes)

    def text(self) -> str:
        """The rule as a sentence: uniform templates where they are written, else its relations."""
        first, second, conclusion = (
            self.said(atom) for atom in (self.first, self.second, self.conclusion)
        )
        return f"If {first}, and {second}, then {conclusion}."

    def said(self, atom: Atom) -> str:
        """One of its atoms as a sentence without its full stop: `[Person A] is from [City A]`.

        Where nobody wrote a template, by the relation's name in plain words. Variables without a
        word go by their kinds then, unless other templates call them by their names.
        """
        if atom.templates:
            return atom.templates[0].rstrip(".")
        worded = any(a.templates for a in (self.first, self.second, self.conclusion))
        words = ({} if worded else kind_words(dict(self.kinds))) | dict(self.words)
        subject, object_ = (words.get(name, name) for name in (atom.subject, atom.object))
        return f"[{subject}] {' '.join(atom.relation.replace('_', ' ').split())} [{object_}]"


def kind_words(kinds: Mapping[str, str]) -> dict[str, str]:
    """`Person A`, `Person B`, `City A`, as DepEdit says variables; those without a kind are left.

    So are names of kinds that the paper's form has no place for (brackets).
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
    """A rule in the one form, from atoms over any variable names.

    Args:
        premises: two atoms, in either order.
        kinds, words: by the variables' own names.

    Raises:
        RuleError: not two premises, a variable of the conclusion that no premise binds, an atom
            about one variable only, or premises that do not share exactly one; says which.
    """
    if len(premises) != 2:
        raise RuleError(f"a rule has two premises, this one {len(premises)}")
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
    shared = {premises[0].subject, premises[0].object} & {premises[1].subject, premises[1].object}
    outer = {conclusion.subject, conclusion.object}
    if len(shared) != 1 or shared & outer:
        raise RuleError(
            "the premises must share exactly one variable, and the conclusion relate the two others"
        )
    names = {conclusion.subject: "x", shared.pop(): "y", conclusion.object: "z"}
    first, second = (atom.renamed(names) for atom in premises)
    if "x" not in (first.subject, first.object):
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


def _by_variable(
    names: Mapping[str, str], values: Mapping[str, str | None] | None
) -> tuple[tuple[str, str], ...]:
    told = {names[name]: value for name, value in (values or {}).items() if value}
    return tuple(sorted(told.items()))
