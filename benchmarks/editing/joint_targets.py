"""Facts of one subject edited in one batch by MEMIT, with a target each and with a joint one.

Draws of 1, 2 and 4 facts of one subject (with at least four), and of as many distinct subjects; new
objects differ within a draw, and are of the fact's relation where it has another one. Each draw is
one batch on the unedited organism, edited by MEMIT with its own hyperparameters without and with
`joint_targets`, and both with an optimisation that may take three times the steps. Efficacy: P of
the new object behind its prompt after the edit, teacher-forced, mean over a batch's requests, then
over draws. Retention: the same of the old objects of the drawn subjects' other facts, where the
unedited model knows them (P > .5). Smaller draws are the beginnings of the larger ones, so that
lines and columns are paired.
"""

from __future__ import annotations

import dataclasses
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import editors
import torch
from torch import Tensor

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing import nethook
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import applied, preserved
from thinkeval.editing.key_value.shared_keys import groups, similar_keys
from thinkeval.editing.key_value.tokens import batch_of, prompt_row, target_ids
from thinkeval.editing.methods import memit
from thinkeval.loaders.records import RewriteRequest

SIZES = (1, 2, 4)
KNOWN = 0.5
"""P above which the unedited model knows a fact."""

MOST_OTHERS = 40
"""Other facts of the drawn subjects that are asked at most, for retention."""

Draw = Sequence[RewriteRequest]


@dataclass
class Cell:
    """What the draws of one line and column gave."""

    efficacy: list[float] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)
    at_z: list[float] = field(default_factory=list)
    retention: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)


def main() -> int:
    """Measure and print; there is no target."""
    parser = bench.parser(__doc__)
    parser.add_argument("--graph", choices=["hogwarts", "knowgic"], default="knowgic")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--organism", type=Path, help="a trained one's folder; else the cache")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    study = Study(editors.subject(options.graph, options.organism), options.seed)
    draws = study.draws(options.draws)
    cells: dict[tuple[str, str], Cell] = defaultdict(Cell)
    for i, (kind, draw) in enumerate(draws):
        bench.say(f"draw {i + 1} of {len(draws)}")
        for n in SIZES:
            study.measure(f"{n}, {kind}", draw[:n], cells)
    columns: dict[str, dict[str, float]] = defaultdict(dict)
    for (line, column), cell in cells.items():
        for name in ("efficacy", "worst", "at_z", "retention", "steps", "left"):
            values = getattr(cell, name)
            if values:
                columns[f"{name}, {column}"][line] = statistics.fmean(values)
        if len(cell.efficacy) > 1:
            error = statistics.stdev(cell.efficacy) / len(cell.efficacy) ** 0.5
            columns[f"standard error of efficacy, {column}"][line] = error
    notes = [
        f"{options.draws} draws a line of {options.graph}, seed {options.seed}; MEMIT, one batch "
        f"from the unedited model. {study.keys_of(draws)}",
        "worst: the lowest efficacy of a batch; at_z: efficacy with z itself in place of the edit; "
        "steps: updates of the target; left: fraction of z - h that the edit leaves.",
    ]
    bench.show_columns("joint_targets", "requests", columns, notes, as_json=options.json)
    return 0


