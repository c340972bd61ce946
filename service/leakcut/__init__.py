"""Leak cut: the fewest further facts whose change closes every chain.

ThinkEval names the trade-off of IFR and Preservation as an open question (Baser et al. 2026,
appendix M). `problem` states it, `hitting_set` solves it exactly, `budget` for m facts.
"""
