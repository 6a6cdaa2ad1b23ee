package fuzz_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

func bench(t testing.TB, o loader.BenchOptions) *loader.Bench {
	t.Helper()
	b, err := loader.OpenBench(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func planted(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "planted", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each planted mistake is found with a fixed seed, made small, and its recording
// shows it again without a difference.
func TestPlantedMistakesAreFound(t *testing.T) {
	for _, c := range []struct {
		name, class, text string
		bytes             int // of the shrunk input, at most
	}{
		{"tired", fuzz.ClassEvasion, "block became allow with blanks before the command", 3400},
		{"tired", fuzz.ClassEvasion, "block became allow with idle commands before it", 3400},
		{"deaf", fuzz.ClassFailOpen, `block became allow when shell_parse answers "too large"`, 300},
		{"deaf", fuzz.ClassFailOpen, `block became allow when shell_parse answers "denied"`, 300},
		{"deaf", fuzz.ClassEvasion, "block became allow with a comment behind the command", 70000},
		{"short", fuzz.ClassEvasion, "block became allow with a comment behind the command", 4500},
		{"short", fuzz.ClassFailOpen, "block became allow when input_get answers more than its buffer holds", 300},
		{"overflow", fuzz.ClassEvasion, "block became allow with blanks before the command", 4700},
		{"overflow", fuzz.ClassTrap, "", 30000},
	} {
		t.Run(c.name+" "+c.class, func(t *testing.T) {
			res := run(t, c.name)
			for _, f := range res.Findings {
				if f.Class != c.class || c.text != "" && f.Text != c.text {
					continue
				}
				if !f.Replays || len(f.Recording) == 0 {
					t.Errorf("%s: its recording does not replay", f.Text)
				}
				if f.Bytes > c.bytes {
					t.Errorf("%s: %d bytes are not small", f.Text, f.Bytes)
				}
				shows(t, planted(t, c.name), f)
				return
			}
			t.Errorf("not among %d findings:", len(res.Findings))
			for _, f := range res.Findings {
				t.Logf("%s %s: %s", f.Severity, f.Class, f.Text)
			}
		})
	}
}

var kept = map[string]*fuzz.Result{}

func run(t *testing.T, name string) *fuzz.Result {
	t.Helper()
	if r := kept[name]; r != nil {
		return r
	}
	r, err := fuzz.Run(t.Context(),
		fuzz.Options{Bench: bench(t, loader.BenchOptions{}), Module: planted(t, name), Name: name, Seed: 1, Runs: 1500})
	if err != nil {
		t.Fatal(err)
	}
	kept[name] = r
	return r
}

// shows replays a finding's recording, in full, and says that its last run is what
// the finding is about.
func shows(t *testing.T, module []byte, f fuzz.Finding) {
	t.Helper()
	rd, err := recording.NewReader(bytes.NewReader(f.Recording), f.File)
	if err != nil {
		t.Fatal(err)
	}
	var decisions []phases.Decision
	o := replay.Options{Bench: bench(t, loader.BenchOptions{}),
		Modules: map[string][]byte{phases.ByteDigest(module): module}}
	err = replay.All(t.Context(), o, rd, func(r *replay.Result) error {
		for _, d := range r.Differences {
			t.Errorf("%s: %+v", f.File, d)
		}
		decisions = append(decisions, r.Now.Decision)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []phases.Decision{phases.Block, phases.Allow}
	if f.Class == fuzz.ClassTrap {
		want = want[:1]
	}
	if len(decisions) != len(want) || decisions[0] != want[0] || decisions[len(want)-1] != want[len(want)-1] {
		t.Errorf("the recording shows %v, want %v", decisions, want)
	}
}
