package phases

import (
	"errors"
	"strings"
	"testing"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		any, want     bool
	}{
		{"", "whatever", false, true}, {"*", "whatever", false, true}, {".*", "exec", false, true},
		{"exec", "exec", false, true}, {"exec", "read", false, false}, {"^read$", "read", false, true},
		{"read", "notread", false, true}, // not anchored
		{"^(read|write|edit)$", "edit", false, true}, {"^(read|write|edit)$", "edits", false, false},
		{"mcp:github:", "mcp:github:x", false, true}, {"^mcp:", "mcp:a:b", false, true}, {"^mcp:", "exec", false, false},
		{"my_tool", "my_tool", true, true},
	} {
		m, err := CompileTools(c.pattern, c.any)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := m.Match(c.name); got != c.want || m.String() != c.pattern {
			t.Errorf("%q on %q: %v", c.pattern, c.name, got)
		}
	}
	for _, p := range []string{"exce", "Bash", "my_tool", "^exec $", "(", "a(?!b)", `(a)\1`,
		strings.Repeat("a", maxPatternSize+1), "xmcp:"} {
		_, err := CompileTools(p, false)
		if !errors.Is(err, ErrMatcher) {
			t.Errorf("%q: %v", p, err)
		}
		if p == "exce" && !strings.Contains(err.Error(), "exec, ") {
			t.Errorf("the known names are missing: %v", err)
		}
	}
	var zero Matcher
	if zero.Match("") || zero.Match("exec") {
		t.Error("the zero matcher matches")
	}
	if _, err := CompileNames("anything"); err != nil {
		t.Error(err)
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add("^(read|write)$", "read")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		m, err := CompileTools(pattern, false)
		if err != nil {
			if !errors.Is(err, ErrMatcher) || SafeLine(err.Error(), 1<<20) != err.Error() {
				t.Fatalf("%q", err)
			}
			return
		}
		m.Match(name)
	})
}
