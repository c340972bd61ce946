"""An edit with APP's loss over 5 correct and 5 false answers, against the bare method.

ROME and MEMIT, one request at a time, on the organism of `hogwarts` with its own hyperparameters,
and on a random model of gpt2's size (124 M) with gpt2-xl's, of fewer steps, where an answer has
three tokens. Covariances and context templates are passed; timed is `execute`. Both sides take
turns and the ratio is that of their medians (the mean over requests), so that a busy machine slows
both. With equal steps, which has the target; and on the organism also with the method's own stop:
there a bare edit may stop after few steps, where APP's margin is not yet reached.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import editors
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from words import word_tokenizer

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance.statistics import Covariance
from thinkeval.editing.key_value.tokens import answer_tokens
from thinkeval.editing.objectives.app import App
from thinkeval.editing.objectives.weights import published
from thinkeval.editing.registry import get
from thinkeval.loaders.records import RewriteRequest

METHODS = ("rome", "memit")
K, GOAL = 5, 2.0
CONTEXTS = {"rome": 20, "memit": 5}
"""Sampled contexts beside the bare prompt in the published files of gpt2-xl."""


@dataclass(frozen=True)
class Case:
    """A model with requests, the answers of each, and what its methods are given."""

    name: str
    pair: tuple[Any, Any]
    requests: Sequence[RewriteRequest]
    correct: dict[str, tuple[str, ...]]
    hard: dict[str, tuple[str, ...]]
    hparams: dict[str, Any]
    covariance: Covariance
    templates: dict[str, Any]
    weights: dict[str, tuple[float, float, float]]


def main() -> int:
    """Measure, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5, help="of the random model's optimisation")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--organism", type=Path, help="a trained one's folder; else the cache")
    parser.add_argument("--only", choices=["organism", "random"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cases = []
    if options.only != "random":
        cases.append(organism(options.organism))
    if options.only != "organism":
        cases.append(random_model(options.steps))
    lines, notes = [], []
    for case in cases:
        for method in METHODS:
            bench.say(f"{case.name}, {method}")
            equal = replace(case.hparams[method], v_stop_loss=0.0)
            lines.append(measure(case, method, equal, "equal steps", options.repeats, notes))
            if case.name == "organism":
                own = case.hparams[method]
                lines.append(measure(case, method, own, "own stop", options.repeats, notes))
    return bench.show("append_loss", lines, notes, as_json=options.json)


def organism(folder: Path | None) -> Case:
    """Two requests of the organism of `hogwarts`; its answers are objects of the same graph."""
    subject = editors.subject("hogwarts", folder)
    requests = subject.requests(2)
    names = sorted({fact.object for fact in subject.graph.facts})
    name = f"organism-{subject.model.config.model_type}"
    hparams = {method: hparam_files.load(method, name) for method in METHODS}
    layers = sorted({layer for h in hparams.values() for layer in h.layers})
    templates = subject.templates(hparams["memit"])
    return Case(
        "organism",
        (subject.model, subject.tokenizer),
        requests,
        {r.id: tuple(n for n in names if n != r.target_new)[:K] for r in requests},
        {r.id: tuple(n for n in names if n != r.target_new)[-K:] for r in requests},
        hparams,
        subject.covariance(layers),
        {"memit": templates, "rome": [text for group in templates for text in group]},
        {method: published(method, name) for method in METHODS},
    )


def random_model(steps: int) -> Case:
    """A random model of gpt2's size; prompts and names of words, one token each."""
    tokenizer, words = word_tokenizer(1000)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(GPT2Config()).eval()
    names = [" ".join(words[100 + 3 * i : 103 + 3 * i]) for i in range(2 * K + 3)]
    prompt = "{} " + " ".join(words[10:14])
    requests = [
        RewriteRequest(f"r{i}", "bench", prompt, names[i], "r", names[3], names[2])
        for i in range(2)
    ]
    short = {"v_num_grad_steps": steps, "v_loss_layer": None}
    layers = {"rome": [4], "memit": [3, 4, 5, 6, 7]}
    hparams = {
        method: hparam_files.load(method, "gpt2-xl", {**short, "layers": layers[method]})
        for method in METHODS
    }
    texts = [
        f"{' '.join(words[200 + 9 * i : 209 + 9 * i])}. {{}}" for i in range(max(CONTEXTS.values()))
    ]
    adapter = adapter_for(model)
    return Case(
        "random model of gpt2's size",
        (model, tokenizer),
        requests,
        {r.id: tuple(names[3 : 3 + K]) for r in requests},
        {r.id: tuple(names[3 + K :]) for r in requests},
        hparams,
        Covariance({adapter.mlp_out(i).name: torch.eye(3072) for i in layers["memit"]}),
        {
            "rome": ["{}", *texts[: CONTEXTS["rome"]]],
            "memit": (("{}",), tuple(texts[: CONTEXTS["memit"]])),
        },
        {method: published(method, "gpt2-xl") for method in METHODS},
    )


def measure(
    case: Case, method: str, hparams: Any, what: str, repeats: int, notes: list[str]
) -> bench.Line:
    """Medians of both, in turns, over the requests; the first turn is not counted."""
    objective = App(*case.weights[method], case.correct, case.hard)
    n = len(case.requests)
    times: dict[bool, list[list[float]]] = {key: [[] for _ in range(n)] for key in (False, True)}
    cpu: dict[bool, list[list[float]]] = {key: [[] for _ in range(n)] for key in (False, True)}
    steps: dict[bool, list[int]] = {False: [], True: []}

    def edit(request: RewriteRequest, with_app: bool) -> None:
        effect = get(method).execute(
            *case.pair,
            [request],
            hparams,
            case.covariance,
            context_templates=case.templates[method],
            objective=objective if with_app else None,
        )
        steps[with_app].append(effect.n_steps[request.id])

    for turn in range(n * (repeats + 1)):
        which = turn % n
        for with_app in (False, True):
            began = time.process_time()
            took = bench.seconds(lambda r=case.requests[which], a=with_app: edit(r, a))
            if turn >= n:
                times[with_app][which].append(took)
                cpu[with_app][which].append(time.process_time() - began)
    bare, app = (middle(times[key]) for key in (False, True))
    tokens = [
        len(answer_tokens(case.pair[1], r, name))
        for r in case.requests
        for name in (*case.correct[r.id], *case.hard[r.id])
    ]
    notes.append(
        f"{case.name}, {method}, {what}: {statistics.mean(steps[False]):.1f} steps bare, "
        f"{statistics.mean(steps[True]):.1f} with APP; {statistics.mean(tokens):.1f} tokens an "
        f"answer; APP takes {app / bare:.2f} times as long, "
        f"{middle(cpu[True]) / middle(cpu[False]):.2f} in processor time."
    )
    goal = bench.Goal("ratio", ">=", 1 / GOAL) if what == "equal steps" else None
    label = f"{method}, {K} + {K} answers, {case.name}, {what}"
    return bench.Line(label, "s", app, bare, "without APP", goal)


def middle(times: Sequence[Sequence[float]]) -> float:
    """The mean over requests of each one's median."""
    return statistics.mean(statistics.median(each) for each in times)


if __name__ == "__main__":
    raise SystemExit(main())
