package explain_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// chain runs several hooks as one configuration, the first asked first.
func chain(t rapid.TB, hooks ...*kernel.Loaded) *rig.Rig {
	t.Helper()
	cfg := &kernel.Config{Revision: "x"}
	byName := map[string]*kernel.Loaded{}
	for i, h := range hooks {
		name := fmt.Sprintf("h%d", i)
		byName[name] = h
		cfg.Bindings = append(cfg.Bindings, kernel.BindingSpec{Name: name, Priority: len(hooks) - i})
	}
	r, err := rig.Open(context.Background(), rig.Options{Config: cfg,
		Wrap: func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return l.Hook },
		Loader: rig.LoaderFunc(func(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
			return byName[spec.Name], nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// part loads a part of a rules file.
func (w *world) part(t rapid.TB, src string, p rules.Part) *kernel.Loaded {
	t.Helper()
	m, err := rules.Compile("rules.yaml", []byte(src), w.engine, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	h, err := w.bench.Load(context.Background(), loader.BenchHook{Name: "rules", Module: m, Tier: phases.Sandboxed})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A call that rules change is judged by the rules about it once: it counts once.
func TestALimitCountsOnce(t *testing.T) {
	const src = "version: rules/v1\nrules:\n  - {name: few, when: {tool: exec}, limit: {count: 2, per: 1h}}\n" +
		"  - {name: time, when: {tool: exec}, fix: {/args/timeout: 60}}\n  - {name: env, when: {tool: exec}, default: {/args/env: {}}}\n"
	w := open(t)
	judges, changes := w.part(t, src, rules.Judges), w.part(t, src, rules.Changes)
	for name, hooks := range map[string][]*kernel.Loaded{"changes first": {changes, judges},
		"judges first": {judges, changes}} {
		r := chain(t, hooks...)
		for i, want := range []phases.Decision{phases.Allow, phases.Allow, phases.Block, phases.Block} {
			v, err := r.Decide(context.Background(), rig.Case{Invocation: command("ls"),
				Clock: time.Date(2026, 1, 2, 10, i, 0, 0, time.UTC)})
			if err != nil || v.Decision != want {
				t.Errorf("%s: call %d: %s %s %v, want %s", name, i+1, v.Decision, v.Reason, err, want)
			}
			if want == phases.Allow && !strings.Contains(string(v.Action), `"timeout":60`) {
				t.Errorf("%s: call %d: %s", name, i+1, v.Action)
			}
		}
		r.Close()
	}
}

// notes is a hook that writes metadata.
type notes struct{ key, value string }

func (n notes) Run(context.Context, kernel.Turn) (kernel.Outcome, error) {
	return kernel.Outcome{Effects: []phases.Effect{
		{Kind: phases.EffectAnnotate, Key: n.key, Value: jsontext.Value(n.value)}}}, nil
}

func noting(key, value string, tier phases.Tier) *kernel.Loaded {
	return &kernel.Loaded{Hook: notes{key, value}, Digest: "sha256:" + strings.Repeat("1", 64), Version: "1.0.0",
		Tier:   tier,
		Phases: []phases.Phase{phases.PreTool}, Capabilities: []string{"annotate"}}
}

// A rule that requires a stage is fulfilled by what a trusted hook has noted, and by nothing else.
func TestRequiredStageIsATrustedHooks(t *testing.T) {
	const src = "version: rules/v1\nrules:\n  - {name: a, when: {tool: exec}, require_stage: {stage: [done, approved]}}\n"
	w := open(t)
	required := w.part(t, src, rules.Judges)
	for _, c := range []struct {
		noted *kernel.Loaded
		want  phases.Decision
	}{
		{noting("stage", `"approved"`, phases.Trusted), phases.Allow},
		{noting("stage", `"approved"`, phases.Sandboxed), phases.Block},
		{noting("stage", `"begun"`, phases.Trusted), phases.Block},
		{noting("stage", `["approved"]`, phases.Trusted), phases.Block},
		{noting("other", `"approved"`, phases.Trusted), phases.Block},
	} {
		r := chain(t, c.noted, required)
		inv := command("ls")
		inv.Run = "r" // which metadata is of; what is noted is seen in the next invocation
		for _, want := range []phases.Decision{phases.Block, c.want} {
			v, err := r.Decide(context.Background(), rig.Case{Invocation: inv})
			if v.Decision != want {
				t.Errorf("%+v: %s %s %v, want %s", c.noted.Hook, v.Decision, v.Reason, err, want)
			}
		}
		r.Close()
	}
}

// Of rules that change actions, the order says nothing, and one more never lets a call touch or show more.
func TestMoreChangesNeverWiden(t *testing.T) {
	w := open(t)
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > mostChecks {
			return
		}
		var list []string
		for i := range rapid.IntRange(2, 5).Draw(t, "rules") {
			when := rapid.SampledFrom([]string{"{}", "{tool: exec}", "{command: git}", "{path: secret}", "{agent: other}",
				"{command: $X}"}).Draw(t, "when")
			if when == "{command: $X}" {
				when = "{command: unknown-one}"
			}
			answer := rapid.SampledFrom([]string{"scopes: {net: []}", "scopes: {fs_read: ['/repo/**'], tools: [exec]}",
				"scopes: {fs_read: ['/repo/src/**']}", "redact: {match: 'tok[a-z]+'}", "redact: {match: 'en', with: ''}",
				"fix: {/args/timeout: 5}", "fix: {/args/timeout: 6}", "default: {/args/env: {}}"}).Draw(t, "answer")
			list = append(list, fmt.Sprintf("  - {name: r%d, when: %s, %s}\n", i, when, answer))
		}
		decide := func(list []string, inv phases.Invocation) (phases.Verdict, bool) {
			src := "version: rules/v1\nrules:\n" + strings.Join(list, "")
			if _, err := rules.Parse("x", []byte(src)); err != nil {
				return phases.Verdict{}, false // fixed arguments may contradict
			}
			r := chain(t, w.part(t, src, rules.Changes))
			defer r.Close()
			v, err := r.Decide(context.Background(), rig.Case{Invocation: inv})
			if err != nil {
				t.Fatal(err)
			}
			return v, true
		}
		inv := command(rapid.SampledFrom([]string{"git log token", "cat secret", "$X token", "ls tokens"}).Draw(t, "command"))
		all, ok := decide(list, inv)
		if !ok {
			return
		}
		shuffled := append([]string(nil), list...)
		rng := rand.New(rand.NewPCG(uint64(rapid.Uint32().Draw(t, "seed")), 1))
		rng.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		if v, _ := decide(shuffled, inv); v.Decision != all.Decision || v.Reason != all.Reason ||
			string(v.Action) != string(all.Action) || !v.Scopes.Contains(all.Scopes) || !all.Scopes.Contains(v.Scopes) {
			t.Fatalf("in another order: %s %s %s, and not %s %s %s", v.Decision, v.Action, v.Reason, all.Decision, all.Action,
				all.Reason)
		}
		fewer, _ := decide(list[:len(list)-1], inv)
		switch {
		case rank(fewer.Decision) > rank(all.Decision):
			t.Fatalf("fewer rules say %s, all say %s", fewer.Decision, all.Decision)
		case all.Decision == phases.Allow && !fewer.Scopes.Contains(all.Scopes):
			t.Fatalf("a rule more widens %v to %v", fewer.Scopes, all.Scopes)
		case all.Decision == phases.Allow && strings.Contains(string(all.Action), "token") &&
			!strings.Contains(string(fewer.Action), "token"):
			t.Fatalf("a rule more shows more: %s, and without it %s", all.Action, fewer.Action)
		}
	})
}
