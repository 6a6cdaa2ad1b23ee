package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What is compared has to judge: each subject opens and tells the two events apart (judges does that).
func TestJudgesAgree(t *testing.T) {
	y := &yard{settings: settings{root: "..", rounds: 3, each: time.Microsecond, only: regexp.MustCompile("")},
		work: t.TempDir()}
	var err error
	if y.root, err = filepath.Abs(y.root); err != nil {
		t.Fatal(err)
	}
	defer y.close()
	for _, open := range []func() ([]subject, error){
		func() ([]subject, error) { return openJudging(t.Context(), y) },
		func() ([]subject, error) { return openRust(t.Context(), y) },
	} {
		subjects, err := open()
		if err != nil {
			t.Fatal(err)
		}
		measured := 0
		for _, s := range subjects {
			if s.do != nil {
				measured++
			}
		}
		if measured < len(subjects)-2 { // wasmtime and a compiler may be missing
			t.Errorf("only %d of %d can be measured", measured, len(subjects))
		}
	}
}

func TestFigures(t *testing.T) {
	r := result{rows: []row{
		{rounds: []round{{10, 100}, {20, 100}, {30, 100}}},
		{rounds: []round{{20, 200}, {60, 300}, {30, 100}}},
	}}
	if f := r.figures(&r.rows[1]); f.processor != 30 || f.clock != 200 || f.ratio != 2 {
		t.Errorf("%+v: a ratio compares within a round", f)
	}
}

func TestPageIsReplacedBetweenItsMarks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const begin, end = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"
	const other = "<!-- bench-soak: begin -->\nanother's\n<!-- bench-soak: end -->\n"
	write(other + begin + "old\n" + end + "after\n")
	if err := replaceBetweenMarks(page, "bench", []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	if got := read(page); got != other+begin+"new\n"+end+"after\n" {
		t.Error(got)
	}
	write("no marks\n")
	if err := replaceBetweenMarks(page, "bench", nil); err == nil || read(page) != "no marks\n" {
		t.Errorf("%v: %q", err, read(page))
	}
}

func TestMissingIsSaid(t *testing.T) {
	r := result{group: group{name: "x", about: "a thing"}, rows: []row{{name: "absent", missing: "not here: no cgo"}}}
	var b strings.Builder
	r.page(&b)
	if !strings.Contains(b.String(), "| absent | – | – | – | – | not here: no cgo |") {
		t.Error(b.String())
	}
}
