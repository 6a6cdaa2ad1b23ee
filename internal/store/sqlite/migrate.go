package sqlite

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

// applicationID marks our databases ("bely"), so that another program's file is never migrated.
const applicationID = 0x62656c79

// migrations turn version i of the schema into version i+1. A published one is
// never changed: databases of every earlier version must come out the same.
var migrations = [...]string{
	// Columns beside body are copies for filters; body is the record.
	`CREATE TABLE events (
		seq        INTEGER PRIMARY KEY,
		id         TEXT NOT NULL UNIQUE,
		type       TEXT NOT NULL,
		time_ns    INTEGER NOT NULL,
		phase      TEXT NOT NULL,
		runtime    TEXT NOT NULL,
		session    TEXT NOT NULL,
		agent      TEXT NOT NULL,
		invocation TEXT NOT NULL,
		binding    TEXT NOT NULL,
		decision   TEXT NOT NULL,
		kind       TEXT NOT NULL,
		body       BLOB NOT NULL
	) STRICT;
	CREATE INDEX events_invocation ON events (invocation);
	CREATE INDEX events_session ON events (session, seq);
	CREATE TABLE runs (
		runtime  TEXT NOT NULL,
		session  TEXT NOT NULL,
		run      TEXT NOT NULL,
		version  INTEGER NOT NULL,
		used_ns  INTEGER NOT NULL,
		metadata BLOB NOT NULL,
		retries  BLOB NOT NULL,
		PRIMARY KEY (runtime, session, run)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX runs_used ON runs (used_ns);
	CREATE TABLE state (
		namespace TEXT NOT NULL,
		key       TEXT NOT NULL,
		version   INTEGER NOT NULL,
		value     BLOB NOT NULL,
		PRIMARY KEY (namespace, key)
	) STRICT, WITHOUT ROWID;
	-- The last version given to a value: one for all, so that none ever comes back.
	CREATE TABLE state_version (version INTEGER NOT NULL) STRICT;
	INSERT INTO state_version VALUES (0);
	CREATE TABLE latches (
		runtime  TEXT NOT NULL,
		session  TEXT NOT NULL,
		since_ns INTEGER NOT NULL,
		body     BLOB NOT NULL,
		PRIMARY KEY (runtime, session)
	) STRICT, WITHOUT ROWID;`,

	// The Merkle tree over events.body; see tree.go.
	`CREATE TABLE tree (
		idx  INTEGER PRIMARY KEY,
		hash BLOB NOT NULL
	) STRICT;
	CREATE TABLE tree_size (size INTEGER NOT NULL) STRICT;
	INSERT INTO tree_size VALUES (0);
	CREATE TABLE checkpoints (
		id   INTEGER PRIMARY KEY,
		size INTEGER NOT NULL,
		note BLOB NOT NULL
	) STRICT;`,

	approvalsSchema,

	tilesSchema,

	compactionSchema,

	leasesSchema,

	markSchema,

	restrictionsSchema,

	// The events that status, doctor and sinks look for by their type are few among many.
	`CREATE INDEX events_rare ON events (type, seq, time_ns) WHERE ` + rareTypes + `;`,

	lookupSchema,

	// The lookup finds invocations and sessions as well, so that a commit need not write a page of
	// each of these. Blocks that were made without invocations are made anew.
	`DROP INDEX IF EXISTS events_invocation;
	DROP INDEX IF EXISTS events_session;
	DELETE FROM lookup;
	DELETE FROM lookup_blocks;`,

	packsSchema,

	forwardingSchema,
}

// rareTypes is what SQLite has to find in a query, word for word, to use events_rare: all
// types but the two that most events have.
const rareTypes = "type NOT IN ('hook', 'verdict')"

// Schema versions that took more than statements.
const (
	treeVersion  = 2 // brought the tree: older databases get one over the events that they hold
	tilesVersion = 4 // brought the form that it has now
)

// errForeign: the file is a database, but not one that this program may write.
var errForeign = errors.New("not a database of this program")

// migrate brings the schema to the newest version. Several processes may try
// at the same time: one waits for the other and then finds nothing to do.
func migrate(c *sqlite3.Conn, readOnly bool) error {
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: schema version %d was written by a newer belay, this one knows %d", errForeign, version,
			len(migrations))
	}
	if readOnly {
		return fmt.Errorf("%w: schema version %d, wanted %d, and the database is opened for reading only", errForeign,
			version, len(migrations))
	}
	return migrateLocked(c)
}

func migrateLocked(c *sqlite3.Conn) (err error) {
	tx, err := c.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	version, err := schemaVersion(c) // again, now that no other process can write
	if err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: schema version %d was written by a newer belay", errForeign, version)
	}
	for first := version; version < len(migrations); version++ {
		if err = c.Exec(migrations[version]); err != nil {
			return fmt.Errorf("migration %d: %w", version+1, err)
		}
		if version+1 == tilesVersion {
			if err = plant(c, first >= treeVersion); err == nil {
				err = c.Exec("DROP TABLE tree; DROP TABLE tree_size")
			}
			if err != nil {
				return fmt.Errorf("migration %d: %w", version+1, err)
			}
		}
	}
	return c.Exec("PRAGMA application_id = " + strconv.Itoa(applicationID) +
		"; PRAGMA user_version = " + strconv.Itoa(version))
}

// schemaVersion returns 0 for an empty database and an error for a foreign one.
// It looks at everything in one statement: between two, another process may
// finish making the database, which would look like a foreign one.
func schemaVersion(c *sqlite3.Conn) (version int, err error) {
	stmt, _, err := c.Prepare(
		"SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if !stmt.Step() {
		return 0, errors.Join(stmt.Err(), errors.New("the database names no application"))
	}
	app, version, tables := stmt.ColumnInt64(0), stmt.ColumnInt(1), stmt.ColumnInt64(2)
	switch {
	case app == applicationID:
		return version, nil
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	}
	return 0, fmt.Errorf("%w: application id %#x", errForeign, app)
}
