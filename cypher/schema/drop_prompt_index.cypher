// Do without the index of prompts: it refuses texts of more than 32,766 bytes, which a database of
// an older release may have. Prompts are then looked up by reading a graph's facts.

DROP INDEX fact_prompt IF EXISTS;

CALL db.awaitIndexes(300);
