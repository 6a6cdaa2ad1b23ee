package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/config"
)

func TestSinks(t *testing.T) {
	f, err := config.Parse([]byte(`version: belay/v1
events:
  checkpoint: {file: /srv/one.marks, every: 10}
  sinks:
    - store: {}
    - jsonl: {path: /srv/events.jsonl, rotate_mib: 64, keep: 4}
    - jsonl: {path: /srv/copy.jsonl, durable: false}
    - checkpoint: {path: /srv/two.marks}
    - checkpoint: {path: /srv/three.marks, durable: false}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []config.CheckpointFile{{Path: "/srv/one.marks"}, {Path: "/srv/two.marks", Required: true},
		{Path: "/srv/three.marks"}}
	if d := cmp.Diff(want, f.Events.CheckpointFiles()); d != "" {
		t.Error(d)
	}
	if j := f.Events.JSONL(); len(j) != 2 || !j[0].Must() || j[1].Must() || j[0].RotateMiB != 64 || j[0].Keep != 4 {
		t.Errorf("%+v", j)
	}
}

func TestSinksAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ sinks, want string }{
		"nothing durable": {"- store: {durable: false}",
			"belay.yaml:4: /events/sinks/0/store/durable: at least one sink is durable"},
		"two kinds in one":   {"- {jsonl: {path: /a}, checkpoint: {path: /b}}", "begin another element"},
		"no kind":            {"- {}", "is one of store, jsonl, checkpoint"},
		"an empty kind":      {"- jsonl:", "is one of store, jsonl, checkpoint"},
		"an unknown kind":    {"- syslog: {path: /a}", "syslog"},
		"the store left out": {"- store: false", "/events/sinks/0/store"},
		"two stores":         {"- store: {}\n    - store: {}", "belay.yaml:5: /events/sinks/1: there is one store"},
		"no path":            {"- jsonl: {durable: true}", "/events/sinks/0/jsonl/path: is missing"},
		"a relative path":    {"- checkpoint: {path: marks}", "absolute"},
		"a directory":        {"- jsonl: {path: /srv/}", "must name a file"},
		"one file for two": {"- jsonl: {path: /a}\n    - checkpoint: {path: /./a}",
			"another sink writes to this file"},
		"too large to rotate":     {"- jsonl: {path: /a, rotate_mib: 65537}", "between 1 and 65536"},
		"kept without a rotation": {"- jsonl: {path: /a, keep: 3}", "needs rotate_mib"},
		"too many":                {strings.Repeat("- jsonl: {path: /a}\n    ", 9), "at most 8"},
		"the file of checkpoints": {"- jsonl: {path: /srv/marks}\n  checkpoint: {file: /srv/marks}",
			"another sink writes to this file"},
		"a required file of sinks": {"- checkpoint: {path: /srv/marks}\n  checkpoint: {required: true}", "say durable there"},
	} {
		_, err := config.Parse([]byte("version: belay/v1\nevents:\n  sinks:\n    " + c.sinks + "\n"))
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
