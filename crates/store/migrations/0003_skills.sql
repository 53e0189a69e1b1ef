-- Skills, which tools have them, how far the classification of each tool is, and what skills are suggested.
-- Lists of texts are JSON arrays. What belongs to a tool goes by its name and not by its row, as curations do: what people
-- set outlives the tool's absence.

-- A built-in skill that a person removed stays as a row, so that the next start does not bring it back.
CREATE TABLE skills (
    workspace   TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    keywords    TEXT    NOT NULL,
    examples    TEXT    NOT NULL,
    domain      TEXT    NOT NULL,
    is_built_in INTEGER NOT NULL CHECK (is_built_in IN (0, 1)),
    is_removed  INTEGER NOT NULL CHECK (is_removed IN (0, 1)),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_assignments (
    server_id  TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    tool_name  TEXT    NOT NULL,
    skill_id   TEXT    NOT NULL,
    confidence REAL    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    source     TEXT    NOT NULL CHECK (source IN ('LLM', 'EMBEDDING', 'HUMAN')),
    is_primary INTEGER NOT NULL CHECK (is_primary IN (0, 1)),
    PRIMARY KEY (server_id, tool_name, skill_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX assignments_of_skill ON skill_assignments (skill_id);

-- A tool without a row is DISCOVERED. `fingerprint` is that of the definition that was looked at.
CREATE TABLE classifications (
    server_id   TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    tool_name   TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('DISCOVERED', 'CLASSIFYING', 'CLASSIFIED', 'UNCLASSIFIED')),
    fingerprint TEXT    NOT NULL,
    tries       INTEGER NOT NULL,
    last_error  TEXT,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (server_id, tool_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_suggestions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED', 'MERGED')),
    skill_id    TEXT,
    created_at  INTEGER NOT NULL,
    settled_at  INTEGER
) STRICT;

-- One of a name waits at a time; tools that come later join it.
CREATE UNIQUE INDEX suggestion_that_waits ON skill_suggestions (workspace, name) WHERE state = 'PENDING';

CREATE TABLE suggestion_tools (
    suggestion_id INTEGER NOT NULL REFERENCES skill_suggestions (id) ON DELETE CASCADE,
    server_id     TEXT    NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    tool_name     TEXT    NOT NULL,
    PRIMARY KEY (suggestion_id, server_id, tool_name)
) STRICT, WITHOUT ROWID;

CREATE INDEX suggestions_of_tool ON suggestion_tools (server_id, tool_name);
