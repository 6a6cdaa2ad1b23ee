package near_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/near"
)

func TestOf(t *testing.T) {
	words := []string{"name", "module", "priority", "capabilities", "config_file", "match", "mode", "pre_tool",
		"post_tool"}
	for word, want := range map[string]string{
		"nmae": "name", "nam": "name", "priorty": "priority", "capabilites": "capabilities", "configFile": "config_file",
		"config-file": "config_file", "Module": "module", "moduls": "module", "pretool": "pre_tool", "posttool": "post_tool",
		"when": "", "x": "", "": "", "tier": "", "phase": "", strings.Repeat("priority", 1000): "",
	} {
		if got := near.Of(word, words); got != want {
			t.Errorf("%.20s: %q, want %q", word, got, want)
		}
	}
	if got := near.Of("command-gaurd", []string{"command-intercept", "command-guard"}); got != "command-guard" {
		t.Error(got)
	}
}

func TestTexts(t *testing.T) {
	if got := near.Question("priorty", []string{"priority"}); got != "did you mean priority?" {
		t.Error(got)
	}
	if got := near.Question("priority", []string{"priority"}); got != "" {
		t.Error(got)
	}
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"},
		"a, b and c": {"a", "b", "c"}} {
		if got := near.List(words); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
