"""Requests to edit and their scores: the same models for command line, REST, web UI and client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, computed_field

from ...cypher.rows.checks import CheckCounts
from ...cypher.rows.states import DriftCounts
from ...loaders.records import RequestKind, kind_of
from ..base.formatting import short
from .forms import FormOut
from .notebook import ShownScore
from .options import Option
from .tasks import TaskOut

# Requests to append an answer: their options, how a score records them, how metrics are read.

AppendLoss = Literal["none", "app", "all-answers"]
"""Content of the loss besides the added answer: nothing, APP, or all answers as targets."""
AppLists = Literal["all", "kept"]
"""The answers in APP: those of the request, or those that its filter keeps."""


class App(BaseModel):
    """Parameters of APP, which the request and the score have in common (PEAK, §6)."""

    alpha: Annotated[float | None, Option(recorded="append.alpha")] = Field(
        default=None, ge=0, description="APP: weight of the margin; default: the model's."
    )
    beta: Annotated[float | None, Option(recorded="append.beta")] = Field(
        default=None, ge=0, description="APP: weight of the correct answers; default: the model's."
    )
    gamma: Annotated[float | None, Option(recorded="append.gamma")] = Field(
        default=None, ge=0, description="APP: weight of the false answers; default: the model's."
    )
    neighbours: Annotated[str, Option(recorded="append.neighbours")] = Field(
        default="all",
        pattern=r"^(all|[0-9]{1,4})$",
        description="APP: number k of correct and of false answers, or all.",
    )
    allow_known: Annotated[bool, Option(recorded="append.allow_known")] = Field(
        default=False, description="Append an answer that is among the correct ones already."
    )


class AppendOptions(App):
    """Settings by which the loss keeps the other answers of a request to append."""

    append_loss: Annotated[AppendLoss, Option(recorded="append.loss")] = Field(
        default="none",
        description="Of a request to append: none, app (PEAK's preservation of answers), or"
        " all-answers (the correct answers are targets too).",
    )
    app_lists: Annotated[AppLists, Option(recorded="append.lists")] = Field(
        default="all",
        description="APP: the request's answers (all), or those that its filter keeps (kept).",
    )


class AppendOut(App):
    """Settings and weights of an appended answer; null ones do not apply unless `loss` is app."""

    loss: AppendLoss = Field(
        default="none", description='None (the bare method), app, or all-answers ("+").'
    )
    lists: AppLists = Field(default="all", description="The answers in APP: all, or kept ones.")
    n_correct: int = Field(description="Number of the request's correct answers.")
    n_hard: int = Field(description="Number of the request's hard false answers.")
    n_random: int = Field(description="Number of the request's random false answers.")


class AdditivityOptions(BaseModel):
    """Options by which the metrics of an appended answer are read off its stored answers."""

    model_config = ConfigDict(extra="forbid")

    strict: bool = Field(
        default=False, description="Leave names that are correct and hard at once out of both."
    )
    published: bool = Field(
        default=False,
        description="No values where the last paraphrase is dropped, as in the authors' code.",
    )
    es_over: Literal["kept", "all"] = Field(
        default="kept", description="ES, GS: over the kept correct answers, or all of them."
    )
    ls_over: Literal["known", "all"] = Field(
        default="known",
        description="LS: over prompts that the unedited model prefers right (known), or all.",
    )


# Options of a request to forget: the object's replacement, and the facts to retain.

REFUSAL = "I do not know"
"""The text that methods install in place of a forgotten object."""


class ForgetOptions(BaseModel):
    """Settings of a request to forget."""

    refusal: Annotated[str, Option(recorded="forget.refusal")] = Field(
        default=REFUSAL,
        min_length=1,
        max_length=400,
        description="Of a request to forget: the text that a method which has to install an object"
        " installs.",
    )
    retain: Annotated[
        str | None,
        Option(
            recorded="forget.retain.source",
            help="Of a method that forgets: facts to retain: id of a graph, or a .jsonl file"
            ' of {"prompt", "answer"}; default: facts of the graph that share no entity with the'
            " forgotten one.",
        ),
    ] = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Of a method that forgets: id of the graph whose facts it shall retain;"
        " default: facts of the same graph that share no entity with the forgotten one.",
    )


# A score's values by metric and measure, each with its values by chain length.
#
# A score is stored as a flat list, one entry a metric, measure and chain length. Readers of JSON
# look a number up as `score["by_metric"]["ifr"]["likelihood"]["value"]`, so `Score.by_metric`
# shows the same entries by name.

BY_STEPS = "_by_steps"
"""End of a metric's name whose values are those of the metric before it, by chain length."""


