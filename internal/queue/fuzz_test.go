package queue_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/phases"
)

// What an agent proposes is within the limits, says the same when it is written down
// again, or is refused with a text that can be shown.
func FuzzProposal(f *testing.F) {
	for _, s := range []string{
		`{"module":"AGFzbQEAAAA=","name":"guard","phases":["pre_tool"],"priority":7,"tools":"^exec$","capabilities":["block"],"config":{"a":[1]},"reason":"so","source":[{"path":"a.rs","text":"fn"}]}`,
		`{"module":"AGFzbQEAAAA=","priority":100}`, `{"module":""}`, `{"module":"AA==","module":"AA=="}`, `{"module":"!"}`,
		`{"modul":"AA=="}`, `{"a\u001b[31m":1}`, `{"module":"AA==","config":1e999}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := queue.DecodeProposal(src)
		if err != nil {
			if text := err.Error(); phases.SafeText(text, 1<<10) != text {
				t.Fatalf("the error shows %q", text)
			}
			return
		}
		if len(p.Module) == 0 || len(p.Module) > queue.MaxProposedModule || p.Priority >= 100 ||
			len(p.Source) > queue.MaxSourceFiles {
			t.Fatalf("beyond the limits: %+v", p)
		}
		again, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := queue.DecodeProposal(again)
		if err != nil {
			t.Fatalf("%s is not taken: %v", again, err)
		}
		if b, err := json.Marshal(&q); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%s is read as %s, %v", again, b, err)
		}
	})
}

// A key has one form.
func FuzzReviewerKey(f *testing.F) {
	f.Add("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	f.Add("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=")
	f.Add("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := queue.ParseReviewerKey(s); err == nil && queue.FormatReviewerKey(k) != s {
			t.Fatalf("%q is taken for %s", s, queue.FormatReviewerKey(k))
		}
	})
}
