"""Input for tests that train a hypernetwork: few facts, small hyperparameters, a trainer."""

from __future__ import annotations

import random

from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.mend.data import Examples
from thinkeval.editing.mend.network import untrained
from thinkeval.editing.mend.training import Trainer
from thinkeval.editing.methods import mend
from thinkeval.loaders.records import Fact, RewriteRequest

HARRY = RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "studied", "Hogwarts", "X")


def fact(subject, relation, obj, *paraphrases):
    prompts = {"studied": "{} studied at", "capital": "The capital of {} is", "knows": "{} knows"}
    return Fact(subject, relation, obj, prompts[relation], paraphrases=paraphrases)


FACTS = [
    fact("Harry Potter", "studied", "Hogwarts", "{} went to"),
    fact("Harry Potter", "knows", "Ron"),
    fact("Ron Weasley", "studied", "Hogwarts", "{} went to"),
    fact("Padma Patil", "studied", "Ilvermorny", "{} went to"),
    fact("Sirius Black", "studied", "Durmstrang"),
    fact("France", "capital", "Paris"),
    fact("Poland", "capital", "Warsaw"),
    fact("Poland", "capital", "Cracow"),
    fact("Ron Weasley", "knows", "Lily"),
    fact("Lily Evans", "knows", "Albus"),
]
HELD = {("Harry Potter", "studied")}


def hparams(**changes):
    values = {
        "layers": [1, 2],
        "rank": 6,
        "edit_lr": -1e-3,
        "lr": 1e-3,
        "lr_lr": 1e-2,
        "cedit": 1.0,
        "cloc": 0.1,
        "batch_size": 4,
        "accumulate_bs": 1,
        "max_iters": 20,
        "val_interval": 5,
        "val_steps": 6,
        "n_locality": 2,
        "val_share": 0.25,
    }
    return mend.HyperParams.from_dict({**values, **changes})


def trainer_for(pair, facts, h, *, fitted=True):
    examples = Examples(facts, pair[1], seed=h.train_seed, val_share=h.val_share)
    trainer = Trainer(adapter_for(pair[0]), pair[1], examples, untrained(pair[0], h), h)
    pair[0].requires_grad_(False)
    if fitted:
        trainer.fit_statistics(random.Random(1))
    return trainer
