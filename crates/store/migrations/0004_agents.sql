-- What each server's connector agent has done and used, kept across restarts. Costs are billionths of the price table's
-- currency, times are milliseconds. The last four columns are what its budget goes by: one day's use, the day counted
-- from 1970.

CREATE TABLE agent_tallies (
    server_id      TEXT    NOT NULL PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    calls          INTEGER NOT NULL,
    errors         INTEGER NOT NULL,
    tokens_in      INTEGER NOT NULL,
    tokens_out     INTEGER NOT NULL,
    cost           INTEGER NOT NULL,
    latency_total  INTEGER NOT NULL,
    latency_max    INTEGER NOT NULL,
    last_used_at   INTEGER,
    day            INTEGER NOT NULL,
    day_tokens_in  INTEGER NOT NULL,
    day_tokens_out INTEGER NOT NULL,
    day_cost       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
