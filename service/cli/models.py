"""Commands about models: knowledge before an edit, organisms, and inputs of methods."""

from __future__ import annotations

from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import UsageError
from ..base.formatting import UNDEFINED, cell, least_of, number, percent, pluralize, short
from ..base.settings import Settings
from ..engines import probing
from ..forms.registry import chosen
from ..graphs import datasets
from ..models.edit import KNOWN, KNOWN_CHAIN
from ..reports.formats import Column, Table, indexed
from ..reports.forms import accuracy_table
from ..scoring import knowledge, method_inputs
from ..scoring import method_inputs as corpora
from ..scoring.hyperparameters import Tuned, by_method, chosen_for
from ..scoring.knowledge import THRESHOLDS
from ..scoring.model_graph import PART
from ..scoring.probe import WORDINGS
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from .codes import NEGATIVE
from .options import (
    PROBED,
    EngineOption,
    GroupWithDefault,
    JsonFlag,
    MeasureName,
    MeasureOption,
    ModelOption,
    OutputOption,
    ProbeOptions,
    RayAddressOption,
    edit_options,
    given,
    require_taken,
    takes,
)
from .output import (
    ProgressBars,
    emit_command,
    emit_error,
    emit_json,
    emit_note,
    emit_table,
    emit_text,
    emit_values,
    more_below,
    require_json,
)

if TYPE_CHECKING:
    from ..growth.knowledge import FailureOut, KnowledgeOut
    from ..models.edit import Measure
    from ..scoring.knowledge import AskedRelation, KnownFact, KnownRewrite, KnownSummary
    from ..scoring.tuning import Plan


REWRITES_SHOWN, RELATIONS_SHOWN = 10, 20
"""Rewrites and relations that are printed; --json has all."""
BEST = "*"
"""Marks the best wording of a relation."""

REWRITES: list[Column[KnownRewrite]] = [
    Column("subject", lambda row: row.subject),
    Column("relation", lambda row: row.relation),
    Column("new object", lambda row: row.target_new or "none: forgotten"),
    Column("p of the fact", lambda row: row.p),
    Column("known chains", lambda row: row.known_chains),
    Column("chains", lambda row: row.chains),
]


def show_known(found: KnownSummary, graph: str, measure: Measure) -> None:
    """Print how many facts are known, which, and which rewrites are worth scoring."""
    if found.chat_chosen:
        emit_note(found.chat_chosen["sentence"])
    emit_values(
        f"{found.model} on {graph}",
        [
            ("graph stored as", found.graph),
            ("facts asked", found.n_facts),
            *(
                (f"facts with {measure} ≥ {least_of(least)}", found.known[str(least)])
                for least in THRESHOLDS
            ),
            (f"facts whose right answers together get {measure} > .5", found.n_recalled),
            (f"mean {measure}", found.mean),
            *([("sampled answers undecided", found.undecided)] if found.undecided else ()),
        ],
    )
    _show_relations(found)
    facts: list[Column[KnownFact]] = [
        Column("subject", lambda fact: fact.subject),
        Column("relation", lambda fact: fact.relation),
        Column("object", lambda fact: fact.object),
        Column(measure, lambda fact: fact.p),
        Column("says", lambda fact: fact.says),
    ]
    emit_table(Table("best", "Best known facts", facts, found.best))
    if any(fact.p >= KNOWN for fact in found.weakest):
        emit_table(Table("weakest", "Least known facts", facts, found.weakest))
    if found.wordings is not None:
        _show_wordings(found.wordings)
    if found.forms is not None:
        emit_table(accuracy_table(found.forms))
    _show_rewrites(found, graph)


def _show_relations(found: KnownSummary) -> None:
    rows = [
        (row.relation, row.facts, *(row.known[str(least)] for least in THRESHOLDS), row.mean)
        for row in found.relations
    ]
    headers = [f"≥ {least_of(least)}" for least in THRESHOLDS]
    note = more_below(len(rows), RELATIONS_SHOWN)
    title = "Known facts by relation"
    columns = indexed("relation", "facts", *headers, "mean")
    emit_table(Table("relations", title, columns, rows[:RELATIONS_SHOWN], note))


