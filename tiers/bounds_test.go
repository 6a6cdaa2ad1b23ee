package tiers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// list writes n texts as a JSON or YAML list.
func list(n int, text string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.ReplaceAll(text, "#", fmt.Sprint(i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// TestManifestBounds: each limit is where it is said to be: the last value that is accepted, and the first that is not.
func TestManifestBounds(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	base := func(member string) string {
		return `{"abi":1,"version":"1.2.3","phases":["pre_tool","post_tool"],` + member + `}`
	}
	for _, c := range []struct{ name, last, first, want string }{
		{"name", `"name":"` + x(128) + `"`, `"name":"` + x(129) + `"`, "/name"},
		{"parts of a name", `"name":"a/b/c/d"`, `"name":"a/b/c/d/e"`, "/name"},
		{"description", `"name":"x","description":"` + x(1024) + `"`, `"name":"x","description":"` + x(1025) + `"`,
			"/description: longer than 1024"},
		{"license", `"name":"x","license":"` + x(128) + `"`, `"name":"x","license":"` + x(129) + `"`, "/license"},
		{"authors", `"name":"x","authors":` + list(64, `"a"`), `"name":"x","authors":` + list(65, `"a"`),
			"a list is too long"},
		{"author", `"name":"x","authors":["` + x(256) + `"]`, `"name":"x","authors":["a","` + x(257) + `"]`, "/authors/1"},
		{"examples", `"name":"x","examples":` + list(16, `{"title":"a"}`),
			`"name":"x","examples":` + list(17, `{"title":"a"}`), "a list is too long"},
		{"title", `"name":"x","examples":[{"title":"` + x(256) + `"}]`, `"name":"x","examples":[{"title":"` + x(257) + `"}]`,
			"/examples/0/title"},
		{"reason", `"name":"x","capabilities":[{"name":"block","reason":"` + x(512) + `"}]`,
			`"name":"x","capabilities":[{"name":"block","reason":"` + x(513) + `"}]`, "/capabilities/0/reason"},
		{"capabilities", `"name":"x","capabilities":` + list(128, `{"name":"c#"}`),
			`"name":"x","capabilities":` + list(129, `{"name":"c#"}`), "a list is too long"},
		{"runtime", `"name":"x","match":{"runtimes":["` + x(64) + `"]}`, `"name":"x","match":{"runtimes":["a","` + x(65) +
			`"]}`, "/match/runtimes/1"},
		{"agents", `"name":"x","match":{"agents":"` + x(1024) + `"}`, `"name":"x","match":{"agents":"` + x(1025) + `"}`,
			"/match/agents"},
		{"a pattern of agents", `"name":"x","match":{"agents":"a|b"}`, `"name":"x","match":{"agents":"("}`, "/match/agents"},
		{"fuel", `"name":"x","budget":{"fuel":0}`, `"name":"x","budget":{"fuel":-1}`, "/budget"},
		{"deadline", `"name":"x","budget":{"deadline_ms":1}`, `"name":"x","budget":{"deadline_ms":-1}`, "/budget"},
		{"memory", `"name":"x","budget":{"memory_mib":1}`, `"name":"x","budget":{"memory_mib":-1}`, "/budget"},
		{"mutates twice", `"name":"x","mutates":["pre_tool","post_tool"]`, `"name":"x","mutates":["pre_tool","pre_tool"]`,
			"/mutates/1: listed twice"},
		{"tabs in texts", `"name":"x","description":"a\tb\nc"`, `"name":"x","description":"a\rb"`, "control characters"},
		{"C1 controls", `"name":"x","description":"` + "\u00a0" + `"`, `"name":"x","description":"` + "\u009f" + `"`,
			"control characters"},
		{"first C1 control", `"name":"x","description":"~"`, `"name":"x","description":"` + "\u0080" + `"`,
			"control characters"},
		{"delete", `"name":"x","description":"~"`, `"name":"x","description":"\u007f"`, "control characters"},
		{"an example's configuration", `"name":"x","examples":[{"title":"a","config":{}}]`,
			`"name":"x","examples":[{"title":"a","config":{"b":1}}]`, "/examples/0/config: does not fit the schema"},
		{"a schema's size", `"name":"x","config_schema":{"title":"` + x(32<<10-12) + `"}`,
			`"name":"x","config_schema":{"title":"` + x(32<<10-11) + `"}`, "/config_schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := tiers.DecodeManifest([]byte(base(c.last))); err != nil {
				t.Errorf("the last that is accepted: %v", err)
			}
			_, err := tiers.DecodeManifest([]byte(base(c.first)))
			if !errors.Is(err, tiers.ErrManifest) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want ErrManifest with %q", err, c.want)
			}
		})
	}
	long := strings.Replace(base(`"name":"x"`), "1.2.3", "1.2.3-"+x(58), 1)
	if _, err := tiers.DecodeManifest([]byte(long)); err != nil {
		t.Errorf("a version of 64 bytes: %v", err)
	}
	if _, err := tiers.DecodeManifest([]byte(strings.Replace(long, "1.2.3-", "1.2.3-x", 1))); err == nil {
		t.Error("a version of 65 bytes is accepted")
	}
	full := base(`"name":"x"`)
	if _, err := tiers.DecodeManifest([]byte(full + strings.Repeat(" ", tiers.MaxManifest-len(full)))); err != nil {
		t.Errorf("a manifest of the largest size: %v", err)
	}
	for name, bad := range map[string]*tiers.Manifest{
		"too large to be written": {ABI: 1, Name: "x", Version: "1.0.0", Phases: []phases.Phase{phases.PreTool},
			Description: strings.Repeat("x", tiers.MaxManifest)},
		"no JSON in it": {ABI: 1, Name: "x", Version: "1.0.0", ConfigSchema: jsontext.Value("{")},
	} {
		if b, err := bad.Encode(); !errors.Is(err, tiers.ErrManifest) || b != nil {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if _, err := tiers.ParseManifestSource([]byte("abi: [1\n")); !errors.Is(err, tiers.ErrManifest) {
		t.Errorf("broken YAML: %v", err)
	}
}

// TestCapabilityTexts: what a capability may be called.
func TestCapabilityTexts(t *testing.T) {
	for _, good := range []string{"block", "rewrite", "rewrite:/args", "rewrite:/a~0b/~1",
		"rewrite:/" + strings.Repeat("x", 255), strings.Repeat("x", 64)} {
		if c, err := tiers.ParseCapability(good); err != nil || c.String() != good {
			t.Errorf("%q: %v, %v", good, c, err)
		}
	}
	for _, bad := range []string{"", "Block", "block:", "block:/args", "rewrite:", "rewrite:args", "rewrite:/args/",
		"rewrite:/", "rewrite:/~", "rewrite:/a~2", "rewrite:/a~",
		"rewrite:/" + strings.Repeat("x", 256), strings.Repeat("x", 65), "rewrite:/\x00", "rewrite:/\u0080", "rewrite:/\xff",
		"1x"} {
		if c, err := tiers.ParseCapability(bad); !errors.Is(err, tiers.ErrCapability) || c != (tiers.Capability{}) {
			t.Errorf("%q: %v, %v", bad, c, err)
		}
	}
	// The whole of a rewrite is not among a part of it, and nothing is among another capability.
	held := func(want, allowed string) string {
		return strings.Join(tiers.Held(tiers.Effective(manifestOf(want), caps(t, allowed), phases.Trusted)), " ")
	}
	for _, c := range [][3]string{
		{"rewrite:/args", "rewrite:/args", "rewrite:/args"}, {"rewrite:/args/a", "rewrite:/args", "rewrite:/args/a"},
		{"rewrite:/args", "rewrite:/args/a", "rewrite:/args/a"},
		{"rewrite:/argsx", "rewrite:/args", ""}, {"block", "rewrite", ""}, {"block", "block", "block"},
	} {
		if got := held(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	g := tiers.Effective(&tiers.Manifest{Capabilities: []tiers.WantedCapability{{Name: "No"}}}, nil, phases.Trusted)
	if len(g) != 1 || g[0].Granted != nil || !strings.HasPrefix(g[0].Why, "refused: ") {
		t.Errorf("what is no capability: %+v", g)
	}
	m := manifestOf("rewrite:/args", "block")
	for c, want := range map[string]bool{"block": true, "rewrite:/args/x": true, "rewrite": false, "ask": false} {
		if got := m.Wants(caps(t, c)[0]); got != want {
			t.Errorf("it wants %s: %v", c, got)
		}
	}
	if (&tiers.Manifest{Capabilities: []tiers.WantedCapability{{Name: "Block"}}}).Wants(caps(t, "block")[0]) {
		t.Error("what is no capability covers one")
	}
}

// TestSchemaReferences: a reference leads to a place of the schema, through objects and lists, or the schema
// is refused.
func TestSchemaReferences(t *testing.T) {
	refer := func(ref string) error {
		_, err := tiers.DecodeManifest(
			manifestWithSchema(
				`{"$defs":{"a/b":{"type":"string"},"c~d":{"type":"string"}},"prefixItems":[{"type":"string"},{"type":"number"}],`+
					`"properties":{"x":{"$ref":"`+ref+`"}}}`, ""))
		return err
	}
	for _, good := range []string{"#/$defs/a~1b", "#/$defs/c~0d", "#/prefixItems/0", "#/prefixItems/1"} {
		if err := refer(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"#/prefixItems/2", "#/prefixItems/-1", "#/prefixItems/x", "#/$defs/none",
		"#/$defs/a~1b/type/x", "#x", "other", "#/%24defs/a~1b", "https://example.org/x", "#/%zz"} {
		if err := refer(bad); !errors.Is(err, tiers.ErrManifest) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	// The bound counts the parts that are visited, each visit anew, and it is exact.
	parts := func(n int) error {
		_, err := tiers.DecodeManifest(manifestWithSchema(`{"allOf":`+list(n, `{}`)+`}`, ""))
		return err
	}
	if err := parts(1999); err != nil {
		t.Errorf("2,000 parts: %v", err)
	}
	if err := parts(2000); !errors.Is(err, tiers.ErrManifest) {
		t.Errorf("2,001 parts: %v", err)
	}
	// Lists are no parts, but a part in them is as deep as they are, and as all references on the way to it.
	lists := func(n int) string { return `{"const":` + strings.Repeat("[", n) + "{}" + strings.Repeat("]", n) + "}" }
	refers := func(n, deep int) string { // from $defs to a1, a2, and at last an
		var b strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i+1, i+2)
		}
		return fmt.Sprintf(`{"$defs":{%s"a%d":%s},"$ref":"#/$defs/a1"}`, b.String(), n, lists(deep))
	}
	for _, c := range []struct{ name, last, first string }{
		{"in lists", lists(1999), lists(2000)},
		{"through references", refers(11, 1987), refers(11, 1988)},
		{"in lists that are referred to", `{"allOf":[` + lists(1997) + `]}`, `{"allOf":[` + lists(1998) + `]}`},
	} {
		if _, err := tiers.DecodeManifest(manifestWithSchema(c.last, "")); err != nil {
			t.Errorf("a part %s, 2,000 deep: %v", c.name, err)
		}
		_, err := tiers.DecodeManifest(manifestWithSchema(c.first, ""))
		if !errors.Is(err, tiers.ErrManifest) || !strings.Contains(err.Error(), "more than 2000 parts") {
			t.Errorf("a part %s, 2,001 deep: %v", c.name, err)
		}
	}
	for name, schema := range map[string]string{
		"a schema inside of a schema":   `{"properties":{"x":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}}`,
		"an address inside of a schema": `{"properties":{"x":{"id":"y"}}}`,
		"no draft":                      `{"$schema":"https://example.org"}`,
	} {
		if _, err := tiers.DecodeManifest(manifestWithSchema(schema, "")); !errors.Is(err, tiers.ErrManifest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, schema := range map[string]string{
		"draft 7":          `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
		"draft 2019-09":    `{"$schema":"https://json-schema.org/draft/2019-09/schema"}`,
		"names as members": `{"properties":{"$schema":{},"$ref":{},"id":{},"$dynamicRef":{}}}`,
	} {
		if _, err := tiers.DecodeManifest(manifestWithSchema(schema, "")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigWork: values times parts of the schema are bounded, exactly; an error names the place of each fault.
func TestConfigWork(t *testing.T) {
	m, err := tiers.DecodeManifest(manifestWithSchema(`{"items":{"allOf":`+list(1998, `{}`)+`}}`, "")) // 2,000 parts
	if err != nil {
		t.Fatal(err)
	}
	if err := m.ValidateConfig(jsontext.Value(list(2499, "0"))); err != nil { // 2,500 values
		t.Errorf("the most that is accepted: %v", err)
	}
	if err := m.ValidateConfig(jsontext.Value(list(2500, "0"))); !errors.Is(err, tiers.ErrConfig) ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("one more: %v", err)
	}
	m, err = tiers.DecodeManifest(manifestWithSchema(`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	err = m.ValidateConfig(jsontext.Value(`{"a":1,"b":2}`))
	if !errors.Is(err, tiers.ErrConfig) || !strings.Contains(err.Error(), "/a: got number, want string") ||
		!strings.Contains(err.Error(), "; /b: got") {
		t.Errorf("two faults: %v", err)
	}
	for _, bad := range []string{`{"a":"x","a":"y"}`, "{\"a\":\"\xff\"}", `{} {}`} {
		if err := m.ValidateConfig(jsontext.Value(bad)); !errors.Is(err, tiers.ErrConfig) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	m.ConfigSchema = jsontext.Value(`{"$ref":"x"}`)
	if err := m.ValidateConfig(jsontext.Value(`{}`)); !errors.Is(err, tiers.ErrConfig) {
		t.Errorf("a schema that cannot be used: %v", err)
	}
}

// TestPolicyBounds is TestManifestBounds for trust.yaml.
func TestPolicyBounds(t *testing.T) {
	k := makeKeys(t, 1)
	const seat = "{publicKey: {file: k0.pub}}"
	rule := func(more string) string { return "rules:\n- name: a\n  allOf: [" + seat + "]\n" + more }
	keyless := func(members string) string {
		return "trustedRoot: root.json\nrules:\n- name: a\n  allOf:\n  - keyless: {" + members + "}\n"
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	digest := func(n int) string { return "'sha256:" + fmt.Sprintf("%064x", n) + "'" }
	digests := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = digest(i)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	rules := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- {name: r%d, allOf: [%s]}\n", i, seat)
		}
		return "rules:\n" + b.String()
	}
	require := func(kind, members string) string {
		return rule("  require: [{predicateType: 'https://slsa.dev/" + kind + "', " + members + "}]\n")
	}
	provenance := func(members string) string { return require("provenance/v1", members) }
	summary := func(members string) string { return require("verification_summary/v1", members) }
	parameters := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "/p%d: {any: true}, ", i)
		}
		return provenance("builder: b, buildType: t, parameters: {" + b.String() + "}")
	}
	for _, c := range []struct{ name, last, first, want string }{
		{"rules", rules(64), rules(65), "/rules: more than 64 rules"},
		{"signers", "rules:\n- name: a\n  allOf: " + list(64, seat), "rules:\n- name: a\n  allOf: " + list(65, seat),
			"more than 64 signers"},
		{"signers of both", "rules:\n- name: a\n  allOf: " + list(32, seat) + "\n  anyOf: {minimumMatches: 1, signers: " +
			list(32, seat) + "}", "rules:\n- name: a\n  allOf: " + list(32, seat) + "\n  anyOf: {minimumMatches: 1, signers: " +
			list(33, seat) + "}", "more than 64 signers"},
		{"name of a rule", "rules:\n- {name: " + x(64) + ", allOf: [" + seat + "]}",
			"rules:\n- {name: " + x(65) + ", allOf: [" + seat + "]}", "/rules/0/name"},
		{"letters of a rule", "rules:\n- {name: a.b-c_1, allOf: [" + seat + "]}",
			"rules:\n- {name: A, allOf: [" + seat + "]}", "/rules/0/name"},
		{"empty list beside a threshold", "rules:\n- name: a\n  anyOf: {minimumMatches: 1, signers: [" + seat + "]}",
			"rules:\n- name: a\n  allOf: []\n  anyOf: {minimumMatches: 1, signers: [" + seat + "]}",
			"/rules/0/allOf: lists no signer"},
		{"name of a seat", "rules:\n- name: a\n  allOf: [{name: " + x(128) + ", publicKey: {file: k0.pub}}]",
			"rules:\n- name: a\n  allOf: [{name: " + x(129) + ", publicKey: {file: k0.pub}}]", "/rules/0/allOf/0/name"},
		{"an anyOf seat", "rules:\n- name: a\n  anyOf: {minimumMatches: 1, signers: [" + seat + "]}",
			"rules:\n- name: a\n  anyOf: {minimumMatches: 1, signers: [{}]}", "/rules/0/anyOf/signers/0"},
		{"key and identity", rule(""),
			"rules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub}, keyless: {issuer: 'https://i.example', subject: {equal: a}}}]", "not both"},
		{"pem and file", rule(""), "rules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub, pem: x}}]", "not both"},
		{"an absolute key file", rule(""), "rules:\n- name: a\n  allOf: [{publicKey: {file: /none.pub}}]", "cannot be read"},
		{"a root outside", keyless("issuer: 'https://i.example', subject: {equal: a}"),
			strings.Replace(keyless("issuer: 'https://i.example', subject: {equal: a}"), "root.json", "../root.json", 1),
			"/trustedRoot"},
		{"issuer by http", keyless("issuer: 'http://i.example', subject: {equal: a}"),
			keyless("issuer: 'ftp://i.example', subject: {equal: a}"), "/issuer"},
		{"issuer without a host", keyless("issuer: 'https://i.example', subject: {equal: a}"),
			keyless("issuer: 'https:///x', subject: {equal: a}"), "/issuer"},
		{"without a log",
			keyless("issuer: 'https://i.example', subject: {equal: a}, unsafeWithout: [log, certificateTimestamp]"),
			keyless("issuer: 'https://i.example', subject: {equal: a}, unsafeWithout: [log, log]"), "/unsafeWithout/1"},
		{"without a time", keyless("issuer: 'https://i.example', subject: {equal: a}, unsafeWithout: [certificateTimestamp]"),
			keyless("issuer: 'https://i.example', subject: {equal: a}, unsafeWithout: [time]"), "/unsafeWithout/0"},
		{"subject", keyless("issuer: 'https://i.example', subject: {equal: " + x(2048) + "}"),
			keyless("issuer: 'https://i.example', subject: {equal: " + x(2049) + "}"), "too long"},
		{"prefix by http", keyless("issuer: 'https://i.example', subject: {urlPrefix: 'http://h.example/a'}"),
			keyless("issuer: 'https://i.example', subject: {urlPrefix: 'ftp://h.example/a'}"), "plain URL"},
		{"prefix without a host", keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example'}"),
			keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https:///a'}"), "plain URL"},
		{"prefix with a query", keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a'}"),
			keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a?b'}"), "plain URL"},
		{"prefix with a fragment", keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a'}"),
			keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a#b'}"), "plain URL"},
		{"prefix with a user", keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a'}"),
			keyless("issuer: 'https://i.example', subject: {urlPrefix: 'https://u@h.example/a'}"), "plain URL"},
		{"regex", keyless("issuer: 'https://i.example', subject: {regex: 'a'}"),
			keyless("issuer: 'https://i.example', subject: {regex: '('}"), "not an RE2 pattern"},
		{"no phases", rule("  limits: {phases: [pre_tool]}\n"), rule("  limits: {phases: []}\n"), "vouches for nothing"},
		{"a phase", rule("  limits: {phases: [pre_tool]}\n"), rule("  limits: {phases: [pre_tool, pretool]}\n"),
			"/limits/phases/1"},
		{"a capability", rule("  limits: {capabilities: [block]}\n"),
			rule("  limits: {capabilities: [block, 'rewrite:x']}\n"), "/limits/capabilities/1"},
		{"hooks below", rule("  limits: {hooks: ['a/**']}\n"), rule("  limits: {hooks: ['a/**/b']}\n"), "/limits/hooks/0"},
		{"a version", rule("  limits: {minimumVersion: 1.2.3-rc.1}\n"), rule("  limits: {minimumVersion: 1.2.3-01}\n"),
			"/minimumVersion"},
		{"builder", provenance("buildType: t, builder: " + x(2048)), provenance("buildType: t, builder: " + x(2049)),
			"/require/0: a text of more than 2048"},
		{"build type", provenance("builder: b, buildType: " + x(2048)), provenance("builder: b, buildType: " + x(2049)),
			"/require/0: a text of more than 2048"},
		{"verifier", summary("verifier: " + x(2048)), summary("verifier: " + x(2049)),
			"/require/0: a text of more than 2048"},
		{"resource", summary("verifier: v, resourceUri: " + x(2048)), summary("verifier: v, resourceUri: " + x(2049)),
			"/require/0: a text of more than 2048"},
		{"policy", summary("verifier: v, policyUri: " + x(2048)), summary("verifier: v, policyUri: " + x(2049)),
			"/require/0: a text of more than 2048"},
		{"level", summary("verifier: v, levels: [" + x(2048) + "]"), summary("verifier: v, levels: [a, " + x(2049) + "]"),
			"/require/0: a text of more than 2048"},
		{"levels", summary("verifier: v, levels: " + list(64, "l")), summary("verifier: v, levels: " + list(65, "l")),
			"/require/0/levels: lists from 1 to 64"},
		{"signers of a statement", summary("verifier: v, signers: " + list(64, seat)),
			summary("verifier: v, signers: " + list(65, seat)), "/require/0/signers: lists from 1 to 64"},
		{"parameters", parameters(64), parameters(65), "/require/0/parameters: more than 64"},
		{"a parameter's name", provenance("builder: b, buildType: t, parameters: {/a: {any: true}}"),
			provenance("builder: b, buildType: t, parameters: {'': {any: true}}"), "a parameter is named by a JSON Pointer"},
		{"any by prefix", provenance("builder: b, buildType: t, parameters: {/a: {any: true}}"),
			provenance("builder: b, buildType: t, parameters: {/a: {any: true, urlPrefix: x}}"), "exactly one of"},
		{"any by pattern", provenance("builder: b, buildType: t, parameters: {/a: {any: true}}"),
			provenance("builder: b, buildType: t, parameters: {/a: {any: true, regex: x}}"), "exactly one of"},
		{"a policy of provenance", provenance("builder: b, buildType: t"),
			provenance("builder: b, buildType: t, policyUri: p"),
			"/require/0/policyUri: does not belong"},
		{"a verifier of provenance", provenance("builder: b, buildType: t"),
			provenance("builder: b, buildType: t, verifier: v"),
			"/require/0/verifier: does not belong"},
		{"a resource of provenance", provenance("builder: b, buildType: t"),
			provenance("builder: b, buildType: t, resourceUri: r"), "/require/0/resourceUri: does not belong"},
		{"a build type of a summary", summary("verifier: v"), summary("verifier: v, buildType: t"),
			"/require/0/buildType: does not belong"},
		{"parameters of a summary", summary("verifier: v"), summary("verifier: v, parameters: {/a: {any: true}}"),
			"/require/0/parameters: does not belong"},
		{"denied", "deny: {digests: " + digests(4096) + "}\n", "deny: {digests: " + digests(4097) + "}\n",
			"/deny: more than 4096"},
		{"denied of all kinds", "deny: {signatures: [" + digest(1) + "], digests: " + digests(4095) + "}\n",
			"deny: {signatures: [" + digest(1) + "], digests: " + digests(4096) + "}\n", "/deny: more than 4096"},
		{"denied signature", "deny: {signatures: [" + digest(1) + "]}\n", "deny: {signatures: [" + digest(1) + ", x]}\n",
			"/deny/signatures/1"},
		{"denied key", "deny: {keys: ['" + k.id[0] + "']}\n", "deny: {keys: ['" + k.id[0] + "', 'AAAA']}\n", "/deny/keys/1"},
		{"denied identity", "deny: {identities: [{subject: {equal: a}}]}\n", "deny: {identities: [{subject: {}}]}\n",
			"/deny/identities/0/subject"},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy(t, k, c.last)
			_, err := tiers.ParsePolicy([]byte("version: belay/v1\n"+c.first), k.read)
			if !errors.Is(err, tiers.PolicyUnusable) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "trust.yaml:") {
				t.Errorf("%v, want PolicyUnusable with %q and its line", err, c.want)
			}
		})
	}
	full := "version: belay/v1\n#"
	full += strings.Repeat("x", tiers.MaxPolicy-len(full))
	if _, err := tiers.ParsePolicy([]byte(full), k.read); err != nil {
		t.Errorf("the largest file: %v", err)
	}
	if _, err := tiers.ParsePolicy([]byte(full+"x"), k.read); !errors.Is(err, tiers.PolicyUnusable) ||
		!strings.Contains(err.Error(), "larger than") {
		t.Errorf("one byte more: %v", err)
	}
	// The root is read only where an identity could need it.
	read := func(name string, _ int64) ([]byte, error) {
		if name == "root.json" {
			t.Error("a root that nothing needs is read")
		}
		return k.read(name, 0)
	}
	if _, err := tiers.ParsePolicy([]byte("version: belay/v1\ntrustedRoot: root.json\n"+rule("")), read); err != nil {
		t.Error(err)
	}
}

// TestKeysThatAreAccepted: each kind has its name, and the bounds of RSA are exact.
func TestKeysThatAreAccepted(t *testing.T) {
	for curve, want := range map[elliptic.Curve]string{elliptic.P256(): "ECDSA P-256", elliptic.P384(): "ECDSA P-384"} {
		priv, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if k, err := tiers.NewKey(&priv.PublicKey); err != nil || k.Kind != want || len(k.ID) != 44 {
			t.Errorf("%+v, %v", k, err)
		}
	}
	if k, err := tiers.ParseKey([]byte(makeKeys(t, 1).pem[0] + "\n \n")); err != nil || k.Kind != "Ed25519" {
		t.Errorf("%+v, %v", k, err)
	}
	for bits, good := range map[int]bool{2047: false, 2048: true, 8192: true, 8193: false} {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		k, err := tiers.NewKey(&rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537})
		if (err == nil) != good || good && k.Kind != "RSA" {
			t.Errorf("RSA of %d bits: %+v, %v", bits, k, err)
		}
	}
	if _, err := tiers.NewKey("a text"); err == nil {
		t.Error("a text is a key")
	}
	if _, err := tiers.NewKey(&ecdsa.PublicKey{Curve: elliptic.P256(), X: big.NewInt(1), Y: big.NewInt(1)}); err == nil {
		t.Error("a point beside the curve is a key")
	}
}

// TestKeysAndRequirements: a verifier learns of each key once, in the order of ids, and of the strictest
// requirement first.
func TestKeysAndRequirements(t *testing.T) {
	k := makeKeys(t, 3)
	p := policy(t, k,
		"trustedRoot: root.json\nrules:\n- name: a\n  allOf: [{publicKey: {file: k2.pub}}, {publicKey: {file: k0.pub}}, {publicKey: {file: k2.pub}}]\n"+
			"- name: b\n  anyOf:\n    minimumMatches: 1\n    signers:\n    - {publicKey: {file: k1.pub}}\n"+
			"    - keyless: {issuer: 'https://i.example', subject: {equal: d}, unsafeWithout: [certificateTimestamp, log]}\n"+
			"    - keyless: {issuer: 'https://i.example', subject: {equal: a}, unsafeWithout: [log]}\n"+
			"    - keyless: {issuer: 'https://i.example', subject: {equal: c}, unsafeWithout: [certificateTimestamp]}\n"+
			"    - keyless: {issuer: 'https://i.example', subject: {equal: b}}\n"+
			"    - keyless: {issuer: 'https://j.example', subject: {equal: e}}\n")
	keys := p.Keys()
	if len(keys) != 3 || !(keys[0].ID < keys[1].ID && keys[1].ID < keys[2].ID) {
		t.Errorf("keys %v", keys)
	}
	want := []tiers.Assurance{{Log: true, CertificateTimestamp: true}, {Log: true}, {CertificateTimestamp: true}, {}}
	got := p.Requirements()
	if fmt.Sprint(got) != fmt.Sprint(want) || !p.Keyless() {
		t.Errorf("requirements %v, want %v", got, want)
	}
	if p := policy(t, k, "rules:\n- name: a\n  allOf: [{publicKey: {file: k2.pub}}]\n"); p.Keyless() ||
		len(p.Requirements()) != 0 {
		t.Error("a policy of keys alone asks for a root")
	}
}

// TestWhatIsMissing: of a rule that is not satisfied, the slots that are empty are named, in the order of the rule.
func TestWhatIsMissing(t *testing.T) {
	k := makeKeys(t, 3)
	p := policy(t, k,
		"rules:\n- name: a\n  allOf: [{name: alice, publicKey: {file: k0.pub}}, {name: bob, publicKey: {file: k1.pub}}, {publicKey: {file: k2.pub}}]\n")
	d := decide(t, p, byKey(k.id[1]))
	if want := "rule a: 1 of 3 signers; missing alice, key:" + k.id[2]; d.Why != want || d.Code != tiers.ThresholdNotMet {
		t.Errorf("%s: %q, want %q", d.Code, d.Why, want)
	}
	if d := decide(t, policy(t, k, "rules:\n- name: a\n  allOf: [{publicKey: {file: k2.pub}}]\n"), byKey(k.id[1]),
		byKey(k.id[0])); d.Code != tiers.SignerNotTrusted ||
		strings.Index(d.Why, min(k.id[0], k.id[1])) > strings.Index(d.Why, max(k.id[0], k.id[1])) {
		t.Errorf("%s: %s; want both strangers, sorted", d.Code, d.Why)
	}
	deep := policy(t, k, "rules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub}}]\n  limits: {hooks: ['acme/**']}\n")
	for name, want := range map[string]phases.Tier{"acme/guard": phases.Trusted, "acme/a/b": phases.Trusted,
		"acme": phases.Sandboxed, "acmex/guard": phases.Sandboxed} {
		m := manifestOf("block")
		m.Name = name
		if d := deep.Evaluate(someFile, m, []tiers.Fact{byKey(k.id[0])}, now); d.Tier != want {
			t.Errorf("%s: %s (%s)", name, d.Tier, d.Why)
		}
	}
	if d := deep.Evaluate(someFile, nil, []tiers.Fact{byKey(k.id[0])}, now); d.Tier != phases.Sandboxed {
		t.Error("a rule with limits trusts a file without a manifest")
	}
}
