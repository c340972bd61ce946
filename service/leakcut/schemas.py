"""Requests and results of leak cuts and co-edits: the same for CLI, REST, web UI and client.

Facts are named by their id within the data set, which is the same in all graphs of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..request_options import Option
from ..schemas import EditIn, Measure, Name

KeyKind = Literal["auto", "subject", "off"]
"""Facts that cannot be edited together: those of one measured key, of one subject, or none."""

Choose = Literal["listed", "budget", "cut", "random", "share"]
"""How a round's facts are chosen: those of the leak cut of the edit alone that lower IFR most, any
facts that do, a whole cut, or a control."""

FactName = Annotated[str, Field(min_length=1, max_length=500)]


class CutIn(BaseModel):
    """What a leak cut may use, and what it has to break."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    leak: float = Field(
        default=0.1, ge=0, lt=1, description="Paths with R'/R above this are to be cut."
    )
    max_steps: int = Field(default=5, ge=1, le=5, description="Longest chain.")
    lock: tuple[FactName, ...] = Field(
        default=(),
        max_length=1000,
        description="Facts that must not be edited: ids, or names of their subjects.",
    )
    only_subject: bool = Field(default=False, description="Edit facts about the subject only.")
    not_subject: bool = Field(default=False, description="Edit no fact about the subject.")
    keys: KeyKind = Field(
        default="auto",
        description="At most one fact of each key: auto (measured, for methods that write at the"
        " subject's last token), subject (one a subject), off.",
    )
    collateral: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        description="Cost of a fact's collateral: its cost is (1 + this · collateral) / efficacy.",
    )
    efficacy: float = Field(
        default=0.95, gt=0, le=1, description="Expected efficacy of editing a fact."
    )
    rules: bool = Field(
        default=False, description="Also cut every proof by the data set's If-Then rules."
    )
    budget: Annotated[int | None, Field(ge=1, le=50)] = Field(
        default=None, description="Also the curve of IFR against 1 to this many facts."
    )
    alternatives: int = Field(
        default=10, ge=0, le=10, description="Cuts of the same cost that are listed."
    )
    seconds: float = Field(default=5.0, gt=0, le=600, description="Longest time of the solver.")


class CutFact(BaseModel):
    """A fact of a cut.

    Attributes:
        pre, post: its probabilities; None where the graph has none.
        closes: chains through it that are to be cut.
        alone: chains with a path that no other fact of the cut closes.
        share: fraction of IFR that goes through it; None without probabilities.
        expected: IFR that is expected after editing this fact and those above it; None without
            probabilities.
        collateral: summed pre-edit probability of the facts that share its key.
        n_collateral: number of those facts.
        cost: (1 + weight · collateral) / expected efficacy.
    """

    id: str
    subject: str
    relation: str
    object: str
    prompt: str
    pre: float | None
    post: float | None
    closes: int
    alone: int
    share: float | None
    expected: float | None = None
    collateral: float
    n_collateral: int
    cost: float


class OpenPath(BaseModel):
    """A path that no allowed fact closes; `why` says what forbids it.

    Attributes:
        entities: from subject to old object; none of a proof by rules.
    """

    entities: list[str]
    facts: list[str]
    why: str


class BudgetPoint(BaseModel):
    """Expected IFR after editing `m` facts.

    Attributes:
        facts: chosen greedily.
        ifr: with them.
        bound: no choice of m facts has a lower IFR than this.
        exact: the lowest IFR; None where it was not computed.
        random, random_low, random_high: mean, least and greatest of random choices under the same
            constraints.
        share: with the m facts through which most of IFR passes.
    """

    m: int
    facts: list[str]
    ifr: float
    bound: float
    exact: float | None
    random: float | None
    random_low: float | None
    random_high: float | None
    share: float | None


class BudgetOut(BaseModel):
    """The curve of expected IFR against the number of facts edited.

    Attributes:
        draws: random choices for each m.
        note: which exact values are missing, and why.
    """

    ifr: float
    points: list[BudgetPoint]
    draws: int
    note: str | None = None


class RuleCutOut(BaseModel):
    """The proofs by If-Then rules that a cut has to break too.

    Attributes:
        atoms, groundings: size of the AND-OR graph.
        facts: of the cut without which it would still close every chain.
        why: reason where there is no such graph.
    """

    rules: int
    atoms: int
    groundings: int
    facts: list[str] = []
    why: str | None = None


class CutOut(BaseModel):
    """A leak cut: the cheapest facts whose change closes every path that leaks.

    Attributes:
        edit: the scored edit whose paths leak; None: a rewrite of the unedited graph.
        measure: of the probabilities; None for an unedited graph.
        paths: of at least one fact besides the edited one; `known`: those that the model knew
            before; `leaking`, of these, are to be cut. Of a chain with parallel facts each choice
            of facts is a path.
        chains: what the score counts: the paths of the same entities are one.
        chains_leaking: chains that have a path that is to be cut.
        surviving: chains that survive as the score counts them; None without a score.
        ifr: as scored; `expected`: after editing the cut.
        cost, bound: no cut costs less than the bound; `optimal`: both are equal.
        keys: how facts that cannot be edited together were found: measured, subject, off.
        alternatives: other cuts of the same cost; `more`: there may be further ones.
        open: paths that stay, as locks and keys forbid all of their facts.
        names: subject, relation and object of each fact that is named by its id alone.
    """

    edit: str | None
    graph: str
    rewrite: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    model: str | None
    method: str | None
    measure: Measure | None
    options: CutIn
    paths: int
    known: int | None = None
    leaking: int
    chains: int = 0
    chains_leaking: int = 0
    surviving: int | None = None
    ifr: float | None
    expected: float | None
    facts: list[CutFact]
    cost: float
    bound: float
    optimal: bool
    seconds: float
    keys: Literal["measured", "subject", "off"]
    open: list[OpenPath] = []
    alternatives: list[list[str]] = []
    more: bool = False
    names: dict[str, tuple[str, str, str]] = {}
    rules: RuleCutOut | None = None
    budget: BudgetOut | None = None


