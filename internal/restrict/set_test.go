package restrict_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/restrict"
)

type rowKey struct {
	table restrict.Table
	key   string
}

func content(s string) restrict.Digest {
	var h restrict.Hasher
	h.Text(s)
	return h.Sum()
}

// Whatever is put and deleted in whatever order: the set holds the rows, its root is that
// of a set made of these rows alone, and sets made before stay as they were.
func TestSetIsItsRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := map[rowKey]string{}
		set := &restrict.Set{}
		for range rapid.IntRange(1, 30).Draw(t, "batches") {
			before, root := set, set.Root()
			rows := maps.Clone(model)
			e := set.Edit()
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				k := rowKey{restrict.Table(rapid.IntRange(0, 8).Draw(t, "table")), fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "key"))}
				if rapid.Bool().Draw(t, "delete") {
					e.Delete(k.table, k.key)
					delete(model, k)
					continue
				}
				v := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "value"))
				e.Put(k.table, k.key, content(v))
				model[k] = v
			}
			set = e.Set()
			if before.Root() != root {
				t.Fatal("a set has changed")
			}
			for k, v := range rows {
				if d, ok := before.Get(k.table, k.key); !ok || d != content(v) {
					t.Fatalf("the set before has lost %v", k)
				}
			}
			if len(restrict.Diff(before, set, 1000)) == 0 != (before.Root() == set.Root()) {
				t.Fatal("roots and differences do not agree")
			}
		}
		e := (&restrict.Set{}).Edit()
		for _, k := range slices.SortedFunc(maps.Keys(model), func(a, b rowKey) int {
			return strings.Compare(b.key, a.key)
		}) {
			e.Put(k.table, k.key, content(model[k]))
		}
		if e.Set().Root() != set.Root() {
			t.Fatalf("the root of %v depends on how they came", model)
		}
		if d, ok := restrict.RootOf(set.Node()); !ok || d != set.Root() {
			t.Fatal("the node is not that of the root")
		}
		for k, v := range model {
			if d, ok := set.Get(k.table, k.key); !ok || d != content(v) {
				t.Fatalf("%v is not in the set", k)
			}
		}
	})
}

// Each kind of change shows in the root, in the table, and by name.
func TestDiffNamesRows(t *testing.T) {
	e := (&restrict.Set{}).Edit()
	for i := range 1000 {
		e.Put(restrict.Latches, restrict.Key("r", fmt.Sprint("s", i)), content("held"))
	}
	want := e.Set()
	e.Delete(restrict.Latches, restrict.Key("r", "s7"))
	e.Put(restrict.Latches, restrict.Key("r", "s8"), content("other"))
	e.Put(restrict.State, restrict.Key("n", "k"), content("new"))
	got := e.Set()
	if tables := got.Differ(want.Node()); !slices.Equal(tables, []restrict.Table{restrict.Latches, restrict.State}) {
		t.Errorf("the tables that differ: %v", tables)
	}
	changes := restrict.Diff(want, got, 10)
	if s := fmt.Sprint(changes); s != `[{latches "r" "s7" missing} {latches "r" "s8" changed} {state "n" "k" added}]` {
		t.Errorf("the rows that differ: %s", s)
	}
	if len(restrict.Diff(want, got, 2)) != 2 {
		t.Error("the limit does not hold")
	}
}

// Columns and parts of keys do not run into each other.
func TestContentIsUnambiguous(t *testing.T) {
	var h restrict.Hasher
	seen := map[restrict.Digest]bool{}
	for i, f := range []func(){
		func() { h.Text("ab"); h.Text("c") }, func() { h.Text("a"); h.Text("bc") },
		func() { h.Blob([]byte("ab")); h.Text("c") },
		func() { h.Int(1) }, func() { h.Text("1") }, func() { h.Other('n') }, func() { h.Text("") }, func() {},
	} {
		f()
		d := h.Sum()
		if seen[d] {
			t.Errorf("row %d has the digest of another", i)
		}
		seen[d] = true
	}
	if restrict.Key("a", "b c") == restrict.Key("a b", "c") || restrict.Key(`a" "b`) == restrict.Key("a", "b") ||
		restrict.Key() != "" {
		t.Error("two keys are one")
	}
}

func FuzzParse(f *testing.F) {
	f.Add((&restrict.Set{}).Root().String())
	f.Add("sha256:" + strings.Repeat("A", 64))
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := restrict.Parse(s); ok && d.String() != s {
			t.Fatalf("%q is read as %s", s, d)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		e := (&restrict.Set{}).Edit()
		for i := range n {
			e.Put(restrict.State, fmt.Sprint(i), content("v"))
		}
		e.Set()
		b.Run(fmt.Sprint("rows=", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				e.Put(restrict.State, fmt.Sprint(i%n), content(fmt.Sprint(i)))
				e.Set()
			}
		})
	}
}
