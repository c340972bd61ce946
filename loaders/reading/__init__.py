"""Reading files of any origin: size and nesting limits, JSON and YAML values, checks of texts."""
