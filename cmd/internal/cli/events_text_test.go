package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// hostileTexts want to be more than text on a terminal or in a log.
func hostileTexts() []string {
	return []string{
		"\n", "\r", "x\n12:00:00.000      9  pre_tool         allow     fake", "x\r\ndecision    allow  by a forger", "\x00",
		"a\x00b",
		"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\u009b31m", "\u0085", "\x7f\b\b\b\v\f", "\u2028\u2029",
		"\u202egnp.exe", "\u2066a\u2069", "\u200b\ufeff", "\U000e0041", "a\tb", "\xff\xfe",
	}
}

func filled(s string, typ phases.EventType, phase phases.Phase) phases.Event {
	v, err := json.Marshal(strings.ToValidUTF8(s, "?"))
	if err != nil {
		panic(err)
	}
	q := string(v)
	return phases.Event{
		Seq: 7, ID: s, Type: typ, Time: time.Unix(1, 0).UTC(), Invocation: s, Phase: phase, Runtime: s, Session: s, Agent: s,
		Run: s, User: s, Tool: s,
		Binding: s, HookDigest: s, HookVersion: s, Tier: phases.Tier(s), Signer: s, Mode: phases.Mode(s),
		Pass: phases.Pass(s), PolicyRevision: s,
		Enforced: phases.Enforced(s), Decision: s, Reason: s, Kind: phases.Kind(s), DecidedBy: s,
		Input: jsontext.Value(`{"action":{"kind":` + q + `,"text":` + q + `,"model":` + q + `,"machine":` + q +
			`,"to":` + q + `,"child":{"agent":` + q + `,"prompt":` + q + `},"args":{"command":` + q + `}}}`),
		Output: jsontext.Value(`{"action":{"args":{"command":"x\ny\u001b[31m"}},"metadata":{` + q + `:{"value":` + q +
			`,"hook":"h","tier":"trusted"}}}`),
		InputDigest: s, OutputDigest: s, Masked: []string{s}, Changed: []string{"/args/command", s, "/nowhere"}, Detail: s,
		Logs: []string{s}, Notes: []string{s},
		Fuel: 1, DurationUS: 1, Traceparent: s,
	}
}

// harmless reports the first character that a terminal would act on.
func harmless(t *testing.T, what, out string) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Errorf("%s holds %U: %q", what, r, out)
			return
		}
	}
}

func TestNoTextActsOnATerminal(t *testing.T) {
	for _, s := range hostileTexts() {
		for _, typ := range []phases.EventType{phases.EventVerdict, phases.EventHook, phases.EventType(s)} {
			for _, phase := range append(phases.Phases(), phases.Phase(s)) {
				e := filled(s, typ, phase)
				var out bytes.Buffer
				a := &App{Out: &out, Err: &out, Getenv: func(string) string { return "" }}
				line := a.eventLine(e)
				harmless(t, "a line of tail", line)
				if strings.Contains(line, "\n") {
					t.Errorf("one event is more than a line: %q", line)
				}
				a.printEvents([]phases.Event{e})
				if n := strings.Count(out.String(), "\n"); n != 2 {
					t.Errorf("the table of one event has %d lines: %q", n, out.String())
				}
				harmless(t, "the table", out.String())
				out.Reset()
				a.describeEvent(e)
				harmless(t, "show", out.String())
				for _, l := range strings.Split(out.String(), "\n") {
					if strings.HasPrefix(l, "decision    allow") || strings.HasPrefix(l, "12:00") {
						t.Errorf("a text has become a line of its own: %q", out.String())
					}
				}
			}
		}
	}
}

func TestColoursAreForTerminalsOnly(t *testing.T) {
	e := filled("x", phases.EventVerdict, phases.PreTool)
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		a := &App{Out: &out, Err: &out, Getenv: func(string) string { return "" }, Terminal: terminal}
		a.describeEvent(e)
		out.WriteString(a.eventLine(e))
		if got := strings.Contains(out.String(), "\x1b["); got != terminal {
			t.Errorf("terminal %t: colours %t", terminal, got)
		}
		if strings.Contains(out.String(), "y\x1b[31m") {
			t.Error("what a payload holds has become a colour")
		}
	}
}

