package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/page/pagetest"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/report"
	"github.com/belay-hooks/belay/phases"
)

const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// hostile is what an agent would like a reviewer's browser to run.
const hostile = "</code><script>alert(1)</script>\u202e<img src=x onerror=alert(2)>\x1b[31m"

func invocation(n int, command string) phases.Invocation {
	args, _ := json.Marshal(map[string]string{"command": command})
	return phases.Invocation{ID: fmt.Sprintf("01973b9e-7a00-7000-8000-%012d", n), Phase: phases.PreTool,
		Runtime: "claude-code", Session: "s",
		Action: jsontext.Value(`{"tool":"exec","args":` + string(args) + `}`),
		Time:   time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)}
}

func verdict(d phases.Decision, by, reason string, inv phases.Invocation) recording.Verdict {
	v := recording.Verdict{Decision: d, DecidedBy: by, Reason: reason, Action: inv.Action}
	if d != phases.Allow {
		v.Kind = phases.KindPolicy
	}
	return v
}

func results(from int) []*replay.Result {
	var out []*replay.Result
	add := func(command string, base, now recording.Verdict, fuel int64, diffs ...replay.Difference) {
		inv := invocation(from+len(out), command)
		base.Action, now.Action = inv.Action, inv.Action
		out = append(out,
			&replay.Result{Invocation: inv, Base: base, Now: now, Differences: diffs, Turns: []replay.TurnResult{
				{Hook: "command-guard", Pass: phases.PassValidate,
					Base: &replay.TurnSide{Digest: "sha256:" + strings.Repeat("a", 64), Fuel: 226_737, MemoryPeak: 1 << 20},
					Now:  &replay.TurnSide{Digest: "sha256:" + strings.Repeat("b", 64), Fuel: fuel, MemoryPeak: 2 << 20}},
				{Hook: "ask-push", Pass: phases.PassValidate,
					Base: &replay.TurnSide{Digest: "sha256:" + strings.Repeat("c", 64), Fuel: 9_000, MemoryPeak: 65536},
					Now:  &replay.TurnSide{Digest: "sha256:" + strings.Repeat("c", 64), Fuel: 9_000, MemoryPeak: 65536}},
			}})
	}
	var none phases.Invocation
	allow := verdict(phases.Allow, "", "", none)
	for range 9 {
		add("npm test", allow, allow, 150_000)
	}
	no := verdict(phases.Block, "command-guard", "rm would delete /", none)
	add("rm -rf /", no, allow, 120_000,
		replay.Difference{What: replay.WhatDecision, Where: "decision", Want: "block", Got: "allow"})
	add(hostile, allow, verdict(phases.Block, "command-guard", hostile, none), 120_000,
		replay.Difference{What: replay.WhatDecision, Where: hostile, Want: "allow", Got: hostile})
	add("git push --force", verdict(phases.Ask, "ask-push", "pushes to main", none),
		verdict(phases.Block, "command-guard", "pushes by force", none), 300_000,
		replay.Difference{What: replay.WhatDecision, Where: "decision", Want: "ask", Got: "block"},
		replay.Difference{What: replay.WhatVerdict, Where: "metadata", Want: "{}", Got: `{"k":{"value":1}}`})
	add("deploy --token "+secret, allow, allow, 200_000,
		replay.Difference{What: replay.WhatRewrite, Where: "/args/timeout",
			Want: `{"tool":"exec","args":{"command":"deploy --token ` + secret + `","timeout":120000}}`,
			Got:  `{"tool":"exec","args":{"command":"deploy --token ` + secret + `","timeout":600000}}`})
	add("make", allow, allow, 900_000,
		replay.Difference{What: replay.WhatCall, Where: "command-guard (validate), call 3", Want: "shell_parse(\"make\")",
			Got: "input_get(\"/args\")"})
	out[len(out)-1].Unknown = []string{"command-guard (validate): http_request {\"url\":\"https://x\"}"}
	return out
}

