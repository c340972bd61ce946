"""Editing methods: one file each. This docstring is the contract of a method.

A method is a module (or object) that defines

    NAME         registry key, equal to the file's name
    PAPER        authors, title and venue; `control` for a control
    KIND         `weights`, `prompt` or `control`
    HyperParams  a dataclass derived from `editing.hparams.schema.Schema`
    execute(model, tokenizer, requests, hparams, covariance, *, context_templates=None,
            targets=None, state=None, seed=0) -> EditEffect

and, where they apply, `covariance_layers(hparams)` (layers whose covariance statistics it needs),
`TARGET_SITE` (`mlp` or `layer`: where its target vectors are optimised), `TAKES_OBJECTIVE` (its
`execute` has a further argument `objective=None`, an `editing.objectives.Objective`),
`TRAINS_APP` (it is trained, and its hyperparameter `app_alpha` adds APP's margin there),
`WRITES_AT_SUBJECT` (its update is keyed by the subject's last token, so that facts with one key
cannot be edited to different values together),
`SOLVES_WITH_COVARIANCE` (its update has C⁻¹, so that `mom2_ridge` is raised by rule where the
statistics are of few tokens, see `editing.hparams.common.ridge_for`),
`FORGETS` (it takes requests without target_new, and makes the model forget target_true),
`NEEDS_DEMONSTRATIONS`, `NEEDS_HYPERNETWORK` and `NEEDS_RETAIN` (keys that the caller passes in
`state`; `state["retain"]` is a sequence of (complete prompt, answer) of facts to retain). Another
package adds a method by an entry point of the group `thinkeval.methods`; `editing.registry` finds
both kinds.

`execute` computes one edit of all requests and returns it as an `EditEffect`; on return, and after
an exception, the model is bit-identical to the model that was passed. A method ignores the
arguments that it does not need:

    model              a transformers model with its language-modelling head, edited or unedited
    tokenizer          its tokenizer; must be fast, because subjects are located by offsets
    requests           rewrite requests with distinct ids
    hparams            an instance of the method's `HyperParams`
    covariance         `Covariance`, or {module name: [d_in, d_in]}, of the unedited model
    context_templates  texts with one `{}` each, flat or in groups; None samples them with `seed`
    targets            {request id: target vector}, used instead of optimising it
    state              `EditEffect.state` of the previous edit of a sequence, whose updates the
                       model then carries; or the inputs that only this method needs
    seed               of everything random in the edit

It raises `RequestError`, `HparamsError` or `CovarianceError` for invalid input before it computes
anything, and `EditFailedError` where no usable update results.
"""