def _show_wordings(found: list[AskedRelation]) -> None:
    names = [w.name for w in WORDINGS if any(w.name in row.means for row in found)]
    rows = [
        (
            "all" if row.relation is None else row.relation,
            *(number(row.means.get(name)) + (BEST if name == row.best else "") for name in names),
        )
        for row in found
    ]
    best = found[0] if found else None
    note = f"{BEST}: the wording that the model answers best."
    if best and best.options:
        note += f" Of all facts that is {best.best}: {best.options}."
    more = more_below(len(rows) - 1, RELATIONS_SHOWN)
    note = f"{note} {more}".strip()
    columns = indexed("relation", *names)
    title = "Mean likelihood by wording"
    emit_table(Table("wordings", title, columns, rows[: 1 + RELATIONS_SHOWN], note))


def _show_rewrites(found: KnownSummary, graph: str) -> None:
    """The rewrites, and the command that scores the first; or why there is none."""
    if not found.rewrites:
        emit_note(
            f"{graph} has no rewrites of a fact. `thinkeval score --subject …` edits any fact."
        )
        return
    unknown = sum(not row.scorable for row in found.rewrites)
    notes = [
        more_below(len(found.rewrites), REWRITES_SHOWN),
        f"A chain is known from R = {least_of(KNOWN_CHAIN)}, the product of its facts'"
        " probabilities.",
    ]
    if unknown:
        notes.append(
            f"Of {pluralize(unknown, 'rewrite')} the model does not know the fact (p below"
            f" {least_of(KNOWN)}): `score` does not edit it."
        )
    note = " ".join(filter(None, notes))
    title = "Rewrites that are worth scoring: most known chains first"
    emit_table(Table("rewrites", title, REWRITES, found.rewrites[:REWRITES_SHOWN], note))
    first = found.rewrites[0]
    if first.command is not None:
        emit_note("Next:")
        emit_command(first.command)
    elif found.wordings is None:
        emit_note(
            "The model knows the fact of no rewrite: there is nothing to score. --wordings shows"
            " which wording it answers best; `thinkeval results graphs` lists other graphs."
        )


# `probe`, `model organism`, `model covariance`, `model train-mend`: models and inputs of methods.

organism = typer.Typer(
    help="Small models trained on a graph's facts, for use without downloaded weights.",
)

GraphArgument = Annotated[str, typer.Argument(help="Id of a graph: a data set.")]


