package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Denial is a row of the table of what no kernel runs. Body is what the kernel that wrote it says; this package does
// not look into it.
type Denial struct {
	ID     int64
	Name   [16]byte // a UUID: a second one of the same name adds nothing
	Kernel int32    // which of them wrote it
	By     string   // that kernel's name; "" when its row is gone
	Seq    int64    // the event of its log that records it
	Body   []byte
}

// Bounds of all denials of an organisation.
const (
	MaxDenials      = 10_000
	MaxDenialBytes  = 32 << 10 // of one; it is the bound of the table
	maxDenialsBytes = 16 << 20
)

const allDenials = `SELECT d.id, d.name, d.kernel, coalesce(left(k.name, 200), ''), d.seq, d.body
	FROM denials d LEFT JOIN kernels k ON k.id = d.kernel ORDER BY d.id LIMIT $1`

func readDenials(ctx context.Context, q querier) ([]Denial, error) {
	rows, err := q.Query(ctx, allDenials, MaxDenials+1)
	if err != nil {
		return nil, err
	}
	total := 0
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (d Denial, err error) {
		err = r.Scan(&d.ID, &d.Name, &d.Kernel, &d.By, &d.Seq, &d.Body)
		if total += len(d.Body); err == nil && total > maxDenialsBytes {
			err = damaged("the denials are too many bytes to be read")
		}
		return d, err
	})
	if err == nil && len(out) > MaxDenials {
		err = damaged("there are more than %d denials", MaxDenials)
	}
	return out, err
}

// Denials returns all denials, oldest first.
func (s *Store) Denials(ctx context.Context) (out []Denial, err error) {
	err = s.view(ctx, "read the denials", func(tx pgx.Tx) (err error) {
		out, err = readDenials(ctx, tx)
		return err
	})
	return out, err
}

// Deny adds a denial. Seq is the event of this kernel's log that records it, which has to be there.
func (s *Store) Deny(ctx context.Context, d Denial) error {
	return s.do(ctx, "add a denial", func(ctx context.Context, c *pgx.Conn) error {
		h := &s.writes.held
		_, err := c.Exec(ctx, "SELECT deny($1, $2, $3, $4, $5)", h.kernel, h.fence, d.Name, d.Seq, d.Body)
		return err
	})
}

// Denials returns all denials, oldest first.
func (a *Auditor) Denials(ctx context.Context) ([]Denial, error) { return a.store.Denials(ctx) }
