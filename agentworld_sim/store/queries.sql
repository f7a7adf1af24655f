-- The statements of the stores in databases, as PostgreSQL wants them; `_sql.py` says what SQLite has instead.
-- In brackets: the parameters, in order. Statements of a script are separated by a semicolon.
-- All parents of a turn `t` are COALESCE(m.parent, t.parent): `merges` has a row only where there are several.

-- name: fold (ref): stored state or NULL, record or NULL; the row with the state first, then turn by turn.
WITH RECURSIVE chain (ref, step) AS (
    SELECT %s::text COLLATE "C", 0
    UNION ALL
    SELECT t.parent, chain.step + 1 FROM chain JOIN agentworld_turns t ON t.ref = chain.ref
    WHERE NOT EXISTS (SELECT 1 FROM agentworld_states s WHERE s.ref = chain.ref)
)
SELECT s.state, CASE WHEN s.ref IS NULL THEN t.record END FROM chain
LEFT JOIN agentworld_states s ON s.ref = chain.ref LEFT JOIN agentworld_turns t ON t.ref = chain.ref
ORDER BY chain.step DESC

-- name: lineage (ref): records of all turns that lead to it, in any order.
WITH RECURSIVE past (ref) AS (
    SELECT %s::text COLLATE "C"
    UNION
    SELECT COALESCE(m.parent, t.parent) FROM past JOIN agentworld_turns t ON t.ref = past.ref
    LEFT JOIN agentworld_merges m ON m.ref = t.ref
)
SELECT t.record FROM past JOIN agentworld_turns t ON t.ref = past.ref

-- name: has (ref, ref)
SELECT 1 FROM agentworld_turns WHERE ref = %s
UNION ALL SELECT 1 FROM agentworld_states WHERE ref = %s

-- name: holds (world, ref)
SELECT 1 FROM agentworld_held WHERE world = %s AND ref = %s

-- name: inherits (world, ref): whether the point lies before all that the world holds itself.
WITH RECURSIVE past (ref) AS (
    SELECT COALESCE(m.parent, t.parent) FROM agentworld_held h JOIN agentworld_turns t ON t.ref = h.ref
    LEFT JOIN agentworld_merges m ON m.ref = t.ref
    WHERE h.world = %s AND NOT EXISTS (
        SELECT 1 FROM agentworld_held p WHERE p.world = h.world AND p.ref = COALESCE(m.parent, t.parent)
    )
    UNION
    SELECT COALESCE(m.parent, t.parent) FROM past JOIN agentworld_turns t ON t.ref = past.ref
    LEFT JOIN agentworld_merges m ON m.ref = t.ref
)
SELECT 1 FROM past WHERE ref = %s

-- name: batch (world, batch): call and record, oldest first.
SELECT o.call, t.record FROM agentworld_origins o JOIN agentworld_turns t ON t.ref = o.ref
WHERE o.world = %s AND o.batch = %s ORDER BY o.number

-- name: ids_before (id, limit)
SELECT id FROM agentworld_worlds WHERE id < %s ORDER BY id DESC LIMIT %s

-- name: ids_after (id, limit)
SELECT id FROM agentworld_worlds WHERE id > %s ORDER BY id LIMIT %s

-- name: any_expired (now)
SELECT id FROM agentworld_worlds WHERE expires > 0 AND expires <= %s

-- name: expired (now): as `any_expired`, for those who remove them.
SELECT id FROM agentworld_worlds WHERE expires > 0 AND expires <= %s FOR NO KEY UPDATE

-- name: doom (world) each.
INSERT INTO agentworld_doomed (ref, depth)
    SELECT h.ref, COALESCE(t.depth, 0) FROM agentworld_held h
    LEFT JOIN agentworld_turns t ON t.ref = h.ref WHERE h.world = %s
    ON CONFLICT (ref) DO NOTHING;
DELETE FROM agentworld_held WHERE world = %s;
DELETE FROM agentworld_failures WHERE world = %s;
DELETE FROM agentworld_origins WHERE world = %s

-- name: doom_failures (owner)
INSERT INTO agentworld_doomed (ref, depth) VALUES (%s, -1)
ON CONFLICT (ref) DO NOTHING

-- name: take (limit): marks the next batch of doomed points. Nothing marked: nothing left.
UPDATE agentworld_doomed SET stage = 1 WHERE ref IN (
    SELECT ref FROM agentworld_doomed ORDER BY depth DESC LIMIT %s
)