@takes("model", *PROBED, "dtype", "revision", "seed")
def probe(
    graph: GraphArgument = "hogwarts",
    measure: MeasureOption = MeasureName.likelihood,
    by_wording: Annotated[
        bool,
        typer.Option(
            "--wordings",
            help="Also ask each fact in every wording that exists (cloze, question, paraphrases,"
            " in the chat), by likelihood. Each takes as long as a probe with --samples 0.",
        ),
    ] = False,
    forms: Annotated[
        list[str] | None,
        typer.Option(
            "--forms",
            help="Also ask each fact in other forms: `all`, or names such as `question,yes_no`;"
            " prints how often the unedited model is right in each, against chance.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes, or actors of Ray, that ask the parts of a graph of more than"
            f" {PART:,} facts. Without it this process asks, or all of a Ray cluster.",
        ),
    ] = None,
    engine: EngineOption = None,
    ray_address: RayAddressOption = None,
    json: JsonFlag = False,
    **options: Any,
) -> None:
    """Probe a model for every fact of a graph: which does it know?

    The answers are stored as a model graph, which later scores reuse. The output ends with the
    command that scores the rewrite with the most known chains. A large graph is asked in parts;
    the same command continues one that was interrupted.
    """
    asked = edit_options({"graph": graph} | options)
    require_taken(measure.key, asked.samples)
    wanted = chosen(forms) if forms else []
    settings = Settings(**given(engine=engine, ray_address=ray_address))
    with ProgressBars(lines=True) as progress, Runtime(settings, progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        loaded = runtime.model_of(asked, dataset)
        ask_parts = probing.asking(runtime, asked, dataset, loaded, workers)
        summary = knowledge.probe_graph(
            *(runtime, dataset, loaded, asked, measure.key),
            by_wording=by_wording,
            forms=wanted,
            ask_parts=ask_parts,
            every=json,
        )
    if json:
        shown = [found.model_dump() for found in summary.forms] if summary.forms else None
        emit_json(asdict(summary) | {"forms": shown})
    else:
        show_known(summary, graph, measure.key)


@organism.command("train")
def train(
    graph: GraphArgument,
    architecture: Annotated[str, typer.Option(help="gpt2 or llama.")] = "gpt2",
    seed: Annotated[int, typer.Option(help="Seed of weights and sentences.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps; default by size.")] = None,
    unknown: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            help="Percent of the absent pairs (an entity and a relation of its kind, no fact) that"
            " it is taught not to know; 50 is `--model organism-unknown`.",
        ),
    ] = 0,
    json: JsonFlag = False,
) -> None:
    """Train a small GPT-2 or Llama on a stored graph; the result is cached by content."""
    text = f"organism:{architecture}:seed={seed}" + (f",steps={steps}" if steps else "")
    text += f",unknown={unknown}" if unknown else ""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        made = runtime.train(text, graph)
    recall = made.recall
    if json:
        taught = {"absent": made.absent.as_dict()} if made.absent else {}
        emit_json(
            {"path": str(made.path), "from_cache": made.from_cache, **asdict(recall), **taught}
        )
        return
    pairs: list[tuple[str, object]] = []
    if made.absent:
        pairs.append(("absent pairs taught as unknown", len(made.absent.taught)))
        pairs.append(("absent pairs withheld", len(made.absent.held_out)))
    emit_values(
        f"Organism of {graph}",
        [("folder", str(made.path)), ("from cache", made.from_cache)]
        + pairs
        + [(k, v) for k, v in asdict(recall).items() if isinstance(v, int | float)],
        note="A model this small recalls facts only because it was trained on them; README says"
        " what that means for the numbers.",
    )


covariance = typer.Typer(
    cls=GroupWithDefault,
    help="Collect the covariance statistics (mom2) of ROME and MEMIT, or import published ones.",
)


@covariance.command("collect", hidden=True)
def collect(
    graph: GraphArgument = "hogwarts",
    model: ModelOption = "organism",
    method: Annotated[str, typer.Option(help="Method whose layers are needed.")] = "memit",
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="UTF-8 text file, one text a line; default: the graph's.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Data set to stream the texts from (package `datasets`).")
    ] = None,
    config: Annotated[str | None, typer.Option(help="Configuration of the data set.")] = None,
    split: Annotated[str | None, typer.Option(help="Its split; default train.")] = None,
    column: Annotated[str | None, typer.Option(help="Its column of texts; default text.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many of its texts; default 100000.")
    ] = None,
    dtype: ProbeOptions.dtype = "float32",
    json: JsonFlag = False,
) -> None:
    """Collect the covariance statistics (mom2) of ROME and MEMIT; cached by weights and corpus.

    A killed run resumes where it stopped. [bold]thinkeval model covariance import
    --help[/bold]: published statistics (.npz) instead.
    """
    from ..scoring import method_inputs as covariances

    options = {"config": config, "split": split, "column": column, "limit": limit}
    if (dataset and text) or (not dataset and any(options.values())):
        raise UsageError(
            "--text and --dataset exclude each other; --config, --split, --column and --limit"
            " belong to --dataset.",
            remedy="Name one source of texts.",
        )
    corpus = corpora.dataset_text(dataset, **options) if dataset else text
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        made = covariances.collect(runtime, graph, model, method, corpus, dtype, hparams)
    named = f" --covariance '{corpus}'" if corpus else ""
    _show(made, json, f"Covariance of {model} for {method}", f"thinkeval score -m {method}{named}")


