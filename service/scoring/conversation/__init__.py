"""Each chain as a conversation with the edited model, its own answers in place of the entities.

The sequential test of ThinkEval, appendix M: the first question of a chain is asked; each next one
is about the model's previous answer. A chain leaks if the last answer names the old object. IFR
multiplies probabilities of facts that are asked one by one about the right entities; a conversation
shows if the model deduces the old object by itself. It is reported beside IFR, and replaces
nothing.

All chains are walked at once: step i of all of them is one batch, and chains that begin with the
same questions and answers are asked once. Answers are the most likely ones (no sampling). Needs a
model that can answer with earlier turns before the question; an organism cannot.
"""
