-- What texts mean, as numbers: computed once for a text and a model, and only a cache of that. `text_hash` is the
-- fingerprint of the text. The number of a row says how old it is.

CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    model     TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    vector    BLOB NOT NULL,
    UNIQUE (model, text_hash)
) STRICT;
