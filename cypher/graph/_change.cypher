// The word for what became of a fact between two states, as `service/graphs/edges.py` has it.
// expects:
//   pre       FLOAT|NULL    probability of the object in the first state
//   post      FLOAT|NULL    probability of the object in the second state
//   replaced  BOOLEAN|NULL  whether the model's own answer was right and is another one now
// binds:
//   change    STRING  kept, weakened, replaced, lost, added, unknown or missing
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
  END AS change
