"""Crawl: a model's knowledge around a few entities, asked relation by relation, step by step.

    answer_lists.py   the names in an answer      names.py      names as entities
    kinds.py          which relations to ask      unknowns.py   answers that name no object
    wordings.py       the texts of a question     crawler.py    the algorithm, breadth first
    measures.py       against a true graph        report.py     the report of a stored crawl

After Cohen et al. ("Crawling the Internal Knowledge-Base of Language Models", Findings of EACL
2023) and Hu et al. ("GPTKB", ACL 2025), who estimate precision from samples; a model organism's
training graph gives precision and recall exactly.
"""