// build makes the report of two recordings, in either order.
func build(t testing.TB, swap bool) *report.Report {
	t.Helper()
	b := report.NewBuilder("decision", "command-guard 2.0.0")
	b.Base("sha256:" + strings.Repeat("1", 64))
	b.Now("sha256:" + strings.Repeat("2", 64))
	for _, n := range map[bool][]int{false: {0, 100}, true: {100, 0}}[swap] {
		b.Begin(recording.Header{Source: recording.SourceEval, CostTable: 1})
		for _, r := range results(n) {
			b.Add(r)
		}
		b.End(fmt.Sprintf("sha256:%064d", n), n/50)
	}
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A recording that is named twice counts once.
func TestReportTakesARecordingOnce(t *testing.T) {
	twice := report.NewBuilder("decision", "command-guard 2.0.0")
	twice.Base("sha256:" + strings.Repeat("1", 64))
	twice.Now("sha256:" + strings.Repeat("2", 64))
	for n, from := range []int{0, 100, 0} {
		twice.Begin(recording.Header{Source: recording.SourceEval, CostTable: 1})
		for _, r := range results(from) {
			twice.Add(r)
		}
		if took := twice.End(fmt.Sprintf("sha256:%064d", from), from/50); took != (n < 2) {
			t.Errorf("recording %d was taken: %v", n, took)
		}
	}
	r, err := twice.Report()
	if err != nil {
		t.Fatal(err)
	}
	once := forms(t, build(t, false))
	for name, b := range forms(t, r) {
		if !bytes.Equal(once[name], b) {
			t.Errorf("%s: the bytes differ", name)
		}
	}
}

// Figures that were never measured neither turn negative nor break the page.
func TestReportOfHugeFigures(t *testing.T) {
	b := report.NewBuilder("budget", "")
	b.Begin(recording.Header{})
	for n := range 3 {
		res := results(n)[0]
		res.Turns[0].Base.Fuel, res.Turns[0].Now.Fuel = math.MaxInt64-1, math.MaxInt64/3
		b.Add(res)
	}
	b.End("sha256:x", 0)
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	g := r.Budgets[1]
	if d, ok := g.Fuel.Delta(); g.Fuel.Base != math.MaxInt64 || g.Fuel.Now < 0 || !ok || d < -1000 || d > 0 {
		t.Errorf("%+v %d %v", g, d, ok)
	}
	if page := forms(t, r)["html"]; bytes.Contains(page, []byte("width:-")) || bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("a bar has no length")
	}
}

// A hook that one side alone has is shown with what it costs there, and so are turns that one side alone has.
func TestReportShowsWhatNewHooksCost(t *testing.T) {
	b := report.NewBuilder("budget", "")
	b.Begin(recording.Header{})
	side := func(fuel, memory int64) *replay.TurnSide { return &replay.TurnSide{Fuel: fuel, MemoryPeak: memory} }
	for n := range 2 {
		res := results(n)[0]
		res.Turns = append(res.Turns,
			replay.TurnResult{Hook: "fresh", Now: side(int64(n+1)*1_111_111, 3<<20)},
			replay.TurnResult{Hook: "left", Base: side(2_222_222, 4<<20)},
			replay.TurnResult{Hook: "ask-push", Now: side(3_333_333, 5<<20)})
		b.Add(res)
	}
	b.End("sha256:x", 0)
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	var rows []report.Row
	for _, g := range r.Budgets {
		for _, row := range g.Rows() {
			if row.Moved() && row.Hook != "command-guard" {
				rows = append(rows, row)
			}
		}
	}
	want := []report.Row{
		{Hook: "ask-push", Turns: 2, Only: report.RowNow, Fuel: report.Pair{Now: 6_666_666},
			Most: report.Pair{Now: 3_333_333}, Memory: report.Pair{Now: 5 << 20}},
		{Hook: "fresh", Turns: 2, Only: report.RowNew, Fuel: report.Pair{Now: 3_333_333}, Most: report.Pair{Now: 2_222_222},
			Memory: report.Pair{Now: 3 << 20}},
		{Hook: "left", Turns: 2, Only: report.RowGone, Fuel: report.Pair{Base: 4_444_444},
			Most: report.Pair{Base: 2_222_222}, Memory: report.Pair{Base: 4 << 20}},
	}
	if !slices.Equal(rows, want) {
		t.Errorf("%+v", rows)
	}
	f := forms(t, r)
	if !bytes.Contains(f["html"], []byte("3\u202f333\u202f333")) || !bytes.Contains(f["html"], []byte("2 turns, gone")) {
		t.Error("the page does not show them")
	}
	if !bytes.Contains(f["json"], []byte(`"one_side_cost"`)) || !bytes.Contains(f["json"], []byte("4444444")) {
		t.Errorf("%s", f["json"])
	}
}

func forms(t testing.TB, r *report.Report) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, f := range map[string]func() ([]byte, error){"json": r.JSON, "html": r.HTML, "xml": r.JUnit} {
		b, err := f()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	pagetest.Check(t, out["html"])
	return out
}

