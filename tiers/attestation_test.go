package tiers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// stated is a statement that a key signed.
func stated(key, predicateType, predicate string) tiers.Fact {
	f := byKey(key)
	f.Source, f.Signature = "s", "sha256:"+fmt.Sprintf("%064x", len(predicate))
	f.Statement = &tiers.Statement{PredicateType: predicateType, Predicate: jsontext.Value(predicate)}
	return f
}

const vsaPassed = `{"verifier":{"id":"https://v.example"},"timeVerified":"2026-02-01T00:00:00Z","resourceUri":"pkg:oci/guard",` +
	`"policy":{"uri":"https://p.example","digest":{"sha256":"00"}},"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_3"]}`

const provenanceGood = `{"buildDefinition":{"buildType":"https://b.example/workflow/v1","externalParameters":{"workflow":{"repository":` +
	`"https://h.example/acme/hooks","ref":"refs/tags/v1"},"inputs":{"n":3}},"resolvedDependencies":[]},` +
	`"runDetails":{"builder":{"id":"https://b.example"},"metadata":{"invocationId":"1"}}}`

func decide(t testing.TB, p *tiers.Policy, facts ...tiers.Fact) tiers.Decision {
	t.Helper()
	m, err := tiers.DecodeManifest([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	return p.Evaluate(someFile, m, facts, now)
}

// TestStatementsApproveNothing: a statement by a key that a rule trusts is no approval, whatever it says,
// except the one that cosign writes for a signature.
func TestStatementsApproveNothing(t *testing.T) {
	k := makeKeys(t, 1)
	p := policy(t, k, "rules:\n- name: one\n  allOf: [{publicKey: {file: k0.pub}}]\n")
	failed := strings.Replace(vsaPassed, "PASSED", "FAILED", 1)
	for _, f := range []tiers.Fact{
		stated(k.id[0], tiers.PredicateSummary, failed),
		stated(k.id[0], tiers.PredicateSummary, vsaPassed),
		stated(k.id[0], tiers.PredicateProvenance, provenanceGood),
		stated(k.id[0], "https://acme.example/vulnerable/v1", `{}`),
		stated(k.id[0], "", `{}`),
		stated(k.id[0], tiers.PredicateSignature+"\x00", `{}`),
		stated(k.id[0], strings.ToUpper(tiers.PredicateSignature), `{}`),
	} {
		d := decide(t, p, f)
		if d.Tier != phases.Sandboxed || d.Code != tiers.NotAnApproval || d.Evidence[0].Code != tiers.NotAnApproval ||
			len(d.Signers) > 0 {
			t.Errorf("%q: %s, %s: %s", f.Statement.PredicateType, d.Tier, d.Code, d.Why)
		}
		if d = decide(t, p, f, byKey(k.id[0])); d.Tier != phases.Trusted {
			t.Errorf("%q beside a signature: %s", f.Statement.PredicateType, d.Why)
		}
	}
	if d := decide(t, p, stated(k.id[0], tiers.PredicateSignature, `{}`)); d.Tier != phases.Trusted {
		t.Errorf("cosign's statement: %s", d.Why)
	}
}

// TestRequiredSummary: the rule's signatures do not count without the summary that it requires. Its members
// and its signer have to be exactly those of the rule.
func TestRequiredSummary(t *testing.T) {
	k := makeKeys(t, 3)
	const rule = "rules:\n- name: one\n  allOf: [{publicKey: {file: k0.pub}}]\n  require:\n  - predicateType: https://slsa.dev/verification_summary/v1\n" +
		"    verifier: https://v.example\n    resourceUri: pkg:oci/guard\n    policyUri: https://p.example\n    levels: [SLSA_BUILD_LEVEL_3]\n"
	anyone, named := policy(t, k, rule), policy(t, k, rule+"    signers: [{publicKey: {file: k1.pub}}]\n")
	change := func(from, to string) tiers.Fact {
		if !strings.Contains(vsaPassed, from) {
			t.Fatalf("%q is not there", from)
		}
		return stated(k.id[0], tiers.PredicateSummary, strings.Replace(vsaPassed, from, to, 1))
	}
	at := func(key, day, result string) tiers.Fact {
		return stated(key, tiers.PredicateSummary,
			strings.NewReplacer("2026-02-01", day, "PASSED", result).Replace(vsaPassed))
	}
	lower := func(f tiers.Fact) tiers.Fact {
		f.Statement.Predicate = jsontext.Value(strings.Replace(string(f.Statement.Predicate), "LEVEL_3", "LEVEL_2", 1))
		return f
	}
	for _, c := range []struct {
		name   string
		policy *tiers.Policy
		facts  []tiers.Fact
		says   string // "" for trusted
	}{
		{"there", anyone, []tiers.Fact{stated(k.id[0], tiers.PredicateSummary, vsaPassed)}, ""},
		{"none", anyone, nil, "there is none"},
		{"of another type", anyone, []tiers.Fact{stated(k.id[0], "https://slsa.dev/verification_summary/v0.2", vsaPassed)},
			"there is none"},
		{"cosign's", anyone, []tiers.Fact{stated(k.id[0], tiers.PredicateSignature, vsaPassed)}, "there is none"},
		{"by a stranger", anyone, []tiers.Fact{stated(k.id[2], tiers.PredicateSummary, vsaPassed)}, "do not count here"},
		{"by the rule's signer, another is named", named, []tiers.Fact{stated(k.id[0], tiers.PredicateSummary, vsaPassed)},
			"do not count here"},
		{"by the one named", named, []tiers.Fact{stated(k.id[1], tiers.PredicateSummary, vsaPassed)}, ""},
		{"failed", anyone, []tiers.Fact{change("PASSED", "FAILED")}, "FAILED, not PASSED"},
		{"passed in other letters", anyone, []tiers.Fact{change("PASSED", "passed")}, "not PASSED"},
		{"no result", anyone, []tiers.Fact{change(`"verificationResult":"PASSED",`, "")}, "not PASSED"},
		{"other verifier", anyone, []tiers.Fact{change("https://v.example", "https://v.example/")},
			"wanted is https://v.example"},
		{"other resource", anyone, []tiers.Fact{change("pkg:oci/guard", "pkg:oci/other")}, "about pkg:oci/other"},
		{"other policy", anyone, []tiers.Fact{change("https://p.example", "https://q.example")}, "policy https://q.example"},
		{"lower level", anyone, []tiers.Fact{change("LEVEL_3", "LEVEL_2")}, "LEVEL_3 is not among"},
		{"unknown member", anyone, []tiers.Fact{change(`"policy"`, `"waived":true,"policy"`)}, "as specified at /waived"},
		{"wrong type", anyone, []tiers.Fact{change(`["SLSA_BUILD_LEVEL_3"]`, `"SLSA_BUILD_LEVEL_3"`)},
			"as specified at /verifiedLevels"},
		{"members in other letters", anyone, []tiers.Fact{change("verificationResult", "VerificationResult")},
			"as specified at /VerificationResult"},
		{"nothing", anyone, []tiers.Fact{stated(k.id[0], tiers.PredicateSummary, "")}, "no predicate"},
		{"a list", anyone, []tiers.Fact{stated(k.id[0], tiers.PredicateSummary, "[]")}, "no predicate"},
		{"failed, then passed", anyone,
			[]tiers.Fact{at(k.id[0], "2026-02-01", "FAILED"), at(k.id[0], "2026-02-02", "PASSED")}, ""},
		{"passed, then failed", anyone,
			[]tiers.Fact{at(k.id[0], "2026-02-02", "FAILED"), at(k.id[0], "2026-02-01", "PASSED")}, "not PASSED"},
		{"all levels, then fewer", anyone, []tiers.Fact{
			at(k.id[0], "2026-02-01", "PASSED"), lower(at(k.id[0], "2026-02-02", "PASSED")),
		}, "LEVEL_3 is not among"},
		{"fewer levels, then all", anyone, []tiers.Fact{
			lower(at(k.id[0], "2026-02-01", "PASSED")), at(k.id[0], "2026-02-02", "PASSED"),
		}, ""},
		{"both at once", anyone, []tiers.Fact{at(k.id[0], "2026-02-01", "FAILED"), at(k.id[0], "2026-02-01", "PASSED")},
			"not PASSED"},
		{"failed elsewhere", anyone,
			[]tiers.Fact{change(`pkg:oci/guard"`, `pkg:oci/other","slsaVersion":"1.0"`),
				stated(k.id[0], tiers.PredicateSummary, vsaPassed)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				d := decide(t, c.policy, append(slices.Clone(c.facts), byKey(k.id[0]))...)
				if (d.Tier == phases.Trusted) != (c.says == "") || !strings.Contains(d.Why, c.says) {
					t.Errorf("%s, %s: %s; want %q", d.Tier, d.Code, d.Why, c.says)
				}
				if c.says == "" &&
					(d.Evidence[0].Code == tiers.NotAnApproval && d.Evidence[1].Code == tiers.NotAnApproval || len(d.Signers) != 1) {
					t.Errorf("what counts is shown as if it did not: %+v", d.Evidence)
				}
				if c.says != "" && (d.Code != tiers.AttestationMissing || d.Advice == "" || d.Rules[0].Satisfied) {
					t.Errorf("%s, advice %q, %+v", d.Code, d.Advice, d.Rules)
				}
				slices.Reverse(c.facts)
			}
			if d := decide(t, c.policy, c.facts...); d.Tier == phases.Trusted {
				t.Error("statements alone make it trusted")
			}
		})
	}
}

// TestRequiredProvenance: builder and type are exact, and no external parameter goes unnamed.
func TestRequiredProvenance(t *testing.T) {
	k := makeKeys(t, 1)
	const rule = "rules:\n- name: one\n  allOf: [{publicKey: {file: k0.pub}}]\n  require:\n  - predicateType: https://slsa.dev/provenance/v1\n" +
		"    builder: https://b.example\n    buildType: https://b.example/workflow/v1\n    parameters:\n"
	const all = "      /workflow/repository: {urlPrefix: https://h.example/acme}\n      /workflow/ref: {regex: refs/tags/v.*}\n      /inputs: {any: true}\n"
	for _, c := range []struct{ name, parameters, from, to, says string }{
		{"as wanted", all, "", "", ""},
		{"other builder", all, `"id":"https://b.example"`, `"id":"https://evil.example"`, "built by https://evil.example"},
		{"other type", all, "workflow/v1", "shell/v1", "build of type https://b.example/shell/v1"},
		{"other repository", all, "acme/hooks", "evil/hooks", "/workflow/repository is"},
		{"a branch", all, "refs/tags/v1", "refs/heads/v1", "/workflow/ref is"},
		{"no ref", all, `,"ref":"refs/tags/v1"`, ``, "no external parameter /workflow/ref"},
		{"a ref that is no text", all, `"refs/tags/v1"`, `["refs/tags/v1"]`, "/workflow/ref is"},
		{"one more", all, `"inputs":`, `"cache":"https://evil.example","inputs":`,
			"no condition names the external parameter /cache"},
		{"one more inside", all, `"ref":`, `"path":"x","ref":`, "no condition names the external parameter /workflow/path"},
		{"inputs without a condition", strings.Replace(all, "      /inputs: {any: true}\n", "", 1), "", "",
			"no condition names the external parameter /inputs/n"},
		{"nothing but the whole", "      /workflow: {any: true}\n      /inputs: {any: true}\n", "", "", ""},
		{"unknown member", all, `"metadata"`, `"meta"`, "as specified at /runDetails/meta"},
		{"parameters that are a list", all,
			provenanceGood[strings.Index(provenanceGood, `{"workflow"`):strings.Index(provenanceGood, `,"resolved`)], `[]`,
			"not an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(provenanceGood, c.from) {
				t.Fatalf("%q is not there", c.from)
			}
			d := decide(t, policy(t, k, rule+c.parameters), byKey(k.id[0]),
				stated(k.id[0], tiers.PredicateProvenance, strings.Replace(provenanceGood, c.from, c.to, 1)))
			if (d.Tier == phases.Trusted) != (c.says == "") || !strings.Contains(d.Why, c.says) {
				t.Errorf("%s, %s: %s; want %q", d.Tier, d.Code, d.Why, c.says)
			}
		})
	}
}

