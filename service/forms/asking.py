"""Ask a model in forms: which units a fact gives, their probabilities, and the tokens they cost."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...loaders.records import Fact, RewriteRequest, fill
from .context import Context
from .material import Answer, NotAsked, Outcome, Prompt, Row, Target, Unit, spelled
from .registry import Form

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.probe.prompts import PromptChange, Query, Rendered

Progress = Callable[[int, int, str], None]

CHUNK = 256
"""Units that are asked together, so that prompts and their beginnings are read once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A unit of one fact in one form.

    Attributes:
        place: of the unit among those of the fact.
    """

    form: Form
    target: Target
    unit: Unit
    place: int


@dataclass(slots=True)
class Planned:
    """Units to ask, and the facts that a form cannot ask, counted by form and reason."""

    units: list[Asked] = field(default_factory=list)
    left_out: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def plan(
    forms: Iterable[Form],
    facts: Sequence[Fact],
    context: Context,
    rewrite: RewriteRequest | None = None,
    *,
    at_most: int | None = None,
) -> Planned:
    """The units of facts in each form.

    Args:
        rewrite: of which the facts are the edited one; None: they are not edited.
        at_most: facts that are asked in a form, the first that can be.
    """
    found = Planned()
    for form in forms:
        asked = 0
        for fact in facts:
            if asked == at_most:
                break
            try:
                target = context.edited(rewrite, fact) if rewrite else context.target(fact)
                units = form.units(target, context)
            except NotAsked as reason:
                found.left_out[form.key][str(reason)] += 1
                continue
            asked += 1
            found.units += [Asked(form, target, unit, i) for i, unit in enumerate(units)]
    return found


TOO_LONG = "the prompt is longer than the model reads"


def fitting(loaded: LoadedModel, planned: Planned, context: Context) -> Planned:
    """The plan without units whose prompts the model cannot read; their facts are counted."""
    from ...editing.errors import ProbeError
    from ...editing.probe.decoding import position_limit
    from ...editing.probe.likelihood import token_sequences
    from ...editing.probe.prompts import prompt_ids

    limit = position_limit(loaded.model)
    found = Planned(left_out=planned.left_out)
    for each in planned.units:
        # A token is a byte or more, so most texts need not be tokenised here.
        if limit is not None and _bytes(each, context) > limit:
            try:
                if each.unit.then is not None:
                    raise ProbeError("no room for the first answer and the next turn")
                for query in _queries(loaded, [each], context):
                    if not each.form.variant.is_written:
                        token_sequences(loaded, query, {})
                    elif len(prompt_ids(loaded.tokenizer, query.rendered)) + NEW_TOKENS > limit:
                        raise ProbeError("no room for the answer")
            except ProbeError:
                found.left_out[each.form.key][TOO_LONG] += 1
                continue
        found.units.append(each)
    return found


FRAME = 256
"""Bytes of a chat template around a turn, at most, and of special tokens."""
NAME = 100
"""Bytes of a name that is handed on, at most."""
NEW_TOKENS = 64
"""Tokens of a written answer at most."""


def _bytes(each: Asked, context: Context) -> int:
    """An upper bound of the tokens of a unit's longest row, and of its next turn."""
    then = each.unit.then
    return (
        (FRAME + NEW_TOKENS + len(then.question.encode()) + NAME if then else 0)
        + FRAME
        + NEW_TOKENS * each.form.variant.is_written
        + max(
            len(f"{row.prompt.user or ''}{row.prompt.text}".encode())
            + max(len(text.encode()) for name in row.candidates for text in context.spellings(name))
            for row in each.unit.rows
        )
    )


def takes_chat(tokenizer: Any) -> bool:
    """Return True if the tokenizer has a chat template that takes a user's turn."""
    from ...editing.probe.prompts import chat_text, closed

    if getattr(tokenizer, "chat_template", None) is None:
        return False
    try:
        return bool(closed(chat_text(tokenizer, [("user", "?")]), "?"))
    except Exception:  # a template is a program; one that refuses is not asked
        return False


def rendered(tokenizer: Any, prompt: Prompt, change: PromptChange | None = None) -> Rendered:
    """A prompt as the model reads it.

    Args:
        change: of an in-context edit; in a chat it applies to the user's turn.
    """
    from ...editing.joint import parted
    from ...editing.probe.prompts import Rendered, chat_text, closed, plainly

    changed = change or (lambda text: text)
    if prompt.user is None:
        return plainly(changed(prompt.text), prompt.text)
    user = changed(prompt.user)
    head = closed(chat_text(tokenizer, [*prompt.earlier, ("user", user)]), user)
    text, lead = parted(prompt.text)
    return Rendered(head + text, special=False, lead=lead, seed_text=f"{prompt.user}\n{text}")


