package conformance_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/phases"
)

// broken is a host that does one thing wrong.
type broken struct {
	inner conformance.Host
	ask   func(*conformance.Request)
	tell  func(*conformance.Request, *conformance.Outcome)
}

func (b broken) Run(ctx context.Context, r conformance.Request) (conformance.Outcome, error) {
	asked := r
	if b.ask != nil {
		b.ask(&asked)
	}
	o, err := b.inner.Run(ctx, asked)
	if err == nil && b.tell != nil {
		b.tell(&r, &o)
	}
	return o, err
}

// remembered runs each turn once, for the many hosts that are broken in what they make
// of it.
type remembered struct {
	inner conformance.Host
	seen  map[[sha256.Size]byte]conformance.Outcome
}

func (m remembered) Run(ctx context.Context, r conformance.Request) (conformance.Outcome, error) {
	raw, err := json.Marshal(r, json.Deterministic(true), json.FormatNilSliceAsNull(true))
	if err != nil {
		return conformance.Outcome{}, err
	}
	key := sha256.Sum256(raw)
	o, ok := m.seen[key]
	if !ok {
		if o, err = m.inner.Run(ctx, r); err != nil {
			return o, err
		}
		m.seen[key] = o
	}
	o.Logs, o.Effects, o.Asked, o.State = slices.Clone(o.Logs), slices.Clone(o.Effects), slices.Clone(o.Asked),
		maps.Clone(o.State)
	return o, nil
}

// says replaces what guests log.
func says(old, next string) func(*conformance.Request, *conformance.Outcome) {
	return func(_ *conformance.Request, o *conformance.Outcome) {
		for i, l := range o.Logs {
			if l == old {
				o.Logs[i] = next
			}
		}
	}
}

// both does one thing after another.
func both(list ...func(*conformance.Request, *conformance.Outcome)) func(*conformance.Request, *conformance.Outcome) {
	return func(r *conformance.Request, o *conformance.Outcome) {
		for _, f := range list {
			f(r, o)
		}
	}
}

// lets makes every failure of a kind none.
func lets(k phases.Kind) func(*conformance.Request, *conformance.Outcome) {
	return func(_ *conformance.Request, o *conformance.Outcome) {
		if o.Fault == k {
			o.Fault = ""
		}
	}
}

// in is for one phase only.
func in(p phases.Phase,
	f func(*conformance.Request, *conformance.Outcome)) func(*conformance.Request, *conformance.Outcome) {
	return func(r *conformance.Request, o *conformance.Outcome) {
		if r.Phase == p {
			f(r, o)
		}
	}
}

// within replaces a part of what guests log.
func within(old, next string) func(*conformance.Request, *conformance.Outcome) {
	return func(_ *conformance.Request, o *conformance.Outcome) {
		for i := range o.Logs {
			o.Logs[i] = strings.ReplaceAll(o.Logs[i], old, next)
		}
	}
}

