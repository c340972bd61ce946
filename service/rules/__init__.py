"""If-Then rules of a graph, their instantiations and conclusions (DepEdit §3.1)."""
