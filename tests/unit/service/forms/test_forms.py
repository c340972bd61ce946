"""Every form on a small graph: the texts it asks, the names, and the score, by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from support.real_model import LANDS
from thinkeval.loaders import formats
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest
from thinkeval.service import forms as package
from thinkeval.service.base.errors import UsageError
from thinkeval.service.forms.context import Context
from thinkeval.service.forms.material import NEEDS, Answer, NotAsked, Outcome, Target, spelled
from thinkeval.service.forms.registry import Form, chosen, forms

CAPITAL = "The capital of {} is the city of"
TOWER = "The {} is located in the city of"
COUNTRY = "The city of {} is located in the country of"
ON_REQUEST = {"yes_no", "multiple_choice"}
EXAMPLES = (
    "Question: What is the capital of Norway? Answer: Oslo\n\n"
    "Question: What is the official language of Brazil? Answer: Portuguese\n\n"
    "Question: On which continent is Kenya? Answer: Africa\n\n"
)


def fact(subject: str, relation: str, name: str, prompt: str, question: str) -> Fact:
    return Fact(subject, relation, name, prompt, (question.format(subject),))


def small() -> KnowledgeGraph:
    cities = {
        "Paris": "France", "Rome": "Italy", "Berlin": "Germany", "Lyon": "France",
        "Madrid": "Spain", "Porto": "Portugal",
    }  # fmt: skip
    towers = {"Eiffel Tower": "Paris", "Colosseum": "Rome", "Brandenburg Gate": "Berlin"}
    facts = [
        fact(city, "in", land, COUNTRY, "In which country is the city of {}?")
        for city, land in cities.items()
    ] + [
        fact(tower, "stands in", city, TOWER, "In which city is the {}?")
        for tower, city in towers.items()
    ]
    names = dict.fromkeys(name for f in facts for name in (f.subject, f.object))
    return KnowledgeGraph("small", tuple(Entity(name) for name in names), tuple(facts))


GRAPH = small()
CONTEXT = Context(GRAPH, chat=True)
EIFFEL = next(f for f in GRAPH.facts if f.subject == "Eiffel Tower")
REWRITE = RewriteRequest(
    id="eiffel", dataset="small", prompt=TOWER, subject="Eiffel Tower", relation="stands in",
    target_true="Paris", target_new="Rome", question=EIFFEL.question,
)  # fmt: skip


def form(key: str) -> Form:
    return next(each for each in forms() if each.key == key)


def texts(key: str, target: Target) -> list[list[str]]:
    units = form(key).units(target, CONTEXT)
    return [[row.prompt.text for row in unit.rows] for unit in units]


@pytest.fixture
def plain() -> Target:
    return CONTEXT.target(EIFFEL)


@pytest.fixture
def edited() -> Target:
    return CONTEXT.edited(REWRITE, EIFFEL)


def test_each_form_is_a_file_with_the_contract() -> None:
    ids = {each.id for each in forms()}
    folder = Path(package.__path__[0])
    assert ids <= {path.stem for path in folder.glob("*.py")}
    for each in forms():
        assert each.summary
        assert set(each.needs) <= NEEDS.keys()
    assert len({each.protocol(CONTEXT) for each in forms()}) == len(forms())


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(package.__path__[0], "cloze.py").read_text(encoding="utf-8")
    (tmp_path / "echo.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    forms.cache_clear()
    try:
        assert "echo" in {each.id for each in forms()}
    finally:
        forms.cache_clear()
        sys.modules.pop(f"{package.__name__}.echo", None)


def test_forms_are_chosen_by_name_and_the_cloze_is_always_there() -> None:
    assert [f.key for f in chosen(["negated,question/3-shot"])] == [
        "cloze/0-shot", "negated/0-shot", "question/3-shot",
    ]  # fmt: skip
    left_out = {f.key for f in forms()} - {f.key for f in chosen(["all"])}
    assert left_out == {f.key for f in forms() if f.id in ON_REQUEST} | {"composed/turns"}
    assert [f.key for f in chosen(["yes_no/true-not"])] == [
        "cloze/0-shot", "yes_no/true-not", "yes_no/true-not-other-subject",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no form 'qestion'") as refused:
        chosen(["qestion"])
    assert "Did you mean 'question'?" in refused.value.remedy


def test_a_protocol_id_names_form_examples_scoring_and_version() -> None:
    assert form("cloze/0-shot").protocol(CONTEXT) == "cloze/0-shot/likelihood/v1"
    shown = form("question/3-shot").protocol(CONTEXT)
    assert shown.startswith("question/3-shot:")
    assert shown.endswith("/likelihood/v1")
    # Other names in the graph, other examples, another protocol.
    names = (*GRAPH.entities, Entity("Oslo"))
    other = Context(KnowledgeGraph("small", names, GRAPH.facts), chat=True)
    assert form("question/3-shot").protocol(other) != shown


def test_options_are_objects_of_the_relation_first(plain: Target, edited: Target) -> None:
    assert plain.options[0] == plain.right == "Paris"
    assert set(plain.options[:3]) == {"Paris", "Rome", "Berlin"}
    # Another city, as the relation has no more objects.
    assert plain.options[3] in {"Lyon", "Madrid", "Porto"}
    assert edited.options[:2] == ("Rome", "Paris")
    assert edited.options[2] == "Berlin"
    assert CONTEXT.target(EIFFEL) == Context(GRAPH, chat=False).target(EIFFEL)


def test_no_option_is_another_right_answer_or_an_alias() -> None:
    entities = [Entity(e.name, ("Roma",) if e.name == "Rome" else ()) for e in GRAPH.entities]
    second = fact("Eiffel Tower", "stands in", "Berlin", TOWER, "In which city is the {}?")
    odd = fact("Villa", "stands in", "Roma", TOWER, "In which city is the {}?")
    graph = KnowledgeGraph("small", tuple(entities), (*GRAPH.facts, second, odd))
    found = Context(graph, chat=False).target(EIFFEL)
    assert "Berlin" not in found.options
    assert len({"Rome", "Roma"} & set(found.options)) == 1


def test_a_fact_without_another_option_is_not_asked() -> None:
    alone = KnowledgeGraph("one", (Entity("Eiffel Tower"), Entity("Paris")), (EIFFEL,))
    with pytest.raises(NotAsked, match="no other object"):
        Context(alone, chat=False).target(EIFFEL)


def test_cloze_and_question(plain: Target) -> None:
    assert texts("cloze/0-shot", plain) == [["The Eiffel Tower is located in the city of"]]
    question = "Question: In which city is the Eiffel Tower? Answer:"
    assert texts("question/0-shot", plain) == [[question]]
    assert texts("question/3-shot", plain) == [[EXAMPLES + question]]
    (unit,) = form("chat_prefill/chat").units(plain, CONTEXT)
    assert unit.rows[0].prompt.user == "In which city is the Eiffel Tower?"
    assert unit.rows[0].prompt.text == "The Eiffel Tower is located in the city of"
    with pytest.raises(NotAsked, match="no chat template"):
        form("chat_prefill/chat").units(plain, Context(GRAPH, chat=False))


def test_negation_and_fact_check(plain: Target) -> None:
    cloze = "The Eiffel Tower is located in the city of"
    assert texts("negated/0-shot", plain) == [
        ["The Eiffel Tower is not located in the city of", cloze]
    ]
    low = "the Eiffel Tower is located in the city of"
    assert texts("fact_check/true", plain) == [[f"It is true that {low}"]]
    assert texts("fact_check/false", plain) == [[f"It is false that {low}", cloze]]
    assert texts("fact_check/difference", plain) == [
        [f"It is true that {low}", f"It is false that {low}"]
    ]


def test_a_name_at_the_beginning_keeps_its_capital() -> None:
    ends = {"The Band": "Ottawa", "Abba": "Malmo"}
    facts = tuple(Fact(band, "from", city, "{} is from") for band, city in ends.items())
    names = tuple(Entity(name) for pair in ends.items() for name in pair)
    graph = KnowledgeGraph("bands", names, facts)
    context = Context(graph, chat=False)
    (unit,) = form("fact_check/true").units(context.target(graph.facts[0]), context)
    assert unit.rows[0].prompt.text == "It is true that The Band is from"


def test_reversed_asks_for_the_subject(plain: Target, edited: Target) -> None:
    fill = 'Fill in the blank: "The ____ is located in the city of'
    (unit,) = form("reversed/0-shot").units(plain, CONTEXT)
    assert [row.prompt.text for row in unit.rows] == [f'{fill} Paris." Answer:']
    assert unit.rows[0].candidates[0] == "Eiffel Tower"
    assert set(unit.rows[0].candidates[1:]) == {"Colosseum", "Brandenburg Gate"}
    assert texts("reversed/no-object", plain) == [[f'{fill}." Answer:']]
    (unit,) = form("reversed/0-shot").units(edited, CONTEXT)
    assert [row.prompt.text for row in unit.rows] == [
        f'{fill} {name}." Answer:' for name in ("Rome", "Paris")
    ]
    assert unit.rows[0].candidates == ("Eiffel Tower", "Brandenburg Gate"), "the Colosseum has Rome"
    lyon = next(f for f in GRAPH.facts if f.subject == "Lyon")
    with pytest.raises(NotAsked, match="another subject"):
        form("reversed/0-shot").units(CONTEXT.target(lyon), CONTEXT)


def test_prefixes_have_the_facts_they_are_named_after(edited: Target) -> None:
    cloze = "The Eiffel Tower is located in the city of"
    ((unrelated, plain),) = texts("prefixed/unrelated", edited)
    assert plain == cloze
    assert unrelated.endswith(f". {cloze}")
    shown = unrelated.removesuffix(cloze)
    assert not any(name in shown for name in (*edited.options, "Eiffel"))
    ((old, _),) = texts("prefixed/object", edited)
    assert old == f"The city of Paris is located in the country of France. {cloze}"
    assert texts("prefixed/stated", edited) == [[f"{cloze} Paris. {cloze}", cloze]]
    (unit,) = form("prefixed/object").units(edited, CONTEXT)
    assert unit.given == 1
    with pytest.raises(NotAsked, match="no facts for the prefix 'subject'"):
        form("prefixed/subject").units(edited, CONTEXT)
    with pytest.raises(NotAsked, match="gives the answer"):
        form("prefixed/stated").units(CONTEXT.target(EIFFEL), CONTEXT)


def test_composed_asks_through_the_fact(plain: Target, edited: Target) -> None:
    blank = "The city of ____ is located in the country of"
    nested = "The city of the city in which the Eiffel Tower is is located in the country of"
    assert texts("composed/phrase", plain) == [[nested, blank]]
    (unit,) = form("composed/phrase").units(plain, CONTEXT)
    assert unit.rows[0].candidates[0] == "France"
    assert [f.subject for f in unit.facts] == ["Eiffel Tower", "Paris"]
    (unit,) = form("composed/phrase").units(edited, CONTEXT)
    assert unit.rows[0].candidates[:2] == ("Italy", "France")
    ((asked, _),) = texts("composed/2-shot", plain)
    assert asked.endswith(
        'Question: Let X be the answer to the question "In which city is the Eiffel Tower?" In'
        " which country is the city of X? Answer:"
    )
    assert asked.count("Answer:") == 3
    assert texts("composed/blank", plain) == [[blank]]


VERDICTS = (
    "Question: Is it true that the capital of Norway is the city of Oslo? Answer: Yes\n\n"
    "Question: Is it true that the official language of Brazil is Dutch? Answer: No\n\n"
    "Question: Is it false that Kenya is a country on the continent of Africa? Answer: No\n\n"
    "Question: Is it false that Hamlet was written by Jane Austen? Answer: Yes\n\n"
)


def asked_of(key: str, target: Target) -> list[str]:
    """The prompts of a form of verdicts, without its examples."""
    (found,) = texts(key, target)
    assert all(text.startswith(VERDICTS) for text in found)
    return [text.removeprefix(VERDICTS) for text in found]


def test_yes_no_asks_each_statement_and_its_opposite(plain: Target, edited: Target) -> None:
    tower = "the Eiffel Tower is located in the city of"
    for target in (plain, edited):
        assert asked_of("yes_no/true-false", target) == [
            f"Question: Is it {word} that {tower} {name}? Answer:"
            for name in target.options
            for word in ("true", "false")
        ]
        assert asked_of("yes_no/true-not", target) == [
            f"Question: Is it true that {said} {name}? Answer:"
            for name in target.options
            for said in (tower, "the Eiffel Tower is not located in the city of")
        ]
    assert asked_of("yes_no/true", plain) == asked_of("yes_no/true-false", plain)[::2]
    with pytest.raises(NotAsked, match="says nothing about an edit"):
        form("yes_no/true").units(edited, CONTEXT)
    (unit,) = form("yes_no/true").units(plain, CONTEXT)
    assert {(row.candidates, row.words) for row in unit.rows} == {(("Yes", "No"), True)}
    assert spelled("Yes") == (" Yes", " yes", "Yes")
    assert spelled("A") == (" A", "A")


def test_the_control_asks_a_subject_of_which_no_statement_is_true(edited: Target) -> None:
    # The Colosseum has the new object, the Eiffel Tower the old one; the gate has Berlin.
    names = [name for name in edited.options if name != "Berlin"]
    gate = "that the Brandenburg Gate"
    for key, opposite in (
        ("true-false", f"false {gate} is"),
        ("true-not", f"true {gate} is not"),
    ):
        assert asked_of(f"yes_no/{key}-other-subject", edited) == [
            f"Question: Is it {said} located in the city of {name}? Answer:"
            for name in names
            for said in (f"true {gate} is", opposite)
        ]
        assert form(f"yes_no/{key}").variant.against == f"{key}-other-subject"
        assert form(f"yes_no/{key}-other-subject").variant.control


def test_the_score_of_verdicts(plain: Target, edited: Target) -> None:
    # Rows in pairs: (yes, no) of the statement, then of its opposite; one pair for each option.
    rows = [
        ln(0.6, 0.3), ln(0.3, 0.6),  # ln 2 − ln ½ = ln 4
        ln(0.6, 0.3), ln(0.6, 0.3),  # 0
        ln(0.8, 0.1), ln(0.1, 0.1),  # ln 8
        ln(0.2, 0.2), ln(0.2, 0.2),  # 0
    ]  # fmt: skip
    found = form("yes_no/true-false").score(rows, plain)
    assert found.right == pytest.approx(2 / 3)
    assert (found.p, found.p_old, found.chance) == (None, None, 0.5)
    assert found.margin == pytest.approx(math.log(4) - math.log(8) / 3)
    assert found.further == pytest.approx((0.9 + 0.9 + 0.9 + 0.9 + 0.9 + 0.2 + 0.4 + 0.4) / 8)
    found = form("yes_no/true-not").score(rows, edited)
    assert found.margin == pytest.approx(math.log(4))
    # A liking for "yes", or for an object, changes nothing.
    liked = [[yes + 1.5 * (i < 2), no] for i, (yes, no) in enumerate(rows)]
    assert form("yes_no/true-not").score(liked, edited).margin == pytest.approx(math.log(4))
    # The model that always says yes is half right.
    alone = form("yes_no/true").score([ln(0.6, 0.3)] * 4, plain)
    assert (alone.right, alone.chance) == (0.5, 0.5)
    alone = form("yes_no/true").score([ln(0.6, 0.3), ln(0.1, 0.3), ln(0.6, 0.3)], plain)
    assert alone.right == 0.75
    silent = form("yes_no/true-false").score([[-math.inf, -math.inf]] * 4, edited)
    assert (silent.margin, silent.right, silent.further) == (None, 0.0, 0.0)


def test_multiple_choice_gives_each_option_each_position(plain: Target, edited: Target) -> None:
    for target in (plain, edited):
        a, b, c, d = sorted(target.options)
        lists = [(a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c)]
        expected = [
            "Question: In which city is the Eiffel Tower?\n"
            f"A. {one}\nB. {two}\nC. {three}\nD. {four}\nAnswer:"
            for one, two, three, four in lists
        ]
        assert texts("multiple_choice/text", target) == [expected]
        assert texts("multiple_choice/letter", target) == [expected]
        (unit,) = form("multiple_choice/text").units(target, CONTEXT)
        assert {(row.candidates, row.words) for row in unit.rows} == {(target.options, False)}
        (unit,) = form("multiple_choice/letter").units(target, CONTEXT)
        for row, order in zip(unit.rows, lists, strict=True):
            assert row.words
            assert [order["ABCD".index(letter)] for letter in row.candidates] == list(
                target.options
            )
    few = Target(EIFFEL, None, ("Paris", "Rome"))
    with pytest.raises(NotAsked, match="fewer than three"):
        form("multiple_choice/text").units(few, CONTEXT)
    (unit,) = form("multiple_choice/text").units(Target(EIFFEL, None, (*few.options, "X")), CONTEXT)
    assert len(unit.rows) == 3


def test_the_score_of_orders(plain: Target, edited: Target) -> None:
    rows = [ln(0.2, 0.1, 0.1), ln(0.03, 0.05, 0.02), ln(0.6, 0.1, 0.3)]
    shares = [(0.5 + 0.3 + 0.6) / 3, (0.25 + 0.5 + 0.1) / 3, (0.25 + 0.2 + 0.3) / 3]
    found = form("multiple_choice/text").score(rows, plain)
    assert found.p == pytest.approx(shares[0])
    assert (found.right, found.chance, found.further) == (1.0, 1 / 3, 0.0)
    assert found.margin == pytest.approx(
        math.log(shares[0]) - (math.log(shares[1]) + math.log(shares[2])) / 2
    )
    found = form("multiple_choice/letter").score(rows, edited)
    assert found.p_old == pytest.approx(shares[1])
    assert found.margin == pytest.approx(math.log(shares[0] / shares[1]))
    assert form("multiple_choice/text").score([rows[0], rows[2]], plain).further == 1
    # A model that likes one letter is right by chance, and in no fact in all orders.
    letters = [ln(*(0.97 if i == shift else 0.01 for i in range(4))) for shift in range(4)]
    found = form("multiple_choice/letter").score(letters, plain)
    assert found.p == pytest.approx(0.25)
    assert found.further == 0
    none = form("multiple_choice/text").score([[-math.inf] * 4] * 4, plain)
    assert (none.p, none.margin, none.right, none.further) == (0.0, None, 0.0, 0.0)


def test_generated_asks_in_the_models_own_way(plain: Target) -> None:
    base = Context(GRAPH, chat=False)
    question = "In which city is the Eiffel Tower?"
    for key, user in (
        ("generated/short-sentence", f"Answer in one short sentence. {question}"),
        ("generated/chat", question),
    ):
        (unit,) = form(key).units(plain, CONTEXT)
        (row,) = unit.rows
        assert (row.prompt.user, row.prompt.text, row.candidates) == (user, "", plain.options)
        with pytest.raises(NotAsked, match="no chat template"):
            form(key).units(plain, base)
    (unit,) = form("generated/3-shot").units(plain, base)
    assert unit.rows[0].prompt.text == f"{EXAMPLES}Question: {question} Answer:"
    with pytest.raises(NotAsked, match="has a chat template"):
        form("generated/3-shot").units(plain, CONTEXT)
    assert form("generated/3-shot").protocol(CONTEXT).endswith("/line/v1")
    assert form("generated/chat").protocol(CONTEXT) == "generated/chat/stop/v1"


@pytest.mark.parametrize(
    ("verdicts", "p", "p_old"),
    [
        ((True, False, False), 1.0, 0.0),
        ((False, True, False), 0.0, 1.0),
        ((None, None), None, None),
    ],
)
def test_the_score_of_a_written_answer(
    plain: Target, edited: Target, verdicts: tuple[bool | None, ...], p: float, p_old: float
) -> None:
    answer = Answer("In Rome.", True, 4, verdicts)
    assert form("generated/chat").score([answer], edited) == Outcome(
        p, p_old, None, p, 0.25, 1.0, "In Rome.", 4
    )
    assert form("generated/chat").score([answer], plain).p_old is None
    assert form("generated/chat").score([Answer("", False, 64, verdicts)], plain).further == 0


def ln(*values: float) -> list[float]:
    return [math.log(value) for value in values]


def test_the_score_of_options(plain: Target, edited: Target) -> None:
    found = form("cloze/0-shot").score([ln(0.5, 0.2, 0.1, 0.05)], plain)
    assert found.p == pytest.approx(0.5)
    assert found.p_old is None
    assert found.right == 1
    assert found.chance == 0.25
    assert found.margin == pytest.approx(math.log(0.5) - sum(ln(0.2, 0.1, 0.05)) / 3)
    found = form("cloze/0-shot").score([ln(0.2, 0.3, 0.1)], edited)
    assert found == Outcome(
        pytest.approx(0.2), pytest.approx(0.3), pytest.approx(math.log(2 / 3)), 0.0, 1 / 3
    )  # type: ignore[arg-type]
    assert form("cloze/0-shot").score([[0.0, -math.inf]], edited).margin is None


def test_the_scores_of_frames(plain: Target, edited: Target) -> None:
    negated = form("negated/0-shot").score([ln(0.2, 0.1), ln(0.4, 0.1)], plain)
    assert negated.further == pytest.approx(math.log(2))
    assert negated.p == pytest.approx(0.2)
    denied = form("fact_check/false").score([ln(0.36, 0.1), ln(0.4, 0.1)], plain)
    assert denied.further == pytest.approx(0.9)
    true, false = ln(0.4, 0.3, 0.2, 0.1), ln(0.2, 0.1, 0.2, 0.2)
    both = form("fact_check/difference").score([true, false], plain)
    assert both.right == pytest.approx(2 / 3), "ln 2 beats 0 and −ln 2, and loses to ln 3"
    assert both.chance == 0.5
    assert both.further == pytest.approx(math.log(2))
    assert both.margin == pytest.approx(math.log(2) - (math.log(3) - math.log(2)) / 3)
    both = form("fact_check/difference").score([true, false], edited)
    assert both.margin == pytest.approx(math.log(2) - math.log(3))


def test_the_scores_of_prefix_chain_and_inverse(plain: Target, edited: Target) -> None:
    revived = form("prefixed/object").score([ln(0.2, 0.3, 0.1), ln(0.5, 0.1, 0.1)], edited)
    assert revived.further == 1
    assert form("prefixed/object").score([ln(0.3, 0.2), ln(0.5, 0.1)], edited).further == 0
    assert form("prefixed/object").score([ln(0.2, 0.3), ln(0.1, 0.2)], edited).further == 0
    assert form("prefixed/object").score([ln(0.2, 0.3)], plain).further is None
    chain = form("composed/phrase").score([ln(0.6, 0.1), ln(0.3, 0.3)], plain)
    assert chain.further == pytest.approx(math.log(2))
    back = form("reversed/0-shot").score([ln(0.1, 0.2), ln(0.4, 0.2)], edited)
    assert back.p == pytest.approx(0.1)
    assert back.p_old == pytest.approx(0.4)
    assert back.margin == pytest.approx(-math.log(4))
    assert back.right == 0
    means = form("paraphrase/0-shot").score([ln(0.1, 0.4), ln(0.7, 0.2)], plain)
    assert means.p == pytest.approx(0.4)
    assert means.right == 1


def test_the_forms_fit_the_relations_of_a_real_graph() -> None:
    """Numbers of facts of `lands` that each form asks, by its rules."""
    graph = formats.load(LANDS).graph
    context = Context(graph, chat=True)
    asked = dict.fromkeys((each.key for each in forms()), 0)
    for each in forms():
        for one in context.facts:
            try:
                asked[each.key] += bool(each.units(context.target(one), context))
            except NotAsked:
                continue
    n = sum(_has_option(context, one) for one in context.facts)
    for key in ("cloze/0-shot", "question/3-shot", "chat_prefill/chat", "negated/0-shot"):
        assert asked[key] == n, key
    # An object with one subject of the relation.
    single = sum(len(context.subjects[f.relation, f.object]) == 1 for f in context.facts)
    assert 0 < asked["reversed/3-shot"] <= single
    assert asked["composed/phrase"] == asked["composed/2-shot"] > 20
    assert asked["paraphrase/0-shot"] == 0


def _has_option(context: Context, one: Fact) -> bool:
    try:
        context.target(one)
    except NotAsked:
        return False
    return True
