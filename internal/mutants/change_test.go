package mutants

import (
	"errors"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `package p

import "errors"

type T struct{ n int }

func (t *T) grow(by int) error {
	if by < 0 || by > 10 {
		return errors.New("no")
	}
	t.n = t.n + by
	t.log(true)
	return nil
}

func (t *T) log(bool) {}
`

// TestIn: a place is found by the name of its function, and has to be there exactly once.
func TestIn(t *testing.T) {
	files := map[string][]byte{"p.go": []byte(sample)}
	c, err := In(files, "T.grow", "by > 10", "false")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(c.Apply([]byte(sample))); !strings.Contains(got, "by < 0 || false {") || c.Line != 8 {
		t.Errorf("line %d:\n%s", c.Line, got)
	}
	if c, err = In(files, "T.log", "", "panic(1)"); err != nil ||
		!strings.Contains(string(c.Apply([]byte(sample))), "log(bool) {panic(1)}") {
		t.Errorf("a whole body: %v", err)
	}
	for _, bad := range [][2]string{{"T.grow", "by"}, {"T.grow", "of"}, {"grow", "by < 0"}, {"T.shrink", "by"}} {
		if _, err := In(files, bad[0], bad[1], "x"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s, %q: %v", bad[0], bad[1], err)
		}
	}
}

// TestChanges: the changes, and that both forms of each change are Go and leave
// the lines where they are.
func TestChanges(t *testing.T) {
	all, err := Changes("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, c := range all {
		got = append(got, c.What)
		for form, src := range map[string][]byte{"plain": c.Apply([]byte(sample)),
			"switched": switched([]byte(sample), all[n:n+1], []int{1})} {
			if string(src) == sample {
				t.Errorf("%s: the %s form changes nothing", c.What, form)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0); err != nil {
				t.Errorf("%s: the %s form: %v\n%s", c.What, form, err, src)
			}
			if strings.Count(string(src), "\n") != strings.Count(sample, "\n") {
				t.Errorf("%s: the %s form moves lines", c.What, form)
			}
		}
	}
	want := []string{
		"if by < 0 || by > 10 never holds", "if by < 0 || by > 10 always holds",
		"< becomes <= in by < 0", "0 becomes 1", "|| becomes && in by < 0 || by > 10", "> becomes >= in by > 10",
		"10 becomes 11",
		`the error errors.New("no") is dropped`,
		"t.n = t.n + by is left out", "+ becomes - in t.n + by",
		"t.log(true) is left out", "true becomes false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ids := make([]int, len(all))
	for n := range ids {
		ids[n] = n + 1
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "p.go", switched([]byte(sample), all, ids), 0); err != nil {
		t.Errorf("all at once: %v\n%s", err, switched([]byte(sample), all, ids))
	}
}

// TestSampleIsSeeded: the same seed gives the same order, another one another.
func TestSampleIsSeeded(t *testing.T) {
	all, err := Changes("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	words := func(seed uint64) (out string) {
		for _, c := range Sample(all, seed) {
			out += c.What + "\n"
		}
		return out
	}
	if words(1) != words(1) || words(1) == words(2) {
		t.Error("the order does not depend on the seed alone")
	}
}
