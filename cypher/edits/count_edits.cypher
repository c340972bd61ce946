// How many recorded edits there are.

MATCH (e:Edit)
// include: edits/_wanted
RETURN count(e) AS edits
