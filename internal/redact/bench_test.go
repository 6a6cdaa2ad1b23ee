package redact

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkEvent is the redaction of one small event in a record of its own: with the texts of the event before, as
// most events of a session repeat some, and with a command and prose that are new each time.
func BenchmarkEvent(b *testing.B) {
	event := func(n int) jsontext.Value {
		return jsontext.Value(fmt.Sprintf(`{"action":{"tool":"exec","native_tool":"Bash","call_id":"toolu_01ABCDEF","args":{`+
			`"command":"cd src/%d && grep -rn 'next(' . | head -20 && go build ./... && echo done",`+
			`"description":"Search the sources for calls of next and build all of it %d","timeout":120000,"background":false,`+
			`"env":{"LANG":"en_US.UTF-8","HOME":"/home/bob"},"notes":"The quick brown fox jumps over the lazy dog and then `+
			`walks home through the wide green fields. The quick brown fox jumps over the lazy dog %d."}},`+
			`"cwd":"/home/bob/src/project","scopes":{"fs_read":["*"],"fs_write":["*"],"net":["*"],"tools":["*"]},`+
			`"time":"2026-11-21T02:03:04Z"}`, n, n, n))
	}
	for name, step := range map[string]int{"repeated": 0, "new": 1} {
		b.Run(name, func(b *testing.B) {
			r := testRedactor(b)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n += step
				raw := event(n)
				if _, masked, err := NewRecord().JSON(r, raw); err != nil || len(masked) > 0 {
					b.Fatal(masked, err)
				}
			}
		})
	}
}