class Study:
    """The organism of a graph, its facts as requests, and MEMIT's inputs."""

    def __init__(self, subject: editors.Subject, seed: int) -> None:
        self.subject = subject
        self.random = random.Random(seed)
        self.objects: dict[str, set[str]] = defaultdict(set)
        self.right: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.facts = self._facts()
        name = f"organism-{subject.model.config.model_type}"
        plain: Any = hparam_files.load("memit", name)
        joint = dataclasses.replace(plain, joint_targets=True)
        long = {"v_num_grad_steps": 3 * plain.v_num_grad_steps}
        self.hparams = {
            "one each": plain,
            "joint": joint,
            "one each, 3 x steps": dataclasses.replace(plain, **long),
            "joint, 3 x steps": dataclasses.replace(joint, **long),
        }
        self.templates = subject.templates(plain)
        bench.say("covariance")
        self.covariance = subject.covariance(plain.layers)

    def draws(self, n: int) -> list[tuple[str, Draw]]:
        """Draws of the largest size, of one subject and of distinct ones."""
        many = [s for s, own in sorted(self.facts.items()) if len(own) >= max(SIZES)]
        found: list[tuple[str, Draw]] = []
        for _ in range(n):
            own = self.facts[self.random.choice(many)]
            found.append(("one subject", self._with_objects(self.random.sample(own, max(SIZES)))))
            subjects = self.random.sample(sorted(self.facts), max(SIZES))
            distinct = [self.random.choice(self.facts[s]) for s in subjects]
            found.append(("distinct subjects", self._with_objects(distinct)))
        return found

    def _with_objects(self, facts: Draw) -> Draw:
        """The facts with new objects: all different, of the same relation where there is one."""
        taken: set[str] = set()
        found = []
        for fact in facts:
            right = self.right[fact.subject, fact.prompt]
            others = sorted(self.objects[fact.relation] - right - taken)
            others = others or sorted(set().union(*self.objects.values()) - right - taken)
            new = self.random.choice(others)
            taken.add(new)
            found.append(dataclasses.replace(fact, target_new=new))
        return found

    def measure(self, line: str, draw: Draw, cells: dict[tuple[str, str], Cell]) -> None:
        """Edit a draw in every way."""
        others = self._others(draw)
        for column, hparams in self.hparams.items():
            # Two requests or more of one key differ; else joint targets are the methods' own.
            if "joint" in column and "one subject" not in line:
                continue
            effect = memit.execute(
                self.subject.model,
                self.subject.tokenizer,
                draw,
                hparams,
                self.covariance,
                context_templates=self.templates,
            )
            with applied(self.subject.model, effect):
                new = self._probabilities(draw, lambda r: r.target_new)
                old = self._probabilities(others, lambda r: r.target_true)
            cell = cells[line, column]
            cell.efficacy.append(statistics.fmean(new))
            cell.worst.append(min(new))
            reached = self._probabilities(draw, lambda r: r.target_new, effect.targets)
            cell.at_z.append(statistics.fmean(reached))
            cell.steps.append(statistics.fmean(effect.n_steps.values()))
            left = [value for value in effect.residual_left.values() if value is not None]
            cell.left.append(statistics.fmean(left))
            if old:
                cell.retention.append(statistics.fmean(old))

    def keys_of(self, draws: Sequence[tuple[str, Draw]]) -> str:
        """How many keys the largest draws have."""
        found: dict[str, list[int]] = defaultdict(list)
        layer = self.hparams["one each"].layers[-1]
        model, tokenizer = self.subject.model, self.subject.tokenizer
        for kind, draw in draws:
            found[kind].append(len(groups(similar_keys(model, tokenizer, draw, layer))))
        told = [f"{statistics.fmean(n):.2f} with {kind}" for kind, n in found.items()]
        return f"Keys of {max(SIZES)} facts, mean: {', '.join(told)}."

    def _facts(self) -> dict[str, list[RewriteRequest]]:
        """{subject: its facts as requests without a new object}, one for each prompt."""
        found: dict[str, list[RewriteRequest]] = defaultdict(list)
        for fact in sorted(self.subject.graph.facts, key=lambda fact: fact.id):
            self.objects[fact.relation].add(fact.object)
            if (fact.subject, fact.prompt) not in self.right:
                found[fact.subject].append(
                    RewriteRequest(
                        fact.id, "bench", fact.prompt, fact.subject, fact.relation, fact.object, ""
                    )
                )
            self.right[fact.subject, fact.prompt].add(fact.object)
        return found

    def _others(self, draw: Draw) -> Draw:
        """Facts of the draw's subjects that are not edited and that the unedited model knows."""
        edited = {request.id for request in draw}
        subjects = {request.subject: None for request in draw}
        others = [r for s in subjects for r in self.facts[s] if r.id not in edited]
        others = others[:MOST_OTHERS]
        before = self._probabilities(others, lambda r: r.target_true)
        return [r for r, p in zip(others, before, strict=True) if p > KNOWN]

    @torch.no_grad()
    def _probabilities(
        self,
        requests: Draw,
        target: Callable[[RewriteRequest], str],
        vectors: Mapping[str, Tensor] | None = None,
    ) -> list[float]:
        """P of a target behind its prompt: the product over its tokens, one row at a time.

        Args:
            vectors: {request id: z}, in place of the last edited layer's output at the subject.
        """
        model, tokenizer = self.subject.model, self.subject.tokenizer
        module = adapter_for(model).layer_module(self.hparams["one each"].layers[-1])
        found = []
        with preserved(model):
            for request in requests:
                asked = dataclasses.replace(request, target_new=target(request))
                row, ids = prompt_row(tokenizer, asked), target_ids(tokenizer, asked)
                full = dataclasses.replace(row, ids=(*row.ids, *ids))
                batch = batch_of([full], tokenizer, next(model.parameters()).device)

                def put(
                    output: Tensor, at: int = row.subject_last, id_: str = request.id
                ) -> Tensor:
                    if vectors is not None:
                        output[0, at] = vectors[id_]
                    return output

                with nethook.changing(module, put):
                    log_p = model(**batch.inputs()).logits[0].float().log_softmax(-1)
                start = len(row.ids) - 1
                found.append(sum(float(log_p[start + k, t]) for k, t in enumerate(ids)))
        return [float(torch.tensor(value).exp()) for value in found]


if __name__ == "__main__":
    raise SystemExit(main())
