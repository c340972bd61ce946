"""Co-edits: further facts edited with a rewrite, round by round; read `run` first."""
