"""Peak memory and processor time of loading a model, probing a graph, and editing one fact.

    python benchmarks/editing/peak_memory.py [--model smollm2] [--graph world] [--facts 40]
        [--methods rome memit] [--json]

Each case runs in a process of its own, on one thread: the model loaded; every fact of the graph
asked; what the edits of a model share (its own texts and the covariance, kept for the cases after
it); and by each method one edit of the graph's first rewrite, after which the facts are asked again
and the own texts read. Hyperparameters are the published ones of the model, else the suggestion.
`over` is the peak without the interpreter and its libraries, the model's code among them. The notes
have peak and processor time of each phase. `--facts` asks fewer facts: a batch is full with 40.
Targets: `over` at most twice the weights, an edit by ROME or MEMIT at most 15 processor seconds.
Needs Linux, which resets a peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

METHODS = ("rome", "memit", "alphaedit", "fine_tuning")
TIMED = ("rome", "memit")
TIMES_THE_WEIGHTS, SECONDS = 2.0, 15.0
MB = 1e6
READ, STEP = 64, 16
"""Own texts that are read after an edit, in how many at a time, and tokens of a text."""

Phases = dict[str, dict[str, float]]


def main() -> int:
    """Measure each case in a process of its own, print; 0 if the targets are met."""
    options = parsed()
    if options.case:
        print(json.dumps(measured(options)))
        return 0
    import bench

    lines, notes = [], []
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as cache:
        for case in ("load", "probe", "shared", *options.methods):
            bench.say(case)
            found = in_a_process(case, cache)
            phases, weights = found["phases"], found["weights"]
            peak = max(phase["peak"] for phase in phases.values())
            over = peak - phases["libraries"]["left"]
            goal = bench.Goal("value", "<=", TIMES_THE_WEIGHTS * weights / MB)
            lines.append(bench.Line(f"{case}: peak of the process", "MB", peak / MB))
            lines.append(bench.Line(f"{case}: over", "MB", over / MB, goal=goal))
            if case in options.methods:
                bound = bench.Goal("value", "<=", SECONDS) if case in TIMED else None
                took = phases["edit"]["seconds"]
                lines.append(bench.Line(f"{case}: edit of one fact", "s", took, goal=bound))
            notes += [
                f"{case}, {name}: peak {each['peak'] / MB:,.0f} MB, {each['left'] / MB:,.0f} MB "
                f"left, {each['seconds']:.1f} s of processor time."
                for name, each in phases.items()
            ]
    notes.append(f"The weights take {weights / MB:,.0f} MB.")
    return bench.show("peak_memory", lines, notes, as_json=options.json)


def parsed() -> argparse.Namespace:
    """The command line; `bench.parser` would load the database's driver into each case."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    made.add_argument("--model", default="smollm2", help="a folder, or smollm2")
    made.add_argument("--graph", default="world", help="one that ships with ThinkEval")
    made.add_argument("--facts", type=int, help="of the graph; by default all")
    made.add_argument("--methods", nargs="+", default=METHODS)
    made.add_argument("--case", help=argparse.SUPPRESS)
    made.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    return made.parse_args()


def in_a_process(case: str, cache: str) -> dict[str, Any]:
    """Run this file for one case; what it printed."""
    words = [sys.executable, *sys.argv, "--case", case, "--cache", cache]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """The phases of a case, run in this process, and the bytes of the weights."""
    phases: Phases = {}
    with phase(phases, "libraries"):
        from thinkeval.editing import covariance, models  # noqa: F401

        path = models.fetch_smollm2() if options.model == "smollm2" else options.model
        models.skeleton_of(path)
    with phase(phases, "load"):
        loaded = models.load(path, device="cpu")
    weights = sum(each.numel() * each.element_size() for each in loaded.model.parameters())
    if options.case == "probe":
        with phase(phases, "probe"):
            ask(loaded, options)
    elif options.case == "shared":
        with phase(phases, "own texts"):
            own_texts(loaded, options)
        with phase(phases, "covariance"):
            for name in options.methods:
                statistics(loaded, *hyperparameters(loaded, name, options), options)
    elif options.case != "load":
        edited(loaded, options, phases)
    return {"phases": phases, "weights": weights}


def graph_of(options: argparse.Namespace) -> Any:
    """The graph, read from its file."""
    from thinkeval.loaders import graph_yaml, graphs

    return graph_yaml.load(graphs.path(options.graph)).graph


def ask(loaded: Any, options: argparse.Namespace) -> None:
    """Ask the model for the facts of the graph by all measures."""
    from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
    from thinkeval.loaders.records import fill

    graph = graph_of(options)
    items = [
        ProbeItem(f.id, fill(f.prompt, f.subject), f.object, aliases=graph.aliases(f.object))
        for f in graph.facts[: options.facts]
    ]
    probe(loaded, items, ProbeSettings(chat="never"))


def own_texts(loaded: Any, options: argparse.Namespace) -> Any:
    """The model's own texts, kept in the cache."""
    from thinkeval.editing.probe.own_samples import stored_samples

    return stored_samples(loaded, options.cache)


def hyperparameters(loaded: Any, name: str, options: argparse.Namespace) -> tuple[Any, Any]:
    """A method with its hyperparameters for the model."""
    from thinkeval.editing import hparams, registry
    from thinkeval.editing.hparams import suggestion

    if not hparams.without_file([name], options.model):
        return registry.get(name), hparams.load(name, options.model)
    values = suggestion.for_config(name, loaded.model.config).values
    return registry.get(name), hparams.from_values(name, values, None, source="suggestion")


def statistics(loaded: Any, kind: Any, chosen: Any, options: argparse.Namespace) -> Any:
    """The covariance that a method needs, over the own texts, kept in the cache; None: none."""
    from thinkeval.editing import covariance, registry

    layers = registry.covariance_layers(kind, chosen)
    if not layers:
        return None
    texts = own_texts(loaded, options).texts
    lines = tuple(loaded.tokenizer.batch_decode(texts, skip_special_tokens=True))
    return covariance.get(
        loaded.model,
        loaded.tokenizer,
        lines,
        layers,
        options.cache,
        weights_digest=loaded.info.weights_digest,
    )


def edited(loaded: Any, options: argparse.Namespace, phases: Phases) -> None:
    """Edit one fact, ask the facts again, read the own texts."""
    from thinkeval.editing.deltas import applied
    from thinkeval.editing.probe.own_samples import changes, hidden

    kind, chosen = hyperparameters(loaded, options.case, options)
    request = graph_of(options).rewrites[0]
    with phase(phases, "statistics"):
        moments = statistics(loaded, kind, chosen, options)
    with phase(phases, "edit"):
        effect = kind.execute(loaded.model, loaded.tokenizer, [request], chosen, moments)
    with phase(phases, "probe of the edited model"), applied(loaded.model, effect):
        ask(loaded, options)
    with phase(phases, "own texts"):
        texts = own_texts(loaded, options).beginnings(READ)
        for at in range(0, len(texts.texts), STEP):
            part = type(texts)(texts.start, texts.texts[at : at + STEP])
            changes(loaded, effect, part, hidden(loaded, part))


@contextmanager
def phase(phases: Phases, name: str) -> Iterator[None]:
    """Record the block's peak, the memory that is resident after it, and its processor time."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    before = _processor()
    yield
    seconds = _processor() - before
    lines = Path("/proc/self/status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines)
    peak, left = (int(told[key].split()[0]) * 1024 for key in ("VmHWM", "VmRSS"))
    phases[name] = {"peak": peak, "left": left, "seconds": seconds}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
