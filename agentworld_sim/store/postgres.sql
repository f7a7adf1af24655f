-- The tables of a store in PostgreSQL, and the statements that only it has.
--
-- Text that people or models wrote lies in BYTEA: a database may have any encoding, and none takes a zero.

-- name: tables
CREATE TABLE agentworld_worlds (
    id TEXT COLLATE "C" PRIMARY KEY, root TEXT COLLATE "C" NOT NULL,
    head TEXT COLLATE "C" NOT NULL, scenario BYTEA NOT NULL, created TEXT NOT NULL,
    forked_from TEXT NOT NULL, turns INTEGER NOT NULL,
    expires DOUBLE PRECISION NOT NULL DEFAULT 0, number BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE agentworld_turns (
    ref TEXT COLLATE "C" PRIMARY KEY, parent TEXT COLLATE "C" NOT NULL,
    record BYTEA NOT NULL, depth INTEGER NOT NULL
);
CREATE TABLE agentworld_held (
    world TEXT COLLATE "C" NOT NULL, ref TEXT COLLATE "C" NOT NULL, PRIMARY KEY (world, ref)
);
CREATE TABLE agentworld_states (ref TEXT COLLATE "C" PRIMARY KEY, state BYTEA NOT NULL);
CREATE TABLE agentworld_blobs (
    id TEXT COLLATE "C" PRIMARY KEY, packed BOOLEAN NOT NULL, data BYTEA NOT NULL
);
CREATE TABLE agentworld_uses (
    owner TEXT COLLATE "C" NOT NULL, blob TEXT COLLATE "C" NOT NULL, PRIMARY KEY (owner, blob)
);
CREATE TABLE agentworld_failures (
    world TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL,
    number BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE agentworld_doomed (
    ref TEXT COLLATE "C" PRIMARY KEY, depth INTEGER NOT NULL,
    stage INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE agentworld_origins (
    world TEXT COLLATE "C" NOT NULL, batch TEXT COLLATE "C" NOT NULL,
    call TEXT COLLATE "C" NOT NULL, ref TEXT COLLATE "C" NOT NULL,
    number BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX agentworld_origins_batch ON agentworld_origins (world, batch);
CREATE TABLE agentworld_merges (
    ref TEXT COLLATE "C" NOT NULL, parent TEXT COLLATE "C" NOT NULL, PRIMARY KEY (ref, parent)
);
CREATE INDEX agentworld_merges_parent ON agentworld_merges (parent);
CREATE INDEX agentworld_turns_parent ON agentworld_turns (parent);
CREATE INDEX agentworld_held_ref ON agentworld_held (ref);
CREATE INDEX agentworld_uses_blob ON agentworld_uses (blob);
CREATE INDEX agentworld_doomed_depth ON agentworld_doomed (depth);
CREATE INDEX agentworld_doomed_stage ON agentworld_doomed (stage) WHERE stage > 0;
CREATE INDEX agentworld_failures_world ON agentworld_failures (world);
CREATE INDEX agentworld_worlds_expires ON agentworld_worlds (expires) WHERE expires > 0

-- name: commit_function
-- Stores a turn in one round trip; each of its statements sees what was
-- committed before it, which one statement that does it all would not.
CREATE FUNCTION agentworld_commit(
    of_world TEXT, new_ref TEXT, old_ref TEXT, others TEXT[], turn BYTEA, must_move BOOLEAN,
    ids TEXT[], are_packed BOOLEAN[], contents BYTEA[], needed TEXT[],
    of_batch TEXT, of_call TEXT,
    OUT outcome TEXT, OUT new_depth INTEGER
) LANGUAGE plpgsql AS $commit$
DECLARE
    stands TEXT;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(48, hashtext(current_schema()));
    SELECT head INTO stands FROM agentworld_worlds WHERE id = of_world FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'no world';
        RETURN;
    END IF;
    IF must_move AND stands <> old_ref AND stands <> ALL (others) THEN
        outcome := 'moved';
        RETURN;
    END IF;
    SELECT depth + 1 INTO new_depth FROM agentworld_turns WHERE ref = old_ref;
    IF NOT FOUND THEN
        PERFORM 1 FROM agentworld_states WHERE ref = old_ref;
        IF NOT FOUND THEN
            outcome := 'no parent';
            RETURN;
        END IF;
        new_depth := 1;
    END IF;
    PERFORM 1 FROM unnest(others) o (ref) WHERE NOT EXISTS (
        SELECT 1 FROM agentworld_turns t WHERE t.ref = o.ref
    );
    IF FOUND THEN
        outcome := 'no parent';
        RETURN;
    END IF;
    INSERT INTO agentworld_turns (ref, parent, record, depth)
        VALUES (new_ref, old_ref, turn, new_depth) ON CONFLICT (ref) DO NOTHING;
    IF FOUND THEN
        IF cardinality(others) > 0 THEN
            INSERT INTO agentworld_merges (ref, parent)
                SELECT new_ref, unnest(array_prepend(old_ref, others));
            WITH RECURSIVE past (ref) AS (
                SELECT new_ref COLLATE "C"
                UNION
                SELECT COALESCE(m.parent, t.parent) FROM past
                JOIN agentworld_turns t ON t.ref = past.ref
                LEFT JOIN agentworld_merges m ON m.ref = t.ref
            )
            UPDATE agentworld_turns SET depth = (
                SELECT count(*) FROM past JOIN agentworld_turns t ON t.ref = past.ref
            ) WHERE ref = new_ref;
        END IF;
        INSERT INTO agentworld_blobs (id, packed, data)
            SELECT * FROM unnest(ids, are_packed, contents) ORDER BY 1 ON CONFLICT (id) DO NOTHING;
        INSERT INTO agentworld_uses (owner, blob) SELECT new_ref, unnest(needed);
    END IF;
    SELECT depth INTO new_depth FROM agentworld_turns WHERE ref = new_ref;
    INSERT INTO agentworld_held (world, ref) VALUES (of_world, new_ref)
        ON CONFLICT (world, ref) DO NOTHING;
    IF of_batch IS NOT NULL THEN
        INSERT INTO agentworld_origins (world, batch, call, ref)
            VALUES (of_world, of_batch, of_call, new_ref);
    END IF;
    IF stands = old_ref OR stands = ANY (others) THEN
        UPDATE agentworld_worlds SET head = new_ref, turns = new_depth WHERE id = of_world;
    END IF;
    outcome := 'stored';
END
$commit$

-- name: share_gate
-- Whoever stores something that a sweep could take away passes here first. By schema, so that two stores in one
-- database do not wait for each other. 48 is any number, ours.
SELECT pg_advisory_xact_lock_shared(48, hashtext(current_schema()))

-- name: close_gate
-- A sweep, for one batch, and whoever makes the tables.
SELECT pg_advisory_xact_lock(48, hashtext(current_schema()))

-- name: commit
SELECT outcome, new_depth FROM agentworld_commit(
    %s::text, %s::text, %s::text, %s::text[], %b::bytea, %s::boolean,
    %b::text[], %b::boolean[], %b::bytea[], %b::text[], %s::text, %s::text)

-- name: use
INSERT INTO agentworld_uses (owner, blob) SELECT %s, unnest(%s::text[])
ON CONFLICT (owner, blob) DO NOTHING

-- name: keep_snapshot
INSERT INTO agentworld_states (ref, state)
SELECT ref, %b::bytea FROM agentworld_turns WHERE ref = %s FOR KEY SHARE
ON CONFLICT (ref) DO NOTHING

-- name: put_blobs
INSERT INTO agentworld_blobs (id, packed, data)
SELECT * FROM unnest(%b::text[], %b::boolean[], %b::bytea[]) ORDER BY 1
ON CONFLICT (id) DO NOTHING
