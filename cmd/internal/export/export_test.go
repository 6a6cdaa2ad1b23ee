package export

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is one event of every type.
func sample() []phases.Event {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	base := phases.Event{
		Time: at, Invocation: "0195511c-7a00-7000-8000-000000000001", Phase: phases.PreTool, Runtime: "claude-code",
		Session: "s-1", Agent: "coder",
		Run: "r-1", User: "dev", Tool: "exec", PolicyRevision: "sha256:77",
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	with := func(seq int64, typ phases.EventType, f func(*phases.Event)) phases.Event {
		e := base
		e.Seq, e.ID, e.Type = seq, "0195511c-7a00-7000-8000-00000000010"+"0123456789abcdef"[seq:seq+1], typ
		f(&e)
		return e
	}
	return []phases.Event{
		with(1, phases.EventHook, func(e *phases.Event) {
			e.Binding, e.HookDigest, e.HookVersion, e.Tier, e.Pass = "command-guard", "sha256:ab", "1.0.0", phases.Trusted,
				phases.PassValidate
			e.Decision, e.Kind, e.DecidedBy, e.Reason = "block", phases.KindPolicy, "command-guard", "rm would delete /"
			e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = 226737, 196608, 6, 291
		}),
		with(2, phases.EventVerdict, func(e *phases.Event) {
			e.Decision, e.Kind, e.DecidedBy, e.Enforced, e.Reason = "block", phases.KindPolicy, "command-guard",
				phases.EnforcedDirect, "rm would delete /"
			e.Input = jsontext.Value(`{"action":{"args":{"command":"rm -rf /"},"tool":"exec"}}`)
			e.InputDigest, e.Masked = "hmac-sha256:00", []string{"/input/action/args/token"}
		}),
		with(3, phases.EventVerdict, func(e *phases.Event) {
			e.Decision, e.Enforced, e.Traceparent = "allow", phases.EnforcedDirect, ""
		}),
		with(4, phases.EventVerdict, func(e *phases.Event) { e.Decision, e.Enforced = "ask", phases.EnforcedDelegated }),
		with(5, phases.EventFailure, func(e *phases.Event) {
			e.Decision, e.Kind, e.Reason = "block", phases.KindStore, "the store cannot write"
		}),
		with(6, phases.EventLatch, func(e *phases.Event) { e.Decision, e.Reason = "latched", "too late to block" }),
		with(7, phases.EventLatch, func(e *phases.Event) { e.Decision, e.User = "cleared", "uid 1000" }),
		with(8, phases.EventGap, func(e *phases.Event) { e.Reason = "3 events could not be stored" }),
		{Seq: 9, ID: "0195511c-7a00-7000-8000-000000000109", Type: phases.EventNotice, Time: at,
			Reason: "configuration in use: sha256:77"},
		with(10, phases.EventIntent, func(e *phases.Event) { e.Binding, e.Intent = "reporter", e.ID }),
		with(11, phases.EventOutcome, func(e *phases.Event) {
			e.Binding, e.Intent, e.Decision, e.DurationUS = "reporter", "0195511c-7a00-7000-8000-00000000010a", "timeout",
				30000000
		}),
		with(12, phases.EventApproval, func(e *phases.Event) {
			e.Binding, e.Decision, e.DecidedBy, e.Signer = "ask-push", "denied", "dev", "key"
			e.Output = jsontext.Value(`{"approval":"0195511c-7a00-7000-8000-0000000000aa","kind":"ask"}`)
		}),
		with(13, phases.EventLease, func(e *phases.Event) {
			e.Phase, e.Tool, e.Binding, e.Decision = "", "", "lender", "minted"
			e.Output = jsontext.Value(
				`{"id":"0195511c-7a00-7000-8000-0000000000bb","lease":{"capability":"deploy"},"what":"minted"}`)
		}),
		with(14, phases.EventCompaction, func(e *phases.Event) { e.Phase, e.Reason = "", "retention" }),
	}
}

func written(t testing.TB, f Format, events []phases.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := New(f, &b, "v1.2.3")
	if err == nil {
		err = w.Write(events)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	for _, f := range Formats() {
		got := written(t, f, sample())
		file := filepath.Join("testdata", "events."+string(f))
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
	if _, err := New("xml", nil, ""); !errors.Is(err, ErrFormat) {
		t.Errorf("a format that does not exist: %v", err)
	}
}

// hostile are texts that want to be more than text in a log.
func hostile() []string {
	return []string{
		"\n", "\r", "\r\n", "a\nCEF:0|belay|belay|1|verdict:allow|fake|0|act=allow", "a\r\n{\"seq\":99}\r\n",
		"\x00", "a\x00b", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\u009b31m", "\u0085", "\x7f\b\b\b\v\f",
		"\u2028\u2029", "\u202egnp.exe", "\u2066a\u2069", "\u200b\u200d\ufeff", "\U000e0041\U000e0042",
		"a|b|c", "a=b act=allow", `a\|b\=c\n`, `\`, `\\`, `"},{"seq":1`, "a\tb", "msg=x\\", " act=allow ", "=",
	}
}

// fill puts the text everywhere where a text can be.
func fill(s string) phases.Event {
	raw, err := json.Marshal(map[string]string{s: s})
	if err != nil {
		panic(err)
	}
	return phases.Event{
		Seq: 1, ID: s, Type: phases.EventType(s), Time: time.Unix(1, 0).UTC(), Invocation: s, Phase: phases.Phase(s),
		Runtime: s, Session: s, Agent: s,
		Run: s, User: s, Tool: s, Binding: s, HookDigest: s, HookVersion: s, Tier: phases.Tier(s), Signer: s,
		Mode: phases.Mode(s), Pass: phases.Pass(s),
		PolicyRevision: s, Enforced: phases.Enforced(s), Decision: s, Reason: s, Kind: phases.Kind(s), DecidedBy: s,
		Input: raw, Output: raw,
		Masked: []string{s}, Changed: []string{s}, Detail: s, Logs: []string{s}, Notes: []string{s}, Traceparent: s,
	}
}

func TestNoTextBecomesALogLine(t *testing.T) {
	for _, s := range hostile() {
		for _, f := range Formats() {
			check(t, f, written(t, f, []phases.Event{fill(s), sample()[1]}), s)
		}
	}
}

func FuzzNoTextBecomesALogLine(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?") // the store holds nothing else
		for _, form := range Formats() {
			check(t, form, written(t, form, []phases.Event{fill(s), sample()[1]}), s)
		}
	})
}

// check holds an export of fill(s) and one innocent event against what its format promises.
func check(t *testing.T, f Format, out []byte, s string) {
	t.Helper()
	if !utf8.Valid(out) {
		t.Errorf("%s of %q is not UTF-8", f, s)
	}
	for _, r := range string(out) {
		if r != '\n' && hidden(r) {
			t.Errorf("%s of %q holds %U", f, s, r)
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch f {
	case JSONL:
		if len(lines) != 2 {
			t.Fatalf("jsonl of %q has %d lines", s, len(lines))
		}
		var back phases.Event
		if err := json.Unmarshal([]byte(lines[0]), &back); err != nil {
			t.Fatalf("jsonl of %q: %v", s, err)
		}
		sameValue := cmp.Transformer("decode", func(v jsontext.Value) (m map[string]string) {
			_ = json.Unmarshal(v, &m)
			return m
		})
		if diff := cmp.Diff(fill(s), back, cmpopts.EquateEmpty(), sameValue); diff != "" {
			t.Errorf("jsonl of %q (-want +got):\n%s", s, diff)
		}
	case OTLP:
		if len(lines) != 1 {
			t.Fatalf("otlp of %q has %d lines", s, len(lines))
		}
		records := decodeOTLP(t, lines[0]).ResourceLogs[0].ScopeLogs[0].LogRecords
		if len(records) != 2 {
			t.Fatalf("otlp of %q has %d records", s, len(records))
		}
		for _, a := range records[0].Attributes {
			if a.Key == "belay.session" && a.Value.GetStringValue() != s {
				t.Errorf("otlp of %q: the session is %q", s, a.Value.GetStringValue())
			}
		}
	case CEF:
		if len(lines) != 2 {
			t.Fatalf("cef of %q has %d lines", s, len(lines))
		}
		header, fields := decodeCEF(t, lines[0])
		if header[1] != "belay" || header[6] != "1" && header[6] != "8" && header[6] != "6" {
			t.Errorf("cef of %q: header %q", s, header)
		}
		want := strings.ReplaceAll(s, "\t", `\u0009`)
		for _, r := range s {
			if hidden(r) && r != '\n' && r != '\r' && r != '\t' {
				want = strings.ReplaceAll(want, string(r), `\u`+hex4(r))
			}
		}
		if s != "" && (fields["cs2"] != want || fields["cs2Label"] != "session" || fields["act"] != want) {
			t.Errorf("cef of %q: session %q, act %q; wanted %q", s, fields["cs2"], fields["act"], want)
		}
	}
}

func hex4(r rune) string {
	s := strings.TrimLeft(hex.EncodeToString([]byte{byte(r >> 24), byte(r >> 16), byte(r >> 8), byte(r)}), "0")
	return strings.Repeat("0", max(0, 4-len(s))) + s
}

// decodeCEF reads a line as a collector does: the header up to unescaped bars, then
// keys, which are words before unescaped equals signs.
func decodeCEF(t *testing.T, line string) (header []string, fields map[string]string) {
	t.Helper()
	var cur strings.Builder
	i := 0
	for ; i < len(line) && len(header) < 7; i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			cur.WriteByte(line[i])
		case line[i] == '|':
			header = append(header, cur.String())
			cur.Reset()
		default:
			cur.WriteByte(line[i])
		}
	}
	if len(header) != 7 || header[0] != "CEF:0" {
		t.Fatalf("no CEF header: %q", line)
	}
	fields = map[string]string{}
	rest := line[i:]
	// Unescaped equals signs, and the words before them.
	var marks [][2]int
	for j := 0; j < len(rest); j++ {
		if rest[j] == '\\' {
			j++
			continue
		}
		if rest[j] == '=' {
			start := strings.LastIndexByte(rest[:j], ' ') + 1
			marks = append(marks, [2]int{start, j})
		}
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\=`, `=`, `\n`, "\n", `\r`, "\r")
	for n, m := range marks {
		end := len(rest)
		if n+1 < len(marks) {
			end = marks[n+1][0] - 1
		}
		key := rest[m[0]:m[1]]
		if _, twice := fields[key]; twice {
			t.Errorf("%q stands twice in %q", key, rest)
		}
		fields[key] = unescape.Replace(rest[m[1]+1 : end])
	}
	return header, fields
}

var ids = regexp.MustCompile(`"(traceId|spanId)":"([0-9a-f]+)"`)

// decodeOTLP reads a line by the protocol's own definition. Its JSON says ids in
// hexadecimal where protobuf's says base64.
func decodeOTLP(t *testing.T, line string) *collogs.ExportLogsServiceRequest {
	t.Helper()
	line = ids.ReplaceAllStringFunc(line, func(m string) string {
		p := ids.FindStringSubmatch(m)
		b, err := hex.DecodeString(p[2])
		if err != nil {
			t.Fatal(err)
		}
		return `"` + p[1] + `":"` + base64.StdEncoding.EncodeToString(b) + `"`
	})
	var req collogs.ExportLogsServiceRequest
	if err := protojson.Unmarshal([]byte(line), &req); err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	return &req
}

func TestOTLPIsWhatTheProtocolSays(t *testing.T) {
	events := sample()
	req := decodeOTLP(t, strings.TrimSpace(string(written(t, OTLP, events))))
	records := req.ResourceLogs[0].ScopeLogs[0].LogRecords
	if len(records) != len(events) {
		t.Fatalf("%d records of %d events", len(records), len(events))
	}
	for i, r := range records {
		e := &events[i]
		if r.TimeUnixNano != uint64(e.Time.UnixNano()) || r.EventName != "belay."+string(e.Type) || r.SeverityNumber == 0 {
			t.Errorf("record %d: %v", i, r)
		}
		if want := e.Traceparent; want != "" &&
			(hex.EncodeToString(r.TraceId) != want[3:35] || hex.EncodeToString(r.SpanId) != want[36:52] || r.Flags != 1) {
			t.Errorf("record %d is in trace %x, span %x, flags %d", i, r.TraceId, r.SpanId, r.Flags)
		}
		var back phases.Event
		if err := json.Unmarshal([]byte(r.Body.GetStringValue()), &back); err != nil || back.Seq != e.Seq ||
			back.Reason != e.Reason {
			t.Errorf("record %d has the body %q, %v", i, r.Body.GetStringValue(), err)
		}
	}
}

func TestTraceparentsThatAreNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(),
			rapid.StringMatching(`[0-9a-g-]{2}-[0-9a-fx]{32}-[0-9a-fx]{16}-[0-9a-fx]{2}`)).Draw(t, "s")
		trace, span, _ := traceOf(s)
		for _, id := range []string{trace, span} {
			if _, err := hex.DecodeString(id); err != nil {
				t.Fatalf("%q gave %q", s, id)
			}
		}
	})
}

func TestBytesThatAreNoText(t *testing.T) {
	if got := cefValue("a\xff\x1b"); got != "a\ufffd\\\\u001b" {
		t.Errorf("%q", got)
	}
}
