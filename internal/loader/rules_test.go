package loader_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sealcache"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// bound is a state directory that binds rules.yaml beside its belay.yaml.
type bound struct {
	t   *testing.T
	dir string
}

func bind(t *testing.T, config string) *bound {
	t.Helper()
	b := &bound{t, t.TempDir()}
	b.write("belay.yaml", "version: belay/v1\nhooks:\n"+config)
	return b
}

const oneBinding = "  - {name: team, module: \"rules:rules.yaml\"}\n"

func (b *bound) write(file, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, file), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// rule writes a rules file of one rule that blocks read with a reason.
func (b *bound) rule(reason string) {
	b.t.Helper()
	b.write("rules.yaml", oneRule(reason))
}

func oneRule(reason string) string {
	return "version: rules/v1\nrules:\n  - {name: a, when: {tool: read}, block: " + reason + "}\n"
}

func (b *bound) open(o belay.Options) *belay.Belay {
	b.t.Helper()
	host, err := belay.Open(b.t.Context(), b.dir, o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { host.Close() })
	return host
}

func (b *bound) says(host *belay.Belay, want string) phases.Verdict {
	b.t.Helper()
	v, err := host.Invoke(b.t.Context(), phases.Invocation{Phase: phases.PreTool,
		Action: []byte(`{"tool":"read","args":{"path":"a"}}`)})
	if v.Decision != phases.Block || !strings.Contains(v.Reason, want) {
		b.t.Errorf("%s %q %v, want %q", v.Decision, v.Reason, err, want)
	}
	return v
}