func TestReportCounts(t *testing.T) {
	r := build(t, false)
	s := r.Summary
	if s.Invocations != 28 || s.Same != 18 || s.Different != 10 || s.Flips != 6 || s.Rewrites != 2 || s.Others != 2 ||
		s.Unknown != 2 || r.Same() {
		t.Errorf("%+v", s)
	}
	var flips []string
	for _, f := range r.Flips {
		flips = append(flips, fmt.Sprintf("%s→%s %d/%d", f.From, f.To, f.Count, len(f.Items)))
	}
	if got := strings.Join(flips, " "); got != "block→allow 2/2 ask→block 2/2 allow→block 2/2" {
		t.Errorf("flips, what loosens first: %s", got)
	}
	b := r.Budgets[1]
	if b.Hook != "command-guard" || b.Turns != 28 || b.Fuel.Base != 28*226_737 || b.Most.Now != 900_000 ||
		b.Memory != (report.Pair{Base: 1 << 20, Now: 2 << 20}) {
		t.Errorf("%+v", b)
	}
	if !r.Hooks[1].Changed() || r.Hooks[0].Changed() {
		t.Errorf("%+v", r.Hooks)
	}
}

// The order in which recordings are named, the day and the folder make no difference.
func TestReportIsTheSameEverywhere(t *testing.T) {
	first := forms(t, build(t, false))
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "/home/elsewhere")
	t.Setenv("TZ", "Pacific/Auckland")
	for name, b := range forms(t, build(t, true)) {
		if !bytes.Equal(first[name], b) {
			t.Errorf("%s: the bytes differ", name)
		}
	}
}

func TestReportCoversSecretsAndEscapes(t *testing.T) {
	for name, b := range forms(t, build(t, false)) {
		if bytes.Contains(b, []byte(secret)) || !bytes.Contains(b, []byte("[redacted:")) {
			t.Errorf("%s: the secret is not covered", name)
		}
		if name == "html" &&
			(bytes.Contains(b, []byte("<script")) || bytes.Contains(b, []byte("<img")) || bytes.Contains(b, []byte("\u202e")) ||
				bytes.Contains(b, []byte("\x1b"))) {
			t.Error("what an agent wrote is not text any more")
		}
		if name == "html" &&
			(bytes.Contains(b, []byte("ZgotmplZ")) || bytes.Contains(b, []byte("http://")) ||
				bytes.Contains(b, []byte("<link")) || bytes.Contains(b, []byte("url("))) {
			t.Error("the page needs something from outside")
		}
		switch name {
		case "xml":
			if bytes.Contains(b, []byte("\u202e")) || bytes.Contains(b, []byte("\x1b")) {
				t.Error("xml: what hides is not shown")
			}
			var doc struct {
				Failures int `xml:"failures,attr"`
				Tests    int `xml:"tests,attr"`
			}
			if err := xml.Unmarshal(b, &doc); err != nil || doc.Failures != 10 || doc.Tests != 28 {
				t.Errorf("%v %+v", err, doc)
			}
		case "json":
			if !json.Valid(b) {
				t.Error("not JSON")
			}
		}
	}
}

// The page shows which hook stops which action without opening anything, and shows every
// figure in full.
func TestPageSaysWhy(t *testing.T) {
	b := report.NewBuilder("budget", "")
	b.Begin(recording.Header{})
	for _, r := range results(0) {
		b.Add(r)
	}
	slower := results(50)[0]
	slower.Differences = []replay.Difference{{What: replay.WhatFuel, Where: "command-guard (validate)", Want: "226737",
		Got: "1234567"}}
	b.Add(slower)
	b.End("sha256:x", 0)
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	page := string(forms(t, r)["html"])
	for _, want := range []string{
		"<title>belay: 6 invocations of 15 would come out otherwise</title>",
		`<span class="why">was: command-guard: rm would delete /</span>`, // what let it through has no reason
		`<span class="why">command-guard: pushes by force</span>`,
		"226\u202f737 → 1\u202f234\u202f567",
		"1 hook took exactly what was recorded",
		"sha256:" + strings.Repeat("b", 64),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	exact := report.NewBuilder("exact", "")
	exact.Begin(recording.Header{})
	exact.Add(results(0)[0])
	exact.End("sha256:x", 0)
	if r, err = exact.Report(); err != nil {
		t.Fatal(err)
	}
	if page := forms(t, r)["html"]; !bytes.Contains(page, []byte("<h1>Everything came out the same</h1>")) {
		t.Error("nothing differs, and the page does not say so")
	}
}

func TestReportIsBounded(t *testing.T) {
	b := report.NewBuilder("decision", "")
	b.Begin(recording.Header{})
	list := results(0)
	for n := range 3000 {
		b.Add(list[9+n%5])
	}
	b.End("sha256:x", 0)
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary.Different != 3000 || r.Recordings[0].Shown != report.MaxItems {
		t.Errorf("%+v %+v", r.Summary, r.Recordings)
	}
}

// With BELAY_SHOW set to a directory the page is left there to be looked at.
func TestShowPage(t *testing.T) {
	page := forms(t, build(t, false))["html"]
	if len(page) > 200<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if dir := os.Getenv("BELAY_SHOW"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "report.html"), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