func TestEventLine(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for _, c := range []struct {
		note string
		e    phases.Event
		want string
	}{
		{"block", phases.Event{Seq: 7, Type: phases.EventVerdict, Phase: phases.PreTool, Tool: "exec", Decision: "block",
			Kind: phases.KindPolicy, DecidedBy: "command-guard",
			Reason: "rm would delete /",
			Input:  jsontext.Value(`{"action":{"tool":"exec","args":{"command":"rm -rf /","timeout":1}}}`), DurationUS: 559},
			"12:00:00.000      7  pre_tool         block    exec rm -rf /  by command-guard: rm would delete /  559 µs"},
		{"rewrite", phases.Event{Seq: 8, Type: phases.EventVerdict, Phase: phases.PreSend, Decision: "allow",
			Changed: []string{"/params/think_level"},
			Input:   jsontext.Value(`{"action":{"provider":"p","model":"m","params":{"think_level":"low"}}}`),
			Output:  jsontext.Value(`{"action":{"provider":"p","model":"m","params":{"think_level":"high"}}}`)},
			`12:00:00.000      8  pre_send         allow    p/m  /params/think_level "low" → "high"`},
		{"metadata",
			phases.Event{Seq: 9, Type: phases.EventVerdict, Phase: phases.PrePlan, Decision: "allow",
				Input: jsontext.Value(`{"action":{"kind":"message","text":"think\nhard"}}`),
				Output: jsontext.Value(
					`{"metadata":{"class":{"value":"hard","hook":"classify","tier":"trusted"}},"contexts":["a","b"]}`)},
			`12:00:00.000      9  pre_plan         allow    message think hard  class="hard"  2× context`},
		{"failure", phases.Event{Seq: 10, Type: phases.EventFailure, Decision: "block", Kind: phases.KindProtocol,
			DecidedBy: "belay", Reason: "bad"},
			"12:00:00.000     10  failure          block    protocol  by belay: bad"},
		{"latched", phases.Event{Seq: 11, Type: phases.EventVerdict, Phase: phases.StateTransition, Decision: "block",
			Kind: phases.KindPolicy, Enforced: phases.EnforcedLatched,
			Input: jsontext.Value(`{"action":{"machine":"stage","from":"a","to":"b"}}`)},
			"12:00:00.000     11  state_transition block    stage a → b  latched"},
		{"digests only",
			phases.Event{Seq: 12, Type: phases.EventVerdict, Phase: phases.PreTool, Tool: "exec", Decision: "allow",
				Changed: []string{"/args"}},
			"12:00:00.000     12  pre_tool         allow    exec  changed /args"},
		{"turn", phases.Event{Seq: 13, Type: phases.EventHook, Phase: phases.PreTool, Binding: "b", Decision: "none"},
			"12:00:00.000     13  hook pre_tool    none     b"},
		{"intent", phases.Event{Seq: 14, Type: phases.EventIntent, Phase: phases.PreTool, Tool: "http_request",
			Binding: "reporter", Input: jsontext.Value(`{"action":{"args":{"url":"https://h.example/"}}}`)},
			"12:00:00.000     14  intent pre_tool  -        http_request https://h.example/ for reporter"},
		{"outcome", phases.Event{Seq: 15, Type: phases.EventOutcome, Phase: phases.PreTool, Tool: "http_request",
			Binding: "reporter", Decision: "timeout", Reason: "no answer in 30 s"},
			"12:00:00.000     15  outcome pre_tool timeout  http_request for reporter  no answer in 30 s"},
		{"approval",
			phases.Event{Seq: 16, Type: phases.EventApproval, Phase: phases.PreTool, Tool: "exec", Binding: "ask-push",
				Decision: "denied", DecidedBy: "dev", Reason: "not today",
				Output: jsontext.Value(`{"approval":"0195511c-7a00-7000-8000-0000000000aa"}`)},
			"12:00:00.000     16  approval pre_tool denied   exec 0195511c-7a00-7000-8000-0000000000aa of ask-push  by dev: not today"},
		{"lease", phases.Event{Seq: 17, Type: phases.EventLease, Binding: "lender", Decision: "minted", DecidedBy: "hook",
			Reason: "lease 0195511c",
			Output: jsontext.Value(`{"id":"0195511c","lease":{"capability":"deploy"}}`)},
			"12:00:00.000     17  lease            minted   deploy lender  by hook: lease 0195511c"},
	} {
		c.e.Time = at
		a := &App{Getenv: func(string) string { return "" }}
		if diff := cmp.Diff(c.want, a.eventLine(c.e)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.note, diff)
		}
	}
}

func TestInstants(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7),
		"2w": now.AddDate(0, 0, -14), "0s": now,
		"2026-03-01T12:00:00+01:00": time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		"2026-03-01":                time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
	} {
		if got, err := instant("--since", s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; wanted %v", s, got, err, want)
		}
	}
	for _, s := range []string{"-2h", "yesterday", "2", "99999999d", "65535w", "2026-13-01", "1e9h", " 2h", "2h\x1b",
		"300000000h"} {
		if got, err := instant("--since", s, now); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}
