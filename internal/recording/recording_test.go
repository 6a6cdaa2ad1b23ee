package recording_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// sample is an invocation with something in every member.
func sample(command string) *kernel.Recording {
	long := bytes.Repeat([]byte("x"), 5000)
	tr := &hostcalls.Trace{Ports: []string{"state", "files"}}
	tr.Calls = []hostcalls.TracedCall{
		{Name: "input_get", In: []hostcalls.TracedValue{hostcalls.ValueOf([]byte("/args"))}, Cap: 9,
			Out: hostcalls.ValueOf(long)},
		{Name: "state_get", In: []hostcalls.TracedValue{hostcalls.ValueOf([]byte("k"))},
			Out: hostcalls.ValueOf([]byte{0xff, 0}), Code: -2, Fuel: 7},
		{Name: "log", I32: 3, Long: [2]bool{true},
			In: []hostcalls.TracedValue{hostcalls.ValueOf([]byte("a \"line\"\n\u2028"))}, Fault: phases.KindHostcall},
	}
	tr.Answers = []hostcalls.PortAnswer{
		{Port: "state", Request: []byte("k"), Reply: bytes.Repeat([]byte{0xfe}, 6000), Version: 4},
		{Port: "state_usage", Keys: 2, Bytes: 3},
		{Port: "readlink", Request: []byte("/a"), Err: "absent"}, {Port: "http_request", Request: []byte("{}"), Errno: -7},
	}
	inv := phases.Invocation{
		ID: "01973b9e-7a00-7000-8000-000000000001", Phase: phases.PreTool, Runtime: "custom", Session: "s", Run: "r",
		CWD:    "/home/dev/project",
		Action: jsontext.Value(`{"tool":"exec",  "args":{"command":"` + command + `","n":1.0}}`),
		Time:   time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC),
		Scopes: phases.Scopes{FSRead: phases.Scope{}}, Metadata: map[string]jsontext.Value{"k": jsontext.Value(`"v"`)},
	}
	v := phases.Verdict{Decision: phases.Block, Kind: phases.KindPolicy, Reason: "no", DecidedBy: "guard",
		Action: inv.Action, Changed: []string{"/args/n"},
		Metadata: phases.Metadata{"m": {Value: jsontext.Value(`[1, 2]`), Hook: "guard", Tier: phases.Trusted}},
		Contexts: []string{"c"}, Enforced: phases.EnforcedDirect}
	return &kernel.Recording{
		Invocation: inv, Seed: [32]byte{1, 2},
		Options: kernel.InvokeOptions{ParentScopes: &phases.Scopes{Tools: phases.Scope{"*"}}},
		Chain: &kernel.RecordedChain{
			Revision: "sha256:aa", ChainBudget: 2 * time.Second, Home: "/home/dev",
			Require: []kernel.Require{{Phases: []phases.Phase{phases.PreTool}, Hooks: []string{"guard"}}},
			Bindings: []kernel.RecordedBinding{
				{Name: "guard", Digest: "sha256:bb", Tier: phases.Trusted, Mode: phases.Enforce, Priority: 110,
					Phases: []phases.Phase{phases.PreTool}, Held: []string{"block"},
					Allowed: []string{}, Match: tiers.Match{Tools: "^exec$"}, Config: []byte(`{"a":  1}`), Fuel: 5,
					Timeout: time.Second},
				{Name: "gone", Tier: phases.Sandboxed, Mode: phases.Observe,
					Failure: phases.NewFault(phases.KindLoad, "missing", errors.New("x")), Trust: true},
			},
		},
		Run: kernel.RunState{Version: 3,
			Metadata: phases.Metadata{"m": {Value: jsontext.Value(`{ "a" : "\u0041" }`), Hook: "guard", Tier: phases.Trusted}},
			Retries:  map[string]int{"guard": 1}},
		Latch: &kernel.Latch{Reason: "held", Kind: phases.KindPolicy, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		Turns: []kernel.RecordedTurn{
			{Binding: "guard", Pass: phases.PassValidate, Input: []byte(`{"a":1}`), Trace: tr,
				Report: phases.HookReport{Decision: phases.HookBlock, Reason: "no", Notes: []string{"n"}},
				Outcome: kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}},
					StateWrites: []hostcalls.StateWrite{{Key: "k", Value: []byte("v"), Version: 4}},
					Wishes:      []hostcalls.Wish{{Call: "http_request", Request: jsontext.Value("{}")}},
					Logs:        []hostcalls.LogEntry{{Level: 2, Text: "t"}}, Detail: "bad \xff", Fuel: 12, MemoryPeak: 65536,
					Hostcalls: 3}},
			{Binding: "gone", Pass: phases.PassAudit, Input: []byte(`{ "kind":"verdict"}`), Action: []byte(`{}`),
				Fault: phases.NewFault(phases.KindLoad, "missing", nil)},
		},
		Chained: v, Verdict: &v,
	}
}

