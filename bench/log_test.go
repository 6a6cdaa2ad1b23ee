package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each command answers as its row says about a small log, or the run fails; so do the logs' sizes.
func TestSmallLogs(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{settings: settings{root: root, logs: []int{1000, 2000}}, work: t.TempDir()}
	defer y.close()
	page, _, err := runLogs(t.Context(), y)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 1000 events | 2000 events | last to first |", "| events verify |",
		"| bytes on disk an event |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%s lacks %q", page, want)
		}
	}
}

func TestLogCells(t *testing.T) {
	ms := time.Millisecond
	a := asked{name: "tail", note: "n", took: [][]time.Duration{{10 * ms, 20 * ms, 40 * ms}, {30 * ms, 20 * ms, 40 * ms}}}
	if got := a.cells(make([]bigLog, 2)); !slices.Equal(got, []string{"tail", "20", "30", "1.00", "n"}) {
		t.Errorf("%q: a ratio compares within a round", got)
	}
}

func TestSizesOfLogs(t *testing.T) {
	if got, err := sizes("1000,20000"); err != nil || !slices.Equal(got, []int{1000, 20_000}) {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "10", "2000,1000", "1000,", "1e6"} {
		if got, err := sizes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
