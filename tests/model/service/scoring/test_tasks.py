"""Tasks of lm-eval on both sides of an edit: equal to lm-eval's own results on saved models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy import stats

from support.scored_walk import Walk, walked
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.files import load as saved
from thinkeval.editing.errors import MissingExtraError, TaskError
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import digest
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import damage, deltas
from thinkeval.service.scoring.record import get_score
from thinkeval.service.scoring.request import posted
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.compare import compare
from thinkeval.service.states.schemas import ComparisonIn

LIMIT = 30
NUMBERS = {"before", "after", "difference", "low", "high", "p", "p_adjusted"}


@dataclass(frozen=True)
class Solved:
    """An edit that was scored with tasks, and the folder of the task files."""

    walk: Walk
    folder: Path
    score: Score


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


@pytest.fixture(scope="module")
def folder(walk: Walk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three task files on facts of the graph: choices, an answer's likelihood, a written answer."""
    folder = tmp_path_factory.mktemp("tasks")
    content = walk.runtime.content_of(datasets.dataset(walk.runtime.db, walk.graph))
    subject = walk.rewrite.subject
    facts = sorted(content.facts, key=lambda fact: (fact.subject != subject, fact.id))[:40]
    names = sorted({fact.object for fact in facts})
    rows = []
    for place, fact in enumerate(facts):
        others = [name for name in names if name != fact.object][place % 7 : place % 7 + 3]
        choices = [walk.rewrite.target_new, *others]
        choices = [fact.object, *(name for name in choices if name != fact.object)]
        question = fact.prompt.replace("{}", fact.subject)
        rows.append({"question": question, "choices": choices, "answer": 0})
    data = folder / "facts.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    common = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}, "cache_dir": str(folder / "cache")},
        "test_split": "test",
        "doc_to_text": "{{question}}",
        "metadata": {"version": 1.0},
    }
    answer = "{{choices[answer]}}"
    for name, of_task in {
        "choices": {
            "output_type": "multiple_choice", "doc_to_target": "answer",
            "doc_to_choice": "choices",
            "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}, {"metric": "brier_score"}],
        },
        "likely": {
            "output_type": "loglikelihood", "doc_to_target": f" {answer}",
            "metric_list": [{"metric": "acc"}, {"metric": "perplexity"}],
        },
        "written": {
            "output_type": "generate_until", "doc_to_target": answer,
            "generation_kwargs": {"until": ["."], "max_gen_toks": 4},
            "metric_list": [{"metric": "exact_match"}],
        },
    }.items():  # fmt: skip
        text = yaml.safe_dump({"task": name} | common | of_task)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def solved(walk: Walk, folder: Path) -> Solved:
    score = walk.score("rome", samples=0, tasks=f"{folder}", tasks_limit=LIMIT)
    return Solved(walk, folder, score)


def by_lm_eval(model: Any, tokenizer: Any, folder: Path) -> dict[str, Any]:
    """lm-eval's own results on a model, by the function that its command calls."""
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    return lm_eval.simple_evaluate(
        HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1),
        tasks=["choices", "likely", "written"],
        limit=LIMIT,
        bootstrap_iters=0,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
    )


