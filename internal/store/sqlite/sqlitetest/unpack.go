// Package sqlitetest helps tests that change a database behind belay's back.
package sqlitetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/store/sqlite"
)

// Unpack stores the events of the database at path as JSON that SQL can read and change, which
// is as valid as the form in which belay stores them. Rows that hold no event stay as they are.
func Unpack(ctx context.Context, path string) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	leaves, err := s.LogLeaves(ctx, -1<<62, 1<<30)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	st, _, err := c.Prepare("UPDATE events SET body=? WHERE seq=?")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(st.Close(), err) }()
	for _, l := range leaves {
		if err := errors.Join(st.BindBlob(1, l.Body), st.BindInt64(2, l.Seq), st.Exec(), st.Reset()); err != nil {
			return fmt.Errorf("event %d: %w", l.Seq, err)
		}
	}
	return nil
}