@covariance.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help=".npz file as published with ROME and MEMIT, or a folder.")
    ],
    model: Annotated[
        str, typer.Option("--model", help="The model they were taken from; no file says it.")
    ],
    layer: Annotated[
        int | None, typer.Option(min=0, help="Its layer, where the file's name says none.")
    ] = None,
    graph: Annotated[
        str, typer.Option("--graph", "-g", help="Graph, where the model is an organism.")
    ] = "hogwarts",
    dtype: ProbeOptions.dtype = "float32",
    json: JsonFlag = False,
) -> None:
    """Import published covariance statistics (.npz), one file for each layer, for a model.

    A file does not say which model it was taken from: its statistics are stored for the weights of
    the model you name, only the size of the matrix is checked, and the record of an edit says
    "imported" with the digest of the file.
    """
    from ..scoring import method_inputs as covariances

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = covariances.import_published(runtime, graph, model, file, layer, dtype)
    _show(made, json, f"Imported for {model}", "thinkeval score --covariance imported")


def _show(made: list[dict[str, object]], json: bool, title: str, used_by: str) -> None:
    if json:
        emit_json(made)
        return
    columns = ("module", "d_in", "tokens", "texts", "mean_eigenvalue", "corpus")
    note = f"cached for weights {str(made[0]['weights_digest'])[:12]}; used by {used_by}"
    columns = [Column(name.replace("_", " "), itemgetter(name)) for name in columns]
    emit_table(Table("organisms", title, columns, made, note))


def train_mend(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")] = "hogwarts",
    model: ModelOption = "organism",
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="One hyperparameter, as key=value; train_seed=1 for a seed."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Subject of a custom rewrite to exclude from training.")
    ] = None,
    relation: Annotated[str | None, typer.Option(help="Its relation in the graph.")] = None,
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    force: Annotated[bool, typer.Option("--force", help="Train again even if stored.")] = False,
    json: JsonFlag = False,
) -> None:
    """Train MEND's hypernetwork for a model on a graph's facts; cached by weights and settings.

    It learns from edits of the graph's facts to other objects. Facts with the subject and relation
    of a rewrite request are left out, so that no score is of an edit it was trained on.
    `thinkeval score -m mend` finds it; for a small model it trains one by itself.
    """
    if (subject is None) != (relation is None):
        raise UsageError("--subject and --relation belong together.", remedy="Give both or none.")
    excluded = [] if subject is None or relation is None else [(subject, relation)]
    overrides = read_overrides(override or [])
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        loaded = runtime.model(model, dataset, dtype=dtype, revision=revision)
        values = chosen_for(runtime, "mend", loaded, hparams, overrides).values
        made = method_inputs.wanted(runtime, dataset, loaded, values, excluded)
        about, found = method_inputs.train(runtime, made, loaded, values, force=force)
    rows: list[tuple[str, object]] = [
        ("file", str(made.path)),
        ("from cache", found),
        ("facts trained on", len(made.facts)),
        ("forwards", about.steps),
        ("network of forward", about.best_step),
        ("seconds", about.seconds),
    ]
    for name in ("loss", "edit", "locality", "efficacy"):
        rows += [
            (f"validation {name}, untrained", about.before[name]),
            (f"validation {name}, trained", about.after[name]),
        ]
    if json:
        emit_json(dict(rows))
        return
    emit_values(
        f"MEND for {loaded.name} on {graph}",
        rows,
        note="loss = cedit · edit (−log p of the new object) + cloc · locality (KL at other facts)",
    )


# `thinkeval model hparams suggest`: starting hyperparameters for a model without published ones.

hparams = typer.Typer(help="Hyperparameters for models without published ones.")


@hparams.callback()
def _group() -> None:
    """Hyperparameters for models without published ones."""