// TestRequireRefuses: what a rule cannot mean is refused, with its place.
func TestRequireRefuses(t *testing.T) {
	k := makeKeys(t, 1)
	const head = "version: belay/v1\nrules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub}}]\n  require: "
	const provenance = "predicateType: 'https://slsa.dev/provenance/v1', builder: b, buildType: t"
	const summary = "predicateType: 'https://slsa.dev/verification_summary/v1', verifier: v"
	for _, c := range []struct{ name, src, want string }{
		{"empty", "[]", "/rules/0/require"},
		{"no type", "[{builder: b}]", "/rules/0/require/0/predicateType"},
		{"unknown type", "[{predicateType: 'https://slsa.dev/provenance/v0.2', builder: b, buildType: t}]",
			"/rules/0/require/0/predicateType"},
		{"cosign's", "[{predicateType: '" + tiers.PredicateSignature + "'}]", "predicateType"},
		{"no builder", "[{predicateType: 'https://slsa.dev/provenance/v1', buildType: t}]", "needs builder"},
		{"no build type", "[{predicateType: 'https://slsa.dev/provenance/v1', builder: b}]", "needs buildType"},
		{"no verifier", "[{predicateType: 'https://slsa.dev/verification_summary/v1'}]", "needs verifier"},
		{"builder of a summary", "[{" + summary + ", builder: b}]", "/rules/0/require/0/builder"},
		{"levels of provenance", "[{" + provenance + ", levels: [x]}]", "/rules/0/require/0/levels"},
		{"no levels", "[{" + summary + ", levels: []}]", "/rules/0/require/0/levels"},
		{"nobody", "[{" + summary + ", signers: []}]", "/rules/0/require/0/signers"},
		{"a signer that is none", "[{" + summary + ", signers: [{name: x}]}]", "/rules/0/require/0/signers/0"},
		{"unknown member", "[{" + summary + ", result: FAILED}]", "unknown member"},
		{"no pointer", "[{" + provenance + ", parameters: {ref: {any: true}}}]", "/rules/0/require/0/parameters/ref"},
		{"no condition", "[{" + provenance + ", parameters: {/ref: {}}}]", "exactly one of"},
		{"two conditions", "[{" + provenance + ", parameters: {/ref: {any: true, equal: x}}}]", "exactly one of"},
		{"no pattern", "[{" + provenance + ", parameters: {/ref: {regex: '('}}}]", "not an RE2 pattern"},
		{"too many", "[" + strings.Repeat("{"+summary+"},", 17) + "]", "/rules/0/require"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tiers.ParsePolicy([]byte(head+c.src+"\n"), k.read)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "trust.yaml:") {
				t.Errorf("%v, want %q with its line", err, c.want)
			}
		})
	}
}

