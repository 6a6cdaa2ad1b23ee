package alarms

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
)

// Calls that one check stopped have one name, whatever they are about.
func TestRulesOfAReason(t *testing.T) {
	for reason, want := range map[string][]string{
		"no (rule no-env-files)":                                         {"no-env-files"},
		"a (rule one); b (rule two); c (rule one)":                       {"one", "two"},
		"no (cd); ls (rule a)":                                           {"a"},
		"(x); the next time is in 5 seconds (rule few); (y); z (rule b)": {"few", "b"},
		"rm would delete / (fs-destroy)":                                 {"fs-destroy"},
		"it cannot be told: $X (unknown); b (push)":                      {"unknown", "push"},
		"cat would open ~/.env, which is protected (env-file)":           {"env-file"},
		"cat (GNU coreutils)":                                            {"cat (GNU coreutils)"},
		"rm would delete /":                                              {"rm would delete …"},
		"rm would delete /home/dev":                                      {"rm would delete …"},
		"'a b' and \"c\" are secret":                                     {"… and … are secret"},
		"cannot read /a/b /c 17: it is new":                              {"cannot read …"},
		"git push: git push origin main":                                 {"git push"},
		"it is a setting of belay. A person decides, in the queue.":      {"it is a setting of belay"},
		": .": {"no reason"},
		"":    {"no reason"},
		"the text (rule x) is in the middle of it":                          {"the text (rule x) is in the middle of it"},
		strings.Repeat("word ", 40):                                         {strings.Repeat("word ", 14) + "w…"},
		"it names (rule UPPER)":                                             {"it names (rule UPPER)"},
		"what the code given to python3 would start cannot be told earlier": {"what the code given to … would start cannot be told earlier"},
	} {
		if got := rulesOf(reason, phases.KindPolicy); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
	if got := rulesOf("no (rule x)", phases.KindFuel); !slices.Equal(got, []string{"failure: fuel"}) {
		t.Errorf("a failure is of the rule %q", got)
	}
}

// Every reason has at least one name, and names are short.
func TestEveryReasonHasARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.String().Draw(t, "reason")
		names := rulesOf(reason, phases.KindPolicy)
		if len(names) == 0 || len(names) > maxNamed {
			t.Fatalf("%d names", len(names))
		}
		for _, name := range names {
			if name == "" || utf8.RuneCountInString(name) > maxRule {
				t.Fatalf("%q", name)
			}
		}
	})
}
