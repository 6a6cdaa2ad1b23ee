package code_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/code"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const twoRules = `version: rules/v1
rules:
  - name: a
    when: {%WHEN%}
    %ANSWER%
  - name: b
    phase: %PHASE%
    when: {agent: x}
    block: no
`

func outline(t *testing.T, when, answer, phase string) (*rules.Outline, error) {
	t.Helper()
	src := strings.NewReplacer("%WHEN%", when, "%ANSWER%", answer, "%PHASE%", phase).Replace(twoRules)
	f, err := rules.Parse("rules.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f.Outline("rules.yaml", f.Parts()[0])
}

// What a hook's source cannot say is named, with its rule, line and column.
func TestUnsaid(t *testing.T) {
	for _, c := range []struct{ when, answer, want string }{
		{"path: .env", "block: x", "rules.yaml:4:12: /rules/0/when/path: the rule a cannot be written"},
		{"host: x.com", "block: x", "rules.yaml:4:12: /rules/0/when/host: "},
		{"host_not: x.com", "block: x", "rules.yaml:4:12: /rules/0/when/host_not: "},
		{"annotation: {key: k, is: {a: 1}}", "block: x", "/rules/0/when/annotation/is: "},
	} {
		if _, err := outline(t, c.when, c.answer, "pre_tool"); !errors.Is(err, rules.ErrRules) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.when, err)
		}
	}
	f, err := rules.Parse("rules.yaml", []byte("version: rules/v1\nrules:\n  - {name: a, when: {}, redact: {match: x}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Outline("rules.yaml", rules.Changes); err == nil ||
		!strings.Contains(err.Error(), "rules.yaml:3:25: /rules/0/redact") {
		t.Error(err)
	}
	if _, err := f.Outline("rules.yaml", rules.Judges); !errors.Is(err, rules.ErrNoPart) {
		t.Error(err)
	}
}

// The manifest is the one of the rules but for the name, and the invocation is one.
func TestManifestAndInvocation(t *testing.T) {
	for _, phase := range phases.Phases() {
		if phase == phases.Audit {
			continue
		}
		o, err := outline(t, "config: {mode: [strict, 3]}", "block: 'a \"b\"'", string(phase))
		if err != nil {
			t.Fatal(err)
		}
		s, err := code.Write(o, "acme/x", "rules.yaml", "c")
		if err != nil {
			t.Fatal(err)
		}
		m, err := tiers.ParseManifestSource(s.Files["belay.yaml"])
		if err != nil || m.Name != "acme/x" || len(m.Phases) != len(o.Manifest.Phases) ||
			len(m.Capabilities) != len(o.Manifest.Capabilities) || !bytes.Equal(m.ConfigSchema, o.Manifest.ConfigSchema) {
			t.Errorf("%s: %+v, %v", phase, m, err)
		}
		if inv, err := phases.DecodeInvocation(s.Files["invocation.json"]); err != nil || inv.Validate() != nil {
			t.Errorf("%s: %+v, %v", phase, inv, err)
		}
	}
}

// The same rules become the same text, and names of rules that differ by a sign alone become different functions.
func TestNamesAndOrder(t *testing.T) {
	src := "version: rules/v1\nrules:\n"
	for _, name := range []string{"b.c", "b-c", "b_c", "go", "1"} {
		src += "  - {name: " + `"` + name + `"` + ", when: {agent: x}, block: no}\n"
	}
	f, err := rules.Parse("", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for lang, functions := range map[string][]string{
		"go":   {"func ruleBC(", "func ruleBC2(", "func ruleBC23(", "func ruleGo(", "func rule1("},
		"rust": {"fn rule_b_c(", "fn rule_b_c_2(", "fn rule_go("},
		"c":    {"rules_holds rule_b_c(", "rules_holds rule_b_c_2(", "rules_holds rule_1("},
	} {
		var before string
		for range 2 {
			o, err := f.Outline("", rules.Judges)
			if err != nil {
				t.Fatal(err)
			}
			s, err := code.Write(o, "x", "rules.yaml", lang)
			if err != nil {
				t.Fatal(err)
			}
			text := string(s.Files[map[string]string{"go": "main.go", "rust": "src/lib.rs", "c": "hook.c"}[lang]])
			if before != "" && text != before {
				t.Errorf("%s: another text", lang)
			}
			before = text
		}
		for _, want := range functions {
			if strings.Count(before, want) != 1 {
				t.Errorf("%s: no %s in\n%s", lang, want, before)
			}
		}
	}
	o, err := f.Outline("", rules.Judges)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := code.Write(o, "x", "rules.yaml", "wat"); err == nil || !strings.Contains(err.Error(), "go, rust, c") {
		t.Error(err)
	}
}