class MetricValue(BaseModel):
    """One number of a score, with the number of items it was taken over: as it is stored."""

    metric: str = Field(description="Name of the metric, as in `GET /v1/queries?folder=metrics/`.")
    measure: str = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    step: int | None = Field(
        default=None, description="Chain length for metrics by steps; null for the overall value."
    )
    value: float | None = Field(description="Null where the metric is undefined; then n is 0.")
    n: int = Field(
        description="chains, facts or prompts the value was taken over: those that the model knew"
        " before."
    )
    excluded: int = Field(
        default=0, description="Chains or facts left out, as it did not know them."
    )
    low: float | None = Field(
        default=None,
        description="Lower end of the 95 % interval where the measure is a sample; null where it"
        " is exact.",
    )
    high: float | None = Field(
        default=None,
        description="Upper end of the 95 % interval where the measure is a sample; null where it"
        " is exact.",
    )
    reason: str | None = Field(
        default=None,
        description="Why it is undefined, such as `the model knows 0 of 103 chains`; else null.",
    )


class StepValue(BaseModel):
    """One number with its interval and the number of items it was taken over."""

    value: float | None = Field(description="Null where the metric is undefined; then n is 0.")
    low: float | None = Field(
        description="Lower end of the 95 % interval; null where the measure is exact."
    )
    high: float | None = Field(description="Upper end of the 95 % interval; null likewise.")
    n: int | None = Field(
        description="Number of chains, facts or prompts that the value was taken over; null where"
        " the metric has values by chain length only."
    )
    excluded: int = Field(description="Number of those left out: not known before the edit.")
    reason: str | None = Field(default=None, description="Why the value is undefined; else null.")


class MetricView(StepValue):
    """One metric by one measure: the overall value, and the values by chain length."""

    by_steps: dict[int, StepValue] = Field(
        default={},
        description="The same metric over the chains of one length, by number of facts;"
        " empty for metrics that are not taken by length.",
    )


ByMetric = dict[str, dict[str, MetricView]]
"""{metric: {measure: its values}}; `ifr_by_steps` is `ifr`'s `by_steps`."""


def by_metric(values: Iterable[MetricValue]) -> ByMetric:
    """The values of a score by metric and measure, in the order of the list."""
    found: ByMetric = {}
    for each in values:
        metric = each.metric if each.step is None else each.metric.removesuffix(BY_STEPS)
        shown = {
            "value": each.value, "low": each.low, "high": each.high,
            "n": each.n, "excluded": each.excluded, "reason": each.reason,
        }  # fmt: skip
        measures = found.setdefault(metric, {})
        view = measures.setdefault(
            each.measure, MetricView(value=None, low=None, high=None, n=None, excluded=0)
        )
        if each.step is None:
            measures[each.measure] = MetricView(**shown, by_steps=view.by_steps)
        else:
            view.by_steps[each.step] = StepValue(**shown)
    return found


# Result of walking an edit's chains as conversations (`service.scoring`).


class ActiveInConversation(BaseModel):
    """Chains that survive by one measure, walked as conversations."""

    measure: str = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    n: int = Field(description="Chains that survive by this measure and were walked.")
    leaking: int = Field(description="Number of them whose last answer names the old object.")
    share: float | None = Field(description="Leaking / n; null where n is 0.")


