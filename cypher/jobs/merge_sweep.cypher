// Record a sweep: the edits it asks for, by the ids they are submitted under.
// params:
//   $id         STRING        id of the sweep
//   $request    STRING        JSON: the submitted request
//   $posted_as  LIST<STRING>  ids of its edits, in the order of its cells

OPTIONAL MATCH (before:Sweep {id: $id})
WITH before IS NULL AS created
MERGE (s:Sweep {id: $id})
ON CREATE SET s.created_at = toString(datetime())
SET s.request = $request, s.posted_as = $posted_as
RETURN created
