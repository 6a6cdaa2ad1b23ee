package openclaw

import (
	"testing"

	"github.com/belay-hooks/belay/internal/transcripts"
)

func FuzzRecord(f *testing.F) {
	f.Add(`{"type":"message","message":{"role":"assistant","content":[`+
		`{"type":"toolCall","id":"c","name":"exec","arguments":{}}]}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c","isError":true,"details":{"status":"blocked"}}}`)
	f.Add(`{"type":"session"}`, `{"type":"new"}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		s := session{&transcripts.Log{}, map[string]int{}}
		_, _ = s.record([]byte(first)), s.record([]byte(second))
		seen := map[string]bool{}
		for _, c := range s.log.Calls {
			if c.ID == "" || c.Names[0] == "" || c.State == "" || c.Args.Kind() != '{' || seen[c.ID] {
				t.Errorf("half a call, or one twice: %+v", c)
			}
			seen[c.ID] = true
		}
	})
}