// A rules file that has become faulty leaves the rules before in force: a reload says where the fault is, and nothing
// that comes after takes the file up.
func TestFaultyRulesLeaveTheOldOnesInForce(t *testing.T) {
	b := bind(t, oneBinding)
	b.rule("the first")
	host := b.open(belay.Options{})
	before := b.says(host, "the first")
	const head = "version: rules/v1\nrules:\n"
	for _, c := range []struct{ text, want string }{
		{head + "  - {name: a, when: {tool: Read}, block: the second}\n", "rules.yaml:3:22: /rules/0/when/tool"},
		{"version: [", "rules.yaml:"},
		{head + "  - {name: a, when: {tool: read}, default: {/args/x: 1}}\n", "rules.yaml"},
		{head + "  - {name: a, when: {tool: read}, blok: the second}\n", "rules.yaml:3:35: /rules/0/blok: unknown member"},
		{head + strings.Repeat("  - {name: a, when: {tool: read}, block: x}\n", 2), "rules.yaml:4:6: /rules/1/name"},
		{head + "  - {name: a, when: {text: {match: '((a{1,30}){1,30}){1,30}'}}, block: x}\n", "rules.yaml:3:29"},
		{head + "  - {name: a, when: {tool: read}, limit: {count: 1, per: 1h}}\n" +
			"  - {name: b, when: {tool: read}, limit: {count: 2, per: 1h}}\n", "contradicts the limit of a"},
		{oneRule("x") + "\xff", "not valid UTF-8"},
		{"", "rules.yaml"},
		{strings.Repeat("# 10 MB\n", 10<<17), "rules.yaml"},
	} {
		b.write("rules.yaml", c.text)
		if err := host.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) && !strings.Contains(c.text, "10 MB") ||
			err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if v := b.says(host, "the first"); v.PolicyRevision != before.PolicyRevision {
			t.Errorf("the revision is %s", v.PolicyRevision)
		}
	}
	// The log says each of them once, however often it was tried.
	b.write("rules.yaml", "version: [")
	for range 3 {
		if err := host.Reload(t.Context()); err == nil {
			t.Error("it was taken")
		}
	}
	events, err := host.Events(t.Context(), wire.Query{Type: phases.EventNotice, Decision: "not_used", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for _, e := range events {
		said[e.Reason]++
	}
	const last = "the configuration before stays in use: belay.yaml cannot be used: the hook team: rules.yaml:"
	if len(events) < 9 || !strings.HasPrefix(events[len(events)-1].Reason, last) {
		t.Errorf("%d notices: %v", len(events), said)
	}
	for reason, n := range said {
		if n > 2 { // it was tried in two places of this test
			t.Errorf("%d times: %s", n, reason)
		}
	}
	if err := os.Remove(filepath.Join(b.dir, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := host.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) {
		t.Error(err)
	}
	b.says(host, "the first")
	b.rule("the third")
	if err := host.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.says(host, "the third")
}

// The revision names the content of the rules that are in force: what a file has become since does not count until it
// is taken into use, and the log says which content that is.
func TestTheRevisionNamesTheRulesInForce(t *testing.T) {
	b := bind(t, oneBinding)
	b.rule("the first")
	host := b.open(belay.Options{})
	first := b.says(host, "the first").PolicyRevision
	digest := func(reason string) string { return phases.ByteDigest([]byte(oneRule(reason))) }
	if !strings.HasSuffix(first, "+rules:"+digest("the first")) {
		t.Errorf("the revision is %s", first)
	}
	b.rule("the second")
	if v := b.says(host, "the first"); v.PolicyRevision != first {
		t.Errorf("a file that is not in use makes %s of %s", v.PolicyRevision, first)
	}
	if err := host.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := b.says(host, "the second").PolicyRevision
	if second == first || !strings.HasSuffix(second, "+rules:"+digest("the second")) {
		t.Errorf("the revision is %s", second)
	}
	s, err := host.Status(t.Context())
	if err != nil || s.Revision != second || len(s.Rules) != 1 ||
		s.Rules[0] != (wire.RulesFile{File: "rules.yaml", Digest: digest("the second")}) {
		t.Errorf("%s %v %v", s.Revision, s.Rules, err)
	}
	events, err := host.Events(t.Context(), wire.Query{Type: phases.EventNotice})
	if err != nil {
		t.Fatal(err)
	}
	said := false
	for _, e := range events {
		out := string(e.Output)
		said = said || strings.Contains(e.Reason, "rules files ~rules.yaml") &&
			strings.Contains(out, digest("the first")) && strings.Contains(out, digest("the second"))
	}
	if !said {
		t.Errorf("no notice says which rules came into force: %v", events)
	}
	// A host without hooks says the same of what is there.
	host.Close()
	without := b.open(belay.Options{NoHooks: true})
	if s, err := without.Status(t.Context()); err != nil || s.Revision != second || len(s.Rules) != 1 {
		t.Errorf("%s %v %v", s.Revision, s.Rules, err)
	}
	// Without rules files nothing is added.
	b.write("belay.yaml", "version: belay/v1\nhooks: []\n")
	s, err = b.open(belay.Options{NoHooks: true}).Status(t.Context())
	if err != nil || strings.Contains(s.Revision, "+") {
		t.Errorf("%s %v", s.Revision, err)
	}
}

// A trust policy that comes into force loads the hooks anew, and takes no other rules up: the revision would not name
// them.
func TestATrustPolicyTakesNoRulesUp(t *testing.T) {
	b := bind(t, oneBinding)
	b.rule("the first")
	host := b.open(belay.Options{TrustPoll: 20 * time.Millisecond})
	first := b.says(host, "the first").PolicyRevision
	b.rule("the second")
	b.write("trust.yaml", "version: belay/v1\ndeny: {digests: [\"sha256:"+strings.Repeat("d", 64)+"\"]}\n")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		v := b.says(host, "the first")
		if config, _, _ := strings.Cut(v.PolicyRevision, "+"); v.PolicyRevision != first {
			digest := phases.ByteDigest([]byte(oneRule("the first")))
			if !strings.HasPrefix(first, config) || !strings.HasSuffix(v.PolicyRevision, "+rules:"+digest) {
				t.Errorf("the revision is %s", v.PolicyRevision)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the trust policy did not come into force")
		}
	}
}

// What one host built is there for the next one: it is taken only if it is what was kept.
func TestBuiltRulesAreKept(t *testing.T) {
	b := bind(t, oneBinding)
	b.rule("the first")
	var log bytes.Buffer
	host := func() *belay.Belay { return b.open(belay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}) }
	first := host()
	b.says(first, "the first")
	first.Close()
	kept := filepath.Join(statedir.Cache(b.dir), "rules")
	entries, err := os.ReadDir(kept)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	path := filepath.Join(kept, entries[0].Name())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, entry := range map[string][]byte{
		"a changed byte":         flip(whole, len(whole)/2),
		"a changed seal":         flip(whole, 0),
		"other parts":            flip(whole, sha256.Size),
		"cut":                    whole[:len(whole)-1],
		"empty":                  {},
		"another module, sealed": append(bytes.Clone(whole[:sha256.Size+1]), anotherModule(t)...),
	} {
		log.Reset()
		if err := os.WriteFile(path, entry, 0o600); err != nil {
			t.Fatal(err)
		}
		h := host()
		b.says(h, "the first")
		h.Close()
		if !strings.Contains(log.String(), "built again") {
			t.Errorf("%s: the log says %s", what, &log)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, whole) {
			t.Errorf("%s: it was not mended", what)
		}
	}
	// It is really read: an entry of this state directory's key for these rules is used.
	key, err := statedir.MakeKey(statedir.Keys(b.dir), "cache")
	if err != nil {
		t.Fatal(err)
	}
	engine := engine(t)
	name := fmt.Sprintf("%x %s %s", sha256.Sum256([]byte(oneRule("the first"))), rules.Judges, engine.Digest)
	if err := sealcache.Open(kept, key, sealcache.Builder(), sealcache.Use{Purpose: "belay built rules 1",
		Entries: 32}).Put(name, append([]byte{1}, anotherModule(t)...)); err != nil {
		t.Fatal(err)
	}
	h := host()
	b.says(h, "another")
	h.Close()
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

func engine(t *testing.T) builtin.Hook {
	t.Helper()
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := set.Get(rules.Engine)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func anotherModule(t *testing.T) []byte {
	t.Helper()
	m, err := rules.Compile("x", []byte(oneRule("another")), engine(t).Module, rules.Judges)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A part of a file that nothing binds is refused at the start, from the cache, too.
func TestPartsThatNothingBindsAreRefused(t *testing.T) {
	b := bind(t, oneBinding)
	b.write("rules.yaml", oneRule("no")+"  - {name: b, when: {tool: grep}, default: {/args/head_limit: 100}}\n")
	for range 2 {
		_, err := belay.Open(t.Context(), b.dir, belay.Options{})
		if !errors.Is(err, belay.ErrConfig) || !strings.Contains(err.Error(), "bind module rules:rules.yaml#changes, too") {
			t.Error(err)
		}
	}
	b.write("belay.yaml", "version: belay/v1\nhooks:\n"+oneBinding+"  - {name: more, module: \"rules:rules.yaml#changes\"}\n")
	b.says(b.open(belay.Options{}), "no")
}
