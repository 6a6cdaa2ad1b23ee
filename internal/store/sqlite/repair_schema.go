package sqlite

import (
	"errors"
	"fmt"
	"github.com/belay-hooks/belay/internal/store/marked"
	"slices"
	"strings"
)

// An object is an entry of a schema.
type object struct{ kind, name, table, sql string }

func objects(text string) []object {
	fields := strings.Split(text, "\x00") // no name or statement holds a NUL
	var out []object
	for ; len(fields) >= 4; fields = fields[4:] {
		out = append(out, object{fields[0], fields[1], fields[2], fields[3]})
	}
	return out
}

// repairable reports whether a repair can make a table anew: all but the log and its tree.
func repairable(table string) bool { return table != "events" && table != "tiles" }

// mendSchema removes objects that belay has not made, such as a trigger, and makes missing
// ones. It returns a line for each change. A table of belay's with other columns is an error: a backup has to
// take its place.
func (s *Store) mendSchema(c *conn) (done []string, err error) {
	own, err := ownSchema()
	if err != nil {
		return nil, err
	}
	got, err := schemaText(c.Conn)
	if err != nil || got == own {
		return nil, err
	}
	want, have := objects(own), objects(got)
	var alien []object
	for _, o := range have {
		if slices.Contains(want, o) || o.sql == "" { // without a statement: an index that goes with its table
			continue
		}
		if slices.ContainsFunc(want, func(w object) bool { return w.kind == "table" && w.name == o.name }) {
			return nil, marked.Refused(fmt.Errorf("the table %s is not as belay makes it: put a backup of belay.db back", o.name))
		}
		alien = append(alien, o)
	}
	order := []string{"trigger", "view", "index", "table"}
	slices.SortStableFunc(alien, func(a, b object) int {
		return slices.Index(order, a.kind) - slices.Index(order, b.kind)
	})
	for _, o := range alien {
		if err := c.Exec("DROP " + strings.ToUpper(o.kind) + " IF EXISTS " + `"` + strings.ReplaceAll(o.name, `"`, `""`) +
			`"`); err != nil {
			return nil, marked.Refused(fmt.Errorf("the %s %q is not belay's and cannot be removed: %w", o.kind, o.name, err))
		}
		done = append(done, fmt.Sprintf("%s %q, which belay has not made", o.kind, o.name))
	}
	for _, kind := range []string{"table", "index"} {
		for _, o := range want {
			if o.kind != kind || o.sql == "" || slices.Contains(have, o) {
				continue
			}
			if kind == "table" && !repairable(o.name) {
				return nil, marked.Refused(fmt.Errorf("the table %s is missing: put a backup of belay.db back", o.name))
			}
			if err := c.Exec(o.sql); err != nil {
				return nil, err
			}
			done = append(done, fmt.Sprintf("%s %q was missing", o.kind, o.name))
		}
	}
	if err := s.checkSchema(c); err != nil || len(done) == 0 {
		return done, err
	}
	// Blocks without their rows would hide events: all are made anew.
	return done, errors.Join(c.Exec("DELETE FROM lookup_blocks"), c.Exec("DELETE FROM lookup"))
}
