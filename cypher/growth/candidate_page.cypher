// A page of the candidates of a run, in order of appearance: which ones, for growth/candidates. The
// index on run, place and id gives the order.
// params:
//   $run           STRING                    id of the run
//   $states        LIST<STRING>|NULL = null  only in these states
//   $after         INTEGER = -1              only after this place: that of the last page's last
//   $after_id      STRING = ''               and, in this place, after this id within the run
//   $undecided_by  STRING|NULL = null        only what this person has not decided
//   $limit         INTEGER(1..1000000)       maximum number of rows

MATCH (c:Candidate {run: $run})
// The index holds all that rows are sorted by: no plan with a sort is as cheap, whatever the
// statistics, whereas over an index on run and place alone an empty store lets one sort all rows.
USING INDEX SEEK c:Candidate(run, place, id)
WHERE c.place >= $after
  AND c.id IS NOT NULL
  // CASE, not OR: the planner makes a union of two seeks of an OR, which loses the index's order.
  AND CASE WHEN c.place = $after THEN c.id > $run + '|' + $after_id ELSE true END
  AND ($states IS NULL OR c.state IN $states)
  AND ($undecided_by IS NULL OR NOT EXISTS {
    (c)<-[:ABOUT]-(d:Decision)
    WHERE d.role = 'human' AND d.by = $undecided_by
  })
WITH c
ORDER BY c.run, c.place, c.id
LIMIT $limit
RETURN substring(c.id, size($run) + 1) AS id, c.place AS place
ORDER BY place, id
