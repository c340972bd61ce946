"""Edit ten facts of a graph at once by MEMIT, against ten edits of one fact each, on a real model.

    python benchmarks/editing/memit_batch.py [--model smollm2] [--graph world] [--requests 10]
        [--hparams FILE] [--threads 1] [--json]

Hyperparameters are those that `thinkeval model tune` stored in your home, else the suggestion.
Both sides are scored as `thinkeval score` and `thinkeval lab sequence` do: efficacy, Preservation
of other facts and KL divergence on the model's own texts, of each edit by itself, and of all edits
together. Processor time is that of the edits, which are computed once; scores are not part of it.
The database is in a temporary folder.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import torch

from thinkeval.editing import registry
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.database import embedded_server
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import EditOptions, Score
from thinkeval.service.scoring.hyperparameters import FOLDER
from thinkeval.service.scoring.method_inputs import covariance_of
from thinkeval.service.scoring.plan import plan_edit
from thinkeval.service.scoring.request import ScoreRequest, SequenceStep
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.scoring.score import score_edit


def main() -> int:
    """Measure and print; 1 if the batch is not faster."""
    parser = bench.parser(__doc__)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--graph", default="world")
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--hparams", help="a file; default: tuned values, else the suggestion")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    spent = _timed_edits()
    user = Settings()
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        settings = user.model_copy(update={"home": Path(folder), "neo4j_uri": None})
        if (user.home / FOLDER).is_dir():
            shutil.copytree(user.home / FOLDER, Path(folder) / FOLDER)
        try:
            with Runtime(settings) as runtime:
                asked = EditOptions(
                    graph=options.graph, model=options.model, method="memit", samples=0,
                    hparams=options.hparams, drift_facts=0,
                )  # fmt: skip
                datasets.get_or_import(runtime.db, options.graph)
                found = datasets.list_rewrites(runtime.db, options.graph)
                chosen = _of_different_subjects(found, options.requests)
                alone: list[Score] = []
                for rewrite in chosen:
                    bench.say(f"alone: {rewrite.id}")
                    alone.append(score_edit(runtime, ScoreRequest.of(rewrite, asked)))
                each = sum(spent)
                spent.clear()
                runtime.targets.clear()  # the batch finds its own
                bench.say("together")
                effect = _batch(runtime, asked, chosen)
                step = SequenceStep(tuple(chosen), len(chosen), "end", lambda: effect)
                together = [
                    score_edit(runtime, ScoreRequest.of(rewrite, asked), step) for rewrite in chosen
                ]
        finally:
            embedded_server(settings).stop()
    n = len(chosen)
    lines = [
        bench.Line(
            f"MEMIT of {n} facts of {options.graph}, processor time of the edits", "s", sum(spent),
            each, f"{n} edits of one fact", bench.Goal("ratio", ">=", 1.0),
        )
    ]  # fmt: skip
    notes = [*map(_about, ("alone", "together"), (alone, together))]
    notes += [
        f"{one.rewrite}: efficacy {_of(one, 'efficacy')} alone, {_of(two, 'efficacy')} together;"
        f" Preservation {_of(one, 'preservation')}, {_of(two, 'preservation')};"
        f" KL {one.side_effects.kl:.1e}, {two.side_effects.kl:.1e}."
        for one, two in zip(alone, together, strict=True)
    ]
    origin = alone[0].provenance.get("hparams_notice") or f"Hyperparameters of {options.hparams}."
    notes.append(f"{origin} {json.dumps(_changed(alone[0]))}")
    return bench.show("memit_batch", lines, notes, as_json=options.json)


def _timed_edits() -> list[float]:
    """Seconds of processor time of each of MEMIT's edits from now on."""
    method, spent = registry.get("memit"), []
    execute = method.execute

    def timed(*args: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return execute(*args, **options)
        finally:
            spent.append(time.process_time() - began)

    method.execute = timed
    return spent


def _batch(runtime: Runtime, asked: EditOptions, chosen: Sequence[RewriteRequest]) -> Any:
    """The update of all rewrites at once."""
    plan = plan_edit(resolve(runtime, ScoreRequest.of(chosen[0], asked)))
    resolved = plan.resolved
    moments = covariance_of(runtime, plan.corpus, resolved.model, plan.layers)
    loaded = resolved.model.loaded
    return resolved.method.execute(
        loaded.model, loaded.tokenizer, chosen, resolved.hparams, moments, seed=asked.seed
    )


def _of_different_subjects(rewrites: Sequence[RewriteRequest], n: int) -> list[RewriteRequest]:
    """MEMIT cannot give one subject two values in a batch."""
    found = list({rewrite.subject: rewrite for rewrite in reversed(rewrites)}.values())[::-1][:n]
    if len(found) < n:
        raise SystemExit(f"the graph has rewrites of {len(found)} subjects only")
    return found


def _value(score: Score, metric: str) -> float | None:
    found = score.get(metric, "likelihood")
    return None if found is None else found.value


def _of(score: Score, metric: str) -> str:
    value = _value(score, metric)
    return "undefined" if value is None else f"{value:.3f}"


def _about(what: str, scores: Sequence[Score]) -> str:
    """Means over the edits, each with its n."""
    parts = []
    for metric in ("efficacy", "preservation", "ifr"):
        values = [value for score in scores if (value := _value(score, metric)) is not None]
        mean = f"{fmean(values):.3f}" if values else "undefined"
        parts.append(f"{metric} {mean} (n = {len(values)})")
    divergences = [score.side_effects.kl for score in scores if score.side_effects.kl is not None]
    parts.append(f"KL a token {fmean(divergences):.2e} (n = {len(divergences)})")
    return f"{what}: means of {', '.join(parts)}."


def _changed(score: Score) -> dict[str, object]:
    values = score.provenance["hparams"]
    return {key: values[key] for key in ("layers", "update_share", "v_step") if key in values}


if __name__ == "__main__":
    raise SystemExit(main())
