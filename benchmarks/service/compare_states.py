"""Two states compared over all of KnowGIC's rewrites, against scoring the rewrites one by one.

The states are the organism and the organism with one saved edit. Compared is everything that
`thinkeval compare --all` does, against `thinkeval score --all -m rome` in the same process, with
the organism loaded and the database warm: a first comparison and a first score are not counted.
Both take likelihoods only. The IFR of the edited rewrite must be the same in both.

Then peak memory: a comparison of two different models of the size of GPT-2 (in folders, random
weights) against asking one of them, each in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs import requests as selection
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.states.compare import compare
from thinkeval.service.states.schemas import ComparisonIn
from thinkeval.service.states.spec import parse

FASTER = bench.Goal("ratio", ">=", 5)
MEMORY = bench.Goal("ratio", ">=", 1 / 1.2)
"""Of the ratio of one model's peak to a comparison's."""


def main() -> int:
    """Measure, check, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--rewrites", type=int, help="of KnowGIC; by default all 26")
    parser.add_argument("--ask", metavar="FOLDER", nargs="+", help="used by itself: ask the models")
    parser.add_argument("--layers", type=int, default=12, help="of the models whose memory counts")
    options = parser.parse_args()
    if options.ask:
        return ask([Path(folder) for folder in options.ask])
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        lines, notes = timed(Path(folder) / "home", options.rewrites)
        lines.append(memory(Path(folder), options.layers))
    return bench.show("compare_states", lines, notes, as_json=options.json)


def timed(home: Path, limit: int | None) -> tuple[list[bench.Line], list[str]]:
    """Seconds of a comparison, and of scoring its rewrites one by one."""
    with Runtime(Settings(home=home)) as runtime:
        loaded = datasets.read(bench.data_dir() / "knowgic", name="knowgic")
        datasets.store(runtime.db, loaded)
        graph = "knowgic"
        none = selection.OwnRewrite()
        rewrites = selection.rewrites(runtime.db, graph, [], none, True)[:limit]
        asked = {"graph": graph, "method": "rome", "samples": 0, "model": "organism"}
        requests = [ScoreRequest.of(rewrite, None, **asked) for rewrite in rewrites]
        first = score_edit(runtime, requests[0])
        after = parse(f"organism+edit:{first.edit}")
        posted = ComparisonIn(
            before=parse("organism"), after=after, graph=graph, samples=0,
            rewrites=[rewrite.id for rewrite in rewrites],
        )  # fmt: skip
        compare(runtime, posted)
        again = posted.model_copy(update={"force": True})
        began = time.perf_counter()
        found = compare(runtime, again)
        ours = time.perf_counter() - began
        began = time.perf_counter()
        scores = [
            score_edit(runtime, request.model_copy(update={"force": True})) for request in requests
        ]
        instead = time.perf_counter() - began
    one = found.requests[0].number("ifr", "likelihood")
    other = scores[0].number("ifr", "likelihood")
    bench.agree(abs((one or 0.0) - (other or 0.0)) < 1e-6, f"IFR {one} and {other}")
    what = f"all requests of KnowGIC: {len(rewrites)} rewrites, {found.n_facts} facts"
    line = bench.Line(what, "s", ours, instead, "scored one by one (ROME)", FASTER)
    parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.seconds.items())
    return [line], [f"The comparison: {parts}. Its second state has one of the edits."]


def memory(folder: Path, layers: int) -> bench.Line:
    """Peak memory of asking two models one after the other, and of asking one."""
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    source = Runtime(Settings(home=folder / "home")).train("organism", "knowgic").path
    tokenizer = AutoTokenizer.from_pretrained(source)
    folders = []
    for seed in range(2):
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(GPT2Config(n_layer=layers, vocab_size=50_257))
        folders.append(folder / f"model-{seed}")
        model.save_pretrained(folders[-1])
        tokenizer.save_pretrained(folders[-1])
    both, one = (peak(named, folder / "home") for named in (folders, folders[:1]))
    what = f"peak memory, two models of {layers} layers and GPT-2's width"
    return bench.Line(what, "MB", both, one, "one model", MEMORY)


def peak(folders: list[Path], home: Path) -> float:
    """Peak resident memory in MB of a process that asks these models one after the other."""
    command = [sys.executable, __file__, "--ask", *map(str, folders)]
    environment = os.environ | {"THINKEVAL_HOME": str(home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def ask(folders: list[Path]) -> int:
    """Open the models one after the other as a comparison does; print the peak in MB."""
    from thinkeval.editing.probe import ProbeSettings
    from thinkeval.service.scoring.probe import questions_for
    from thinkeval.service.states.opened import opened

    settings = ProbeSettings(measures=("likelihood",))
    with Runtime(Settings()) as runtime:
        dataset = datasets.dataset(runtime.db, "knowgic")
        questions = questions_for(runtime.content_of(dataset).facts[:64], {})
        for folder in folders:
            with opened(runtime, parse(str(folder)), dataset) as state:
                state.ask(questions, settings)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return 0


if __name__ == "__main__":
    sys.exit(main())
