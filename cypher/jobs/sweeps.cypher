// The recorded sweeps, or one.
// params:
//   $id    STRING|NULL = null  only this one
//   $edit  STRING|NULL = null  only those that ask for this edit, by any id that it has had

MATCH (s:Sweep)
WHERE ($id IS NULL OR s.id = $id)
  AND ($edit IS NULL OR $edit IN s.posted_as OR EXISTS {
    MATCH (p:Post)-[:ASKS_FOR]->(:Edit {id: $edit})
    WHERE p.id IN s.posted_as
  })
RETURN s.id AS id, s.request AS request, s.posted_as AS posted_as, s.created_at AS created_at
ORDER BY datetime(created_at) DESC, id DESC
