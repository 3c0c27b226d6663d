"""The tables of the index. Whatever is in them can be read again from the run records."""

from typing import Final

FORMAT: Final = 3
"""An index of another format is thrown away and made anew."""

TABLES: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, problem TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE requirements (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE facts (number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    runtime TEXT NOT NULL,
    version TEXT NOT NULL,
    started REAL NOT NULL,
    finished REAL NOT NULL,
    suite_version TEXT NOT NULL,
    catalogue_revision TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    exit_reason TEXT NOT NULL,
    interrupted INTEGER NOT NULL,
    partial TEXT NOT NULL,
    letters TEXT NOT NULL,
    areas TEXT NOT NULL,
    reasons TEXT NOT NULL,
    facts INTEGER NOT NULL,
    report INTEGER NOT NULL
);
CREATE INDEX runs_by_line ON runs (runtime, version, started);
CREATE TABLE series (
    number INTEGER PRIMARY KEY,
    scenario TEXT NOT NULL,
    operation TEXT NOT NULL,
    dimensions TEXT NOT NULL,
    unit TEXT NOT NULL,
    better TEXT NOT NULL,
    headline INTEGER NOT NULL,
    UNIQUE (scenario, operation, dimensions)
);
CREATE TABLE points (
    run INTEGER NOT NULL,
    series INTEGER NOT NULL,
    count INTEGER NOT NULL,
    median REAL NOT NULL,
    low REAL,
    high REAL,
    tail_at REAL,
    tail REAL,
    tail_low REAL,
    tail_high REAL,
    PRIMARY KEY (run, series)
) WITHOUT ROWID;
"""
