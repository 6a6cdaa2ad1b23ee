package fleet

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/phases"
)

// What another kernel says of itself is refused, or can be told again and means the same.
func FuzzSelfReport(f *testing.F) {
	b, err := SelfReport{Version: "v1", Policy: phases.ByteDigest(nil), Local: true, Size: 7,
		Newest: time.Unix(1, 0).UTC(), Agents: []AgentsOfOne{{"codex", 2}, {"gemini-cli", 1}}, Blocks: "the disk is full",
		Warnings: 1}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":"","policy":"","size":0,"agents":[]}`))
	f.Add(bytes.Replace(b, []byte(`"v1"`), []byte(`"\u2028\u001b[2J\u00ad"`), 1))
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := DecodeSelfReport(src)
		if err != nil {
			return
		}
		told, err := r.Encode()
		if err != nil {
			return // it is as long as it may be, in another form
		}
		again, err := DecodeSelfReport(told)
		if err != nil {
			t.Fatalf("%s: %v", told, err)
		}
		if next, err := again.Encode(); err != nil || !bytes.Equal(next, told) {
			t.Fatalf("%s: %s, %v", told, next, err)
		}
	})
}

// What an auditor remembers is refused, or can be written again and means the same.
func FuzzMemory(f *testing.F) {
	k, err := eventlog.NewKey(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	m := Memory{Version: memoryVersion, Schema: "belay", At: time.Unix(1, 0).UTC(), Kernels: []RememberedKernel{{Name: "a",
		Key: k.Verifier(), Size: 3, Root: phases.ByteDigest(nil), At: time.Unix(1, 0).UTC(), Recovered: []int64{2}}}}
	for _, m := range []Memory{m, {}} {
		b, err := json.Marshal(&m, json.Deterministic(true))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := decodeMemory(src)
		if err != nil {
			return
		}
		b, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeMemory(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if next, err := json.Marshal(again, json.Deterministic(true)); err != nil || !bytes.Equal(b, next) {
			t.Fatalf("%s: %s, %v", b, next, err)
		}
	})
}
