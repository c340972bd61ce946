"""Fluency and consistency against values worked out by hand and by plain formulas."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from thinkeval.editing.probe.text_metrics import (
    consistency,
    fluency,
    inverse_document_frequencies,
    ngram_entropy,
    terms,
)


def test_entropies_worked_out_by_hand() -> None:
    # Bigrams ab, ba, ab: f = 2/3, 1/3. Trigrams aba, bab: one bit.
    two = -(2 / 3 * math.log2(2 / 3) + 1 / 3 * math.log2(1 / 3))
    assert two == pytest.approx(0.9182958340544896, abs=1e-15)
    assert ngram_entropy("a b a b", 2) == pytest.approx(two, abs=1e-15)
    assert ngram_entropy("a b a b", 3) == pytest.approx(1.0, abs=1e-15)
    # One third of the first and two thirds of the second.
    assert fluency(["a b a b"]) == pytest.approx(0.9727652780181632, abs=1e-15)


def test_a_text_of_distinct_words_has_all_the_entropy_there_is() -> None:
    text = " ".join(f"w{i}" for i in range(100))
    assert ngram_entropy(text, 2) == pytest.approx(math.log2(99), abs=1e-12)
    expected = math.log2(99) / 3 + 2 * math.log2(98) / 3
    assert fluency([text]) == pytest.approx(expected, abs=1e-12)


def test_a_text_that_repeats_itself_has_less_and_one_word_has_none() -> None:
    assert fluency(["la la la la la la"]) == 0.0
    assert str(fluency(["la la la la"])) == "0.0", "and not minus zero"
    assert fluency([""]) == fluency(["one"]) == fluency([]) == 0.0
    assert ngram_entropy("one two", 3) == 0.0
    assert fluency(["a b c d a b c d"]) < fluency(["a b c d e f g h"])


def test_fluency_is_the_mean_over_texts() -> None:
    one, other = "a b a b", "w x y z"
    assert fluency([one, other]) == pytest.approx((fluency([one]) + fluency([other])) / 2)
    assert fluency([other]) == pytest.approx(math.log2(3) / 3 + 2 / 3)


def test_signs_are_tokens_and_case_is_kept() -> None:
    # A , b . : bigrams "A ,", ", b", "b ." are distinct.
    assert ngram_entropy("A,b.", 2) == pytest.approx(math.log2(3))
    # Tokens A b a b: bigrams Ab, ba, ab are distinct where case counts.
    assert ngram_entropy("A b a b", 2) == pytest.approx(math.log2(3))


CORPUS = ["The cat sat.", "The dog sat down, a dog!", "A bird"]


def test_frequencies_worked_out_by_hand() -> None:
    assert terms("The cat's a I Ünder_score 42") == ["the", "cat", "ünder_score", "42"]
    idf = inverse_document_frequencies(CORPUS)
    assert set(idf) == {"the", "cat", "sat", "dog", "down", "bird"}
    assert idf["the"] == idf["sat"] == pytest.approx(math.log(4 / 3) + 1, abs=1e-15)
    assert idf["dog"] == idf["cat"] == pytest.approx(math.log(4 / 2) + 1, abs=1e-15)
    assert inverse_document_frequencies([]) == {}


def test_the_cosine_worked_out_by_hand() -> None:
    often, rare = math.log(4 / 3) + 1, math.log(2) + 1
    idf = inverse_document_frequencies(CORPUS)
    # Over (the, cat, sat), fox being unknown: (often, 2 rare, 0) and (often, rare, often).
    dot = often * often + 2 * rare * rare
    norms = math.sqrt(often**2 + 4 * rare**2) * math.sqrt(2 * often**2 + rare**2)
    found = consistency(["The fox", "cat CAT"], ["the cat", "sat"], idf)
    assert found == pytest.approx(dot / norms, abs=1e-15)


def test_the_cosine_has_its_bounds() -> None:
    idf = inverse_document_frequencies(CORPUS)
    assert consistency(["the cat sat"], ["sat the", "cat"], idf) == pytest.approx(1.0, abs=1e-12)
    assert consistency(["the cat"] * 3, ["the cat"], idf) <= 1.0
    assert consistency(["bird"], ["dog"], idf) == 0.0
    assert consistency(["nothing known"], ["dog"], idf) == 0.0
    assert consistency([], ["dog"], idf) == consistency(["dog"], [], idf) == 0.0


def test_it_needs_no_torch() -> None:
    code = "import sys, thinkeval.editing.probe.text_metrics; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
