package toolpins

import (
	"errors"
	"strings"
	"testing"
)

// FuzzDecode holds that tools.json is refused with a reason, or says again what it said.
func FuzzDecode(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	f.Add([]byte(`{"version":"belay/tools/v1","servers":{}}`))
	f.Add([]byte(`{"version":"belay/tools/v1","servers":{"files":{"way":"` + digest +
		`","reached":"{}","since":"2026-01-02T03:04:05Z","tools":{"read":{"digest":"` + digest + `","text":"x"}},` +
		`"waits":{"key":"k","since":"2026-01-02T03:04:05Z","lines":["a"]}}}}`))
	f.Add([]byte(`{"version":"belay/tools/v1","servers":{"files":{"way":"` + digest + `","tools":null}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := decode(src)
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatalf("an error of another class: %v", err)
			}
			return
		}
		out, err := p.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(out)
		if err != nil {
			t.Fatalf("%v of what was written: %s", err, out)
		}
		if twice, err := again.encode(); err != nil || string(twice) != string(out) {
			t.Fatalf("%v\n%s\n%s", err, out, twice)
		}
	})
}
