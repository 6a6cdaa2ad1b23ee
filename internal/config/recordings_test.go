package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
)

const recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudu3f4sq9csm2m"

const kept = `version: belay/v1
recordings:
  dir: /srv/belay/recordings
  recipients:
    - ` + recipient + `
  phases: [pre_tool, post_tool]
  tools: ^exec$
  rotate: 5m
  rotate_mib: 8
  keep: 14d
  max_mib: 256
  on_error: block
`

func TestRecordings(t *testing.T) {
	f, err := config.Parse([]byte(kept))
	if err != nil {
		t.Fatal(err)
	}
	r := f.Recordings
	want := config.RecordingSettings{Rotate: 5 * time.Minute, RotateBytes: 8 << 20, Keep: 14 * 24 * time.Hour,
		MaxBytes: 256 << 20}
	if r == nil || r.Settings() != want || len(r.Phases) != 2 || r.OnError != config.OnErrorBlock {
		t.Errorf("got %+v", r)
	}
	if f, err := config.Parse([]byte("version: belay/v1\n")); err != nil || f.Recordings != nil {
		t.Errorf("nothing is kept unless somebody says so: %v, %v", f.Recordings, err)
	}
	// A member that is left out has a bound all the same.
	f, err = config.Parse([]byte("version: belay/v1\nrecordings: {dir: /srv/r, unsafe_plaintext: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Recordings.Settings(),
		(config.RecordingSettings{Rotate: 15 * time.Minute, RotateBytes: 64 << 20, Keep: 30 * 24 * time.Hour,
			MaxBytes: 1 << 30}); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestRecordingsRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nobody can open it", "  recipients:\n    - " + recipient + "\n", "",
			"belay.yaml:2: /recordings/recipients: is missing"},
		{"both", "  phases:", "  unsafe_plaintext: true\n  phases:",
			"belay.yaml:6: /recordings/unsafe_plaintext: contradicts"},
		{"a secret key", recipient, "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
			"belay.yaml:5: /recordings/recipients/0: is a secret key"},
		{"no recipient", recipient, "ssh-ed25519 AAAA", "belay.yaml:5: "},
		{"twice", "    - " + recipient + "\n", "    - " + recipient + "\n    - " + recipient + "\n",
			"belay.yaml:6: /recordings/recipients/1: listed twice"},
		{"no directory", "  dir: /srv/belay/recordings\n", "", "/recordings/dir: is missing"},
		{"a relative one", "/srv/belay", "srv/belay", "belay.yaml:3: /recordings/dir: must be an absolute path"},
		{"unknown member", "keep: 14d", "kept: 14d", "belay.yaml:10: "},
		{"a member twice", "keep: 14d", "keep: 14d\n  keep: 15d", "belay.yaml:11: "},
		{"a wrong type", "max_mib: 256", "max_mib: much", "belay.yaml:11: "},
		{"no phases", "[pre_tool, post_tool]", "[]", "belay.yaml:6: /recordings/phases: lists no phase"},
		{"a phase that is none", "post_tool", "post_toll", "belay.yaml:6: /recordings/phases/1"},
		{"a phase twice", "post_tool", "pre_tool", "belay.yaml:6: /recordings/phases/1: listed twice"},
		{"no pattern", "^exec$", "'('", "belay.yaml:7: /recordings/tools"},
		{"too often", "rotate: 5m", "rotate: 5ms", "belay.yaml:8: /recordings/rotate"},
		{"files too large", "rotate_mib: 8", "rotate_mib: 5000", "belay.yaml:9: /recordings/rotate_mib"},
		{"not long enough", "keep: 14d", "keep: 5s", "belay.yaml:10: /recordings/keep"},
		{"for ever", "keep: 14d", "keep: 9999d", "belay.yaml:10: /recordings/keep"},
		{"no room", "max_mib: 256", "max_mib: 15",
			"belay.yaml:11: /recordings/max_mib: must be at least twice rotate_mib (8)"},
		{"another word", "on_error: block", "on_error: ignore", "belay.yaml:12: /recordings/on_error: must be drop or block"},
		{"nothing at all", kept[len("version: belay/v1\n"):], "recordings:\n", "belay.yaml:2: /recordings: says nothing"},
		{"nothing said", kept[len("version: belay/v1\n"):], "recordings: {}\n", "belay.yaml:2: /recordings/dir: is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(kept, c.old) {
				t.Fatalf("the sample has no %q", c.old)
			}
			_, err := config.Parse([]byte(strings.Replace(kept, c.old, c.new, 1)))
			if err == nil || !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Users of the file can point into it.
func TestErrorf(t *testing.T) {
	f, err := config.Parse([]byte(kept))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Errorf("/recordings/recipients/0",
		"its checksum is wrong").Error(); got != "belay.yaml:5: /recordings/recipients/0: its checksum is wrong" {
		t.Error(got)
	}
	if got := new(config.File).Errorf("/recordings", "no").Error(); got != "belay.yaml: /recordings: no" {
		t.Error(got)
	}
}