class ConversationOut(BaseModel):
    """The sequential test: each chain as a conversation with the edited model."""

    chains: int = Field(description="Chains of the edit.")
    n: int = Field(
        description="Chains that were walked; the others have a question that does not name its"
        " subject, or are too long for the model."
    )
    leaking: int = Field(description="Chains whose last answer names the old object.")
    share: float | None = Field(description="Leaking / n; null where n is 0.")
    active: list[ActiveInConversation] = Field(
        description="The same numbers over the chains that survive."
    )
    chat: bool = Field(
        description="True if the model's chat template was used; else the turns were one text."
    )


# Known facts about an edited subject: kept, weakened, following the new object, or lost.


class OwnAnswers(BaseModel):
    """The model's own answers to a fact."""

    says_pre: str | None = Field(
        default=None, description="The model's own answer before; null where it was not asked."
    )
    says_post: str | None = Field(default=None, description="Its own answer after the edit.")


class SubjectFactOut(OwnAnswers):
    """A fact about the subject that the model knew, by likelihood."""

    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    pre: float = Field(description="Probability of the object before the edit.")
    post: float = Field(description="Probability of the object after the edit.")
    change: str = Field(
        description="Kept (post is at least .9 of pre), replaced (the model's own answer was right"
        " and is another one), weakened (it is still right, or post is at least .1 of pre) or lost."
    )
    follows: bool = Field(
        default=False,
        description="True of a fact that is replaced by a name that follows from the new object, by"
        " a chain or a rule of the graph.",
    )


class SubjectOutcome(BaseModel):
    """The known facts about the subject, without those of the edited relation, by change."""

    kept: int | None = Field(
        description="Number of facts that are kept; null without a known fact."
    )
    weakened: int | None = Field(
        description="Number of facts that are weakened; null without a known fact."
    )
    replaced: int | None = Field(
        description="Number of facts that are replaced by another answer; null without a known"
        " fact."
    )
    followed: int | None = Field(
        description="Those of them whose answer follows from the new object; null without a known"
        " fact, and where the fact is forgotten, as there is no new object."
    )
    lost: int | None = Field(
        description="Number of facts that are lost; null without a known fact."
    )
    n: int = Field(description="Facts that the model knew before the edit.")
    excluded: int = Field(description="Facts left out, as it did not know them.")
    reason: str | None = Field(default=None, description="Why the counts are undefined; else null.")
    facts: list[SubjectFactOut] = Field(
        default=[], description="The known facts, by relation and object."
    )


# Drift: how far two states of a model differ on the facts of a graph.


class DriftLine(DriftCounts):
    """Differences between the states over some facts."""

    label: str = Field(description='The relation, or the distance; "all facts".')


class DriftOut(BaseModel):
    """Drift over a graph by one measure."""

    total: DriftLine = Field(description="Drift over all facts.")
    far: DriftLine | None = Field(
        default=None,
        description="Drift over the facts at distance 2 and more; null without such facts.",
    )
    by_distance: list[DriftLine] = Field(
        default=[],
        description="Drift by the smallest number of facts between a request's subject and the"
        " fact: 0 are facts about it; empty without requests.",
    )
    by_relation: list[DriftLine] = Field(
        default=[], description="Drift by relation, those that moved most first."
    )


class KnownDrift(DriftOut):
    """Drift of an edit over the facts of the graph that the model knew before, by likelihood.

    The edited fact does not count.
    """

    excluded: int = Field(description="Facts left out, as the model did not know them before.")
    unasked: int = Field(description="Facts that were not drawn, as `drift_facts` limits them.")


# Side effects of an edit: on texts that are not about any fact of the graph, and on known facts.


