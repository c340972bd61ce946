// The recorded sweeps, or one.
// params:
//   $id  STRING|NULL = null  only this one

MATCH (s:Sweep)
WHERE $id IS NULL OR s.id = $id
RETURN s.id AS id, s.request AS request, s.posted_as AS posted_as, s.created_at AS created_at
ORDER BY datetime(created_at) DESC, id DESC
