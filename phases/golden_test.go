package phases

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file under testdata/golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func pretty(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// The input documents that hooks see are a contract: hooks are built against their pointers.
func TestGoldenDocuments(t *testing.T) {
	md := Metadata{"class": {Value: jsontext.Value(`{"risk":"low"}`), Hook: "classifier", Tier: Sandboxed}}
	for _, p := range Phases() {
		doc, err := Document(sampleInvocation(p), md)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "document_"+string(p)+".json", pretty(t, doc))
	}
}

// The verdict's wire form, one for each way in which a chain ends.
func TestGoldenVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		phase Phase
		turns []Turn
	}{
		"allow": {PreTool, nil},
		"transform": {PreTool,
			[]Turn{turn("defaults", setArg("timeout", "30"), contextWith("a timeout was added")),
				turn("clamp", clampTo("/home/dev/project/src/**"))}},
		"ask": {PreTool, []Turn{turn("careful", askWith("really?")), turn("careful too", askWith("hm"))}},
		"block": {PreTool,
			[]Turn{turn("careful", askWith("really?")), turn("guard", blockWith("no"), contextWith("late"))}},
		"trap": {PreTool,
			[]Turn{{By: named("broken"), Pass: PassMutate, Fault: NewFault(KindTrap, "a hook trapped", nil),
				FailText: "sorry"}}},
		"unstable": {PreTool,
			[]Turn{turn("m", setArg("x", "1")), {By: named("m"), Pass: PassValidate, Effects: []Effect{setArg("x", "2")}}}},
		"grant": {PreTool, []Turn{turn("g", Effect{Kind: EffectGrant, Text: "known command"})}},
		"reply": {PrePlan,
			[]Turn{turn("r", replyWith("no need to ask the model"),
				Effect{Kind: EffectAnnotate, Key: "k", Value: jsontext.Value(`{"a":[1]}`)})}},
		"retry": {PostReceive, []Turn{turn("r", retryWith("run the tests first"))}},
		"artifact": {PostTool,
			[]Turn{turn("a",
				Effect{Kind: EffectArtifact,
					Value: jsontext.Value(`{"name":"full.txt","media_type":"text/plain","text":"all","meta":{"n":1}}`)},
				Effect{Kind: EffectRewrite, Path: "/result", Value: jsontext.Value(`"short"`)})}},
		"redact":      {PreSend, []Turn{turn("r", Effect{Kind: EffectRedact, Path: "/messages", Label: "pii"})}},
		"child_tools": {Spawn, []Turn{turn("s", Effect{Kind: EffectRewrite, Path: "/child/tools/1", Remove: true})}},
	} {
		golden(t, "verdict_"+name+".json", pretty(t, combine(t, c.phase, c.turns...)))
	}
}

func TestGoldenRules(t *testing.T) {
	var b strings.Builder
	for _, p := range Phases() {
		r := RulesFor(p)
		fmt.Fprintf(&b, "%s\n  rewrite:", p)
		for _, w := range r.Rewrite {
			fmt.Fprintf(&b, " %s", w.Pointer)
			if w.Explicit {
				b.WriteString("(by name)")
			}
			if w.Subset {
				b.WriteString("(drop only)")
			}
		}
		fmt.Fprintf(&b, "\n  redact: %s\n  legal:", strings.Join(r.Redact, " "))
		for _, k := range EffectKinds() {
			if r.Legal(k) {
				fmt.Fprintf(&b, " %s", k.Capability())
			}
		}
		fmt.Fprintf(&b, "\n  state %v, calls %v, http %v\n", r.State, r.Calls, r.HTTP)
	}
	golden(t, "rules.txt", b.String())
	var tools strings.Builder
	for _, name := range KnownTools() {
		fmt.Fprintf(&tools, "%s\n", name)
	}
	for _, runtime := range ToolRuntimes() {
		byName := map[string][]string{}
		for native, name := range toolTables()[runtime] {
			if name == "" {
				name = "(its own name)"
			}
			byName[name] = append(byName[name], native)
		}
		fmt.Fprintf(&tools, "\n%s\n", runtime)
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			slices.Sort(byName[name])
			fmt.Fprintf(&tools, "  %s: %s\n", name, strings.Join(byName[name], " "))
		}
	}
	golden(t, "tools.txt", tools.String())
}

// No member of any action may have the name of a member of the envelope, or a
// hook would read one for the other.
func TestActionsAndEnvelopeShareNoNames(t *testing.T) {
	envelope := []string{"phase", "id", "runtime", "session", "agent", "run", "user", "cwd", "time", "reported_time",
		"traceparent", "scopes", "metadata", "judged"}
	for _, p := range Phases() {
		typ := reflect.TypeOf(newAction(p)).Elem()
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || slices.Contains(envelope, name) {
				t.Errorf("%s: the member %q", p, name)
			}
		}
	}
}