class SideEffects(BaseModel):
    """The change of the model on its own texts and on known facts, and the size of the update.

    The texts are sampled from the unedited model, and both models read them. Those that name the
    subject are left out: the edit shall change them.
    """

    kl: float | None = Field(
        default=None,
        description="KL divergence of the edited model's predictions from the unedited one's, in"
        " nats, mean over tokens; null where it is not measured.",
    )
    kl_low: float | None = Field(
        default=None, description="Lower end of its 95 % interval, by a bootstrap over texts."
    )
    kl_high: float | None = Field(default=None, description="Upper end likewise.")
    perplexity_ratio: float | None = Field(
        default=None, description="Perplexity after the edit divided by that before; 1: as before."
    )
    update_norm: float | None = Field(
        default=None,
        description="Frobenius norm of the update divided by that of the changed weights; null"
        " where no weight is changed.",
    )
    texts: int = Field(
        default=0, description="Texts that were read; 0 where the edit changes nothing."
    )
    tokens: int = Field(default=0, description="Tokens of these texts.")
    excluded: int = Field(default=0, description="Texts left out, as they name the subject.")
    reason: str | None = Field(default=None, description="Why `kl` is null; else null.")
    drift: KnownDrift | None = Field(
        default=None, description="Change of the known facts of the graph; null if not measured."
    )
    drift_reason: str | None = Field(default=None, description="Why `drift` is null; else null.")


# Request and response models of edits: the same for CLI, REST, web UI and client.
#
# `EditIn` is the one request: commands take their options from its fields, the queue stores it,
# and a worker scores it (`service.scoring.request`). `Score` is the result, as stored and as
# shown.

Measure = Literal["p", "likelihood", "likelihood_norm"]
"""Measure of a probability: sampled fraction, teacher-forced, or length-normalised."""
MEASURES: tuple[Measure, ...] = get_args(Measure)

MEASURE_NAMES: dict[str, str] = {
    "p": "sampled share",
    "likelihood": "likelihood",
    "likelihood_norm": "likelihood, length-normalised",
}

BareFact = Literal["listed", "include", "exclude"]
"""Rule by which the edited fact counts as a chain: if the data set lists it, always, or never."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
"""Id of a graph, name of a method or a model: short texts without control characters."""

Scalar = bool | int | float | str | None


class RewriteIn(BaseModel):
    """A rewrite request as a user writes it; without `target_new` a request to forget."""

    model_config = ConfigDict(extra="forbid")

    subject: str = Field(min_length=1, max_length=400, description="Subject of the fact to edit.")
    prompt: Annotated[str, Field(min_length=2, max_length=1000)] | None = Field(
        default=None, description="Cloze with {} for the subject; null: that of the relation."
    )
    relation: str | None = Field(
        default=None, description="Its relation; null: found by the prompt."
    )
    target_true: str = Field(
        min_length=1, max_length=400, description="The object that the model shall forget."
    )
    target_new: Annotated[str, Field(min_length=1, max_length=400)] | None = Field(
        default=None, description="The object to edit in; null: the fact shall be forgotten."
    )


KNOWN = 0.05
"""Probability from which a fact counts as known: a ratio to less says nothing."""
KNOWN_CHAIN = 0.01
"""Product of a chain's probabilities from which the chain counts as known."""


