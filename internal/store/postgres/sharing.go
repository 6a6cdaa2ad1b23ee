package postgres

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/phases"
)

// SharedKeys returns the keys of the digests that the kernels of the organisation compare with each other, by their
// use. The error is kernel.ErrUnavailable.
func (s *Store) SharedKeys(ctx context.Context) (out map[string][]byte, err error) {
	err = s.read(ctx, "read the organisation's keys", func(b *pgx.Batch) {
		out = map[string][]byte{}
		b.Queue("SELECT use, key FROM organisation_keys()").Query(func(rows pgx.Rows) error {
			var use string
			var key []byte
			_, err := pgx.ForEachRow(rows, []any{&use, &key}, func() error {
				out[use] = append([]byte{}, key...)
				return nil
			})
			return err
		})
	})
	return out, err
}

const eventOnce = "SELECT kernel, seq FROM once WHERE id = $1"

// EventElsewhere implements kernel.Elsewhere.
func (s *Store) EventElsewhere(ctx context.Context, id string) (out *phases.Event, err error) {
	err = s.view(ctx, "read an event of another kernel", func(tx pgx.Tx) error {
		out = nil
		var at shared
		err := tx.QueryRow(ctx, eventOnce, []byte(id)).Scan(&at.kernel, &at.seq)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if at.seq <= 0 {
			return damaged("the event %q is noted with the number %d", id, at.seq)
		}
		at.leaf = tlog.StoredHashIndex(0, at.seq-1)
		body, hash, err := recording(ctx, tx, &at)
		if err != nil || hash == nil || tlog.RecordHash(body) != *hash {
			return err
		}
		var e phases.Event
		if json.Unmarshal(body, &e) == nil && e.ID == id && e.Seq == at.seq {
			out = &e
		}
		return nil
	})
	return out, err
}
