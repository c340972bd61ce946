"""Matching of an answer with an object, and the end of its first sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkeval.editing.probe import folding
from thinkeval.editing.probe.longer import longer_names
from thinkeval.editing.probe.matching import (
    contains,
    first_sentence,
    gives,
    mentions,
    normalise,
    sentence_end,
    share,
)

PAIRS = json.loads(Path(__file__).with_name("matching_pairs.json").read_text("utf-8"))["pairs"]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair["id"]) for pair in PAIRS])
def test_labelled_pairs(pair: dict):
    """Each pair has the verdict that a reader gives it; null: undecided."""
    names = (pair["object"], *pair["aliases"])
    answer = first_sentence(pair["answer"], names)
    assert gives(answer, names, longer=pair.get("longer", ())) is pair["expected"], pair["why"]


def test_a_cut_answer_is_judged_as_the_whole_one():
    """Answers are stored cut, and read again from there."""
    for pair in PAIRS:
        names = (pair["object"], *pair["aliases"])
        cut = first_sentence(pair["answer"], names)
        assert first_sentence(cut, names) == cut
        again = gives(first_sentence(cut, names), names, longer=pair.get("longer", ()))
        assert again is pair["expected"]


ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize("text", [f"{ANALYSIS}It is Oslo.", "analysisIt is Oslo"])
def test_a_reply_without_its_final_channel_gives_no_answer(text: str):
    assert gives(first_sentence(text), ["Oslo"]) is None


def test_the_longest_name_of_the_graph_wins():
    names = {
        "Virginia": ("Old Dominion",),
        "West Virginia": (),
        "Dominion": (),
        "North Dominion": (),
        "York": ("York town",),
        "北京": (),
        "北京大学": (),
    }
    longer = longer_names(names)
    assert longer == {
        "Virginia": ("West Virginia",),
        "Dominion": ("North Dominion", "Old Dominion"),
        "北京": ("北京大学",),
    }
    answer = "It is in West Virginia."
    assert gives(answer, ["Virginia"], longer=longer["Virginia"]) is False
    assert gives(answer, ["West Virginia"]) is True
    assert gives("Not in West Virginia but in Virginia.", ["Virginia"], (), ["West Virginia"])


def test_the_first_answer_wins_where_the_options_are_known():
    answer = "Lyon, which is near Paris."
    assert gives(answer, ["Paris"]) is True
    assert gives(answer, ["Paris"], ["Lyon", "Nice"]) is False
    assert gives("Not Lyon but Paris.", ["Paris"], ["Lyon"]) is True
    assert gives("Paris, which is larger than Lyon, is Paris.", ["Paris"], ["Lyon"]) is True
    assert gives("New York is the city.", ["New York"], ["York"]) is True
    assert gives("York is not New York.", ["York"], ["New York"]) is True


def test_undecided_answers_are_in_no_proportion():
    assert share([True, None, False, True]) == pytest.approx(2 / 3)
    assert share([False, None]) == 0
    assert share([None, None]) is None


def test_a_generation_does_not_end_inside_a_reasoning_block():
    text = "<think>Maybe Paris. No.\nSo Oslo.</think>\n\nOslo. It is"
    ends = [sentence_end(text[:end], unfinished=True) for end in range(len(text) + 1)]
    first = next(end for end in ends if end is not None)
    assert text[:first].endswith("</think>\n\nOslo.")
    assert first_sentence(text[:first]) == "Oslo."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<think>A. B.</think> Oslo. More.", "Oslo."),
        ("A. B.</thinking>\n\nOslo\nMore", "Oslo"),
        ("<THINK>A.</THINK><thought>B.</thought>Oslo", "Oslo"),
        ("Oslo. Surely.<think>or not</think>", "Oslo."),
        ("[THINK]A. B.[/THINK]Oslo. More.", "Oslo."),
        ("A. B.◁/think▷Oslo. More.", "Oslo."),
        ("<seed:think>A.</seed:think>Oslo. More.", "Oslo."),
        ("<|START_THINKING|>A.<|END_THINKING|>Oslo. More.", "Oslo."),
        ("<think>\nMaybe Oslo. Or", "<think> Maybe Oslo."),
        ("Oslo? <reasoning>Maybe", "<reasoning> Maybe"),
        ("a < b and <b>c</b>", "a < b and <b>c</b>"),
        (f"{ANALYSIS}So B.{FINAL} Oslo. More.<|return|>", "Oslo."),
        ("<|channel|>final <|constrain|>json<|message|>Oslo<|end|>", "Oslo"),
        (f"{ANALYSIS}So B.{FINAL}", ""),
        (f"{ANALYSIS}Maybe Oslo. Or", f"{ANALYSIS} Maybe Oslo."),
        ("analysisMaybe Bern. SoassistantfinalOslo. More", "Oslo."),
        ("analysis of Oslo", "analysis of Oslo"),
    ],
)
def test_reasoning_is_not_part_of_the_first_sentence(text: str, sentence: str):
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("He studied at HOGWARTS", "Hogwarts"),
        ("the hogwarts' library", "Hogwarts"),
        ("Emile Zola wrote it", "Émile Zola"),
        ("Émile Zola wrote it", "Emile Zola"),
        ("E\u0301mile Zola", "\u00c9mile Zola"),  # decomposed and composed accents
        ("Soren in Koebenhavn, Aeroe", "Søren"),
        ("a Strasse in Łódź", "Lodz"),
        ("the STRASSE", "Straße"),
        ("by J. K. Rowling", "J.K. Rowling"),
        ("St Mungo’s Hospital", "St. Mungo's"),
        ("Spider-Man swings", "Spider Man"),
        ("Marks and Spencer", "Marks & Spencer"),
        ("**Hogwarts** (Scotland)", "Hogwarts"),
        ("<b>Hogwarts</b>", "Hogwarts"),
        ("Hogwarts\u200b, in Scotland", "Hogwarts"),  # zero-width space
        ("written in C++ mostly", "C++"),
        ("it costs $5", "$5"),
        ("the year 1 980", "1 980"),
        ("哈利在霍格沃茨学习", "霍格沃茨"),
        ("in  two   words", "two words"),
        ("what?! no", "?!"),
    ],
)
def test_contains(text: str, name: str):
    assert contains(text, [name])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the Parisian way", "Paris"),
        ("Shogwarts", "Hogwarts"),
        ("he told us so", "U.S."),
        ("written in C++", "C"),
        ("written in C#", "C"),
        ("version 12", "1"),
        ("Lily", "Lily Evans"),
        ("Lily and Evans", "Lily Evans"),
        ("", "Hogwarts"),
        ("anything", ""),
        ("anything", "   "),
        ("no marks here", "?!"),
        ("कीर्ति", "कार्ति"),  # vowel signs are letters' own, no accents
    ],
)
def test_does_not_contain(text: str, name: str):
    assert not contains(text, [name])


def test_one_of_several_names_is_enough():
    assert contains("Lily Potter raised him", ["Lily Evans", "Lily Potter"])
    assert not contains("Petunia raised him", ["Lily Evans", "Lily Potter"])


def test_normalised_text_has_single_spaces_and_no_ends():
    assert normalise("  J.K.  Rowling -- (author)! ") == "j k rowling author"


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        (" Hogwarts. Then he left.", (), "Hogwarts."),
        ("Hogwarts! Then", (), "Hogwarts!"),
        ("Hogwarts?\nThen", (), "Hogwarts?"),
        ("Hogwarts\nQuestion: who", (), "Hogwarts"),
        ("\n\n Hogwarts. No", (), "Hogwarts."),
        ("never ends", (), "never ends"),
        ("the end.", (), "the end."),
        ('He said "Hogwarts." Then', (), 'He said "Hogwarts."'),
        ("Hogwarts... and more. No", (), "Hogwarts... and more."),
        ("Hogwarts... And more", (), "Hogwarts..."),
        ("version 3.5 of it. No", (), "version 3.5 of it."),
        ("J. K. Rowling of Edinburgh. No", (), "J. K. Rowling of Edinburgh."),
        ("Prof. Snape. No", (), "Prof. Snape."),
        ("Apple Inc. in 1976. Later", ("Apple Inc.",), "Apple Inc. in 1976."),
        ("apple inc. in 1976. Later", ("Apple Inc.", "Apple"), "apple inc. in 1976."),
        ("Apple Inc. in 1976. Later", ("Microsoft",), "Apple Inc. in 1976."),
        ("Apple Inc. Later in 1976", ("Microsoft",), "Apple Inc."),
        ("Am 3. Oktober. Nein", (), "Am 3. Oktober."),
        ("Question no. 5 of it. No", (), "Question no. 5 of it."),
        ("He said no. Then he left", (), "He said no."),
        ("首都是北京。很大", (), "首都是北京。"),
        ("Apple. Inc. was added", ("Apple",), "Apple."),
        ("Sta. Clara’s. Then", ("Sta. Clara's",), "Sta. Clara’s."),
        ("Sta. Monica. Then", ("Sta. Clara's",), "Sta."),
        ("", (), ""),
    ],
)
def test_first_sentence(text: str, names: tuple[str, ...], sentence: str):
    assert first_sentence(text, names) == sentence


def test_what_stands_after_the_first_sentence_does_not_count():
    answer = first_sentence("Durmstrang. Hogwarts is in Scotland.", ("Hogwarts",))
    assert not contains(answer, ["Hogwarts"])


def test_a_dot_at_the_end_of_an_unfinished_text_decides_nothing():
    assert sentence_end("at St", ("Apple",), unfinished=True) is None
    assert sentence_end("in 3.", (), unfinished=True) is None
    assert sentence_end("in 3. No", (), unfinished=True) is None  # 3. November
    assert sentence_end("in 3. So", (), unfinished=True) == 5
    assert sentence_end("in 3.", ()) == 5


@pytest.mark.parametrize(
    "whole",
    [
        'He left St. Mungo\'s for Apple Inc. in 3.5 "days." And then. More\nlines',
        "the ward of Sta. Clara's in Acme. Co. is new. More",
        "Sta. Monica. Then",
        "Sta. Sta. Clara's it is. No",
        "a line\nand more. Yes",
        "never ends",
    ],
)
def test_growing_text_ends_where_the_whole_text_does(whole: str):
    """Stopping a generation early must give the sentence that the full text gives."""
    names = ("Apple Inc.", "St. Mungo's", "Sta. Clara's", "Acme. Co.")
    expected = first_sentence(whole, names)
    ends = [sentence_end(whole[:end], names, unfinished=True) for end in range(len(whole) + 1)]
    first = next((end for end in ends if end is not None), len(whole))
    assert whole[:first] == expected


def test_mentions_are_places_in_the_original_text():
    text = "At  ST.   MUNGO’S he met Émile; Apple Inc. paid."
    found = [text[a:b] for a, b in mentions(text, ["St. Mungo's", "Emile", "Apple Inc."])]
    assert found == ["ST.   MUNGO’S", "Émile", "Apple Inc."]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The characters that are normalised from now on."""
    seen: list[str] = []
    whole = folding._of_char

    def of_char(char: str) -> str:
        seen.append(char)
        return whole(char)

    monkeypatch.setattr(folding, "_of_char", of_char)
    return seen


def test_a_repeated_text_is_normalised_once(monkeypatch: pytest.MonkeyPatch):
    """A crawl normalises each answer and name some twenty times."""
    seen = counted(monkeypatch)
    assert [normalise("Crème brûlée, unrepeated") for _ in range(3)] == [
        "creme brulee unrepeated"
    ] * 3
    assert len(seen) == len("Crème brûlée, unrepeated")
    long = "é" * (folding.CACHED + 1)
    assert normalise(long) == normalise(long) == "e" * len(long)
    assert len(seen) == len("Crème brûlée, unrepeated") + 2 * len(long)


def test_without_names_a_sentence_ends_where_it_does_and_nothing_is_normalised(
    monkeypatch: pytest.MonkeyPatch,
):
    seen = counted(monkeypatch)
    assert first_sentence("Gryffindor, of course. And more.") == "Gryffindor, of course."
    assert seen == []
