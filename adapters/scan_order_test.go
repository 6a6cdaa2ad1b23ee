package adapters_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

var wanted = []string{"session_id", "tool_name", "hook_event_name", "source"}

func texts(s *adapters.Scan) (list []string) {
	for _, m := range wanted {
		text, looks := s.Text(m)
		if !looks {
			text = "not looked for"
		}
		list = append(list, text)
	}
	return list
}

func scanAll(b []byte) *adapters.Scan {
	s := adapters.NewScan(wanted...)
	_, _ = s.Write(b)
	return s
}

// What a scan finds does not depend on where the members stand, on what stands between them, or on how
// the bytes come.
func TestScanDoesNotDependOnTheOrder(t *testing.T) {
	large := strings.Repeat(`\"tool_name\":\"Inner\",{[`, 1000)
	rapid.Check(t, func(t *rapid.T) {
		members := []string{`"session_id":"s-1"`, `"tool_\u006eame":"Edit"`, `"hook_event_name" : "PostToolUse"`,
			`"tool_input":{"tool_name":"No","source":["x",{"session_id":"no"}],"content":"` + large + `"}`,
			`"tool_response":["source","hook_event_name",null,-1.5e3]`, `"duration_ms":12`, `"permission_mode":null`}
		want := []string{"s-1", "Edit", "PostToolUse", ""}
		switch rapid.IntRange(0, 3).Draw(t, "more") {
		case 1:
			members, want[3] = append(members, `"source":"compact"`), "compact"
		case 2: // two texts are none, in whatever order
			members, want[1] = append(members, `"tool_name":"Read"`), ""
		case 3: // so is a value that is no text, and the others stay
			members, want[0] = append(members, `"session_id":{"tool_name":"No"}`), ""
		}
		b := []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ",") + "}")
		s := adapters.NewScan(wanted...)
		for rest := b; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			_, _ = s.Write(rest[:n])
			rest = rest[n:]
		}
		if got := texts(s); strings.Join(got, "|") != strings.Join(want, "|") || s.Name() != want[0] {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// The scan of what came goes before the bytes that were kept of it, for the members that it looks for.
func TestTextOf(t *testing.T) {
	s := adapters.NewScan("session_id", "tool_name")
	_, _ = s.Write([]byte(`{"x":"y","tool_name":"Edit","source":"a","session_id":"s-1"}`))
	kept := []byte(`{"source":"b","tool_name":"Other","x":"`)
	for member, want := range map[string]string{"session_id": "s-1", "tool_name": "Edit", "source": "b", "none": ""} {
		if got := adapters.TextOf(member, kept, adapters.Options{Scan: s}); got != want {
			t.Errorf("%s: %q, want %q", member, got, want)
		}
	}
	if got := adapters.TextOf("tool_name", kept, adapters.Options{}); got != "Other" {
		t.Errorf("without a scan: %q", got)
	}
}

// FuzzScans: a scan for several members finds of each what a scan for it alone finds.
func FuzzScans(f *testing.F) {
	for _, s := range []string{
		`{"tool_input":{"tool_name":"x"},"tool_name":"Edit","session_id":"s","hook_event_name":"Stop"}`,
		`{"session_id":7,"tool_name":"a","tool_name":"b","source":"c"}`, `{"source":{"source":"x"},"session_id":"s"}`,
		`{"tool_name":["a"],"tool_name":"b"}`, `{"session_id":"session_id","tool_name":"tool_name"`, `{"source":"\u0000",`,
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		s := adapters.NewScan(wanted...)
		_, _ = io.CopyBuffer(s, struct{ io.Reader }{bytes.NewReader(b)}, make([]byte, int(n)+1))
		for i, got := range texts(s) {
			if alone := adapters.ScanName(b, wanted[i]); got != alone {
				t.Fatalf("%s: %q among others, %q alone", wanted[i], got, alone)
			}
		}
		var doc map[string]any
		if json.Unmarshal(b, &doc) != nil || len(b) == 0 || doc == nil {
			return
		}
		for i, got := range texts(scanAll(b)) {
			want, _ := doc[wanted[i]].(string)
			if phases.SafeLine(want, phases.MaxIDBytes) != want {
				want = ""
			}
			if got != want {
				t.Fatalf("%s: %q, a decoder says %q", wanted[i], got, want)
			}
		}
	})
}
