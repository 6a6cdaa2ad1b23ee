package eventlog_test

import (
	"bytes"
	"testing"

	"github.com/belay-hooks/belay/internal/eventlog"
)

// Wherever the last checkpoint is cut off, the earlier ones count, and nothing is
// wrong; whatever else is done to the file is.
func TestTornCheckpoint(t *testing.T) {
	k := newKey(t, 1)
	l, one := build(t, 4, k)
	two, err := k.Sign(eventlog.Checkpoint{Size: 4, Root: rootOf(t, one, k), Time: t0.Add(1)})
	if err != nil {
		t.Fatal(err)
	}
	file := append(append(append(bytes.Clone(one), '\n'), two...), '\n')
	check := func(src []byte) (eventlog.Report, bool) {
		whole, torn := eventlog.CutTorn(src, k.Verifier())
		return verify(t, l, k, eventlog.Split(whole)...), torn
	}
	first := len(one) + 1
	for n := first; n <= len(file); n++ {
		r, torn := check(file[:n])
		want := 1
		if n >= len(file)-2 { // nothing but newlines is missing
			want = 2
		}
		ends := file[n-1] == '\n'
		// A cut behind a newline leaves no torn line: Verify reports the incomplete checkpoint as wrong.
		if ends && n > first && want == 1 {
			if torn || r.Wrong == nil {
				t.Errorf("cut at %d, behind a newline: torn %v, %+v", n-first, torn, r.Wrong)
			}
			continue
		}
		if r.Wrong != nil || r.Outside != want || torn != (want == 1 && n > first) {
			t.Errorf("cut at %d: torn %v, %d counted, %+v: %q", n-first, torn, r.Outside, r.Wrong, file[first:n])
		}
	}
	for at := range file {
		bad := bytes.Clone(file)
		bad[at] ^= 1
		if r, torn := check(bad); torn || r.Wrong == nil && r.Outside == 2 && at != first-1 && at != len(file)-1 {
			t.Errorf("byte %d changed: torn %v, %+v", at, torn, r)
		}
		cut := bytes.Clone(bad[:len(bad)-20])
		if at < first-2 {
			if r, _ := check(cut); r.Wrong == nil {
				t.Errorf("byte %d of the first changed and the last cut: not found", at)
			}
		}
	}
	for _, s := range []string{"garbage", "belay event log v2", "belay event log v1\nx"} {
		if _, torn := check(append(bytes.Clone(file), s...)); torn {
			t.Errorf("%q was taken for the beginning of a checkpoint", s)
		}
	}
}

func rootOf(t *testing.T, note []byte, k *eventlog.Key) [32]byte {
	t.Helper()
	c, err := eventlog.Open(note, k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	return c.Root
}
