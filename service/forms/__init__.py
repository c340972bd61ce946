"""Forms of asking for one fact: one file each. This docstring is the contract of a form.

A form is a module of this package that defines

    VERSION   raised when its prompts or its scoring change
    NEEDS     names of what a fact, graph or model must have (`service.forms.material.NEEDS`)
    VARIANTS  a tuple of `Variant`
    units(target, context, variant) -> list[Unit]
    score(values, target, variant) -> Outcome

`units` raises `NotAsked` with the reason where a fact cannot be asked in this form. `score` gets
the natural logarithms of the probabilities of one unit's candidates, row by row; of a variant that
lets the model write (`stop`, `line`) the `Answer` of each row.
"""
