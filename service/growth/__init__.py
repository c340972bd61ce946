"""Growth: a knowledge graph of what a model itself knows, from one fact (ThinkEval §4.1–4.3)."""
