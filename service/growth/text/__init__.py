"""Triplets from given texts by rules: simple declarative sentences of known relations.

The rules read a sentence that is one subject, the words of a relation, and one object or a list of
them. The words are the prompts and paraphrases of a base graph's relations, and the general ones of
`patterns`. What they do not read, and leave unparsed: questions, pronouns as subjects, negations,
subordinate clauses, passive or inverted forms that no pattern has, and names in lower case. They
judge nothing: whether a triplet is true is for validation and review.
"""
