"""HalluEditBench: the model's false answers as old objects, the true ones as facts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError

ROW = {
    "topic": "town",
    "subject": "Doubs",
    "relation": "mouth",
    "object": "Saône",
    "question": "What does Doubs flow into?",
    "output_small_model": "Rhine",
    "eval_small_model": "0.0",
    "multiple_choices": "['Saône', 'Rhine']",
    "paraphrased_question": "Which river does Doubs join?",
    "multiple_choice_with_letters": "A. Rhine  B. Saône",
    "multiple_choice_labels": "B",
    "yes_question": "Does Doubs flow into the Saône?",
    "no_question": "Does Doubs flow into the Rhine?",
    "locality_question": "How long is Doubs?",
    "reversed_relation_question": "Which river flows into the Saône?",
    "question_2hop": "What does the river flow into that Doubs joins?",
    "answer_2hop": "Rhône",
}


def written(tmp_path: Path, *rows: dict[str, str], mark: str = ",") -> Path:
    path = tmp_path / "town.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(ROW), delimiter=mark)
        table.writeheader()
        table.writerows(ROW | row for row in rows)
    return path


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_row_is_a_true_fact_and_a_request_against_the_false_answer(
    tmp_path: Path, mark: str
) -> None:
    loaded = formats.load(written(tmp_path, {}, mark=mark))
    assert loaded.report.format == "hallu_edit_bench"
    (fact,), (rewrite,) = loaded.graph.facts, loaded.graph.rewrites
    assert (fact.subject, fact.relation, fact.object) == ("Doubs", "mouth", "Saône")
    assert (fact.prompt, fact.questions) == ("What does {} flow into?", (ROW["question"],))
    assert (rewrite.target_true, rewrite.target_new) == ("Rhine", "Saône")
    assert (rewrite.prompt, rewrite.question) == (fact.prompt, ROW["question"])
    assert rewrite.paraphrases == fact.paraphrases == ("Which river does {} join?",)
    (note,) = loaded.report.notes
    assert (note.kind, note.where) == ("flagged", "1 rewrites")
    assert "the model's answers are 'output_small_model'" in loaded.report.layouts[0]


def test_the_questions_of_a_row_are_checks(tmp_path: Path) -> None:
    (rewrite,) = formats.load(written(tmp_path, {})).graph.rewrites
    assert {check.criterion: (check.prompt, check.answers) for check in rewrite.checks} == {
        "generalization/rephrased": (ROW["paraphrased_question"], ("Saône",)),
        "generalization/yes": (ROW["yes_question"], ("Yes",)),
        "generalization/no": (ROW["no_question"], ("No",)),
        "generalization/reversed": (ROW["reversed_relation_question"], ("Doubs",)),
        "generalization/multiple_choice": (
            "What does Doubs flow into? A. Rhine  B. Saône",
            ("B", "Saône"),
        ),
        "portability/2hop": (ROW["question_2hop"], ("Rhône",)),
    }
    fewer = written(tmp_path, {"answer_2hop": "", "yes_question": ""})
    (rewrite,) = formats.load(fewer).graph.rewrites
    assert len(rewrite.checks) == 4


def test_unusable_rows_are_reported_with_line_and_column(tmp_path: Path) -> None:
    loaded = formats.load(
        written(
            tmp_path,
            {},
            {"subject": "Aare", "question": "Where does it end?"},
            {"subject": "Birs", "question": "What does Birs join?", "object": ""},
            {"subject": "Ill", "question": "What does Ill join?", "output_small_model": "saône"},
            {"subject": "Ain", "question": "What does Ain join?", "eval_small_model": "1.0"},
        )
    )
    refused = [(n.where, n.reason) for n in loaded.report.notes if n.kind == "refused"]
    assert refused == [
        ("line 3, question", "does not name the subject 'Aare': 'Where does it end?'"),
        ("line 4, object", "is empty"),
        ("line 5", "the model's answer is the true object"),
    ]
    assert loaded.report.read == {"rows": 5}
    assert {fact.subject for fact in loaded.graph.facts} == {"Doubs", "Ill", "Ain"}
    assert [rewrite.subject for rewrite in loaded.graph.rewrites] == ["Doubs"]
    assert len(formats.load(written(tmp_path, {}, {}, {}), limit=2).graph.rewrites) == 1


def test_a_file_without_a_usable_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="line 2, subject: is empty"):
        formats.load(written(tmp_path, {"subject": ""}))


def test_the_published_sample(data_dir: Path) -> None:
    path = data_dir / "others" / "halluedit_business_brand.csv"
    if not path.is_file():
        pytest.skip("the sample is not beside this checkout")
    loaded = formats.load(path)
    assert loaded.report.format == "hallu_edit_bench"
    assert loaded.report.kept == {"facts": 100, "entities": 249, "rewrites": 100}
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    stated = {(row["subject"], row["relation"], row["object"]) for row in rows}
    assert {(f.subject, f.relation, f.object) for f in loaded.graph.facts} == stated
    assert sum(len(r.checks) for r in loaded.graph.rewrites) == 1000
    by_subject = {(r.subject, r.relation): r for r in loaded.graph.rewrites}
    for row in rows:
        rewrite = by_subject[row["subject"], row["relation"]]
        assert rewrite.filled_prompt == row["question"]
        assert rewrite.target_new == row["object"]
