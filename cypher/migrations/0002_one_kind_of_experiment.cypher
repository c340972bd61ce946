// Co-edits, comparisons and lines of states become experiments of a kind, with one shape.
// Before, each had a label and relationships of its own. A line of states becomes a comparison
// whose outcome holds the line and its comparisons (`service.states.schemas` reads it). Ids stay.

MATCH (c:CoEdit)
SET c:Experiment, c.kind = 'coedit', c.graphs = [], c.updates = []
REMOVE c:CoEdit, c.rewrite, c.model, c.method
WITH c
MATCH (c)-[old:ROUND]->(e)
CREATE (c)-[:SCORED {place: old.number}]->(e)
DELETE old;

MATCH (c:Comparison)
SET c:Experiment, c.kind = 'comparison', c.graphs = [c.id], c.updates = []
REMOVE c:Comparison, c.before, c.after, c.before_digest, c.after_digest
WITH c
MATCH (c)-[old:COMPARED]->(e)
CREATE (c)-[:SCORED {place: 0}]->(e)
DELETE old;

MATCH (l:Lasting)
CALL (l) {
  MATCH (l)-[s:STATE]->(c:Experiment)
  WITH c
  ORDER BY s.place
  RETURN collect(c) AS states
}
CALL (l, states) {
  UNWIND range(0, size(states) - 1) AS place
  WITH l, place, states[place] AS c
  MATCH (c)-[:SCORED]->(e)
  CREATE (l)-[:SCORED {place: place}]->(e)
  RETURN count(e) AS edits
}
SET l:Experiment, l.kind = 'comparison', l.graphs = [c IN states | c.id],
  l.outcome = '{"line": ' + l.outcome + ', "states": ['
    + reduce(text = '', c IN states | text + CASE text WHEN '' THEN '' ELSE ', ' END + c.outcome)
    + ']}'
REMOVE l:Lasting, l.edit
WITH l
MATCH (l)-[old:STATE]->()
DELETE old;

// A queued line names an edit, and only its saved update says which model that is of.
MATCH (j:Job {kind: 'lasting'})
WHERE j.status IN ['queued', 'running']
SET j.status = 'failed', j.error = 'A newer version of ThinkEval was started.',
  j.remedy = 'Submit it again as a comparison: the base, then a state for each later change.',
  j.lease = null, j.lease_until = null;

MATCH (j:Job {kind: 'lasting'})
SET j.kind = 'comparison';
