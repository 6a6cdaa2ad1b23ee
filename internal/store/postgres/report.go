package postgres

import (
	"context"
	"slices"
)

// MaxReport bounds what a kernel says of itself, in bytes; it is the bound of the table.
const MaxReport = 8192

// SetReport sets what the kernel says of itself, for those who look at all kernels. It is told with each renewal of the
// kernel's name until it is set anew. One that is too long is not told.
func (s *Store) SetReport(body []byte) {
	if len(body) <= MaxReport {
		body = slices.Clone(body)
		s.report.Store(&body)
	}
}

// tell tells the report. What goes wrong with the connection shows in the next statement: a report is no reason to
// stop.
func (w *writer) tell(ctx context.Context) {
	if body := w.store.report.Load(); body != nil {
		_, _ = w.conn.Exec(ctx, "SELECT report($1, $2, $3)", w.held.kernel, w.held.fence, *body)
	}
}
