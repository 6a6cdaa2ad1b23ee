package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// poolerError is a class of errors for errors.Is: a pooler stands between this program and the server.
type poolerError struct{}

func (poolerError) Error() string {
	return "a pooler such as pgbouncer stands before the server: belay needs the server's own sessions, for its settings, " +
		"its prepared statements and to know who is alive; name the server itself in the DSN: a kernel needs few connections"
}

func errPooler() error { return poolerError{} }

// pooled reports whether a connection was refused because of a parameter that every server knows.
func pooled(err error) bool {
	const protocolViolation = "08P01" // as which pgbouncer refuses parameters that it does not pass on
	return refusal(err) == protocolViolation
}

// noPooler makes sure that the session is one of the server's own. A pooler in transaction mode gives each transaction
// to another session of the server, in which what was set for this one does not hold.
func noPooler(ctx context.Context, c *pgconn.PgConn) error {
	results, err := c.Exec(ctx, "SELECT pg_backend_pid()").ReadAll() // without a prepared statement, which might be lost
	if err != nil {
		return err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 1 {
		return errors.New("the server does not say which process serves the connection")
	}
	return ownSession(string(results[0].Rows[0][0]), c.PID())
}

// ownSession compares the server's process with the one that the connection was told of when it began.
func ownSession(process string, told uint32) error {
	if process != strconv.FormatUint(uint64(told), 10) {
		return errPooler()
	}
	return nil
}
