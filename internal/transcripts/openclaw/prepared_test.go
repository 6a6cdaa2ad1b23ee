package openclaw_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/transcripts/openclaw"
)

// TestPrepared: what OpenClaw 2026.9.6 makes of a model's arguments before it asks its hooks. The first pair is of a
// real run.
func TestPrepared(t *testing.T) {
	for _, c := range []struct{ tool, logged, asked string }{
		{"edit", `{"path":"b.txt","oldText":"b","newText":"c"}`, `{"path":"b.txt","edits":[{"oldText":"b","newText":"c"}]}`},
		{"edit", `{"path":"b","edits":"[{\"oldText\":\"b\",\"newText\":\"c\"}]"}`,
			`{"path":"b","edits":[{"oldText":"b","newText":"c"}]}`},
		{"edit", `{"path":"b","edits":[{"oldText":"b","newText":"c","why":"x"}],"oldText":"b","newText":"c"}`,
			`{"path":"b","edits":[{"oldText":"b","newText":"c"}]}`},
		{"edit", `{"path":"b","edits":"no list"}`, `{"path":"b","edits":"no list"}`},
		{"edit", `{"path":"b","oldText":"b"}`, `{"path":"b"}`},
		{"sessions_send", `{"sessionKey":"k","text":"hello","content":" "}`, `{"sessionKey":"k","message":"hello"}`},
		{"sessions_send", `{"message":"hello","text":"other"}`, `{"message":"hello"}`},
		{"write", `{"path":"b","oldText":"b","newText":"c"}`, `{"path":"b","oldText":"b","newText":"c"}`},
		{"edit", `[]`, `[]`},
	} {
		var logged, asked any
		if err := json.Unmarshal([]byte(c.logged), &logged); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.asked), &asked); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asked, openclaw.Prepared(c.tool, logged)); diff != "" {
			t.Errorf("%s %s:\n%s", c.tool, c.logged, diff)
		}
	}
}