func write(t *testing.T, h recording.Header, list ...*kernel.Recording) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if err := w.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(r io.Reader) (runs []*recording.Run, chains []*recording.Chain, rd *recording.Reader, err error) {
	rd, err = recording.NewReader(r, "r.rec")
	for err == nil {
		var run *recording.Run
		var c *recording.Chain
		if run, c, err = rd.Next(); err == nil {
			runs, chains = append(runs, run), append(chains, c)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return runs, chains, rd, err
}

// The spelling of values in verdicts and effects is not kept, their meaning is.
var spelling = cmp.Comparer(func(a, b jsontext.Value) bool { return phases.Same(a, b) })

func TestRoundTrip(t *testing.T) {
	list := []*kernel.Recording{sample("ls"), sample("rm"), sample("日本 \\u0041")}
	src := write(t, recording.Header{Source: recording.SourceEval, CostTable: 1}, list...)
	runs, chains, rd, err := readAll(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 3 || rd.End().Chains != 1 || rd.Header().Source != "eval" ||
		!strings.HasPrefix(rd.Digest(), "sha256:") {
		t.Fatalf("%d runs, %+v", len(runs), rd.End())
	}
	for i, r := range list {
		want, err := recording.RunOf(r, runs[i].Chain)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, runs[i], spelling); diff != "" {
			t.Errorf("run %d (-written +read):\n%s", i, diff)
		}
		chain := recording.ChainOf(r.Chain)
		if diff := cmp.Diff(&chain, chains[i], spelling); diff != "" {
			t.Errorf("chain (-written +read):\n%s", diff)
		}
		// Every byte that fuel depends on comes back.
		inv, err := phases.DecodeInvocation(runs[i].Invocation)
		if err != nil || !bytes.Equal(inv.Action, r.Invocation.Action) {
			t.Errorf("action %s, want %s (%v)", inv.Action, r.Invocation.Action, err)
		}
		if got := runs[i].Carried.RunState().Metadata["m"].Value; string(got) != `{ "a" : "\u0041" }` {
			t.Errorf("metadata %s", got)
		}
	}
	// The same runs give the same bytes, and one configuration stands in it once.
	if again := write(t, recording.Header{Source: recording.SourceEval, CostTable: 1}, list...); !bytes.Equal(src, again) {
		t.Error("two writings differ")
	}
	r := sample("ls")
	if n := bytes.Count(write(t, recording.Header{}, r, r), []byte(`{"chain":{`)); n != 1 {
		t.Errorf("%d configurations", n)
	}
}

// Whatever happens to a recording, it is refused, with its name and the line.
func TestDamage(t *testing.T) {
	src := string(write(t, recording.Header{Source: recording.SourceTest, CostTable: 1}, sample("ls"), sample("rm")))
	lines := strings.SplitAfter(src, "\n")[:5]
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	resum := func(s string) string { // an edit with new digests of lines
		member := s[strings.Index(s, ":")+1 : strings.LastIndex(s, `,"sha256"`)]
		return s[:strings.LastIndex(s, `,"sha256"`)] + fmt.Sprintf(`,"sha256":"%s"}`, hexsum(member)) + "\n"
	}
	for name, c := range map[string]struct {
		src   string
		class error
		where string
	}{
		"nothing":            {"", recording.ErrFormat, "r.rec: "},
		"not JSON":           {"hello\n", recording.ErrFormat, "r.rec:1: "},
		"no header":          {strings.Join(lines[1:], ""), recording.ErrFormat, "r.rec:1: "},
		"no end":             {strings.Join(lines[:4], ""), recording.ErrTruncated, "r.rec:4: "},
		"cut in a line":      {src[:len(src)-400], recording.ErrTruncated, "r.rec:4: "},
		"cut after a header": {lines[0], recording.ErrTruncated, "r.rec:1: "},
		"a byte more":        {src + " ", recording.ErrFormat, "r.rec:6: "},
		"an edit":            {strings.Replace(src, `"reason":"no"`, `"reason":"yes"`, 1), recording.ErrEdited, "r.rec:3: "},
		"an edit with a sum": {strings.Replace(src, lines[2],
			resum(strings.Replace(lines[2], `"reason":"no"`, `"reason":"yes"`, 1)), 1), recording.ErrEdited, "r.rec:5: "},
		"a line less":   {strings.Replace(src, lines[3], "", 1), recording.ErrEdited, "r.rec:4: "},
		"a line twice":  {strings.Replace(src, lines[2], lines[2]+lines[2], 1), recording.ErrEdited, "r.rec:6: "},
		"another order": {lines[0] + lines[1] + lines[3] + lines[2] + lines[4], recording.ErrEdited, "r.rec:5: "},
		"two files":     {src + src, recording.ErrFormat, "r.rec:6: "},
		"two joined":    {strings.Join(lines[:4], "") + src, recording.ErrFormat, "r.rec:5: "},
		"a later version": {resum(strings.Replace(lines[0], "recording/v1", "recording/v2", 1)) +
			strings.Join(lines[1:], ""), recording.ErrVersion,
			`r.rec:1: a recording of another version: it says "belay-recording/v2"`},
		"an unknown member": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"pass":`, `"pas":`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /turns/0/pas"},
		"a duplicate member": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"seed":`, `"seed":"","seed":`, 1)),
			recording.ErrFormat, "r.rec:3: "},
		"says which member": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"seed":`, `"seed":"","seed":`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /run/seed: two members of one name"},
		"nested too deep": {lines[0] + `{"run":` + strings.Repeat("[", 20_000) + "\n", recording.ErrFormat,
			"r.rec:2: not a recording: nested too deep at byte "},
		"negative fuel": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"fuel":12,`, `"fuel":-12,`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /turns/0/outcome/fuel: "},
		"endless memory": {lines[0] + lines[1] +
			resum(strings.Replace(lines[2], `"memory_peak":65536`, `"memory_peak":9223372036854775807`, 1)), recording.ErrFormat,
			"r.rec:3: not a recording: /turns/0/outcome/memory_peak: "},
		"fuel of a call": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"fuel":7`, `"fuel":-7`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /turns/0/calls/1/fuel: "},
		"keys of an answer": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"keys":2`, `"keys":-2`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /turns/0/answers/1/keys: "},
		"a kind of a latch": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"kind":"policy"`, `"kind":"a <b>"`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /latch/kind: "},
		"a kind of prose": {lines[0] + lines[1] +
			resum(strings.Replace(lines[2], `"reason":"no","kind":"policy"`, `"reason":"no","kind":"a <b>"`, 1)),
			recording.ErrFormat, "r.rec:3: not a recording: /chained/kind: "},
		"a source of prose": {resum(strings.Replace(lines[0], `"source":"test"`, `"source":"\u202etset"`, 1)),
			recording.ErrFormat, "r.rec:1: not a recording: /source: "},
		"a digest of prose": {lines[0] + resum(strings.Replace(lines[1], `"sha256:bb"`, `"sha256: b"`, 1)),
			recording.ErrFormat, "r.rec:2: not a recording: /bindings/0/digest: "},
		"dropped less": {strings.Join(lines[:4], "") +
			resum(strings.Replace(lines[4], `"runs":2,`, `"runs":2,"dropped":-1,`, 1)), recording.ErrFormat,
			"r.rec:5: not a recording: /dropped: "},
		"two members": {lines[0] + strings.Replace(lines[1], `{"chain"`, `{"end":{},"chain"`, 1), recording.ErrFormat,
			"r.rec:2: "},
		"no member":     {lines[0] + `{"sha256":""}` + "\n", recording.ErrFormat, "r.rec:2: "},
		"no such chain": {lines[0] + lines[2], recording.ErrFormat, "r.rec:2: "},
		"a chain twice": {lines[0] + lines[1] + lines[1], recording.ErrFormat, "r.rec:3: "},
		"no decision": {lines[0] + lines[1] +
			resum(strings.Replace(lines[2], `"chained":{"decision":"block"`, `"chained":{"decision":"maybe"`, 1)),
			recording.ErrFormat, "r.rec:3: "},
		"a bad seed": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `"seed":"01`, `"seed":"x1`, 1)),
			recording.ErrFormat, "r.rec:3: "},
		"a bad phase": {lines[0] + lines[1] + resum(strings.Replace(lines[2], `pre_tool\"`, `pre_tol\"`, 1)),
			recording.ErrFormat, "r.rec:3: "},
	} {
		_, _, _, err := readAll(strings.NewReader(c.src))
		var e *recording.Error
		if !errors.As(err, &e) || !errors.Is(err, c.class) || !strings.HasPrefix(err.Error(), c.where) {
			t.Errorf("%s: got %v, want %v at %s", name, err, c.class, c.where)
		}
	}
	if _, _, _, err := readAll(strings.NewReader(src)); err != nil {
		t.Error(err)
	}
}

func TestSealing(t *testing.T) {
	file, to, err := recording.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	other, _, _ := recording.NewIdentity()
	src := write(t, recording.Header{Source: recording.SourceTest}, sample("ls"))
	recipients, err := recording.ParseRecipients(to)
	if err != nil {
		t.Fatal(err)
	}
	sealed := seal(t, src, recipients)
	if bytes.Contains(sealed, []byte("command")) {
		t.Error("the command can be read")
	}
	open := func(b []byte, key string) ([]byte, error) {
		r, how := recording.Look(bytes.NewReader(b))
		if how != recording.ForKeys {
			t.Fatalf("sealing %v", how)
		}
		ids, err := recording.ParseIdentities([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		if r, err = recording.Unseal(r, "r.age", ids); err != nil {
			return nil, err
		}
		_, _, _, err = readAll(r)
		if err != nil {
			return nil, err
		}
		r, _ = recording.Look(bytes.NewReader(b))
		r, _ = recording.Unseal(r, "r.age", ids)
		return io.ReadAll(r)
	}
	if got, err := open(sealed, file); err != nil || !bytes.Equal(got, src) {
		t.Fatalf("%v", err)
	}
	if _, err := open(sealed, other); !errors.Is(err, recording.ErrSealed) ||
		!strings.Contains(err.Error(), "none of the identities") {
		t.Errorf("another key: %v", err)
	}
	if _, err := open(sealed[:len(sealed)-20], file); !errors.Is(err, recording.ErrTruncated) &&
		!errors.Is(err, recording.ErrSealed) {
		t.Errorf("cut off: %v", err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-100] ^= 1
	if _, err := open(flipped, file); !errors.Is(err, recording.ErrSealed) {
		t.Errorf("a bit: %v", err)
	}

	pass, err := recording.PassphraseRecipients("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	sealed = seal(t, src, pass)
	r, how := recording.Look(bytes.NewReader(sealed))
	if how != recording.ForPassphrase {
		t.Fatalf("sealing %v", how)
	}
	ids, _ := recording.PassphraseIdentities("correct horse")
	if r, err = recording.Unseal(r, "", ids); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := readAll(r); err != nil {
		t.Error(err)
	}
	if _, how := recording.Look(bytes.NewReader(src)); how != recording.Plain {
		t.Errorf("plain: %v", how)
	}
	if _, err := recording.ParseIdentities([]byte("AGE-SECRET-KEY-1NONSENSE")); err == nil ||
		strings.Contains(err.Error(), "NONSENSE") {
		t.Errorf("%v", err)
	}
	if _, err := recording.ParseRecipients("age1nonsense"); !errors.Is(err, recording.ErrSealed) {
		t.Errorf("%v", err)
	}
}

func seal(t *testing.T, src []byte, to recording.Recipients) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := recording.Seal(&b, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Recordings say whether the kernel held the action to its scopes, as they have from the
// beginning: one without the member was made for a caller that held them itself.
func TestOptionsOfOldRecordings(t *testing.T) {
	for src, holds := range map[string]bool{`{}`: true, `{"scopes_lost":true}`: false} {
		var o recording.Options
		if err := json.Unmarshal([]byte(src), &o); err != nil {
			t.Fatal(err)
		}
		k := o.InvokeOptions()
		if k.HoldsScopes != holds || recording.OptionsOf(&k) != o {
			t.Errorf("%s: %+v, and back %+v", src, k, recording.OptionsOf(&k))
		}
	}
}
