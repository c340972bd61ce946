"""Reader of hand-written rules: YAML with one or two premises and a conclusion each.

    rules:
      - if:                                 # subject, relation, object: the first and the last
          - person born in city             # word are variables, the words between the relation
          - city located in country
        then: person citizen of country
        kinds: {person: person}             # optional: the kind of entity a variable binds
        words: {person: Person A}           # optional: its word in the templates
        templates:                          # optional: sentences for a line above; the first is
          person born in city:              # the uniform wording, all of them the diverse one
            - "[person] was born in [city]."
            - "[city] is where [person] was born."
      - if: [person married to other]       # one premise: the conclusion is about the same two
        then: other married to person

A variable is any word (`person`, `city_a`); relations are named as in the graph. Two premises share
one variable, and the conclusion relates the two others. `words` default to the capitalised
variable: `city_a` becomes `[City a]`.

Every scalar is read as text, including numbers and dates, and a repeated key is an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from .errors import RuleError, SchemaError
from .graph_yaml import known, meant
from .reading.sources import Place, read_yaml
from .records import unique
from .rule_records import Atom, Rule, rule
from .texts import enumeration, quoted

REMEDY = "Check the rules against the format that `thinkeval graph rules add --help` describes."
RULE_KEYS = ("if", "then", "kinds", "words", "templates")
_VARIABLE = re.compile(r"[^\W\d]\w*")
_SLOT = re.compile(r"\[([^\[\]]*)\]")


def load_rules(path: Path | str) -> tuple[Rule, ...]:
    """Read a file of hand-written rules, in its order.

    Raises:
        UnreadableFileError: the file is missing or not YAML.
        SchemaError: a field is missing, unknown or wrong, or a rule is not valid; names file,
            place and problem.
    """
    return read_rules(read_yaml(Path(path)), Path(path))


def read_rules(content: object, path: Path) -> tuple[Rule, ...]:
    """Read rules from the content of such a file, or from the same structure in JSON.

    Args:
        path: the path that errors name.

    Raises:
        SchemaError: as `load_rules`.
    """
    try:
        return _rules(content, path)
    except SchemaError as error:
        error.remedy = REMEDY
        raise


def _rules(content: object, path: Path) -> tuple[Rule, ...]:
    top = Place(path, "")
    fields = known(top, content, ("rules",))
    listed = top.at("rules").sequence(top.field(fields, "rules"))
    if not listed:
        raise top.at("rules").error("there are no rules")
    found: dict[str, int] = {}
    rules: list[Rule] = []
    for i, item in enumerate(listed):
        place = Place(path, f"rules[{i}]")
        read = _rule(place, item)
        if read.id in found:
            raise place.error(f"is the same rule as rules[{found[read.id]}]")
        found[read.id] = i
        rules.append(read)
    return tuple(rules)


def _rule(place: Place, item: object) -> Rule:
    fields = known(place, item, RULE_KEYS)
    premises = [
        (place.at(f"if[{i}]"), text)
        for i, text in enumerate(_lines(place.at("if"), place.field(fields, "if")))
    ]
    lines = [*premises, (place.at("then"), place.field(fields, "then"))]
    atoms = {there.name(text): _atom(there, text) for there, text in lines}
    if len(atoms) < len(lines):
        raise place.error("has the same line twice")
    variables = unique(name for a in atoms.values() for name in (a.subject, a.object))
    kinds = _by_variable(place.at("kinds"), fields.get("kinds", {}), variables)
    words = _by_variable(place.at("words"), fields.get("words", {}), variables)
    templates = place.at("templates").mapping(fields.get("templates", {}))
    words = {name: words.get(name, _word(name)) for name in variables}
    for line, listed in templates.items():
        there = place.at(f"templates, {quoted(line)}")
        if line.strip() not in atoms:
            raise there.error(f"is not a line of this rule{meant(line, atoms)}")
        atoms[line.strip()] = _worded(there, atoms[line.strip()], listed, words)
    *given, conclusion = atoms.values()
    try:
        return rule(given, conclusion, kinds=kinds, words=words)
    except RuleError as error:
        raise SchemaError(place.path, place.where, error.detail) from error


def _lines(place: Place, value: object) -> list[object]:
    """One line, or a list of them."""
    return [value] if isinstance(value, str) else list(place.sequence(value))


def _atom(place: Place, value: object) -> Atom:
    parts = place.name(value).split()
    if len(parts) < 3:
        raise place.error(
            f"{quoted(value)} is not variable, relation, variable (`person born in city`)"
        )
    for name in (parts[0], parts[-1]):
        if not _VARIABLE.fullmatch(name):
            raise place.error(
                f"{quoted(name)} is not the name of a variable: one word of letters, digits, _"
            )
    return Atom(parts[0], " ".join(parts[1:-1]), parts[-1])


def _by_variable(place: Place, item: object, variables: tuple[str, ...]) -> dict[str, str]:
    fields = known(place, item, variables)
    return {name: place.at(name).name(value) for name, value in fields.items()}


def _word(variable: str) -> str:
    text = variable.replace("_", " ")
    return text[:1].upper() + text[1:]


def _worded(place: Place, atom: Atom, listed: object, words: dict[str, str]) -> Atom:
    """The atom with its templates, in which words replace the variables."""
    texts = [listed] if isinstance(listed, str) else place.sequence(listed)
    templates: list[str] = []
    for i, value in enumerate(texts):
        there = place.at(i)
        text = there.text(value)
        slots = _SLOT.findall(text)
        if sorted(slots) != sorted((atom.subject, atom.object)):
            raise there.error(
                f"needs [{atom.subject}] and [{atom.object}] once each, found"
                f" {enumeration(f'[{s}]' for s in slots) or 'none'}: {quoted(text)}"
            )
        templates.append(_SLOT.sub(lambda slot: f"[{words[slot[1]]}]", text))
    return Atom(atom.subject, atom.relation, atom.object, unique(templates))
