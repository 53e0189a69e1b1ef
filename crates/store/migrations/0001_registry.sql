-- The registry: servers, what they offer, what people set for it, and what happened. A migration that was released is
-- never edited, not even its comments: databases remember its checksum.
-- Moments are milliseconds since 1970, ids of servers are UUIDs as text.

CREATE TABLE servers (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace     TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    origin        TEXT    NOT NULL CHECK (origin IN ('FILE', 'REGISTERED')),
    description   TEXT,
    sealed_spec   BLOB,
    is_wanted     INTEGER NOT NULL CHECK (is_wanted IN (0, 1)),
    registered_at INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    UNIQUE (workspace, name)
) STRICT;

-- AUTOINCREMENT: the id of a tool that is gone is never given to another.
CREATE TABLE tools (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id     TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    position      INTEGER NOT NULL,
    description   TEXT,
    definition    TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,
    first_seen_at INTEGER NOT NULL,
    changed_at    INTEGER,
    UNIQUE (server_id, name)
) STRICT;

-- Lists are read in their own order without being sorted.
CREATE INDEX tools_in_order ON tools (server_id, position);

-- By the tool's name and not by its row: what people set outlives the tool's absence.
CREATE TABLE curations (
    server_id   TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    tool_name   TEXT    NOT NULL,
    is_enabled  INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    description TEXT,
    PRIMARY KEY (server_id, tool_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    event     TEXT    NOT NULL,
    details   TEXT,
    at        INTEGER NOT NULL
) STRICT;

CREATE INDEX history_of_server ON history (server_id, id);

CREATE TABLE events (
    id   INTEGER NOT NULL PRIMARY KEY,
    kind TEXT    NOT NULL,
    data TEXT    NOT NULL,
    at   INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (
    workspace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    sealed     BLOB    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
