package tiers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const good = `{"abi":1,"name":"acme/guard","version":"1.2.3","phases":["pre_tool"],
 "capabilities":[{"name":"block","reason":"refuse"},{"name":"rewrite:/args"}],"mutates":["pre_tool"],
 "match":{"tools":"^exec$"},
 "config_schema":{"type":"object","properties":{"deny":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}}`

func TestManifestRoundTrip(t *testing.T) {
	m, err := tiers.DecodeManifest([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := tiers.DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	b2, err := again.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(b2) {
		t.Errorf("encoding is not stable:\n%s\n%s", b, b2)
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown member", `"abi":1`, `"abi":1,"tier":"trusted"`, "/tier: unknown member"},
		{"duplicate name", `"abi":1`, `"abi":1,"abi":1`, "duplicate name"},
		{"other ABI", `"abi":1`, `"abi":2`, "ABI"},
		{"wrong type", `"version":"1.2.3"`, `"version":1`, "/version"},
		{"bad version", `"1.2.3"`, `"v1"`, "/version"},
		{"bad name", `acme/guard`, `../guard`, "/name"},
		{"upper case name", `acme/guard`, `Guard`, "/name"},
		{"escape codes", `"refuse"`, `"\u001b[2J"`, "control characters"},
		{"unknown phase", `"phases":["pre_tool"]`, `"phases":["pre_tol"]`, "not a phase"},
		{"no phase", `"phases":["pre_tool"]`, `"phases":[]`, "/phases"},
		{"mutates elsewhere", `"mutates":["pre_tool"]`, `"mutates":["spawn"]`, "/mutates/0"},
		{"bad capability", `rewrite:/args`, `rewrite:args`, "/capabilities/1/name"},
		{"capability twice", `rewrite:/args`, `block`, "listed twice"},
		{"bad pattern", `^exec$`, `(`, "/match/tools"},
		{"pattern without a tool", `^exec$`, `^exce$`, "no known tool"},
		{"broken schema", `"type":"object"`, `"type":"objekt"`, "/config_schema"},
		{"schema that fetches", `"type":"object"`, `"$ref":"file:///etc/passwd"`, "/config_schema"},
		{"truncated", `"additionalProperties":false}}`, ``, "not JSON"},
		{"bad UTF-8", `"refuse"`, "\"\xff\"", "/capabilities"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(good, c.old, c.new, 1)
			if src == good {
				t.Fatal("the case changes nothing")
			}
			_, err := tiers.DecodeManifest([]byte(src))
			if !errors.Is(err, tiers.ErrManifest) {
				t.Fatalf("got %v, want ErrManifest", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
	if _, err := tiers.DecodeManifest(make([]byte, tiers.MaxManifest+1)); !errors.Is(err, tiers.ErrManifest) {
		t.Errorf("oversize: got %v", err)
	}
}

func TestManifestSourceNamesTheLine(t *testing.T) {
	src := "abi: 1\nname: guard\nversion: 1.0.0\nphases: [pre_tool]\ncapabilities:\n  - name: block\n  - name: Bad\n"
	_, err := tiers.ParseManifestSource([]byte(src))
	if !errors.Is(err, tiers.ErrManifest) || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("got %v, want ErrManifest at line 7", err)
	}
	src = strings.Replace(src, "Bad", "annotate", 1)
	if _, err := tiers.ParseManifestSource([]byte(src)); err != nil {
		t.Error(err)
	}
	_, err = tiers.ParseManifestSource([]byte(src + "tier: trusted\n"))
	if err == nil || !strings.Contains(err.Error(), "line 8") {
		t.Errorf("got %v, want an error at line 8", err)
	}
}

func TestValidateConfig(t *testing.T) {
	m, err := tiers.DecodeManifest([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		``:                    "",
		`{}`:                  "",
		`{"deny":["a"]}`:      "",
		`{"deny":"a"}`:        "/deny",
		`{"other":1}`:         "other",
		`{"deny":["a"],"x":1`: "not JSON",
		`[]`:                  "object",
	} {
		err := m.ValidateConfig(jsontext.Value(config))
		if want == "" && err != nil {
			t.Errorf("%s: %v", config, err)
		}
		if want != "" && (!errors.Is(err, tiers.ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want ErrConfig with %q", config, err, want)
		}
	}
	m.ConfigSchema = nil
	if err := m.ValidateConfig(jsontext.Value(`{"a":1}`)); !errors.Is(err, tiers.ErrConfig) {
		t.Errorf("a hook without a schema took a configuration: %v", err)
	}
}

func manifestOf(names ...string) *tiers.Manifest {
	m := &tiers.Manifest{ABI: 1, Name: "x", Version: "1.0.0", Phases: []phases.Phase{phases.PreTool}}
	for _, n := range names {
		m.Capabilities = append(m.Capabilities, tiers.WantedCapability{Name: n})
	}
	return m
}

func caps(t interface{ Fatal(...any) }, names ...string) []tiers.Capability {
	var out []tiers.Capability
	for _, n := range names {
		c, err := tiers.ParseCapability(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestEffective(t *testing.T) {
	for _, c := range []struct {
		name          string
		want, allowed []string
		tier          phases.Tier
		held          []string
	}{
		{"all", []string{"block", "rewrite:/args"}, []string{"block", "rewrite"}, phases.Sandboxed,
			[]string{"block", "rewrite:/args"}},
		{"operator leaves one out", []string{"block", "annotate"}, []string{"annotate"}, phases.Sandboxed,
			[]string{"annotate"}},
		{"operator allows more than is wanted", []string{"block"}, []string{"block", "random"}, phases.Trusted,
			[]string{"block"}},
		{"narrower grant", []string{"rewrite"}, []string{"rewrite:/args", "rewrite:/text"}, phases.Sandboxed,
			[]string{"rewrite:/args", "rewrite:/text"}},
		{"the model is not among everything", []string{"rewrite:/model", "rewrite"}, []string{"rewrite"}, phases.Trusted,
			[]string{"rewrite"}},
		{"the model by name", []string{"rewrite:/model"}, []string{"rewrite", "rewrite:/model"}, phases.Sandboxed,
			[]string{"rewrite:/model"}},
		{"disjoint prefixes", []string{"rewrite:/args"}, []string{"rewrite:/argsx"}, phases.Sandboxed, nil},
		{"floor for sandboxed", []string{"grant", "http_request", "mint_lease", "revoke_lease", "block"},
			[]string{"grant", "http_request", "mint_lease", "revoke_lease", "block"}, phases.Sandboxed, []string{"block"}},
		{"trusted may hold them", []string{"grant"}, []string{"grant"}, phases.Trusted, []string{"grant"}},
		{"unknown tier holds nothing", []string{"block"}, []string{"block"}, "vip", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			grants := tiers.Effective(manifestOf(c.want...), caps(t, c.allowed...), c.tier)
			if d := cmp.Diff(c.held, tiers.Held(grants)); d != "" {
				t.Error(d)
			}
			for _, g := range grants {
				if g.Why == "" {
					t.Errorf("%v has no explanation", g.Capability)
				}
			}
		})
	}
}

// Every capability that a hook holds is asked for, allowed by the operator and under the ceiling.
func TestEffectiveNeverWidens(t *testing.T) {
	names := []string{"block", "rewrite", "rewrite:/args", "rewrite:/args/command", "rewrite:/text", "grant", "random",
		"http_request"}
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(rt, "want")
		allowed := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(rt, "allowed")
		tier := rapid.SampledFrom([]phases.Tier{phases.Proposed, phases.Sandboxed, phases.Trusted, ""}).Draw(rt, "tier")
		within := func(c string, set []string) bool {
			for _, s := range set {
				if c == s || s == "rewrite" && strings.HasPrefix(c, "rewrite:") || strings.HasPrefix(s, "rewrite:") &&
					strings.HasPrefix(c, s+"/") {
					return true
				}
			}
			return false
		}
		held := tiers.Held(tiers.Effective(manifestOf(want...), caps(rt, allowed...), tier))
		for _, h := range held {
			c := caps(rt, h)[0]
			if !within(h, want) || !within(h, allowed) || !tiers.Ceiling(tier, c) {
				rt.Fatalf("%s is held by a %q hook that wants %v and is allowed %v", h, tier, want, allowed)
			}
		}
	})
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"abi":1,"name":"a","version":"0.0.1","phases":["audit"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := tiers.DecodeManifest(b)
		if err != nil {
			if !errors.Is(err, tiers.ErrManifest) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		out, err := m.Encode()
		if err != nil {
			return // canonical form may be larger than the limit
		}
		if _, err := tiers.DecodeManifest(out); err != nil {
			t.Fatalf("%s\n%v", out, err)
		}
	})
}
