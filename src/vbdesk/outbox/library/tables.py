"""The tables, indexes and triggers of the library's database, and what each connection sees of them."""

_DELETED = """  deleted_at TEXT, -- when it was moved to the trash; NULL: it is not there
"""
_BY_DELETION = "CREATE INDEX recordings_deleted ON recordings (deleted_at) WHERE deleted_at IS NOT NULL;\n"

_COMMON = f"""
CREATE TABLE library (
  schema_version INTEGER NOT NULL,
  version INTEGER NOT NULL,
  key_check BLOB NOT NULL,
  sums BLOB, -- of the rows of each table, see table_sums
  audit_head BLOB
);
CREATE TABLE recordings (
  take_id TEXT PRIMARY KEY,
  group_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  target TEXT NOT NULL,
  longitudinal INTEGER NOT NULL,
  duration_s REAL NOT NULL,
  imported INTEGER NOT NULL,
  details BLOB NOT NULL,
  state TEXT NOT NULL,
  reason TEXT, -- a message as JSON, see stored_reasons; the sentence itself where an earlier version wrote it
  fix TEXT,
  job_id TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL,
  take_key BLOB, -- the key of this take's sound, sealed; NULL: sealed with the library's key itself, or gone
  sound_sha256 TEXT, -- of the samples as they were taken in; NULL: not known
  sent_sha256 TEXT, -- of the bytes that were uploaded
  result_at TEXT, -- when the service had the result, by the service's clock; NULL: not known
  audio_gone_at TEXT, -- when retention removed the sound
  bundle_id TEXT, -- the bundle in which it was handed over
  event_mac TEXT, -- MAC of its row in pending; NULL: it has none
  result_nonce BLOB, -- the first bytes of its row in results; NULL: it has none
{_DELETED}  mac BLOB,
  UNIQUE (group_id, recorded_at)
);
CREATE INDEX recordings_by_version ON recordings (version);
CREATE INDEX recordings_by_state ON recordings (state);
CREATE INDEX recordings_by_time ON recordings (recorded_at);
CREATE INDEX recordings_with_result_and_sound ON recordings (result_at) WHERE state = 'done' AND audio_gone_at IS NULL;
{_BY_DELETION}CREATE TABLE results (
  take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE,
  sealed BLOB NOT NULL
);
CREATE TABLE removed (
  take_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL
);
-- What is still to be done. A row leaves only together with the change of state that it stood for.
CREATE TABLE pending (
  event_id TEXT PRIMARY KEY,
  take_id TEXT NOT NULL UNIQUE REFERENCES recordings (take_id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before TEXT,
  upload_ref TEXT,
  uploaded_at TEXT,
  asked_at TEXT,
  released INTEGER NOT NULL DEFAULT 0, -- a person said to send it now, where recordings are sent by hand
  asked_service_at TEXT, -- the service's time when it was asked; NULL: not known
  key_kept_s INTEGER -- of earlier versions; not used
);
-- Every job that an answer has named, so that a search for a lost answer never takes an old job for a new one.
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY,
  take_id TEXT NOT NULL
);
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
);
-- Requests of the last minute, so that a restart keeps inside the plan's limits too.
CREATE TABLE requests (
  bucket TEXT NOT NULL,
  at TEXT NOT NULL
);
-- The last read of each subject's history at the service.
CREATE TABLE trajectories (
  group_id TEXT PRIMARY KEY,
  read_at TEXT NOT NULL,
  sealed BLOB NOT NULL
);
-- What a person wrote of a subject, and the tags; both stay on this computer.
CREATE TABLE subjects (
  group_id TEXT PRIMARY KEY,
  sealed BLOB NOT NULL
);
-- Recordings whose result was opened here; the results of all others are unread.
CREATE TABLE opened (
  take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE
);
-- Last answers of the service that pages show before it has answered again.
CREATE TABLE reads (
  name TEXT PRIMARY KEY,
  read_at TEXT NOT NULL,
  sealed BLOB NOT NULL
);
-- Every bundle that recordings of this library were handed over in; settled: its file is finished, or given up.
CREATE TABLE bundles (
  bundle_id TEXT PRIMARY KEY,
  made_at TEXT NOT NULL,
  settled INTEGER NOT NULL,
  sealed BLOB NOT NULL
);
"""
_NEVER = """
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
"""
_KEYS = """
-- Keys of what the entries of audit say of a subject, found by a MAC of its id: see journal.
CREATE TABLE subject_keys (
  key_id TEXT PRIMARY KEY,
  subject TEXT NOT NULL,
  sealed BLOB NOT NULL
);
CREATE INDEX subject_keys_by_subject ON subject_keys (subject);
-- Corrections that the service has begun, and those of an erased subject that it has still to do: see corrections.
CREATE TABLE corrections_due (
  number INTEGER PRIMARY KEY,
  sealed BLOB NOT NULL
);
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  take_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  subject_keys TEXT, -- ids of the keys that sealed needs, or that it destroys; NULL: no event of a subject
  sealed BLOB, -- what the event says
  mac BLOB NOT NULL
);
"""
TABLES = f"""{_COMMON}{_KEYS}
CREATE INDEX audit_of_subjects ON audit (what) WHERE subject_keys IS NOT NULL; -- and by seq, which every index has
{_NEVER}"""
VIEWS = """
CREATE TEMP VIEW trash AS SELECT rowid AS place, * FROM main.recordings WHERE deleted_at IS NOT NULL;
CREATE TEMP VIEW recordings AS
  SELECT rowid AS place, * FROM main.recordings WHERE rowid NOT IN (SELECT place FROM trash);
CREATE TEMP VIEW pending AS SELECT * FROM main.pending WHERE take_id NOT IN (SELECT take_id FROM trash);
CREATE TEMP VIEW results AS SELECT * FROM main.results WHERE take_id NOT IN (SELECT take_id FROM trash);
CREATE TEMP VIEW opened AS SELECT * FROM main.opened WHERE take_id NOT IN (SELECT take_id FROM trash);
"""
"""What a query sees that does not say `main`: no recording of the trash, and nothing of it.

Each connection makes them for itself, so nobody else can change them. A statement that writes must say `main`. With the
condition `deleted_at IS NULL` instead, counts could not be read from an index alone.
"""
# Of earlier versions, which `conversion` converts
_TRASH = """
CREATE TABLE trash (
  take_id TEXT PRIMARY KEY,
  deleted_at TEXT NOT NULL,
  take_key BLOB, -- as in recordings
  sealed BLOB NOT NULL
);
"""
TABLES_9 = f"{TABLES}{_TRASH}".replace(_DELETED, "").replace(_BY_DELETION, "")
_COMMON_9 = f"{_COMMON}{_TRASH}".replace(_DELETED, "").replace(_BY_DELETION, "")
_CONSENTS = """
CREATE TABLE consents (
  event_id TEXT PRIMARY KEY,
  group_id TEXT NOT NULL,
  sealed BLOB NOT NULL
);
CREATE INDEX consents_by_subject ON consents (group_id);
CREATE TRIGGER consents_are_never_changed BEFORE UPDATE ON consents
BEGIN SELECT RAISE (ABORT, 'consent events are append-only'); END;
CREATE TRIGGER consents_are_never_removed BEFORE DELETE ON consents
BEGIN SELECT RAISE (ABORT, 'consent events are append-only'); END;
"""
TABLES_8 = f"""{_COMMON_9}{_CONSENTS}{_KEYS}
CREATE INDEX audit_of_subjects ON audit (what, subject_keys) WHERE subject_keys IS NOT NULL;
{_NEVER}"""
TABLES_7 = f"""{_COMMON_9}{_CONSENTS}
CREATE TABLE corrections (
  number INTEGER PRIMARY KEY,
  sealed BLOB NOT NULL
);
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  take_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  mac BLOB NOT NULL
);
{_NEVER}"""
