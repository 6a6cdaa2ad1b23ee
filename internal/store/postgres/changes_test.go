package postgres_test

import (
	"errors"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// What the table changes says of a version is damaged, or another thing than the rows. A kernel that follows reads all
// rows then, and goes on by them: at once where it cannot read the changes, else after it has said that they are wrong.
func TestChangesThatAreDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		sql   string
		first error
	}{
		"odd":       {`UPDATE changes SET rows = '\x63'`, nil},
		"cut off":   {"UPDATE changes SET rows = substr(rows, 1, length(rows) - 1)", nil},
		"missing":   {"DELETE FROM changes", nil},
		"no change": {"UPDATE changes SET rows = ''", kernel.ErrTampered},
	} {
		for way, change := range map[string]func(id string) kernel.Batch{
			"events": func(id string) kernel.Batch { return batch(id) },
			"rows":   value,
			"cut":    func(id string) kernel.Batch { return batch(id) },
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				p := pgtest.NewProxy(t)
				o := pgtest.Options(t, "b")
				other := pgtest.Open(t, o)
				o.Kernel, o.DSN = "a", p.DSN(t)
				s := pgtest.Open(t, o)
				commit(t, s, value("a"))
				commit(t, other, value("b"))
				pgtest.Exec(t, o.Schema, c.sql)
				want := c.first
				if way == "cut" { // a new connection looks at once
					want = nil
					p.Cut()
				}
				if _, err := s.Commit(t.Context(), change("first")); !errors.Is(err, want) {
					t.Errorf("the first: %v, want %v", err, want)
				}
				commit(t, s, change("second"))
				if r, err := s.Restrictions(t.Context()); err != nil || r.Tampered != nil {
					t.Errorf("%+v, %v", r.Tampered, err)
				}
			})
		}
	}
}