def outcomes(
    loaded: LoadedModel,
    units: Sequence[Asked],
    context: Context,
    effect: EditEffect | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """The outcomes of units, of the model as it is, or after an edit; the model is unchanged.

    Args:
        effect: of the edit; None, or one that changes nothing: the model as it is.

    Raises:
        ProbeError: a prompt too long for the model, or NaN from it.
    """
    from ...editing.deltas import applied

    found: dict[int, Outcome] = {}
    change = effect.prompt_change if effect is not None else None
    with applied(loaded.model, effect) if effect is not None else nullcontext():
        for ask, is_written in ((_asked, False), (_written, True)):
            own = [i for i, each in enumerate(units) if each.form.variant.is_written == is_written]
            # Neighbours share a fact's prompts.
            own.sort(key=lambda i: units[i].target.fact.id)
            places = iter(own)
            while chunk := list(islice(places, CHUNK)):
                asked = ask(loaded, [units[i] for i in chunk], context, change)
                found |= zip(chunk, asked, strict=True)
                if progress is not None:
                    progress(len(found), len(units), "forms")
    return [found[i] for i in range(len(units))]


def _asked(
    loaded: LoadedModel, units: Sequence[Asked], context: Context, change: PromptChange | None
) -> list[Outcome]:
    """The outcomes by likelihood, in the state that the model is in."""
    from ...editing.probe.edited_states import likelihoods_of_states

    (found,) = likelihoods_of_states(loaded, [()], _queries(loaded, units, context, change))
    return _scored(units, [each.likelihood for each in found])


def _written(
    loaded: LoadedModel, units: Sequence[Asked], context: Context, change: PromptChange | None
) -> list[Outcome]:
    """The outcomes of written answers, in the state that the model is in."""
    out: dict[int, list[Answer]] = {}
    for line in (False, True):
        own = [i for i, u in enumerate(units) if (u.form.variant.scoring == "line") == line]
        rows = [row for i in own for row in units[i].unit.rows]
        found = iter(_judged(loaded, rows, context, change, line=line))
        out |= {i: [next(found) for _ in units[i].unit.rows] for i in own}
    later = {i: row for i in out if (row := _next_turn(units[i].unit, out[i][0])) is not None}
    answers = _judged(loaded, list(later.values()), context, change, line=False)
    for i, answer in zip(later, answers, strict=True):
        out[i].append(answer)
    return [each.form.score(out[i], each.target) for i, each in enumerate(units)]


def _next_turn(unit: Unit, first: Answer) -> Row | None:
    """The second turn of a conversation; None without one, or where no name is handed on."""
    if unit.then is None:
        return None
    (row,) = unit.rows
    names = [name for name, given in zip(row.candidates, first.gives, strict=True) if given]
    if len(names) != 1:
        return None
    earlier = (("user", row.prompt.user or ""), ("assistant", first.text))
    prompt = Prompt("", user=fill(unit.then.question, names[0]), earlier=earlier)
    return Row(prompt, unit.then.candidates)


def _judged(
    loaded: LoadedModel,
    rows: Sequence[Row],
    context: Context,
    change: PromptChange | None,
    *,
    line: bool,
) -> list[Answer]:
    """The written answer to each row, and which candidates it gives.

    Args:
        line: read it up to the first line break.
    """
    from ...editing.probe.greedy import written
    from ...editing.probe.matching import first_sentence, gives

    if not rows:
        return []
    prompts = [rendered(loaded.tokenizer, row.prompt, change) for row in rows]
    texts = written(loaded, prompts, max_new_tokens=NEW_TOKENS, line=line)
    answers = []
    for row, each in zip(rows, texts, strict=True):
        spelled_out = [context.aliased(name) for name in row.candidates]
        told = first_sentence(each.text, [text for names in spelled_out for text in names])
        verdicts = tuple(
            gives(told, names, [o for others in spelled_out if others is not names
                                for o in others])
            for names in spelled_out
        )  # fmt: skip
        answers.append(Answer(each.text, each.stopped, each.tokens, verdicts))
    return answers


def _queries(
    loaded: LoadedModel,
    units: Sequence[Asked],
    context: Context,
    change: PromptChange | None = None,
) -> list[Query]:
    from ...editing.probe.prompts import Query

    made: dict[Prompt, Rendered] = {}
    out = []
    for each in units:
        for row in each.unit.rows:
            if row.prompt not in made:
                made[row.prompt] = rendered(loaded.tokenizer, row.prompt, change)
            text = made[row.prompt]
            for name in row.candidates:
                names = context.aliased(name)
                if row.words:  # their spellings bring the joint
                    names, text = spelled(name), replace(text, lead="")
                item = f"{each.form.key}: {each.target.fact.subject}"
                out.append(Query(item, text, names))
    return out


def _scored(units: Sequence[Asked], values: Sequence[float]) -> list[Outcome]:
    rest = iter(values)
    out = []
    for each in units:
        logs = [
            [math.log(p) if (p := next(rest)) > 0 else -math.inf for _ in row.candidates]
            for row in each.unit.rows
        ]
        out.append(each.form.score(logs, each.target))
    return out


def tokens(loaded: LoadedModel, units: Sequence[Asked], context: Context) -> dict[str, float]:
    """Tokens of a fact in each form, each beginning of a text counted once over all facts.

    A written answer is counted with the tokens that it may have.
    """
    from ...editing.probe.likelihood import token_sequences
    from ...editing.probe.prompts import prompt_ids
    from ...editing.probe.token_tree import beginnings

    of: dict[str, list[Asked]] = defaultdict(list)
    for each in units:
        of[each.form.key].append(each)
    out = {}
    for key, asked in of.items():
        prompts: dict[Rendered, list[int]] = {}
        is_written = asked[0].form.variant.is_written
        queries = _queries(loaded, asked, context)
        if is_written:
            sequences = {tuple(prompt_ids(loaded.tokenizer, query.rendered)) for query in queries}
        else:
            sequences = {
                (*prompts[query.rendered], *name[:-1])
                for query in queries
                for name in token_sequences(loaded, query, prompts)
            }
        facts = {each.target.fact.id for each in asked}
        more = NEW_TOKENS * len(sequences) * is_written
        out[key] = (beginnings(sequences) + more) / len(facts)
    return out
