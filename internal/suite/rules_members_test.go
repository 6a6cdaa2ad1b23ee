package suite_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// memberCases are some rules with cases about them.
type memberCases struct {
	Rules []jsontext.Value `json:"rules"`
	Part  string           `json:"part,omitzero"` // changes; default judges
	Tier  phases.Tier      `json:"tier,omitzero"`
	Cases []jsontext.Value `json:"cases"`
}

// refusedUnless are the members that an exemption may not have.
var refusedUnless = []string{"command", "path", "host", "host_not", "size", "text", "branch", "repository"}

// Each member that a rule can have does what it says: it has a case that it is about, and one that it is not about.
func TestEveryMemberOfARule(t *testing.T) {
	src, err := os.ReadFile("testdata/rules_members.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []memberCases
	if err := strictyaml.Unmarshal(src, &all); err != nil {
		t.Fatal(err)
	}
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := set.Get(rules.Engine)
	if err != nil {
		t.Fatal(err)
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	used := map[string]bool{}
	for i, c := range all {
		file, err := json.Marshal(map[string]any{"version": rules.Version, "rules": c.Rules})
		if err != nil {
			t.Fatal(err)
		}
		f, err := rules.Parse(fmt.Sprintf("entry %d", i), file)
		if err != nil {
			t.Fatal(err)
		}
		for r := range f.Rules {
			membersUsed(reflect.ValueOf(f.Rules[r]), "", used)
		}
		part := rules.Judges
		if c.Part == "changes" {
			part = rules.Changes
		}
		module, err := f.Build(engine.Module, part)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := json.Marshal(map[string]any{"tier": c.Tier, "cases": c.Cases}, json.OmitZeroStructFields(true))
		if err != nil {
			t.Fatal(err)
		}
		if c.Tier == "" {
			cases = []byte(strings.Replace(string(cases), `"tier":"",`, "", 1))
		}
		s, err := suite.Parse(cases)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		res, err := e.Hook("rules", module).RunSuite(t.Context(), s, suite.Options{})
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		verdicts := map[string]bool{}
		for k, one := range res.Cases {
			if one.Status() != "pass" {
				t.Errorf("entry %d: %s: %v %v", i, one.Case, one.Err, one.Differences)
			}
			w := s.Cases[k].Want
			verdicts[fmt.Sprint(w.Decision, w.Changed != nil && len(w.Changed) == 0, w.Scopes, len(w.Metadata))] = true
		}
		if len(verdicts) < 2 {
			t.Errorf("entry %d: every case wants the same", i)
		}
	}
	for _, want := range membersOf(reflect.TypeFor[rules.Rule](), "") {
		if member, ok := strings.CutPrefix(want, "unless."); ok && slices.Contains(refusedUnless, strings.Split(member, ".")[0]) {
			if used[want] {
				t.Errorf("%s is refused and used", want)
			}
			continue
		}
		if !used[want] {
			t.Errorf("no rule of the table has %s", want)
		}
	}
	// Members of which a few values are possible.
	values := []string{"limit.by=session", "limit.by=agent", "limit.by=user", "cannot_tell=ask", "cannot_tell=block",
		"when.annotation.tier=trusted"}
	for _, answer := range []string{"limit", "require_lease", "require_stage"} {
		values = append(values, answer+".answer=block", answer+".answer=ask")
	}
	for _, p := range phases.Phases() {
		if p != phases.Audit {
			values = append(values, "phase="+string(p))
		}
	}
	for _, v := range values {
		if !used[v] {
			t.Errorf("no rule of the table has %s", v)
		}
	}
}

// membersOf lists the members of a type by their names in JSON, each with those that it lies in.
func membersOf(t reflect.Type, at string) (all []string) {
	for f := range fieldsOf(t) {
		name := at + f.name
		all = append(all, name)
		if f.inner != nil {
			all = append(all, membersOf(f.inner, name+".")...)
		}
	}
	return all
}

type field struct {
	name  string
	index int
	inner reflect.Type // a struct; nil for none
}

func fieldsOf(t reflect.Type) func(func(field) bool) {
	return func(yield func(field) bool) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			f := field{name: name, index: i}
			if typ := t.Field(i).Type; typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Struct {
				f.inner = typ.Elem()
			}
			if !yield(f) {
				return
			}
		}
	}
}

// membersUsed notes the members that a value has, and the values of those that are texts.
func membersUsed(v reflect.Value, at string, used map[string]bool) {
	for f := range fieldsOf(v.Type()) {
		value := v.Field(f.index)
		if value.IsZero() {
			continue
		}
		name := at + f.name
		used[name] = true
		switch {
		case f.inner != nil:
			membersUsed(value.Elem(), name+".", used)
		case value.Kind() == reflect.String:
			used[name+"="+value.String()] = true
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.String:
			for i := range value.Len() {
				used[name+"="+value.Index(i).String()] = true
			}
		}
	}
}