@hparams.command()
def suggest(
    model: Annotated[str, typer.Argument(help="Hub name or local path; only its config is read.")],
    method: Annotated[str, typer.Option("--method", "-m", help="Editing method.")] = "memit",
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a hub model.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the YAML file here.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Print starting hyperparameters as YAML, with a comment on where each value comes from.

    Values of the nearest published model, its layers at the same depth. A starting point, not tuned
    for the model: score a few rewrites with [bold]--hparams FILE.yaml[/bold] and adjust, or let
    [bold]thinkeval model tune[/bold] search.
    """
    from ..scoring.hyperparameters import for_model

    found = for_model(model, method, revision)
    if json:
        emit_json({"model": model, "notes": found.notes, **asdict(found.suggestion)}, output)
    else:
        emit_text(found.as_yaml(), output)


# `thinkeval model tune`: hyperparameters that reach a target at the least damage.

TUNED: list[Column[Tuned]] = [
    Column("method", lambda each: each.method),
    Column("reached", lambda each: each.reached),
    Column("efficacy", lambda each: f"{short(each.efficacy)} (n = {each.n})"),
    Column("least", lambda each: each.least),
    Column("held out", lambda each: ", ".join(map(short, each.held_out)) or UNDEFINED),
    Column("KL", lambda each: short(each.kl)),
    Column(
        "facts around keep", lambda each: UNDEFINED if each.kept is None else percent(each.kept)
    ),
    Column("changed", lambda each: ", ".join(f"{k}={v}" for k, v in each.changed.items())),
    Column("edits", lambda each: each.edits, optional=1),
]


@takes(
    "graph", "method", "hparams", "covariance", "chat", "dtype", "revision", "seed", "force",
    many=("method", "hparams"),
    defaults={"graph": "world"},
    help={
        "method": "Editing method; repeatable; default: all that are tuned.",
        "hparams": "Where the search begins: a file, a folder with one a method, or a shipped one;"
        " repeatable.",
        "force": "Tune again what is stored.",
    },
)  # fmt: skip
def tune(
    model: Annotated[str, typer.Argument(help="Model, as `score --model` takes it.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the facts and the number of edits only.")
    ] = False,
    json: JsonFlag = False,
    **options: Any,
) -> None:
    """Search hyperparameters by which edits take at the least damage; later commands find them.

    Five known facts of the graph, of different subjects and relations, are edited one by one; a
    setting must reach a mean efficacy of .9 (each fact .5) at the least KL divergence on the
    model's own texts, keep the known facts around, and two further facts check it. At most 12
    edits a method. `score`, `sweep` and all others then use it for this model, with a notice.
    Ctrl-C keeps the best so far, which is not checked: `--anyway` uses it.
    """
    from ...editing import registry
    from ..scoring import tuning

    methods = list(dict.fromkeys(options.pop("method") or tuning.KNOBS))
    for name in methods:
        if registry.info(name).name not in tuning.KNOBS:
            emit_error(f"{name}: nothing is tuned; it keeps its values.")
    methods = [name for name in methods if name in tuning.KNOBS]
    if not methods:
        if json:
            emit_json([])
        return
    files, force = by_method(methods, options.pop("hparams") or []), options.pop("force")
    edit = edit_options(options | {"model": model, "samples": 0})
    found: list[Tuned] = []
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        plan = tuning.plan(runtime, edit, methods, files)
        for name in () if dry_run else methods:
            found.append(tuning.tune(runtime, plan, name, force=force))
            if found[-1].interrupted:
                break
    if dry_run:
        _show_plan(plan, json)
        return
    for each in found:
        if not each.reached:
            emit_error(f"{each.method}: {each.failure} --anyway uses it.")
    if json:
        emit_json([each.model_dump() for each in found])
    else:
        note = "Later commands find these; --hparams names others. KL: on the model's own texts."
        emit_table(Table("tuned", f"{model} tuned on {edit.graph}", TUNED, found, note))
    if any(each.interrupted for each in found):
        raise KeyboardInterrupt
    if not all(each.reached for each in found):
        raise typer.Exit(NEGATIVE)


def _show_plan(plan: Plan, json: bool) -> None:
    from ..scoring.tuning import EDITS, FACTS, HELD_OUT

    edits = {"edits": EDITS, "held_out": HELD_OUT, "methods": list(plan.starts)}
    if json:
        facts = [rewrite.fields for rewrite in plan.rewrites]
        emit_json(edits | {"facts": facts})
        return
    rows = [
        ("decides" if i < FACTS else "held out", r.subject, r.relation, r.target_true, r.target_new)
        for i, r in enumerate(plan.rewrites)
    ]
    columns = indexed("fact", "subject", "relation", "object", "edited to")
    note = f"At most {EDITS} edits for each of {', '.join(plan.starts)}, those held out included."
    emit_table(Table("plan", "Facts to edit", columns, rows, note))


# `thinkeval model audit-knowledge`: a model's knowledge of a graph before any edit.

FAILURES_SHOWN = 20
"""Failures that are printed; --json has all."""

FAILURES: list[Column[FailureOut]] = [
    Column("fact", lambda each: f"{each.subject}, {each.relation}, {each.object}"),
    Column("verdict", lambda each: each.verdict, whole=True),
    Column("object", lambda each: each.object_share),
    Column("relation", lambda each: each.relation_share),
    Column("yes", lambda each: each.yes_share),
    Column("no", lambda each: each.no_share),
]


@takes("model", "samples", "chat", "dtype", "revision", "seed")
def audit_knowledge(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    pass_share: Annotated[
        float | None,
        typer.Option("--pass", help="Least fraction of right answers; default 1/samples."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Find which questions of a graph a model answers before any edit, and how it fails on others.

    Every fact is asked for its object. Each failure is asked in two further directions: for the
    relation between subject and object, and whether the whole fact is true. [bold]known[/bold]: the
    object is named; [bold]inconsistent[/bold]: it is not, and the model says yes to the whole;
    [bold]unknown[/bold]: it says no; [bold]undecided[/bold]: neither. A model that says yes to
    everything shows in the last direction, where the object is wrong.

    An organism cannot say yes or no: its failures are undecided.

    [bold]thinkeval model audit-knowledge knowgic --model Qwen/Qwen2.5-7B-Instruct[/bold]
    """
    from ..growth.knowledge import measure
    from ..scoring.request import probe_settings

    require_json(output, json)
    asked = edit_options({"graph": graph} | options)
    if asked.samples < 1:
        raise UsageError("An audit needs answers.", remedy="Give --samples 1 or more.")
    if pass_share is not None and not 0 < pass_share <= 1:
        raise UsageError(f"--pass {pass_share} is no fraction.", remedy="Give one in (0, 1].")
    settings = replace(probe_settings(asked, asked.seed), ask="question", measures=("p",))
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        model = runtime.model_of(asked, dataset)
        found = measure(runtime, dataset, model, settings, pass_share)
    if json:
        emit_json(found.model_dump(), output)
    else:
        _audit_show(found)


def _audit_show(found: KnowledgeOut) -> None:
    share = cell(found.answered_share)
    emit_values(
        f"{found.model} on {found.graph}",
        [
            ("questions", found.questions),
            ("answered", f"{found.answered} ({share})"),
            ("facts", found.n),
            *((kind, count) for kind, count in found.counts.items()),
        ],
        note=" ".join(text for text in (found.way, found.note) if text),
    )
    rows = [
        (each.direction, each.right, each.n, each.share, each.mean) for each in found.directions
    ]
    title = "By direction: all facts are asked for the object, failures in the others"
    columns = indexed("asked for", "right", "n", "fraction", "mean of answers")
    emit_table(Table("directions", title, columns, rows))
    note = more_below(len(found.failures), FAILURES_SHOWN)
    emit_table(Table("failures", "Failures", FAILURES, found.failures[:FAILURES_SHOWN], note))
