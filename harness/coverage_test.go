package harness_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/internal/cover"
	"github.com/belay-hooks/belay/internal/hookbuild"
)

// covered builds the hook with line numbers and runs its cases.
func covered(t *testing.T, debug bool) *cover.Profile {
	t.Helper()
	if m := hookbuild.Missing("c"); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	where := harness.Locator{Build: true, Debug: debug, WorkDir: t.TempDir()}
	s, err := harness.ReadSuiteFile("testdata/covered/cases/one.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := where.Module(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	h := engine(t, true).Hook(m.Name, m.File)
	if h.Coverage() != nil {
		t.Error("something ran before anything was loaded")
	}
	res, err := h.RunSuite(t.Context(), s, harness.SuiteOptions{})
	if err != nil || res.Count("pass") != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	return h.Coverage()
}

// Lines of which nothing ran, and lines of which something did, are the right ones.
func TestCoverageByLine(t *testing.T) {
	p := covered(t, true)
	src, err := os.ReadFile("testdata/covered/hook.c")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(src), "\n")
	i := slices.IndexFunc(p.Files, func(f cover.File) bool { return filepath.Base(f.Name) == "hook.c" })
	if i < 0 {
		t.Fatalf("%+v", p.Files)
	}
	ran := map[string]bool{}
	for _, l := range p.Files[i].Lines {
		ran[strings.TrimSpace(text[l.N-1])] = l.Hit > 0
	}
	for line, want := range map[string]bool{
		`return n * 3;`:    false,
		`if (c.n == 4) {`:  true,
		`is_push();`:       true,
		`return never(1);`: false,
	} {
		if got, known := ran[line]; !known || got != want {
			t.Errorf("%s: known %t, ran %t, want %t", line, known, got, want)
		}
	}
	for name, want := range map[string]bool{"never": false, "is_push": true, "pre_tool": true} {
		k := slices.IndexFunc(p.Funcs, func(f cover.Func) bool { return strings.HasPrefix(f.Name, name) })
		if k < 0 || (p.Funcs[k].Hit > 0) != want {
			t.Errorf("function %s: %+v", name, p.Funcs)
		}
	}
	if p.Hit == 0 || p.Hit >= p.Regions {
		t.Errorf("%d of %d regions", p.Hit, p.Regions)
	}
}

// Without debug information there are regions and exported functions, and no lines.
func TestCoverageWithoutDebugInformation(t *testing.T) {
	p := covered(t, false)
	if len(p.Files) != 0 || p.Hit == 0 || p.Hit >= p.Regions {
		t.Errorf("%+v", p)
	}
	if !slices.ContainsFunc(p.Funcs, func(f cover.Func) bool { return f.Name == "pre_tool" && f.Hit > 0 }) {
		t.Errorf("%+v", p.Funcs)
	}
}

// A guest in plain text, whose regions can be counted by hand: seven, of which one is
// never entered.
func TestCoverageOfKnownBranches(t *testing.T) {
	e := engine(t, true)
	module, err := os.ReadFile("testdata/guests/arms.wasm")
	if err != nil {
		t.Fatal(err)
	}
	s, err := harness.ReadSuite([]byte(`cases:
  - {name: one, phase: pre_tool, action: {tool: a, args: {}}, want: {decision: allow}}
  - {name: three, phase: pre_tool, action: {tool: abc, args: {}}, want: {decision: allow}}
`))
	if err != nil {
		t.Fatal(err)
	}
	h := e.Hook("arms", module)
	for i, want := range []int{3, 6} { // entry, one, end; then both ways past an arm, and three
		if r, err := h.Run(t.Context(), &s.Cases[i]); err != nil || !r.Passed() {
			t.Fatal(r, err)
		}
		p := h.Coverage()
		if p.Regions != 7 || p.Hit != want {
			t.Errorf("after %s: %d of %d regions, want %d of 7", s.Cases[i].Name, p.Hit, p.Regions, want)
		}
	}
}

// BenchmarkSuite holds a suite of small cases against its bare invocations: the ratio
// is x/invocation.
func BenchmarkSuite(b *testing.B) { benchmarkSuite(b) }
