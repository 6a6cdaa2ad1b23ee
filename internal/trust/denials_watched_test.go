package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// The file of denials is read again when another one lies there, when its time or its size is another one, and while it
// is so young that a change of it might have the same time.
func TestWatchedDenials(t *testing.T) {
	dir := t.TempDir()
	path, old, older := filepath.Join(dir, trust.DenialsFile), time.Now().Add(-time.Hour), time.Now().Add(-2*time.Hour)
	w := trust.WatchDenials(dir)
	want := func(what, why string) {
		t.Helper()
		got, err := w.Read()
		switch {
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case why == "" && len(got.Denials) != 0, why != "" && (len(got.Denials) != 1 || got.Denials[0].Why != why):
			t.Errorf("%s: %+v", what, got)
		}
	}
	want("without a file", "")
	n := trust.NewDenial(tiers.Deny{Digests: []string{phases.ByteDigest([]byte("x"))}}, "one", "dev", old)
	if err := trust.EditDenials(dir, func(d *trust.Denials) error { d.Add(n); return nil }); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := func(path, why string, at time.Time) {
		t.Helper()
		write(t, path, strings.Replace(string(src), `"one"`, `"`+why+`"`, 1))
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	set(path, "one", now)
	want("a young file", "one")
	set(path, "two", now) // as two writes in the same moment
	want("a young file that was changed", "two")
	set(path, "one", old)
	want("an old file", "one")
	set(path, "two", old)
	want("an old file that is the same for all that can be told without reading it", "one")
	set(path, "two", older)
	want("another time", "two")
	set(path+".new", "six", older)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	want("another file of the same size and time", "six")
	set(path, "eleven", older)
	want("another size", "eleven")
	write(t, path, "{")
	if err := os.Chtimes(path, older, older); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Read(); err == nil {
			t.Error("a file that cannot be read")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("a file that is gone", "")
}
