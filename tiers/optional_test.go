package tiers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

func wanting(optional []string, names ...string) *tiers.Manifest {
	m := &tiers.Manifest{ABI: tiers.ABI, Name: "h", Version: "1.0.0", Phases: []phases.Phase{phases.PreTool},
		Optional: optional}
	for _, n := range names {
		m.Capabilities = append(m.Capabilities, tiers.WantedCapability{Name: n})
	}
	return m
}

func allowing(t *testing.T, names ...string) (out []tiers.Capability) {
	t.Helper()
	for _, n := range names {
		c, err := tiers.ParseCapability(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestLacks(t *testing.T) {
	for name, c := range map[string]struct {
		m       *tiers.Manifest
		imports []string
		allowed []string
		tier    phases.Tier
		want    []string // names; with ! what the tier may not hold
	}{
		"granted": {wanting(nil, "block"), []string{"block"}, []string{"block"}, phases.Sandboxed, nil},
		"not allowed": {wanting(nil, "block", "time_now"), []string{"block", "time_now"}, []string{"block"},
			phases.Sandboxed, []string{"time_now"}},
		"optional": {wanting([]string{"time_now"}, "block", "time_now"), []string{"block", "time_now"},
			[]string{"block"}, phases.Sandboxed, nil},
		"another is optional": {wanting([]string{"block"}, "block", "time_now"), []string{"block", "time_now"},
			[]string{"block"}, phases.Sandboxed, []string{"time_now"}},
		"declared and not imported": {wanting(nil, "block", "time_now"), []string{"block"}, []string{"block"},
			phases.Sandboxed, nil},
		"free imports need nothing": {wanting(nil, "block"), []string{"block", "input_get", "log"}, []string{"block"},
			phases.Sandboxed, nil},
		"granted in part": {wanting(nil, "rewrite"), []string{"rewrite"}, []string{"rewrite:/args"},
			phases.Sandboxed, nil},
		"one of two prefixes": {wanting(nil, "rewrite:/args", "rewrite:/model"), []string{"rewrite"},
			[]string{"rewrite:/args"}, phases.Sandboxed, nil},
		"none of two prefixes": {wanting(nil, "rewrite:/args", "rewrite:/model"), []string{"rewrite"},
			[]string{"rewrite:/text"}, phases.Sandboxed, []string{"rewrite"}},
		"above the tier": {wanting(nil, "http_request"), []string{"http_request"}, []string{"http_request"},
			phases.Sandboxed, []string{"!http_request"}},
		"above the tier and optional": {wanting([]string{"http_request"}, "http_request"), []string{"http_request"},
			[]string{"http_request"}, phases.Sandboxed, nil},
		"trusted": {wanting(nil, "http_request"), []string{"http_request"}, []string{"http_request"},
			phases.Trusted, nil},
		"trusted, and not allowed": {wanting(nil, "http_request"), []string{"http_request"}, nil, phases.Trusted,
			[]string{"http_request"}},
		"a tier that nobody knows": {wanting(nil, "block"), []string{"block"}, []string{"block"}, "royal",
			[]string{"!block"}},
		"several, in order of imports": {wanting(nil, "block", "random", "time_now"), []string{"time_now", "block", "random"},
			nil, phases.Sandboxed, []string{"time_now", "block", "random"}},
	} {
		var got []string
		for _, l := range tiers.Lacks(c.m, c.imports, tiers.Effective(c.m, allowing(t, c.allowed...), c.tier)) {
			text := l.Name
			if l.Tier {
				text = "!" + text
			}
			if l.Why == "" || len(l.Wants) == 0 {
				t.Errorf("%s: %+v says nothing", name, l)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Whatever is declared, allowed and optional: an import is held, optional, or lacking.
func TestLacksAreComplete(t *testing.T) {
	names := []string{"block", "rewrite", "time_now", "random", "http_request", "grant"}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string])
		declared := some.Draw(t, "declared")
		m := wanting(nil, declared...)
		for _, n := range declared {
			if rapid.Bool().Draw(t, "optional "+n) {
				m.Optional = append(m.Optional, n)
			}
		}
		var allowed []tiers.Capability
		for _, n := range some.Draw(t, "allowed") {
			allowed = append(allowed, tiers.Capability{Name: n})
		}
		grants := tiers.Effective(m, allowed,
			rapid.SampledFrom([]phases.Tier{phases.Sandboxed, phases.Trusted}).Draw(t, "tier"))
		has := map[string]int{}
		for _, l := range tiers.Lacks(m, declared, grants) {
			has[l.Name]++
		}
		for _, n := range m.Optional {
			has[n] += 10
		}
		for _, n := range tiers.Held(grants) {
			has[n] += 100
		}
		for _, n := range declared {
			if c := has[n]; c != 1 && c != 10 && c != 100 && c != 110 {
				t.Errorf("%s counts %d", n, c)
			}
		}
	})
}

func TestOptionalIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		member, at string
	}{
		"not declared":     {`["random"]`, "/optional/0"},
		"twice":            {`["block","block"]`, "/optional/1"},
		"with a parameter": {`["rewrite:/args"]`, "/optional/0"},
		"empty":            {`[""]`, "/optional/0"},
		"no list":          {`"block"`, "/optional"},
		"not texts":        {`[1]`, "/optional/0"},
		"too many":         {`[` + strings.TrimSuffix(strings.Repeat(`"block",`, 129), ",") + `]`, "/optional"},
		"declared":         {`["block","rewrite"]`, ""},
		"none":             {`[]`, ""},
	} {
		src := `{"abi":1,"name":"h","version":"1.0.0","phases":["pre_tool"],"capabilities":[{"name":"block"},{"name":"rewrite:/args"}],"optional":` + c.member + `}`
		m, err := tiers.DecodeManifest([]byte(src))
		var e *tiers.Error
		if c.at == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if again, err := m.Encode(); err != nil ||
				len(m.Optional) > 0 != strings.Contains(string(again), "optional") {
				t.Errorf("%s: written as %s, %v", name, again, err)
			}
		} else if !errors.As(err, &e) || e.Field != c.at {
			t.Errorf("%s: %v, want an error at %s", name, err, c.at)
		}
	}
}