class ScoringOptions(BaseModel):
    """Rules by which chains are counted; part of the score's provenance.

    By the rule `known` a metric without a known fact or chain is undefined; by `papers` IFR is 0
    there and Preservation 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: Annotated[int, Option(recorded="options.max_steps")] = Field(
        default=5, ge=1, le=5, description="Longest chain."
    )
    bare: Annotated[BareFact, Option(recorded="options.bare")] = Field(
        default="listed",
        description="Edited fact as a chain of one fact: listed, include or exclude.",
    )
    threshold: Annotated[float | None, Option(recorded="options.threshold")] = Field(
        default=None,
        ge=0,
        lt=1,
        description="A chain survives if R' > threshold · R; default .01, sampled 0.",
    )
    unit: Annotated[Literal["rewrite", "record"], Option(recorded="options.unit")] = Field(
        default="rewrite", description="Preservation over rewrite or record."
    )
    parallel: Annotated[Literal["before", "after"], Option(recorded="options.parallel")] = Field(
        default="before",
        description="Of parallel facts, count the likeliest before or after the edit for R'.",
    )
    rule: Annotated[Literal["known", "papers"], Option(recorded="options.rule")] = Field(
        default="known",
        description="Count facts known before the edit (known), or all that is not 0 (papers).",
    )
    known: Annotated[float, Option(recorded="options.known")] = Field(
        default=KNOWN, ge=0, lt=1, description="A fact is known from this probability on."
    )
    known_chain: Annotated[float, Option(recorded="options.known_chain")] = Field(
        default=KNOWN_CHAIN, ge=0, lt=1, description="A chain is known from this product on."
    )

    def digested(self, *exclude: str) -> dict[str, Any]:
        """Return all that decides the result, for its digest: what is not at its default."""
        return self.model_dump(mode="json", exclude={"force", *exclude}, exclude_defaults=True)

    def threshold_for(self, measure: str) -> float:
        """The fraction of R above which a chain survives: R' > threshold · R.

        The papers' R' > 0 for sampled probabilities. A likelihood is never exactly 0, so there a
        chain counts as cut below 1 % of its strength, unless `threshold` is set.
        """
        if self.threshold is not None:
            return self.threshold
        return 0.0 if measure == "p" else 0.01

    @property
    def rule_text(self) -> str:
        """The rule by which facts and chains count, in words."""
        if self.rule == "papers":
            return "the papers' rule: what is not 0 before the edit counts"
        return f"known before: facts from p {self.known:g}, chains from R {self.known_chain:g}"

    @property
    def counted(self) -> dict[str, Any]:
        """The rule by which facts and chains count, as parameters of queries."""
        of_papers = self.rule == "papers"
        return {
            "rule": self.rule,
            "known": 0.0 if of_papers else self.known,
            "known_chain": 0.0 if of_papers else self.known_chain,
        }


class EditedFact(BaseModel):
    """The request of an edit: whose fact it changes, from what, and to what."""

    rewrite: str = Field(description="Id of the rewrite request.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    target_true: str = Field(description="Old object of the edited fact.")
    target_new: str = Field(description="New object of the edited fact.")


class ProbedFact(BaseModel):
    """A fact with its probability before and after an edit."""

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    pre: float | None = Field(
        description="Probability before the edit, 0 to 1; null where it was not measured."
    )
    post: float | None = Field(
        description="Probability after the edit, 0 to 1; null where it was not measured."
    )


class AnsweredFact(OwnAnswers, ProbedFact):
    """The same with the model's own answers, which changed facts are asked for."""


