package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
)

// What claims to be a proof holds only if it is about an event that is in the log of
// the checkpoint, word for word.
func FuzzProof(f *testing.F) {
	k := newKey(f, 1)
	l, _ := build(f, 5, k)
	for seq := range 5 {
		p, err := eventlog.Prove(context.Background(), l, k, int64(seq+1), t0)
		if err != nil {
			f.Fatal(err)
		}
		b, err := json.Marshal(p, json.Deterministic(true))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(bytes.Replace(b, []byte(`"seq":`), []byte(`"seq":1`), 1))
	}
	f.Add([]byte(`{"event":"","seq":1,"path":[],"checkpoint":""}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := eventlog.ParseProof(src)
		if err != nil {
			if !errors.Is(err, eventlog.ErrProof) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		event, c, err := p.Check(k.Verifier())
		if err != nil {
			if !errors.Is(err, eventlog.ErrProof) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		if p.Seq < 1 || p.Seq > 5 || c.Size != 5 || !bytes.Equal(event, l.leaves[p.Seq-1].Body) {
			t.Fatalf("event %d, which nobody wrote, is proven: %s", p.Seq, event)
		}
	})
}

// A file of checkpoints is taken apart without loss, and nothing in it verifies that
// was not signed.
func FuzzCheckpoints(f *testing.F) {
	k := newKey(f, 1)
	_, note := build(f, 5, k)
	f.Add(note)
	f.Add(append(append([]byte{}, note...), note...))
	f.Add(note[:len(note)-7])
	f.Add(bytes.Replace(note, []byte("\n5\n"), []byte("\n05\n"), 1))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, n := range eventlog.Split(file) {
			if !bytes.Contains(file, bytes.TrimRight(n, "\n")) {
				t.Fatalf("%q does not stand in the file", n)
			}
			c, err := eventlog.Open(n, k.Verifier())
			if err != nil {
				if !errors.Is(err, eventlog.ErrCheckpoint) {
					t.Fatalf("error without class: %v", err)
				}
				continue
			}
			again, err := k.Sign(c)
			if err != nil || c.Size != 5 {
				t.Fatalf("a checkpoint of %d events, %v", c.Size, err)
			}
			if o, err := eventlog.Open(again, k.Verifier()); err != nil || o != c {
				t.Fatalf("%+v is signed again as %+v, %v", c, o, err)
			}
		}
	})
}