def test_the_results_are_those_of_lm_eval_on_the_saved_models(
    solved: Solved, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = solved.walk.model.loaded
    effect = saved(deltas.path_of(solved.walk.runtime.settings, solved.score.edit)).effect
    loaded.model.save_pretrained(tmp_path / "before")
    with applied(loaded.model, effect):
        loaded.model.save_pretrained(tmp_path / "after")
    loaded.tokenizer.save_pretrained(tmp_path / "tokenizer")
    sides = {
        side: by_lm_eval(
            AutoModelForCausalLM.from_pretrained(tmp_path / side),
            AutoTokenizer.from_pretrained(tmp_path / "tokenizer"),
            solved.folder,
        )
        for side in ("before", "after")
    }
    assert [(row.task, row.metric) for row in solved.score.tasks] == [
        ("choices", "acc"), ("choices", "acc_norm"), ("choices", "brier_score"),
        ("likely", "perplexity"), ("likely", "acc"), ("written", "exact_match"),
    ]  # fmt: skip
    for row in solved.score.tasks:
        assert row.n == LIMIT
        values = {}
        for side, found in sides.items():
            wanted = found["results"][row.task][f"{row.metric},none"]
            assert getattr(row, side) == pytest.approx(wanted, rel=1e-5), (side, row)
            values[side] = [each[row.metric] for each in found["samples"][row.task]]
        if row.metric == "acc":
            pairs = list(zip(values["before"], values["after"], strict=True))
            assert row.rose == sum(after > before for before, after in pairs)
            assert row.fell == sum(after < before for before, after in pairs)
            assert row.test == "McNemar"
            flips = row.rose + row.fell
            wanted = stats.binomtest(row.fell, flips).pvalue if flips else 1.0
            assert row.p == pytest.approx(wanted)
    moved = {row.task: row for row in solved.score.tasks if row.metric == "acc"}
    assert moved["choices"].fell
    perplexity = next(row for row in solved.score.tasks if row.metric == "perplexity")
    assert perplexity.reason is not None
    assert perplexity.low is None
    assert perplexity.difference == pytest.approx(perplexity.after - perplexity.before)


def test_the_edit_is_stored_with_them_and_the_model_restored(solved: Solved) -> None:
    walk, score = solved.walk, solved.score
    assert get_score(walk.runtime.db, score.edit).tasks == score.tasks
    given = {"tasks": str(solved.folder), "tasks_limit": LIMIT}
    assert {name: posted(score).get(name) for name in given} == given
    loaded = walk.model.loaded
    assert weights_digest(loaded.model) == loaded.info.weights_digest
    again = walk.score("rome", samples=0, tasks=f"{solved.folder}", tasks_limit=LIMIT)
    assert (again.reused, again.edit) == (True, score.edit)
    plain = walk.score("rome", samples=0)
    assert plain.edit != score.edit
    assert plain.tasks == []
    wanted = [value.value for value in score.values]
    assert [value.value for value in plain.values] == pytest.approx(wanted, rel=1e-12)
    (table,) = (each for each in EDIT.tables(score) if each.name == "tasks")
    assert [row.task for row in table.rows] == [row.task for row in score.tasks]


def test_another_text_of_a_task_is_another_edit(solved: Solved, tmp_path: Path) -> None:
    asked = solved.walk.score("none", samples=0, tasks=f"{solved.folder / 'likely.yaml'}")
    config = yaml.safe_load((solved.folder / "likely.yaml").read_text(encoding="utf-8"))
    (tmp_path / "likely.yaml").write_text(
        yaml.safe_dump(config | {"doc_to_text": "It is so: {{question}}"}), encoding="utf-8"
    )
    other = solved.walk.score("none", samples=0, tasks=f"{tmp_path / 'likely.yaml'}")
    assert other.edit != asked.edit


def test_an_edit_that_changes_nothing_and_one_of_the_prompt(solved: Solved) -> None:
    wanted = {"samples": 0, "tasks": f"{solved.folder}", "tasks_limit": LIMIT}
    for row in solved.walk.score("none", **wanted).tasks:
        assert row.difference == 0
        assert row.after == row.before
        if row.test is not None:
            assert (row.low, row.high, row.p, row.p_adjusted) == (0, 0, 1, 1)
    before = {(row.task, row.metric): row.before for row in solved.score.tasks}
    for row in solved.walk.score("ike", **wanted).tasks:
        assert row.before == before[row.task, row.metric]
        assert (row.after, row.difference, row.reason) == (None, None, damage.OF_PROMPT)


def test_states_are_compared_on_tasks(solved: Solved) -> None:
    model = solved.walk.model.source
    states = {"base": model, "states": [f"{model}+edit:{solved.score.edit}"]}
    states |= {"graph": solved.walk.graph, "samples": 0}
    tasks = {"tasks": f"{solved.folder}", "tasks_limit": LIMIT}
    found = compare(solved.walk.runtime, ComparisonIn.model_validate(states | tasks))
    (state,) = found.states
    for mine, other in zip(state.tasks, solved.score.tasks, strict=True):
        assert mine.model_dump(exclude=NUMBERS) == other.model_dump(exclude=NUMBERS)
        for name in NUMBERS:
            wanted = getattr(other, name)
            close = None if wanted is None else pytest.approx(wanted, rel=1e-4)
            assert getattr(mine, name) == close, name
    plain = compare(solved.walk.runtime, ComparisonIn.model_validate(states))
    assert plain.id != found.id
    assert plain.states[0].tasks == []


def test_what_cannot_be_asked_is_named_before_a_model_is_loaded(
    walk: Walk, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(tasks: str) -> str:
        with pytest.raises(TaskError) as found:
            walk.score("none", samples=0, tasks=tasks)
        return found.value.detail

    monkeypatch.setattr(Runtime, "model", lambda *_, **__: pytest.fail("a model is loaded"))
    assert failing("absent.yaml") == "there is no task file or folder absent.yaml"
    assert "has no task file" in failing(f"{tmp_path}/")
    config = yaml.safe_load((folder / "likely.yaml").read_text(encoding="utf-8"))
    broken = tmp_path / "broken.yaml"
    broken.write_text(yaml.safe_dump(config | {"doc_to_text": "{{nothing}"}), encoding="utf-8")
    assert str(broken) in failing(f"{broken}")
    # Without a network, a task whose data are on the hub; the tests' processes have HF_HUB_OFFLINE.
    hub = tmp_path / "hub.yaml"
    gone = {"dataset_path": f"of-no-one/{digest(str(tmp_path))}", "dataset_kwargs": None}
    hub.write_text(yaml.safe_dump(config | gone), encoding="utf-8")
    assert f"the task '{hub}' cannot be loaded: " in failing(f"{hub}")
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(MissingExtraError) as missing:
        walk.score("none", samples=0, tasks="hellaswag")
    assert missing.value.remedy == 'pip install "thinkeval[tasks]"'


def test_a_wrong_name_is_answered_with_close_ones(walk: Walk) -> None:
    with pytest.raises(TaskError, match=r"no task 'hellaswagg'; did you mean 'hellaswag'"):
        walk.score("none", samples=0, tasks="hellaswagg")