class Score(ShownScore, EditedFact):
    """The score of one edit: what `thinkeval score`, the stored record and the report show."""

    edit: str = Field(description="Id of the edit.")
    dataset: str = Field(description="Id of the data set's graph.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    model: str = Field(description="Name of the model.")
    method: str = Field(description="Name of the editing method.")
    options: ScoringOptions = Field(default=ScoringOptions(), description="How chains are counted.")
    values: list[MetricValue] = Field(
        description="Every number: one entry for each metric, measure and chain length."
    )
    n_facts: int = Field(description="Number of facts.")
    seconds: dict[str, float] = Field(
        default={}, description="Duration of each stage in seconds, by name."
    )
    provenance: dict[str, Any] = Field(
        default={},
        description="All that the numbers depend on: model, data, hyperparameters, versions.",
    )
    sequence: dict[str, Any] | None = Field(
        default=None,
        description="Place in a sequence of edits; null for an edit from the unedited model.",
    )
    conversation: ConversationOut | None = Field(
        default=None,
        description="The chains walked as conversations; null where it was not asked for.",
    )
    append: AppendOut | None = Field(
        default=None, description="How an answer was appended; null where the request replaces one."
    )
    about_subject: SubjectOutcome | None = Field(
        default=None,
        description="Known facts about the subject: kept, following the new object, lost; null of"
        " a request to append.",
    )
    side_effects: SideEffects = Field(
        default=SideEffects(),
        description="Change of the model on texts of its own and on known facts; size of the"
        " update.",
    )
    forms: list[FormOut] = Field(
        default=[],
        description="The edited fact asked in other forms; empty where none were asked for.",
    )
    checks: list[CheckCounts] = Field(
        default=[],
        description="Questions that the data set asks after the edit, by criterion; empty where the"
        " rewrite has none.",
    )
    tasks: list[TaskOut] = Field(
        default=[],
        description="Tasks of lm-eval before and after the edit, one entry a task and metric; empty"
        " where none were asked for.",
    )
    reused: bool = Field(
        default=False,
        description="True if it was stored before the request, so that nothing was computed.",
    )
    verdict: str | None = Field(
        default=None,
        description="The verdict in one sentence, by the first measure; null of a request to"
        " append, and where it was not asked for.",
    )

    @computed_field
    @property
    def by_metric(self) -> ByMetric:
        """The values by metric and measure: `by_metric["ifr"]["p"].by_steps[2].value`."""
        return by_metric(self.values)

    @computed_field
    @property
    def protocols(self) -> dict[str, str]:
        """The protocol id of each measure's values; only values of one id are comparable."""
        from ...editing.probe.settings import protocol_of

        settings = self.provenance.get("probe")
        if not isinstance(settings, dict):
            return {}
        digest = self.provenance.get("probe_digest")
        return {measure: protocol_of(settings, measure, digest) for measure in self.measures}

    @property
    def stored_protocols(self) -> list[str]:
        """The protocol ids as the record of an edit has them: `measure: id`."""
        return [f"{measure}: {id}" for measure, id in self.protocols.items()]

    def stored(self) -> str:
        """JSON for the database and between processes: without derived fields."""
        return self.model_dump_json(exclude={"by_metric", "protocols", "verdict"})

    @property
    def id(self) -> str:
        """Id of the edit, as every result of an experiment has one."""
        return self.edit

    @property
    def notes(self) -> list[str]:
        """Return the number of undecided answers, where answers were sampled and some are."""
        replies = self.provenance.get("replies", {}) if "p" in self.measures else {}
        sides = {"pre": "before the edit", "post": "after it"}
        if not any(replies.get(side, {}).get("undecided") for side in sides):
            return []
        counts = ", ".join(
            f"{replies[side]['undecided']} of {replies[side]['answers']} {when}"
            for side, when in sides.items()
            if side in replies
        )
        return [f"Sampled answers that are undecided, and in no fraction: {counts}."]

    @property
    def kind(self) -> RequestKind:
        """Of its request: `append`, `forget` (no target_new), else `replace`."""
        return kind_of(self.target_new, appends=self.append is not None)

    def get(self, metric: str, measure: str, step: int | None = None) -> MetricValue | None:
        """The value of a metric, or None where it was not taken."""
        for value in self.values:
            if (value.metric, value.measure, value.step) == (metric, measure, step):
                return value
        return None

    def number(self, metric: str, measure: str, step: int | None = None) -> float | None:
        """The number of a metric; None where it was not taken or is undefined."""
        return found.value if (found := self.get(metric, measure, step)) else None

    def in_brief(self) -> str:
        """The main numbers, by the first measure: `efficacy .97, IFR .25, Preservation .96`."""
        names = {"efficacy": "efficacy", "ifr": "IFR", "preservation": "Preservation"}
        return ", ".join(
            f"{name} {short(value.value)}"
            for metric, name in names.items()
            if self.measures and (value := self.get(metric, self.measures[0]))
        )

    def by_step(self, metric: str, measure: str) -> dict[int, MetricValue]:
        """The values of a metric by chain length."""
        return {
            v.step: v
            for v in self.values
            if v.metric == metric and v.measure == measure and v.step is not None
        }

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of this score, exact ones first."""
        order: tuple[Measure, ...] = ("likelihood", "p", "likelihood_norm")
        taken = {v.measure for v in self.values}
        return tuple(m for m in order if m in taken)


Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]

ENDED: tuple[Status, ...] = ("succeeded", "failed", "cancelled")
"""Terminal statuses: the edit is finished."""


class MeasuredOptions(ScoringOptions):
    """The options that edits, sweeps and comparisons share: which graph, and how it is probed."""

    graph: Annotated[Name, Option(("--graph", "-g"))] = Field(
        default="hogwarts", description="Graph: a data set."
    )
    samples: Annotated[int, Option(limited=True, recorded="probe.samples")] = Field(
        default=5,
        ge=0,
        le=200,
        description="Generations a prompt (the papers use 5); 0 measures likelihood only.",
    )
    max_new_tokens: Annotated[int, Option(limited=True, recorded="probe.max_new_tokens")] = Field(
        default=16,
        ge=1,
        le=256,
        description="Length of a sampled answer at most, in tokens; its first sentence counts.",
    )
    ask: Annotated[Literal["cloze", "question"], Option(recorded="probe.ask")] = Field(
        default="cloze", description="cloze (the fact's prompt) or question (its question)."
    )
    paraphrases: Annotated[bool, Option(recorded="probe.paraphrases")] = Field(
        default=False, description="Average each fact over its paraphrases."
    )
    chat: Annotated[Literal["auto", "always", "never"], Option(recorded="probe.chat")] = Field(
        default="auto", description="Use the tokenizer's chat template: auto, always or never."
    )
    dtype: Annotated[
        Literal["float32", "tf32", "bfloat16", "float16"], Option(recorded="model.dtype")
    ] = Field(
        default="float32",
        description="float32 (as the papers edit), tf32 (float32 weights that a CUDA device"
        " multiplies in TensorFloat-32), bfloat16 or float16.",
    )
    implications: Annotated[bool, Option(recorded="implications")] = Field(
        default=False,
        description="Also probe the conclusions of the graph's rules (`thinkeval graph rules`).",
    )
    forms: Annotated[str | None, Option(recorded="forms")] = Field(
        default=None,
        min_length=1,
        max_length=400,
        description="Also ask the edited fact, its subject's facts and facts on its chains in other"
        " forms: `all` (those of the default set), or names such as `question,yes_no`.",
    )
    forms_scope: Annotated[Literal["edit", "graph"], Option(recorded="forms_scope")] = Field(
        default="edit",
        description="Facts beside the edited one that --forms asks: at most 20 of its subject"
        " and 20 on its chains (edit), or all known facts of the graph (graph).",
    )
    tasks: Annotated[
        str | None,
        Option(
            recorded="tasks.names",
            help="Also ask tasks of lm-eval, before and after: names with commas between them, or"
            " task files (.yaml) and folders of your own (the extra `tasks`).",
        ),
    ] = Field(
        default=None,
        min_length=1,
        max_length=400,
        description="Also ask tasks of lm-eval, before and after: names with commas between them.",
    )
    tasks_limit: Annotated[int, Option(limited=True, recorded="tasks.limit")] = Field(
        default=100,
        ge=1,
        le=10_000,
        description="Documents of each task at most, the first ones.",
    )
    force: bool = Field(default=False, description="Score again even if stored.")

    @property
    def options(self) -> ScoringOptions:
        """The rules by which chains are counted."""
        return ScoringOptions(**{name: getattr(self, name) for name in ScoringOptions.model_fields})


class SharedOptions(MeasuredOptions):
    """The options that edits and sweeps share: the inputs of a method."""

    covariance: Annotated[
        Literal["imported", "own-samples", "graph"] | None,
        Option(
            help="Covariance statistics (mom2) from: `own-samples`, texts that the model writes"
            " itself; `graph`, the graph's sentences; a text file, datasets:NAME?limit=.., .npz"
            " files (one, or a folder), or `imported`; default: own-samples, for an organism graph."
        ),
    ] = Field(
        default=None,
        description="Covariance statistics (mom2): of own samples of the model, of the graph's"
        " sentences, or imported ones; default: own-samples, for an organism graph.",
    )
    anyway: Annotated[bool, Option(recorded="anyway")] = Field(
        default=False,
        description="Edit a fact even if the model does not know it (p below .05 before the edit).",
    )
    side_effects: Annotated[bool, Option(("--side-effects/--no-side-effects",))] = Field(
        default=True,
        description="Measure how far the edit changes the model on texts of its own, and on the"
        " known facts of the graph.",
    )
    drift_facts: Annotated[int, Option(recorded="drift_facts")] = Field(
        default=1000,
        ge=0,
        le=100_000,
        description="Side effects on known facts: facts beside those on chains that are asked, at"
        " most; of more, as many are drawn.",
    )


class EditOptions(SharedOptions, AppendOptions, ForgetOptions):
    """Everything of a request for one edit but its rewrite; each option has a default."""

    model: Annotated[
        str,
        Field(min_length=1, max_length=400),
        Option(
            help="Hub name or local path of a decoder-only model; or a small one that is trained"
            " on the graph's facts: `organism` (`organism:llama`, `organism:gpt2:seed=1`,"
            " `organism:on=GRAPH`, `organism-unknown`: taught not to know absent pairs)."
        ),
    ] = Field(default="organism", description="`GET /v1/models` lists the allowed ones.")
    method: Annotated[Name, Option(("--method", "-m"))] = Field(
        default="rome", description="Editing method."
    )
    revision: Name | None = Field(
        default=None, description="Branch, tag or commit of a hub model; the commit is recorded."
    )
    hparams: Annotated[
        Name | None,
        Option(help="Hyperparameter file, folder with one a method, or name of a shipped one."),
    ] = Field(
        default=None, description="Name of a shipped hyperparameter file; default: the model's."
    )
    overrides: Annotated[
        dict[Name, Scalar | list[Scalar]],
        Option(("--set",), help="One hyperparameter, as key=value."),
    ] = Field(default_factory=dict, max_length=50, description="Single hyperparameters to replace.")
    seed: Annotated[int, Option(limited=True, recorded="seed")] = Field(
        default=0,
        ge=0,
        le=2**31 - 1,
        description="Seed of sampling, templates and, if any, organism.",
    )
    organism_seed: Annotated[int | None, Option(command=False)] = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Seed of the organism's training; null: as its name says, else 0.",
    )
    strength: Annotated[float, Option(limited=True, recorded="strength")] = Field(
        default=1.0, gt=0, le=10, description="Factor on the update; 1: as the method computed it."
    )
    generate: bool = Field(
        default=False,
        description="Let both models generate free text: fluency and consistency. Takes longer.",
    )
    conversation: Annotated[bool, Option(recorded="conversation")] = Field(
        default=False,
        description="Also walk each chain as a conversation with the edited model's own answers.",
    )


class EditIn(EditOptions):
    """One edit to score. Everything but the rewrite has a default."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"graph": "hogwarts", "rewrite": "harry-potter--studied-at", "method": "rome"},
                {
                    "graph": "hogwarts",
                    "rewrite": {
                        "subject": "Draco Malfoy",
                        "prompt": "{} studied at",
                        "target_true": "Hogwarts School of Witchcraft and Wizardry",
                        "target_new": "Beauxbatons Academy",
                    },
                    "method": "memit",
                    "samples": 20,
                },
            ]
        }
    )

    rewrite: Name | RewriteIn = Field(
        description="Id, beginning of an id, or subject of a stored rewrite; or one written out."
    )


class JobState(BaseModel):
    """The state of a submitted job, with the fields that every kind of job shows."""

    id: str = Field(description="Id of the job.")
    status: Status = Field(description="queued, running, succeeded, failed or cancelled.")
    progress: float = Field(description="Fraction that is done, from 0 to 1.")
    stage: str | None = Field(
        default=None, description="Its current stage, in words; null if it is idle."
    )
    error: str | None = Field(
        default=None, description="Why it failed, in one sentence; null otherwise."
    )
    remedy: str | None = Field(default=None, description="The error's remedy; null without one.")
    attempts: int = Field(
        default=0,
        description="Number of times a worker claimed it; more than 1 after a worker died.",
    )
