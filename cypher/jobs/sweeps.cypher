// The recorded sweeps, or one.
//
// mode: read
// params:
//   $id          STRING|NULL = null   only this one
// returns: one row a sweep, newest first
//   id           STRING               id of the sweep
//   request      STRING               JSON: the submitted request
//   posted_as    LIST<STRING>         ids of its edits, in the order of its cells
//   created_at   STRING               ISO 8601

MATCH (s:Sweep)
WHERE $id IS NULL OR s.id = $id
RETURN s.id AS id, s.request AS request, s.posted_as AS posted_as, s.created_at AS created_at
ORDER BY datetime(created_at) DESC, id DESC
