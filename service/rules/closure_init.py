"""What follows from a graph's facts by its rules: closure, proofs, and what an edit changes.

records        rules as queries take them, triples, proof trees
values, sizes  how strong, how small and how low the best proof of every conclusion is
forward        the closure, round by round in Cypher, stored in the graph
backward       proofs from their end, without the stored closure
proofs         proof trees from either
omega          paths and rules in one: does the old object come back?
mixed          the chains with implied links by which it does, one by one
implications   conclusions that an edit takes a premise from, or gives one
verdicts       what is said of them, and shares with their n; `shares`: in words
summary        both, over several edits
asking         the further questions of `score --implications`
views, report  a closure as it is shown; an edit's rules in a report
"""