-- name: sweep: removes what is marked and not needed. No parameters.
-- A point is needed if a world holds it, or if a turn follows that stays.
UPDATE agentworld_doomed SET stage = 2 WHERE stage = 1 AND ref IN (
    WITH RECURSIVE needed (ref) AS (
        SELECT d.ref FROM agentworld_doomed d WHERE d.stage = 1 AND (
            EXISTS (SELECT 1 FROM agentworld_held h WHERE h.ref = d.ref)
            OR EXISTS (
                SELECT 1 FROM agentworld_turns t WHERE t.parent = d.ref AND NOT EXISTS (
                    SELECT 1 FROM agentworld_doomed c WHERE c.ref = t.ref AND c.stage = 1
                )
            )
            OR EXISTS (
                SELECT 1 FROM agentworld_merges m WHERE m.parent = d.ref AND NOT EXISTS (
                    SELECT 1 FROM agentworld_doomed c WHERE c.ref = m.ref AND c.stage = 1
                )
            )
        )
        UNION
        SELECT d.ref FROM needed n JOIN agentworld_turns t ON t.ref = n.ref
        LEFT JOIN agentworld_merges m ON m.ref = t.ref
        JOIN agentworld_doomed d ON d.ref = COALESCE(m.parent, t.parent) AND d.stage = 1
    ) SELECT ref FROM needed
);
-- What lies before a fork is held by nobody else once the fork is gone.
INSERT INTO agentworld_doomed (ref, depth)
    SELECT COALESCE(m.parent, t.parent), t.depth - 1 FROM agentworld_doomed d JOIN agentworld_turns t ON t.ref = d.ref
    LEFT JOIN agentworld_merges m ON m.ref = t.ref
    WHERE d.stage = 1 ON CONFLICT (ref) DO NOTHING;
-- A cross join, because SQLite keeps its order: the batch is small, the uses are many.
DELETE FROM agentworld_blobs WHERE id IN (
        SELECT u.blob FROM agentworld_doomed d CROSS JOIN agentworld_uses u
        WHERE d.stage = 1 AND u.owner = d.ref
    ) AND NOT EXISTS (
        SELECT 1 FROM agentworld_uses u WHERE u.blob = agentworld_blobs.id AND NOT EXISTS (
            SELECT 1 FROM agentworld_doomed d WHERE d.ref = u.owner AND d.stage = 1
        )
    );
DELETE FROM agentworld_uses WHERE owner IN (SELECT ref FROM agentworld_doomed WHERE stage = 1);
DELETE FROM agentworld_states WHERE ref IN (SELECT ref FROM agentworld_doomed WHERE stage = 1);
DELETE FROM agentworld_turns WHERE ref IN (SELECT ref FROM agentworld_doomed WHERE stage = 1);
DELETE FROM agentworld_merges WHERE ref IN (SELECT ref FROM agentworld_doomed WHERE stage = 1);
DELETE FROM agentworld_doomed WHERE stage > 0

-- name: world (id): its columns.
SELECT id, root, head, scenario, created, forked_from, turns, expires FROM agentworld_worlds WHERE id = %s

-- name: worlds: those of all, oldest first.
SELECT id, root, head, scenario, created, forked_from, turns, expires FROM agentworld_worlds ORDER BY number

-- name: lock_world (id): 1 if there is one, which nobody else changes until the transaction ends.
SELECT 1 FROM agentworld_worlds WHERE id = %s FOR NO KEY UPDATE

-- name: lock_turn (ref): 1 if there is one, which nobody else removes until then.
SELECT 1 FROM agentworld_turns WHERE ref = %s FOR KEY SHARE

-- name: add_world (its columns): adds it if its id is free.
INSERT INTO agentworld_worlds (id, root, head, scenario, created, forked_from, turns, expires)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING

-- name: remove_world (id)
DELETE FROM agentworld_worlds WHERE id = %s

-- name: move (ref, ref, world): moves the head, and says how many turns lead to it.
UPDATE agentworld_worlds SET head = %s,
turns = COALESCE((SELECT depth FROM agentworld_turns WHERE ref = %s), 0) WHERE id = %s

-- name: extend (moment, world)
UPDATE agentworld_worlds SET expires = %s WHERE id = %s

-- name: hold (world, ref)
INSERT INTO agentworld_held VALUES (%s, %s) ON CONFLICT (world, ref) DO NOTHING

-- name: put_state (ref, state)
INSERT INTO agentworld_states VALUES (%s, %s) ON CONFLICT (ref) DO NOTHING

-- name: blob (id): whether it is packed, and its bytes.
SELECT packed, data FROM agentworld_blobs WHERE id = %s

-- name: add_failure (world, record)
INSERT INTO agentworld_failures (world, record) VALUES (%s, %s)

-- name: failures (world): records, oldest first.
SELECT record FROM agentworld_failures WHERE world = %s ORDER BY number
