package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxUnasked bounds what is read of what a server says without being asked, such as changed settings.
const maxUnasked = 16

// alive reports whether a connection on which nothing is under way is still there, as far as the server has said. A
// server that ended has closed it. What is sent all the same may have been committed as far as anyone here can tell,
// and its caller would wait until the database is back.
func alive(c *pgx.Conn) bool {
	for n := 0; !c.IsClosed() && n < maxUnasked && heard(c.PgConn().Conn()); n++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := c.PgConn().ReceiveMessage(ctx)
		nothing := unanswered(err)
		if err != nil && !nothing { // its end, or an error that announces it
			_ = c.Close(ctx)
		}
		if cancel(); nothing {
			break
		}
	}
	return !c.IsClosed()
}