class CoEditIn(EditIn):
    """An edit, and what else to edit with it until little of the old fact is left."""

    samples: Annotated[int, Option(limited=True, recorded="probe.samples")] = Field(
        default=0, ge=0, le=200, description="Generations a prompt; 0 measures likelihood only."
    )
    method: Annotated[Name, Option(("--method", "-m"))] = Field(
        default="memit", description="Editing method."
    )
    cut: CutIn = Field(default=CutIn(), description="What may be edited, and what has to be cut.")
    choose: Choose = Field(
        default="listed",
        description="A round adds: listed (of the leak cut of the edit alone, the facts that lower"
        " IFR most), budget (of all facts on the chains, those that lower IFR most), cut (a whole"
        " leak cut), random or share (controls).",
    )
    per_round: int = Field(default=1, ge=1, le=50, description="Facts that a round adds.")
    rounds: int = Field(default=4, ge=1, le=20, description="Rounds at most.")
    new: dict[FactName, Annotated[str, Field(min_length=1, max_length=400)]] = Field(
        default_factory=dict,
        max_length=1000,
        description="New objects of facts, by the fact's id; default: one that leads nowhere.",
    )
    anchors: bool | None = Field(
        default=None,
        description="Also edit the other facts about co-edited subjects to the objects they have,"
        " by one joint target vector a key, so that they are kept; default: by methods that have"
        " joint targets.",
    )
    objective: str | None = Field(
        default=None,
        max_length=400,
        description='What a round has to meet, as "ifr<=.1,preservation>=.95".',
    )
    draw: int = Field(default=0, ge=0, le=2**31 - 1, description="Seed of `choose: random`.")


class CoEditFact(BaseModel):
    """A further fact that a round edits.

    Attributes:
        source: where the new object comes from: given, rule (it follows from the edit), relation
            (another object of the relation that leads nowhere), entity (another entity of the
            graph that leads nowhere), unknown (the model's answer for what it does not know).
        added: round that edited it first.
        old_pre, old_post: probability of its old object before and after this round.
        new_pre, new_post: of its new object.
    """

    id: str
    subject: str
    relation: str
    object: str
    prompt: str
    target_new: str
    source: Literal["given", "rule", "relation", "entity", "unknown"]
    added: int
    old_pre: float | None = None
    old_post: float | None = None
    new_pre: float | None = None
    new_post: float | None = None


class RoundOut(BaseModel):
    """One point of the frontier: the edit and its co-edits, together from the unedited model.

    Attributes:
        edit: id of the stored edit.
        facts: number of facts edited, the rewrite's own included.
        anchors: number of facts that were edited to the object they have.
        leaking: chains with R'/R above the request's `leak`; `surviving` as the score counts them.
        efficacy: of the first request; `coedit_efficacy`: mean over the co-edits.
        preservation: as the paper defines it; `preservation_unedited`: over facts not edited.
        subject_retention: of facts about the subject that were not edited; `coedited_retention`:
            of all other facts about the co-edited subjects.
        opened: co-edits whose new object leads to the old one in the edit's graph; 0 but for an
            error.
        meets: whether the objective holds; None without one.
        reaches: whether efficacy is at least .9 of the edit alone.
    """

    number: int
    edit: str
    facts: int
    anchors: int = 0
    coedits: list[CoEditFact] = []
    ifr: float | None
    ifr_low: float | None = None
    ifr_high: float | None = None
    n_chains: int
    leaking: int
    surviving: int
    efficacy: float | None
    coedit_efficacy: float | None = None
    n_coedits: int = 0
    preservation: float | None
    n_preservation: int
    preservation_unedited: float | None
    n_preservation_unedited: int
    subject_retention: float | None
    n_subject_retention: int
    coedited_retention: float | None = None
    n_coedited_retention: int = 0
    opened: int = 0
    meets: bool | None = None
    reaches: bool = True
    seconds: float = 0.0


class CoEditOut(BaseModel):
    """The frontier of a co-edit: what is still leaked against what was lost, round by round.

    Attributes:
        id: a digest of all that its numbers depend on.
        chosen: number of the round that was chosen: the first that meets the objective or, without
            one, the one of lowest IFR whose efficacy is at least .9 of the edit alone and whose
            Preservation over facts not edited is at least .9.
        met: whether the objective was met; None without one.
        stopped: why there is no further round.
        sequential: whether the method edits one fact after the other.
        refused: objects that were refused as a chain would open, and facts without a safe object.
    """

    id: str
    graph: str
    rewrite: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    model: str
    method: str
    measure: Measure
    request: dict[str, Any]
    rounds: list[RoundOut]
    chosen: int
    met: bool | None
    stopped: str
    sequential: bool
    refused: list[str] = []
    notes: list[str] = []
    created_at: str = ""
    reused: bool = False


class CoEditJob(BaseModel):
    """A submitted co-edit.

    Attributes:
        progress: from 0 to 1.
        attempts: how often a worker claimed it.
        result: the frontier; None until it has succeeded once.
    """

    id: str
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    progress: float = 1.0
    stage: str | None = None
    error: str | None = None
    remedy: str | None = None
    attempts: int = 0
    result: CoEditOut | None = None
    links: dict[str, str] = {}
