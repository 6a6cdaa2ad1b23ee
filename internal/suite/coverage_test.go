package suite_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/cover"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/suite"
)

// covered builds a hook, with line numbers or without, and runs its cases.
func covered(t *testing.T, dir, lang string, debug bool) *cover.Profile {
	t.Helper()
	if m := hookbuild.Missing(lang); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	where := suite.Locator{Build: true, Debug: debug, WorkDir: t.TempDir()}
	s, err := suite.ReadFile(filepath.Join("testdata", dir, "cases", "one.yaml"))
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
	res, err := h.RunSuite(t.Context(), s, suite.Options{})
	if err != nil || res.Count("pass") != len(s.Cases) {
		t.Fatalf("%+v %v", res, err)
	}
	return h.Coverage()
}

// Lines of which nothing ran, and lines of which something did, are the right ones, in
// each language whose compiler writes line numbers.
func TestCoverageByLine(t *testing.T) {
	for _, c := range []struct {
		lang, dir, source string
		lines, funcs      map[string]bool // by text and by how they begin: whether they ran
	}{
		{"c", "covered", "hook.c", map[string]bool{
			`return n * 3;`:    false,
			`if (c.n == 4) {`:  true,
			`is_push();`:       true,
			`return never(1);`: false,
			// Calls that were inlined are lines of the caller as well.
			`belay_add_context(BELAY_T("a push"));`: true,
			`belay_block(BELAY_T("never"));`:        false,
		}, map[string]bool{"never": false, "is_push": true, "pre_tool": true}},
		{"rust", "covered-rust", "src/lib.rs", map[string]bool{
			`hook::add_context("a push");`:                             true,
			`hook::block("never");`:                                    false,
			`Err(format!("command number {}", n).into())`:              false,
			`let command = match hook::input::text("/args/command") {`: true,
			`None => return Ok(()),`:                                   true,
			`if letters == 4 {`:                                        true,
			`is_push();`:                                               true,
			`return never(letters);`:                                   false,
		}, map[string]bool{"covered_rust::never": false, "covered_rust::is_push": true, "pre_tool": true}},
	} {
		t.Run(c.lang, func(t *testing.T) {
			p := covered(t, c.dir, c.lang, true)
			src, err := os.ReadFile(filepath.Join("testdata", c.dir, c.source))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Split(string(src), "\n")
			i := slices.IndexFunc(p.Files, func(f cover.File) bool {
				return strings.HasSuffix(filepath.ToSlash(f.Name), c.source) && !strings.Contains(f.Name, "belay-hook")
			})
			if i < 0 {
				t.Fatalf("%+v", p.Files)
			}
			ran := map[string]bool{}
			for _, l := range p.Files[i].Lines {
				ran[strings.TrimSpace(text[l.N-1])] = l.Hit > 0
			}
			for line, want := range c.lines {
				if got, known := ran[line]; !known || got != want {
					t.Errorf("%s: known %t, ran %t, want %t", line, known, got, want)
				}
			}
			for name, want := range c.funcs {
				k := slices.IndexFunc(p.Funcs, func(f cover.Func) bool { return strings.HasPrefix(f.Name, name) })
				if k < 0 || (p.Funcs[k].Hit > 0) != want {
					t.Errorf("function %s: %+v", name, p.Funcs)
				}
			}
			if p.Hit == 0 || p.Hit >= p.Regions {
				t.Errorf("%d of %d regions", p.Hit, p.Regions)
			}
		})
	}
}

// Without debug information there are regions and exported functions, and no lines.
func TestCoverageWithoutDebugInformation(t *testing.T) {
	p := covered(t, "covered", "c", false)
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
	s, err := suite.Parse([]byte(`cases:
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
