-- The tables of a store in SQLite.

-- name: tables
CREATE TABLE worlds (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, head TEXT NOT NULL, scenario TEXT NOT NULL,
    created TEXT NOT NULL, forked_from TEXT NOT NULL, turns INTEGER NOT NULL,
    expires REAL NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE turns (
    ref TEXT PRIMARY KEY, parent TEXT NOT NULL, record TEXT NOT NULL, depth INTEGER NOT NULL
) STRICT;
CREATE TABLE merges (
    ref TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY (ref, parent)
) STRICT, WITHOUT ROWID;
CREATE TABLE held (world TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (world, ref)) STRICT;
CREATE TABLE states (ref TEXT PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE blobs (id TEXT PRIMARY KEY, packed INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE uses (
    owner TEXT NOT NULL, blob TEXT NOT NULL, PRIMARY KEY (owner, blob)
) STRICT, WITHOUT ROWID;
CREATE TABLE origins (
    world TEXT NOT NULL, batch TEXT NOT NULL, call TEXT NOT NULL, ref TEXT NOT NULL
) STRICT;
CREATE TABLE failures (world TEXT NOT NULL, record TEXT NOT NULL) STRICT;
CREATE TABLE doomed (
    ref TEXT PRIMARY KEY, depth INTEGER NOT NULL, stage INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_parent ON turns (parent);
CREATE INDEX merges_parent ON merges (parent);
CREATE INDEX held_ref ON held (ref);
CREATE INDEX uses_blob ON uses (blob);
CREATE INDEX origins_batch ON origins (world, batch);
CREATE INDEX failures_world ON failures (world);
CREATE INDEX doomed_depth ON doomed (depth);
CREATE INDEX doomed_stage ON doomed (stage);
CREATE INDEX worlds_expires ON worlds (expires) WHERE expires > 0
