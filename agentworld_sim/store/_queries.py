"""The questions and the sweep that SQLite and PostgreSQL understand alike.

Tables: `worlds`; `origins`, who asked for which turn of a world; `turns` by ref, each with its depth (the turns from the root to it);
`merges`, all parents of the turns that have several; `held`, the
points that a world keeps alive together with all before them; `states` at some points; `blobs`, and
`uses`, which turn, root or world's failures needs which blob; `doomed`, points that a removed world
held and that may be needed no more.

A removal only moves what the world held to `doomed`. The sweep then works that off from the deepest
point on, in batches, each a short transaction, so that its cost is that of the removed world and other
worlds are never kept waiting for long. One that is killed is finished by the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

SWEEP_BATCH = 500
"""Points in one transaction of the sweep."""

NEIGHBOURS = 20
"""Ids looked at on each side of one that is unknown; more would cost as much as all."""


@dataclass(frozen=True, slots=True)
class Queries:
    """SQL for one database. Parameters stand in the order that is told."""

    fold: LiteralString
    """(ref): stored state or NULL, record or NULL; the row with the state first, then turn by turn."""
    lineage: LiteralString
    """(ref): records of all turns that lead to it, in any order."""
    has: LiteralString
    """(ref, ref)"""
    holds: LiteralString
    """(world, ref)"""
    inherits: LiteralString
    """(world, ref): whether the point lies before all that the world holds itself."""
    asked: LiteralString
    """(world, batch): call and record, oldest first."""
    ids_before: LiteralString
    """(id, limit)"""
    ids_after: LiteralString
    """(id, limit)"""
    expired: LiteralString
    """(now)"""
    doom: tuple[LiteralString, ...]
    """(world) each."""
    doom_failures: LiteralString
    """(owner)"""
    take: LiteralString
    """(limit): marks the next batch of doomed points. Nothing marked: nothing left."""
    sweep: tuple[LiteralString, ...]
    """Removes what is marked and not needed. No parameters."""


def queries(
    prefix: LiteralString, mark: LiteralString, text: LiteralString, number: LiteralString
) -> Queries:
    """The SQL for one database.

    Args:
        prefix: What the names of its tables begin with.
        mark: A parameter.
        text: A parameter whose type cannot be seen from what stands around it: the text of a ref.
        number: The column that tells in which order rows came.
    """
    turns, held, states = f"{prefix}turns", f"{prefix}held", f"{prefix}states"
    merges = f"{prefix}merges"
    # All parents of a turn `t`; `m` has a row only where there are several.
    parent = "COALESCE(m.parent, t.parent)"
    uses, blobs, doomed = f"{prefix}uses", f"{prefix}blobs", f"{prefix}doomed"
    worlds, failures, origins = f"{prefix}worlds", f"{prefix}failures", f"{prefix}origins"
    return Queries(
        fold=f"""WITH RECURSIVE chain (ref, step) AS (
                SELECT {text}, 0
                UNION ALL
                SELECT t.parent, chain.step + 1 FROM chain JOIN {turns} t ON t.ref = chain.ref
                WHERE NOT EXISTS (SELECT 1 FROM {states} s WHERE s.ref = chain.ref)
            )
            SELECT s.state, CASE WHEN s.ref IS NULL THEN t.record END FROM chain
            LEFT JOIN {states} s ON s.ref = chain.ref LEFT JOIN {turns} t ON t.ref = chain.ref
            ORDER BY chain.step DESC""",
        lineage=f"""WITH RECURSIVE past (ref) AS (
                SELECT {text}
                UNION
                SELECT {parent} FROM past JOIN {turns} t ON t.ref = past.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
            )
            SELECT t.record FROM past JOIN {turns} t ON t.ref = past.ref""",
        has=f"""SELECT 1 FROM {turns} WHERE ref = {mark}
            UNION ALL SELECT 1 FROM {states} WHERE ref = {mark}""",
        holds=f"SELECT 1 FROM {held} WHERE world = {mark} AND ref = {mark}",
        inherits=f"""WITH RECURSIVE past (ref) AS (
                SELECT {parent} FROM {held} h JOIN {turns} t ON t.ref = h.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
                WHERE h.world = {mark} AND NOT EXISTS (
                    SELECT 1 FROM {held} p WHERE p.world = h.world AND p.ref = {parent}
                )
                UNION
                SELECT {parent} FROM past JOIN {turns} t ON t.ref = past.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
            )
            SELECT 1 FROM past WHERE ref = {mark}""",
        asked=f"""SELECT o.call, t.record FROM {origins} o JOIN {turns} t ON t.ref = o.ref
            WHERE o.world = {mark} AND o.batch = {mark} ORDER BY o.{number}""",
        ids_before=f"SELECT id FROM {worlds} WHERE id < {mark} ORDER BY id DESC LIMIT {mark}",
        ids_after=f"SELECT id FROM {worlds} WHERE id > {mark} ORDER BY id LIMIT {mark}",
        expired=f"SELECT id FROM {worlds} WHERE expires > 0 AND expires <= {mark}",
        doom=(
            f"""INSERT INTO {doomed} (ref, depth)
                SELECT h.ref, COALESCE(t.depth, 0) FROM {held} h
                LEFT JOIN {turns} t ON t.ref = h.ref WHERE h.world = {mark}
                ON CONFLICT (ref) DO NOTHING""",
            f"DELETE FROM {held} WHERE world = {mark}",
            f"DELETE FROM {failures} WHERE world = {mark}",
            f"DELETE FROM {origins} WHERE world = {mark}",
        ),
        doom_failures=f"""INSERT INTO {doomed} (ref, depth) VALUES ({mark}, -1)
            ON CONFLICT (ref) DO NOTHING""",
        take=f"""UPDATE {doomed} SET stage = 1 WHERE ref IN (
                SELECT ref FROM {doomed} ORDER BY depth DESC LIMIT {mark}
            )""",
        sweep=(
            # A point is needed if a world holds it, or if a turn follows that stays.
            f"""UPDATE {doomed} SET stage = 2 WHERE stage = 1 AND ref IN (
                WITH RECURSIVE needed (ref) AS (
                    SELECT d.ref FROM {doomed} d WHERE d.stage = 1 AND (
                        EXISTS (SELECT 1 FROM {held} h WHERE h.ref = d.ref)
                        OR EXISTS (
                            SELECT 1 FROM {turns} t WHERE t.parent = d.ref AND NOT EXISTS (
                                SELECT 1 FROM {doomed} c WHERE c.ref = t.ref AND c.stage = 1
                            )
                        )
                        OR EXISTS (
                            SELECT 1 FROM {merges} m WHERE m.parent = d.ref AND NOT EXISTS (
                                SELECT 1 FROM {doomed} c WHERE c.ref = m.ref AND c.stage = 1
                            )
                        )
                    )
                    UNION
                    SELECT d.ref FROM needed n JOIN {turns} t ON t.ref = n.ref
                    LEFT JOIN {merges} m ON m.ref = t.ref
                    JOIN {doomed} d ON d.ref = {parent} AND d.stage = 1
                ) SELECT ref FROM needed
            )""",
            # What lies before a fork is held by nobody else once the fork is gone.
            f"""INSERT INTO {doomed} (ref, depth)
                SELECT {parent}, t.depth - 1 FROM {doomed} d JOIN {turns} t ON t.ref = d.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
                WHERE d.stage = 1 ON CONFLICT (ref) DO NOTHING""",
            # A cross join, because SQLite keeps its order: the batch is small, the uses are many.
            f"""DELETE FROM {blobs} WHERE id IN (
                    SELECT u.blob FROM {doomed} d CROSS JOIN {uses} u
                    WHERE d.stage = 1 AND u.owner = d.ref
                ) AND NOT EXISTS (
                    SELECT 1 FROM {uses} u WHERE u.blob = {blobs}.id AND NOT EXISTS (
                        SELECT 1 FROM {doomed} d WHERE d.ref = u.owner AND d.stage = 1
                    )
                )""",
            f"DELETE FROM {uses} WHERE owner IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {states} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {turns} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {merges} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {doomed} WHERE stage > 0",
        ),
    )
