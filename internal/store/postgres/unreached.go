package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreached says in one line which server no connection was made to, and why. The driver says it for each address that
// it tried, in lines of their own, with what each layer below has to say; that is the cause, for Away and the like.
type unreached struct {
	where, why string
	cause      error
}

func (e *unreached) Error() string {
	return fmt.Sprintf("no connection to PostgreSQL at %s: %s", e.where, e.why)
}
func (e *unreached) Unwrap() error { return e.cause }

// inBrief replaces what the driver says about a connection that was not made. Every other error stays as it is.
func inBrief(err error) error {
	var failed *pgconn.ConnectError
	var said *unreached
	if !errors.As(err, &failed) || errors.As(err, &said) {
		return err
	}
	where := failed.Config.Host
	if where == "" || where[0] != '/' {
		where = net.JoinHostPort(where, strconv.Itoa(int(failed.Config.Port)))
	}
	return &unreached{where + "/" + failed.Config.Database, whyNot(failed), err}
}

// whyNot is what the server says, or the innermost reason on the way to it.
func whyNot(err error) string {
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return "no answer in time"
	}
	for {
		inner := errors.Unwrap(err)
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			if all := many.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1] // of the address that was tried last
			}
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
