"""Hand-written rules: what a file says, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.rules_yaml import load_rules

GOOD = """
rules:
  - if:
      - city_a located in country
      - person born in city_a
    then: person citizen of country
    kinds: {person: person, city_a: city}
    words: {person: Person A}
    templates:
      person born in city_a:
        - "[person] was born in [city_a]."
        - "[city_a] is where [person] was born."
      person citizen of country: "[person] is from [country]."
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rule_is_read_whole(tmp_path: Path) -> None:
    (rule,) = load_rules(write(tmp_path, GOOD))
    assert rule.relations == ("born in", "located in", "citizen of")
    assert rule.shape == "x→y→z"
    assert rule.kinds == (("x", "person"), ("y", "city"))
    assert dict(rule.words) == {"x": "Person A", "y": "City a", "z": "Country"}
    assert rule.first.templates == (
        "[Person A] was born in [City a].",
        "[City a] is where [Person A] was born.",
    )
    assert rule.second.templates == ()
    assert rule.conclusion.templates == ("[Person A] is from [Country].",)
    assert rule.source == "given"


def test_words_and_wording_do_not_change_the_id(tmp_path: Path) -> None:
    (worded,) = load_rules(write(tmp_path, GOOD))
    (plain,) = load_rules(
        write(
            tmp_path,
            "rules:\n- if: [a born in b, b located in c]\n  then: a citizen of c\n"
            "  kinds: {a: person, b: city}\n",
        )
    )
    assert plain.id == worded.id
    assert plain.text() == "If [A] born in [B], and [B] located in [C], then [A] citizen of [C]."


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("- person born in city_a", "- person born", "if\\[1\\].*not variable, relation, variable"),
        ("kinds: {person", "kinds: {persn", "unknown key 'persn', did you mean 'person'"),
        (
            "person born in city_a:",
            "person bron in city_a:",
            "did you mean 'person born in city_a'",
        ),
        ('"[person] was born', '"[persn] was born', "needs \\[person\\] and \\[city_a\\]"),
        ("    then:", "    than:", "unknown key 'than', did you mean 'then'"),
        ("rules:", "rule:", "unknown key 'rule'"),
        ("- person born in city_a\n", "- city_a located in country\n", "same line twice"),
        ("person born in city_a\n", "per-son born in city_a\n", "not the name of a variable"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in GOOD
    with pytest.raises(SchemaError, match=complaint) as caught:
        load_rules(write(tmp_path, GOOD.replace(old, new, 1)))
    assert "rules.yaml" in caught.value.detail


def test_the_same_rule_twice_is_refused(tmp_path: Path) -> None:
    body = GOOD.split("rules:\n")[1]
    with pytest.raises(SchemaError, match="rules\\[1\\]: is the same rule as rules\\[0\\]"):
        load_rules(write(tmp_path, GOOD + body))


@pytest.mark.parametrize(
    ("premises", "conclusion", "complaint"),
    [
        (
            "[a r b, b s c]",
            "ruler t c",
            r"rules\[0\]: the conclusion uses 'ruler', which no premise",
        ),
        ("[a r b, d s c]", "a t c", "share exactly one"),
        ("[a r b, b s c, c u d]", "a t d", "a rule has one or two premises, this one has 3"),
        ("[a r b, b s b]", "a t b", "to itself"),
    ],
)
def test_what_is_no_rule(tmp_path: Path, premises: str, conclusion: str, complaint: str) -> None:
    text = f"rules:\n- if: {premises}\n  then: {conclusion}\n"
    with pytest.raises(SchemaError, match=complaint):
        load_rules(write(tmp_path, text))


def test_one_premise_is_a_line_or_a_list_of_one(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "rules:\n"
        "- if: [x wife y]\n  then: y husband x\n  kinds: {x: person}\n"
        "- if: a married to b\n  then: b married to a\n"
        "- if: a mother of b\n  then: a parent of b\n"
        "  templates:\n    a mother of b: ['[a] is the mother of [b].']\n"
    )
    inverse, symmetric, contained = load_rules(file)
    assert [r.shape for r in (inverse, symmetric, contained)] == ["x←z", "x←z", "x→z"]
    assert inverse.relations == ("wife", None, "husband")
    assert dict(inverse.kinds) == {"z": "person"}  # the conclusion goes from x to z
    assert symmetric.relations == ("married to", None, "married to")
    assert contained.text() == "If [A] is the mother of [B], then [A] parent of [B]."
    assert len({r.id for r in (inverse, symmetric, contained)}) == 3


def test_a_file_that_is_wrong_points_to_the_format_of_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n- if: [a r b]\n  then: a r b\n")
    with pytest.raises(SchemaError) as caught:
        load_rules(file)
    assert "thinkeval graph rules add --help" in caught.value.remedy
    file.write_text("rules:\n- if: [a b]\n  then: a r b\n")
    with pytest.raises(SchemaError) as caught:
        load_rules(file)
    assert "thinkeval graph rules add --help" in caught.value.remedy