// A host that breaks a rule is found, by the rules that it breaks.
func TestBrokenHosts(t *testing.T) {
	own := remembered{belayHost(t), map[[sha256.Size]byte]conformance.Outcome{}}
	turns := 0
	ever := map[string]bool{}
	for name, c := range map[string]struct {
		host broken
		want []string // rules that must fail; others may
	}{
		"fails open": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Fault = "" }},
			[]string{"nonzero-fails", "unreachable-traps", "fuel-ends-loops", "ungranted-effect-poisons", "early-calls-end",
				"proc-exit-fails", "proc-exit-with-a-code", "range-outside-ends", "wasi-ranges", "assemblyscript-abort",
				"negative-result-fails", "poison-stays", "effects-before-the-phase", "reads-before-the-phase", "init-is-charged",
				"bulk-is-charged"}},
		"keeps effects of failures": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.Effects = []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}}
			}
		}}, []string{"failure-discards-effects"}},
		"grants everything": {broken{ask: func(r *conformance.Request) { r.Granted = nil }},
			[]string{"ungranted-effect-poisons"}},
		"grants nothing": {broken{ask: func(r *conformance.Request) { r.Granted = []string{} }},
			[]string{"block", "rewrite", "state", "time", "random"}},
		"lets validators rewrite": {broken{ask: func(r *conformance.Request) { r.Mutator = true }},
			[]string{"validator-may-not-rewrite"}},
		"has its own time": {broken{ask: func(r *conformance.Request) { r.Time = r.Time.Add(time.Second) }},
			[]string{"time"}},
		"has its own random": {broken{ask: func(r *conformance.Request) { r.Seed[0]++ }}, []string{"random"}},
		"forgets state":      {broken{ask: func(r *conformance.Request) { r.State = nil }}, []string{"state"}},
		"keeps state of failures": {broken{tell: func(r *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.State = map[string][]byte{"k": []byte("k")}
			}
		}}, []string{"failure-discards-state"}},
		"loses the configuration": {broken{ask: func(r *conformance.Request) { r.Config = nil }}, []string{"config"}},
		"shows the action only": {broken{ask: func(r *conformance.Request) { r.Input = r.Action }},
			[]string{"input-is-flat"}},
		"does not count": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Fuel = 0 }},
			[]string{"no-opinion"}},
		"counts by the clock": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			turns++
			o.Fuel += int64(turns)
		}}, []string{"no-opinion", "every-turn-is-new"}},
		"uses instances again": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if len(o.Logs) == 3 && o.Logs[0] == "0" {
				o.Logs = []string{"7", "7", "2"}
			}
		}}, []string{"every-turn-is-new"}},
		"loads anything": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Refused = "" }},
			[]string{"unknown-import", "wrong-signature", "imported-memory", "memory-is-exported", "no-phase", "phase-signature",
				"component", "shared-memory", "tail-calls", "manifest-without-an-import", "manifest-with-unknown-members"}},
		"loads nothing": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Refused = "too large" }},
			[]string{"no-opinion", "block"}},
		"calls all a trap": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.Fault = phases.KindTrap
			}
		}}, []string{"fuel-ends-call-trees", "hostcalls-cost-fuel", "stack-is-bounded", "trap-after-refused-grow-is-memory",
			"empty-range-beyond-the-end"}},
		"trusts everybody": {broken{ask: func(r *conformance.Request) { r.Tier = phases.Trusted }},
			[]string{"trusted-calls", "grant-is-for-trusted-hooks"}},
		"trusts nobody": {broken{ask: func(r *conformance.Request) { r.Tier = phases.Sandboxed }},
			[]string{"grant", "call-replies", "http-allowed", "lease-minted"}},
		"lets observers act": {broken{ask: func(r *conformance.Request) { r.Observe = false }}, []string{"observers-wish"}},
		"lets all observe": {broken{ask: func(r *conformance.Request) { r.Observe = true }},
			[]string{"call-replies", "refusal-explains-itself"}},
		"lets nobody change": {broken{ask: func(r *conformance.Request) { r.Mutator = false }},
			[]string{"rewrite", "redact", "clamp", "legal-in-post-tool"}},
		"refuses without a word": {broken{ask: func(r *conformance.Request) {
			answers := map[string]conformance.Answer{}
			for call, a := range r.Answers {
				if a.Errno < 0 {
					a.Reply = nil
				}
				answers[call] = a
			}
			r.Answers = answers
		}}, []string{"refusal-explains-itself"}},
		"offers nothing": {broken{ask: func(r *conformance.Request) { r.Answers = nil }},
			[]string{"call-replies", "all-calls-share-a-quota", "tool-call"}},
		"lets through large inputs": {broken{tell: lets(phases.KindProtocol)}, []string{"input-is-bounded"}},
		"takes anything in pre_plan": {broken{tell: in(phases.PrePlan,
			both(says("-2", "0"), lets(phases.KindOutput)))}, []string{"illegal-in-pre-plan", "rewritable-in-pre-plan"}},
		"takes anything in pre_send": {broken{tell: in(phases.PreSend,
			both(says("-2", "0"), lets(phases.KindOutput)))},
			[]string{"illegal-in-pre-send", "rewritable-in-pre-send", "calls-in-pre-send", "credentials-are-not-shown"}},
		"takes anything in post_receive": {broken{tell: in(phases.PostReceive,
			both(says("-2", "0"), lets(phases.KindOutput)))}, []string{"illegal-in-post-receive"}},
		"takes anything in pre_tool": {broken{tell: in(phases.PreTool,
			both(says("-2", "0"), lets(phases.KindOutput)))},
			[]string{"illegal-in-pre-tool", "rewrite-narrowed", "validator-may-not-redact", "block-is-a-power"}},
		"takes anything in post_tool": {broken{tell: in(phases.PostTool,
			both(says("-2", "0"), lets(phases.KindOutput)))}, []string{"illegal-in-post-tool"}},
		"takes anything in state_transition": {broken{tell: in(phases.StateTransition,
			both(says("-2", "0"), lets(phases.KindOutput)))}, []string{"illegal-in-state-transition"}},
		"takes anything in spawn": {broken{tell: in(phases.Spawn, both(says("-2", "0"), lets(phases.KindOutput)))},
			[]string{"illegal-in-spawn", "child-tools-only-lose"}},
		"takes anything in audit": {broken{tell: in(phases.Audit, both(says("-2", "0"), lets(phases.KindOutput)))},
			[]string{"illegal-in-audit", "audit-outside-of-data", "audit-keeps-no-state", "calls-in-audit"}},
		"takes nothing": {broken{tell: says("0", "-2")},
			[]string{"legal-in-pre-plan", "legal-in-pre-send", "legal-in-post-receive", "legal-in-pre-tool",
				"legal-in-post-tool", "legal-in-state-transition", "legal-in-spawn", "legal-in-audit"}},
		"takes any document": {broken{tell: both(says("-3", "0"), lets(phases.KindOutput))},
			[]string{"ask-is-strict", "clamp-is-strict", "retry-is-strict", "reply-is-strict", "artifact-is-strict",
				"path-resolve-is-strict", "lease-documents", "tool-call-documents", "http-documents", "call-requests-are-objects",
				"tools-only-lose", "log-levels"}},
		"has no quotas": {broken{tell: both(says("-4", "0"), lets(phases.KindOutput))},
			[]string{"effects-are-counted", "effects-together-are-bounded", "gated-calls-are-counted", "all-calls-share-a-quota",
				"state-is-bounded", "state-looks-are-bounded"}},
		"has no bounds": {broken{tell: both(says("-5", "0"), lets(phases.KindOutput))},
			[]string{"effect-is-bounded", "context-is-bounded", "label-is-bounded", "requests-are-bounded",
				"replies-are-bounded", "shell-is-bounded", "find-secrets-is-bounded", "state-values-are-bounded",
				"pattern-refused"}},
		"keeps the bits of NaN": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if slices.Equal(o.Logs, []string{"1", "1", "1", "1"}) {
				o.Logs[0] = "0"
			}
		}}, []string{"nan-of-doubles"}},
		"sees no commands": {broken{tell: within(`"commands":[`, `"commands":[],"more":[`)},
			[]string{"shell-parse", "shell-unknown"}},
		"tells secrets": {broken{tell: within(`"secrets":[{`,
			`"secrets":[{"value":"ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B",`)}, []string{"find-secrets"}},
		"matches nothing": {broken{tell: within(`"any":true`, `"any":false`)},
			[]string{"pattern-match", "pattern-glob"}},
		"takes paths as they are": {broken{tell: within(`/etc/passwd`, `/etc/./passwd`)},
			[]string{"path-resolve", "path-spellings"}},
		"never takes back": {broken{tell: within(`"active":false`, `"active":true`)},
			[]string{"lease-revoked", "lease-scope"}},
		"lends without asking": {broken{tell: says("-6", "1")}, []string{"lease-requested", "refusal-explains-itself"}},
		"knows every lease":    {broken{tell: says("-1", "1")}, []string{"lease-unknown", "tool-call-absent", "absent"}},
		"lends more": {broken{tell: says("-2", "1")},
			[]string{"lease-wider", "lease-too-long", "trusted-calls", "http-not-listed"}},
		"nests without end": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Turns++ }},
			[]string{"tool-calls-are-bounded", "http-allowed"}},
		"asks others for more": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			o.Asked = append(o.Asked, conformance.Asked{Call: "http_request", Request: []byte("{}")})
		}}, []string{"call-requests-are-objects", "http-not-listed", "observers-wish"}},
		"sends anywhere": {broken{ask: func(r *conformance.Request) {
			if r.Hosts != nil {
				r.Hosts = append(slices.Clone(r.Hosts), "other.example:443", "api.example:8443")
			}
		}}, []string{"http-not-listed"}},
		"has a clock that stands still": {broken{tell: both(says("2000", "0"), says("1000", "0"))}, []string{"wasi-clocks"}},
		"has WASI": {broken{tell: both(says("52", "0"), says("8", "0"))},
			[]string{"wasi-the-rest", "wasi-descriptors", "wasi-output", "wasi-sleep"}},
		"logs without bounds": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			o.Logs = append(o.Logs, "more")
		}}, []string{"logs-are-bounded", "read-nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.host.inner = own
			failures, err := conformance.Verify(t.Context(), c.host)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, f := range failures {
				ids = append(ids, f.Rule.ID)
				ever[f.Rule.ID] = true
			}
			for _, w := range c.want {
				if !slices.Contains(ids, w) {
					t.Errorf("%s is not found to be broken; found are %v", w, ids)
				}
			}
		})
	}
	for _, r := range rules(t) {
		if !ever[r.ID] {
			t.Errorf("%s: none of these hosts breaks it", r.ID)
		}
	}
}

