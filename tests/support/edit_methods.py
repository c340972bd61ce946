"""Every editing method with small hyperparameters for a tiny model, and one way to execute it."""

from __future__ import annotations

from thinkeval.editing import registry
from thinkeval.editing.mend.network import untrained
from thinkeval.loaders.records import RewriteRequest

HARRY = RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Paris")
FRANCE = RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw")

VALUES = {
    "v_num_grad_steps": 4,
    "v_lr": 0.1,
    "v_weight_decay": 1e-3,
    "clamp_norm_factor": 4,
    "kl_factor": 0.0625,
    "mom2_ridge": 1e-2,
}
HPARAMS = {
    "rome": {"layers": [1], "mom2_adjustment": True, **VALUES},
    "memit": {"layers": [0, 1], "mom2_update_weight": 5, **VALUES},
    "alphaedit": {"layers": [0, 1], "L2": 1, "nullspace_relative": 0.3, **VALUES},
    "rect": {"layers": [0, 1], "mom2_update_weight": 5, **VALUES},
    "prune": {"layers": [0, 1], "mom2_update_weight": 5, **VALUES},
    "fine_tuning": {
        "layers": [1],
        "num_steps": 3,
        "lr": 1e-3,
        "weight_decay": 0,
        "norm_constraint": 1e-3,
    },
    "kn": {"steps": 2},
    "mend": {"layers": [1], "rank": 4, "edit_lr": -1e-2},
    "gradient_ascent": {"layers": [0, 1], "num_steps": 3, "lr": 1e-3, "forget_bound": 50},
    "npo": {"layers": [0, 1], "num_steps": 3, "lr": 1e-3},
    "rmu": {"layers": [0, 1], "num_steps": 3, "lr": 1e-3, "steering_coeff": 5, "alpha": 1},
    "ultraedit": {"layers": [0, 1], "eta": 1e-3},
    "none": {},
    "ike": {},
}
HPARAMS["random_delta"] = {"method": "memit", "hparams": HPARAMS["memit"]}
MEMIT_FAMILY = ("alphaedit", "memit", "prune", "rect")
LOCATED = (*MEMIT_FAMILY, "rome")
FORGETTING = ("gradient_ascent", "npo", "rmu")
EDITING = ("fine_tuning", "mend", "ultraedit", *FORGETTING, *LOCATED)
RETAIN = (("The sister of Padma Patil is", "Parvati"), ("Hermione studied at", "Hogwarts"))
WITHOUT_UPDATE = ("ike", "none")
ALL = (*EDITING, "kn", "random_delta", *WITHOUT_UPDATE)


def hparams(name, **changes):
    return registry.get(name).HyperParams.from_dict({**HPARAMS[name], **changes})


def execute(name, pair, requests, moments, **options):
    wanted = hparams(name, **options.pop("changes", {}))
    if getattr(registry.get(name), "NEEDS_HYPERNETWORK", False):
        options.setdefault("state", {"hypernetwork": untrained(pair[0], wanted)})
    if name in FORGETTING:
        options.setdefault("state", {"retain": RETAIN})
    return registry.get(name).execute(*pair, requests, wanted, moments, **options)