// TestRequirementsOnlyRestrict: whatever the evidence is, a rule with a requirement trusts no more than the same
// rule without; the keys that it names are looked for, and its digest is another one.
func TestRequirementsOnlyRestrict(t *testing.T) {
	k := makeKeys(t, 3)
	const bare = "rules:\n- name: one\n  anyOf: {minimumMatches: 1, signers: [{publicKey: {file: k0.pub}}, {publicKey: {file: k1.pub}}]}\n"
	const more = bare +
		"  require: [{predicateType: 'https://slsa.dev/verification_summary/v1', verifier: 'https://v.example', signers: [{publicKey: {file: k2.pub}, notAfter: 2026-03-01T12:00:01Z}]}]\n"
	without, with := policy(t, k, bare), policy(t, k, more)
	if len(with.Keys()) != 3 || with.Digest() == without.Digest() || !with.NextChange(now).Equal(now.Add(time.Second)) {
		t.Errorf("%d keys, next change %v", len(with.Keys()), with.NextChange(now))
	}
	kinds := rapid.SampledFrom([]string{"", tiers.PredicateSignature, tiers.PredicateSummary, tiers.PredicateProvenance,
		"x"})
	rapid.Check(t, func(r *rapid.T) {
		var facts []tiers.Fact
		met := false
		for range rapid.IntRange(0, 6).Draw(r, "facts") {
			key, kind := rapid.IntRange(0, 2).Draw(r, "key"), kinds.Draw(r, "kind")
			f := byKey(k.id[key])
			if kind != "" {
				f = stated(k.id[key], kind, vsaPassed)
			}
			met = met || key == 2 && kind == tiers.PredicateSummary
			facts = append(facts, f)
		}
		loose, strict := decide(t, without, facts...), decide(t, with, facts...)
		if want := loose.Tier == phases.Trusted && met; (strict.Tier == phases.Trusted) != want {
			r.Fatalf("trusted %v, without the requirement %v, met %v", strict.Tier, loose.Tier, met)
		}
	})
}