// No rule is one that everything passes: each finds a wrong end, a wrong log, a wrong
// effect and a wrong write.
func TestEveryRuleCanFail(t *testing.T) {
	own := remembered{belayHost(t), map[[sha256.Size]byte]conformance.Outcome{}}
	for name, tell := range map[string]func(*conformance.Request, *conformance.Outcome){
		"end": func(_ *conformance.Request, o *conformance.Outcome) { o.Fault += "x"; o.Refused = "" },
		"log": func(_ *conformance.Request, o *conformance.Outcome) {
			o.Logs = append(o.Logs, "x")
			o.Refused = ""
		},
		"effect": func(_ *conformance.Request, o *conformance.Outcome) {
			o.Effects = append([]phases.Effect{{Kind: phases.EffectBlock}}, o.Effects...)
			o.Refused = ""
		},
		"write": func(_ *conformance.Request, o *conformance.Outcome) {
			o.State = map[string][]byte{fmt.Sprint(o.Fuel): nil}
			o.Refused = ""
		},
	} {
		failures, err := conformance.Verify(t.Context(), broken{inner: own, tell: tell})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, f := range failures {
			found[f.Rule.ID] = true
		}
		for _, r := range rules(t) {
			if !found[r.ID] {
				t.Errorf("%s: a wrong %s is not found", r.ID, name)
			}
		}
	}
}
