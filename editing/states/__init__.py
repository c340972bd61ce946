"""Changes of a loaded model that are put on for a time and taken off again."""
