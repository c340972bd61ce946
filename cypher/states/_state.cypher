// What became of a fact between two states, as service/graphs/edges.py decides it.
// expects:
//   pre       FLOAT|NULL    probability in the first state
//   post      FLOAT|NULL    probability in the second state
//   replaced  BOOLEAN|NULL  the own answer was right, and is another one now; null: undecided
// binds:
//   state  STRING  missing, unknown, added, kept, replaced, weakened or lost
// params:
//   $known  FLOAT = 0.05  probability from which a fact counts as known
//   $kept   FLOAT = 0.9   ratio from which a fact counts as kept
//   $lost   FLOAT = 0.1   ratio below which a fact counts as lost

WITH *, CASE
    WHEN pre IS NULL OR post IS NULL THEN 'missing'
    WHEN pre < $known AND post < $known THEN 'unknown'
    WHEN pre < $known THEN 'added'
    WHEN post >= $kept * pre THEN 'kept'
    WHEN replaced THEN 'replaced'
    WHEN replaced IS NULL AND post < $lost * pre THEN 'lost'
    ELSE 'weakened'
  END AS state
