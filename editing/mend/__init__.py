"""MEND's hypernetwork: trained once for a model, it then edits in one step.

data.py         prompts with targets as batches; training examples drawn from a graph's facts
gradients.py    gradients of linear maps as token pairs (x, δ)
network.py      the hypernetwork: from token pairs to weight updates
training.py     the training loop
store.py        hypernetworks as files, with provenance
similarity.py   cosine similarity of facts' gradients (DepEdit)
"""
