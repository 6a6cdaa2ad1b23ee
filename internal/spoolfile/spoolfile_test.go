package spoolfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/spoolfile"
	"github.com/belay-hooks/belay/phases"
)

func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), spoolfile.Name)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	long := strings.Repeat("s", 10_000)
	want := []spoolfile.Note{
		{Time: at.UTC(), Runtime: "custom", Session: "s-1", Kind: phases.KindLoad, Reason: "why", Unblockable: true},
		{Time: at.UTC(), Kind: phases.KindProtocol, Reason: "said by a hook"},
		{Time: at.UTC(), Kind: phases.KindProtocol, Reason: "the action could not be decided"},
		{Time: at.UTC(), Session: phases.SafeLine(long, phases.MaxIDBytes), Kind: phases.KindStore, Reason: phases.SafeText(long, phases.MaxReasonBytes)},
	}
	for _, n := range []spoolfile.Note{
		spoolfile.Of(phases.Invocation{Runtime: "custom", Session: "s-1", Action: []byte(`{"never":"kept"}`)}, phases.NewFault(phases.KindLoad, "why", errors.New("never kept")), true, at),
		spoolfile.Of(phases.Invocation{}, phases.NewFault(phases.KindPolicy, "said by a hook", nil), false, at),
		spoolfile.Of(phases.Invocation{}, nil, false, at),
		spoolfile.Of(phases.Invocation{Session: long}, phases.NewFault(phases.KindStore, long, nil), false, at),
	} {
		if err := spoolfile.Append(path, n); err != nil {
			t.Fatal(err)
		}
	}
	got, dropped := spoolfile.Read(path)
	if diff := cmp.Diff(want, got); diff != "" || dropped != 0 {
		t.Errorf("%d dropped (-want +got)\n%s", dropped, diff)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), "never") {
		t.Errorf("%v: %s", err, b)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := os.Truncate(path, spoolfile.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if err := spoolfile.Append(path, want[0]); !errors.Is(err, spoolfile.ErrFull) {
		t.Errorf("beyond its size: %v", err)
	}
}
