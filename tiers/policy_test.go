package tiers_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testKeys are keys that sign nothing: Evaluate looks at ids only.
type testKeys struct {
	pem []string
	id  []string
}

func makeKeys(t testing.TB, n int) testKeys {
	t.Helper()
	var k testKeys
	for range n {
		pub, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		p := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		key, err := tiers.ParseKey(p)
		if err != nil {
			t.Fatal(err)
		}
		k.pem, k.id = append(k.pem, string(p)), append(k.id, key.ID)
	}
	return k
}

func (k testKeys) read(name string, _ int64) ([]byte, error) {
	for i := range k.pem {
		if name == fmt.Sprintf("k%d.pub", i) {
			return []byte(k.pem[i]), nil
		}
	}
	if name == "root.json" {
		return []byte("{}"), nil
	}
	return nil, fs.ErrNotExist
}

func policy(t testing.TB, k testKeys, src string) *tiers.Policy {
	t.Helper()
	p, err := tiers.ParsePolicy([]byte("version: belay/v1\n"+src), k.read)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return p
}

func byKey(id string) tiers.Fact {
	return tiers.Fact{Source: "a", Kind: tiers.EvidenceBundle, Signature: "sha256:" + fmt.Sprintf("%064x", len(id)),
		KeyID: id}
}

func byIdentity(issuer, subject string, at time.Time) tiers.Fact {
	return tiers.Fact{Source: "b", Kind: tiers.EvidenceBundle, Identity: &tiers.Identity{Issuer: issuer, Subject: subject},
		Assurance: tiers.Assurance{Log: true, CertificateTimestamp: true}, From: at, To: at}
}

const someFile = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

func TestPolicyRefuses(t *testing.T) {
	k := makeKeys(t, 1)
	const head = "version: belay/v1\nrules:\n- name: a\n"
	for _, c := range []struct{ name, src, want string }{
		{"other version", "version: belay/v2\n", "trust.yaml:1:"},
		{"empty file", "", "/version"},
		{"unknown member", "version: belay/v1\ntrust: all\n", "trust.yaml:2:1: /trust: unknown member"},
		{"unknown member of a seat", head + "  allOf:\n  - publicKey: {file: k0.pub, trusted: true}\n", "trust.yaml:5:"},
		{"no signers", head + "  limits: {}\n", "trust.yaml:3:3: /rules/0: a rule without signers would trust everybody"},
		{"empty allOf", head + "  allOf: []\n", "would trust everybody"},
		{"no signer under anyOf", head + "  anyOf: {minimumMatches: 0, signers: []}\n", "lists no signer"},
		{"threshold nought", head + "  anyOf: {minimumMatches: 0, signers: [{publicKey: {file: k0.pub}}]}\n",
			"between 1 and 1"},
		{"threshold too high", head + "  anyOf: {minimumMatches: 2, signers: [{publicKey: {file: k0.pub}}]}\n",
			"between 1 and 1"},
		{"empty seat", head + "  allOf: [{name: x}]\n", "needs publicKey or keyless"},
		{"missing key file", head + "  allOf:\n  - publicKey: {file: nobody.pub}\n",
			"trust.yaml:5:17: /rules/0/allOf/0/publicKey/file: cannot be read"},
		{"key outside", head + "  allOf:\n  - publicKey: {file: ../k0.pub}\n", "beside trust.yaml"},
		{"garbage key", head + "  allOf:\n  - publicKey: {pem: garbage}\n", "not a public key"},
		{"subject twice", head + "  allOf:\n  - keyless: {issuer: 'https://i.example', subject: {equal: a, regex: b}}\n",
			"exactly one of"},
		{"no subject", head + "  allOf:\n  - keyless: {issuer: 'https://i.example', subject: {}}\n", "exactly one of"},
		{"no issuer", head + "  allOf:\n  - keyless: {issuer: '', subject: {equal: a}}\n", "/issuer"},
		{"regex that leaves its group",
			head + "  allOf:\n  - keyless: {issuer: 'https://i.example', subject: {regex: 'a)|(?:b'}}\n", "not an RE2 pattern"},
		{"prefix that climbs",
			head + "  allOf:\n  - keyless: {issuer: 'https://i.example', subject: {urlPrefix: 'https://h.example/a/../'}}\n",
			"plain URL"},
		{"window upside down",
			head + "  allOf:\n  - {publicKey: {file: k0.pub}, notBefore: 2026-02-01T00:00:00Z, notAfter: 2026-01-01T00:00:00Z}\n", "notAfter"},
		{"rule twice", head + "  allOf: [{publicKey: {file: k0.pub}}]\n- name: a\n  allOf: [{publicKey: {file: k0.pub}}]\n",
			"there twice"},
		{"limit to nothing", head + "  allOf: [{publicKey: {file: k0.pub}}]\n  limits: {hooks: []}\n", "vouches for nothing"},
		{"limit pattern", head + "  allOf: [{publicKey: {file: k0.pub}}]\n  limits: {hooks: ['[']}\n", "/limits/hooks/0"},
		{"limit that no hook has", head + "  allOf: [{publicKey: {file: k0.pub}}]\n  limits: {hooks: [acme/a, 'Acme/a']}\n",
			"/limits/hooks/1"},
		{"version that is none", head + "  allOf: [{publicKey: {file: k0.pub}}]\n  limits: {minimumVersion: v1}\n", "1.2.3"},
		{"denied digest", "version: belay/v1\ndeny: {digests: [abc]}\n", "/deny/digests/0"},
		{"denied key", "version: belay/v1\ndeny: {keys: [abc]}\n", "/deny/keys/0"},
		{"duplicate key", "version: belay/v1\ndeny: {}\ndeny: {}\n", "duplicate key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tiers.ParsePolicy([]byte(c.src), k.read)
			if !errors.Is(err, tiers.PolicyUnusable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want PolicyUnusable with %q", err, c.want)
			}
		})
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	p521, _ := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	der, _ := x509.MarshalPKIXPublicKey(&p521.PublicKey)
	k := makeKeys(t, 2)
	for name, src := range map[string]string{
		"P-521":       string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"two keys":    k.pem[0] + k.pem[1],
		"private key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"too long":    strings.Repeat("x", tiers.MaxKeyFile+1),
	} {
		if key, err := tiers.ParseKey([]byte(src)); err == nil {
			t.Errorf("%s: accepted as %s", name, key.Kind)
		}
	}
}

func TestEvaluate(t *testing.T) {
	k := makeKeys(t, 3)
	const issuer = "https://i.example"
	one := "rules:\n- name: one\n  allOf: [{publicKey: {file: k0.pub}}]\n"
	two := "rules:\n- name: two\n  anyOf: {minimumMatches: 2, signers: [{publicKey: {file: k0.pub}}, {publicKey: {file: k1.pub}}, {publicKey: {file: k2.pub}}]}\n"
	same := "rules:\n- name: same\n  allOf: [{publicKey: {file: k0.pub}}, {publicKey: {file: k0.pub}}]\n"
	person := "trustedRoot: root.json\nrules:\n- name: person\n  allOf: [{keyless: {issuer: 'https://i.example', subject: SUBJECT}}]\n"
	subject := func(s string) string { return strings.Replace(person, "SUBJECT", s, 1) }
	bad := func(c tiers.Code) tiers.Fact {
		return tiers.Fact{Source: "x", Kind: tiers.EvidenceBundle, Problem: &tiers.Error{Class: c, Text: "because"}}
	}
	other := byKey(k.id[0])
	other.Source, other.Signature = "c", "sha256:"+strings.Repeat("2", 64)
	weak := byIdentity(issuer, "a@b.example", now)
	weak.Assurance.CertificateTimestamp = false
	limit := func(l string) string { return one + "  limits: " + l + "\n" }
	for _, c := range []struct {
		name, policy string
		facts        []tiers.Fact
		code         tiers.Code
		why          string
	}{
		{"no rules, unsigned", "", nil, tiers.Unsigned, ""},
		{"no rules, signed", "", []tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted, "trusts no signer"},
		{"unsigned", one, nil, tiers.Unsigned, ""},
		{"signed", one, []tiers.Fact{byKey(k.id[0])}, "", "rule one"},
		{"other key", one, []tiers.Fact{byKey(k.id[1])}, tiers.SignerNotTrusted, "no rule has a seat"},
		{"invalid", one, []tiers.Fact{bad(tiers.SignatureInvalid)}, tiers.SignatureInvalid, "because"},
		{"malformed", one, []tiers.Fact{bad(tiers.BundleMalformed)}, tiers.BundleMalformed, "because"},
		{"root missing", one, []tiers.Fact{bad(tiers.RootMissing)}, tiers.RootMissing, "because"},
		{"foreign and broken beside a good one", one,
			[]tiers.Fact{bad(tiers.BundleMalformed), bad(tiers.SignatureInvalid), byKey(k.id[1]), byKey(k.id[0])}, "",
			"rule one"},
		{"a fact without a signer proves nothing", one, []tiers.Fact{{Source: "a"}}, tiers.SignatureInvalid,
			"names no signer"},
		{"threshold", two, []tiers.Fact{byKey(k.id[0]), byKey(k.id[2])}, "", "rule two"},
		{"threshold short by one", two, []tiers.Fact{byKey(k.id[0])}, tiers.ThresholdNotMet, "1 of 2"},
		{"the same signer twice", two, []tiers.Fact{byKey(k.id[0]), other}, tiers.ThresholdNotMet, "1 of 2"},
		{"the same signature twice", two, []tiers.Fact{byKey(k.id[0]), byKey(k.id[0])}, tiers.ThresholdNotMet, "1 of 2"},
		{"one key, two seats", same, []tiers.Fact{byKey(k.id[0]), other}, tiers.ThresholdNotMet, "1 of 2"},
		{"denied file", one + "deny: {digests: ['" + someFile + "']}\n", []tiers.Fact{byKey(k.id[0])}, tiers.Revoked,
			someFile},
		{"denied file, unsigned", "deny: {digests: ['" + someFile + "']}\n", nil, tiers.Revoked, someFile},
		{"denied key", one + "deny: {keys: ['" + k.id[0] + "']}\n", []tiers.Fact{byKey(k.id[0])}, tiers.Revoked, k.id[0]},
		{"denied key beside a good one", two + "deny: {keys: ['" + k.id[0] + "']}\n",
			[]tiers.Fact{byKey(k.id[0]), byKey(k.id[1]), byKey(k.id[2])}, "", "rule two"},
		{"denied signature", one + "deny: {signatures: ['" + other.Signature + "']}\n", []tiers.Fact{other}, tiers.Revoked,
			other.Signature},
		{"denied identity", subject("{equal: a@b.example}") + "deny: {identities: [{subject: {regex: '.*@b\\.example'}}]}\n",
			[]tiers.Fact{byIdentity(issuer, "a@b.example", now)}, tiers.Revoked, "a@b.example"},
		{"denied identity of another issuer",
			subject("{equal: a@b.example}") +
				"deny: {identities: [{issuer: 'https://other.example', subject: {equal: a@b.example}}]}\n",
			[]tiers.Fact{byIdentity(issuer, "a@b.example", now)}, "", ""},
		{"identity", subject("{equal: a@b.example}"), []tiers.Fact{byIdentity(issuer, "a@b.example", now)}, "",
			"rule person"},
		{"wrong identity", subject("{equal: a@b.example}"), []tiers.Fact{byIdentity(issuer, "c@b.example", now)},
			tiers.SignerNotTrusted, "c@b.example"},
		{"wrong issuer", subject("{equal: a@b.example}"), []tiers.Fact{byIdentity("https://j.example", "a@b.example", now)},
			tiers.SignerNotTrusted, "j.example"},
		{"identity without certificate timestamp", subject("{equal: a@b.example}"), []tiers.Fact{weak},
			tiers.SignerNotTrusted, ""},
		{"identity without a time", subject("{equal: a@b.example}"),
			[]tiers.Fact{byIdentity(issuer, "a@b.example", time.Time{})}, tiers.SignerNotTrusted, ""},
		{"regex", subject("{regex: '[ab]@b\\.example'}"), []tiers.Fact{byIdentity(issuer, "a@b.example", now)}, "", ""},
		{"regex is anchored", subject("{regex: 'a@b\\.example'}"), []tiers.Fact{byIdentity(issuer, "evila@b.example", now)},
			tiers.SignerNotTrusted, ""},
		{"regex is anchored at the end", subject("{regex: 'a@b\\.example|b'}"),
			[]tiers.Fact{byIdentity(issuer, "a@b.example.evil", now)}, tiers.SignerNotTrusted, ""},
		{"prefix", subject("{urlPrefix: 'https://h.example/acme'}"),
			[]tiers.Fact{byIdentity(issuer, "https://h.example/acme/hooks/.github/workflows/r.yml@refs/tags/v1", now)}, "", ""},
		{"prefix ends at a part", subject("{urlPrefix: 'https://h.example/acme'}"),
			[]tiers.Fact{byIdentity(issuer, "https://h.example/acme-evil/x", now)}, tiers.SignerNotTrusted, ""},
		{"prefix and dots", subject("{urlPrefix: 'https://h.example/acme/'}"),
			[]tiers.Fact{byIdentity(issuer, "https://h.example/acme/../evil", now)}, tiers.SignerNotTrusted, ""},
		{"prefix and escapes", subject("{urlPrefix: 'https://h.example/acme/'}"),
			[]tiers.Fact{byIdentity(issuer, "https://h.example/acme/%2e%2e/evil", now)}, tiers.SignerNotTrusted, ""},
		{"prefix and user", subject("{urlPrefix: 'https://h.example'}"),
			[]tiers.Fact{byIdentity(issuer, "https://h.example@evil.example/", now)}, tiers.SignerNotTrusted, ""},
		{"hook within limits",
			limit("{hooks: ['acme/*'], capabilities: [block, rewrite], phases: [pre_tool], minimumVersion: 1.2.3}"),
			[]tiers.Fact{byKey(k.id[0])}, "", ""},
		{"hook of another name", limit("{hooks: ['evil/*', 'acme/guard/**']}"), []tiers.Fact{byKey(k.id[0])},
			tiers.SignerNotTrusted, "acme/guard"},
		{"hook that asks for more", limit("{capabilities: [block]}"), []tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted,
			"rewrite:/args"},
		{"hook that may hold nothing", limit("{capabilities: []}"), []tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted,
			"block"},
		{"hook of another phase", limit("{phases: [spawn]}"), []tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted,
			"pre_tool"},
		{"older file", limit("{minimumVersion: 1.2.4}"), []tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted,
			"this is 1.2.3"},
		{"window over", "rules:\n- name: w\n  allOf: [{publicKey: {file: k0.pub}, notAfter: 2026-03-01T12:00:00Z}]\n",
			[]tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted, ""},
		{"window to come", "rules:\n- name: w\n  allOf: [{publicKey: {file: k0.pub}, notBefore: 2026-03-01T12:00:01Z}]\n",
			[]tiers.Fact{byKey(k.id[0])}, tiers.SignerNotTrusted, ""},
		{"within the window",
			"rules:\n- name: w\n  allOf: [{publicKey: {file: k0.pub}, notBefore: 2026-03-01T12:00:00Z, notAfter: 2026-03-01T12:00:01Z}]\n", []tiers.Fact{byKey(k.id[0])}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := tiers.DecodeManifest([]byte(good))
			if err != nil {
				t.Fatal(err)
			}
			d := policy(t, k, c.policy).Evaluate(someFile, m, c.facts, now)
			if d.Code != c.code || !strings.Contains(d.Why, c.why) {
				t.Errorf("got %q: %s; want %q with %q", d.Code, d.Why, c.code, c.why)
			}
			if (d.Tier == phases.Trusted) != (c.code == "") || (d.Err() == nil) != (c.code == "") {
				t.Errorf("tier %s, error %v", d.Tier, d.Err())
			}
			if c.code != "" && (!errors.Is(d.Err(), c.code) || d.Advice == "") {
				t.Errorf("error %v, advice %q", d.Err(), d.Advice)
			}
			if len(d.Evidence) > len(c.facts) {
				t.Errorf("%d outcomes for %d facts", len(d.Evidence), len(c.facts))
			}
		})
	}
}

func TestPolicyDigest(t *testing.T) {
	k := makeKeys(t, 2)
	src := "trustedRoot: root.json\nrules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub}}, {keyless: {issuer: 'https://i.example', subject: {equal: x}}}]\n"
	a := policy(t, k, src)
	if b := policy(t, k, "# a comment\n"+src); a.Digest() != b.Digest() {
		t.Error("a comment changes what the policy means")
	}
	swapped := testKeys{pem: []string{k.pem[1], k.pem[0]}, id: []string{k.id[1], k.id[0]}}
	if b := policy(t, swapped, src); a.Digest() == b.Digest() {
		t.Error("another key in the file of the same name keeps the digest")
	}
	if b := policy(t, k, strings.Replace(src, "equal: x", "equal: y", 1)); a.Digest() == b.Digest() {
		t.Error("another subject keeps the digest")
	}
	otherRoot := func(name string, limit int64) ([]byte, error) {
		if name == "root.json" {
			return []byte("{} "), nil
		}
		return k.read(name, limit)
	}
	if b, err := tiers.ParsePolicy([]byte("version: belay/v1\n"+src), otherRoot); err != nil || a.Digest() == b.Digest() {
		t.Errorf("another trusted root keeps the digest, %v", err)
	}
	noRoot := func(name string, limit int64) ([]byte, error) {
		if name == "root.json" {
			return nil, fs.ErrNotExist
		}
		return k.read(name, limit)
	}
	if b, err := tiers.ParsePolicy([]byte("version: belay/v1\n"+src), noRoot); err != nil || a.Digest() == b.Digest() {
		t.Errorf("a root that went missing keeps the digest, %v", err)
	} else if _, err := b.Root(); !errors.Is(err, tiers.RootMissing) {
		t.Errorf("a root that went missing: %v", err)
	}
	if b := policy(t, k, src+"deny: {digests: ['"+someFile+"']}\n"); a.Digest() == b.Digest() {
		t.Error("a deny list keeps the digest")
	}
}

func TestNextChange(t *testing.T) {
	k := makeKeys(t, 1)
	p := policy(t, k,
		"rules:\n- name: w\n  allOf: [{publicKey: {file: k0.pub}, notBefore: 2026-01-01T00:00:00Z, notAfter: 2027-01-01T00:00:00Z}]\n")
	if d := cmp.Diff(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), p.NextChange(now)); d != "" {
		t.Error(d)
	}
	if n := p.NextChange(now.AddDate(2, 0, 0)); !n.IsZero() {
		t.Errorf("got %v after the last window", n)
	}
}

// draw makes a policy over three keys and facts of them.
func draw(rt *rapid.T, k testKeys) (rules string, facts []tiers.Fact) {
	seat := func(i int) string { return fmt.Sprintf("{publicKey: {file: k%d.pub}}", i) }
	seats := func(label string) []string {
		var out []string
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(k.pem)-1), 1, 4).Draw(rt, label) {
			out = append(out, seat(i))
		}
		return out
	}
	rules = "rules:\n"
	for r := range rapid.IntRange(1, 2).Draw(rt, "rules") {
		any := seats("any")
		rules += fmt.Sprintf("- name: r%d\n  anyOf: {minimumMatches: %d, signers: [%s]}\n", r,
			rapid.IntRange(1, len(any)).Draw(rt, "min"), strings.Join(any, ", "))
		if rapid.Bool().Draw(rt, "all?") {
			rules += "  allOf: [" + strings.Join(seats("all"), ", ") + "]\n"
		}
	}
	for n, i := range rapid.SliceOfN(rapid.IntRange(0, len(k.pem)-1), 0, 5).Draw(rt, "facts") {
		f := byKey(k.id[i])
		f.Source, f.Signature = fmt.Sprintf("f%d", n), fmt.Sprintf("sha256:%064d", i*10+rapid.IntRange(0, 1).Draw(rt, "sig"))
		facts = append(facts, f)
	}
	return rules, facts
}

func TestDenyNeverRaises(t *testing.T) {
	k := makeKeys(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		rules, facts := draw(rt, k)
		before := policy(t, k, rules).Evaluate(someFile, nil, facts, now)
		deny := rapid.SampledFrom([]string{
			"digests: ['" + someFile + "']", "digests: ['sha256:" + strings.Repeat("9", 64) + "']",
			"keys: ['" + k.id[0] + "']", "keys: ['" + k.id[1] + "', '" + k.id[2] + "']",
			fmt.Sprintf("signatures: ['sha256:%064d']", rapid.IntRange(0, 21).Draw(rt, "denied")),
		}).Draw(rt, "deny")
		after := policy(t, k, rules+"deny: {"+deny+"}\n").Evaluate(someFile, nil, facts, now)
		if after.Tier.Rank() > before.Tier.Rank() {
			rt.Fatalf("denying %s raised %s to %s", deny, before.Tier, after.Tier)
		}
		if before.Tier == phases.Trusted && strings.Contains(deny, someFile) && after.Code != tiers.Revoked {
			rt.Fatalf("a denied file is %s (%s)", after.Tier, after.Code)
		}
	})
}

func TestDuplicatesAndOrderDoNotMatter(t *testing.T) {
	k := makeKeys(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		rules, facts := draw(rt, k)
		p := policy(t, k, rules)
		a := p.Evaluate(someFile, nil, facts, now)
		again := rapid.Permutation(append(slices.Clone(facts), facts...)).Draw(rt, "again")
		b := p.Evaluate(someFile, nil, again, now)
		if d := cmp.Diff(a, b, cmp.AllowUnexported(tiers.Decision{})); d != "" {
			rt.Fatal(d)
		}
	})
}

// The matching is exact: it agrees with trying every assignment of signers to slots.
func TestThresholdIsExact(t *testing.T) {
	k := makeKeys(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(label string, low int) []int { return rapid.SliceOfN(rapid.IntRange(0, 2), low, 4).Draw(rt, label) }
		all, any := pick("all", 0), pick("any", 1)
		minimum := rapid.IntRange(1, len(any)).Draw(rt, "min")
		have := rapid.SliceOfDistinct(rapid.IntRange(0, 2), rapid.ID[int]).Draw(rt, "have")
		seats := func(list []int) string {
			var s []string
			for _, i := range list {
				s = append(s, fmt.Sprintf("{publicKey: {file: k%d.pub}}", i))
			}
			return "[" + strings.Join(s, ", ") + "]"
		}
		src := "rules:\n- name: r\n"
		if len(all) > 0 {
			src += "  allOf: " + seats(all) + "\n"
		}
		src += fmt.Sprintf("  anyOf: {minimumMatches: %d, signers: %s}\n", minimum, seats(any))
		var facts []tiers.Fact
		for _, i := range have {
			facts = append(facts, byKey(k.id[i]))
		}
		got := policy(t, k, src).Evaluate(someFile, nil, facts, now).Tier == phases.Trusted

		var fill func(seat, free, counted int) bool
		fill = func(seat, free, counted int) bool {
			if seat == len(all)+len(any) {
				return counted >= minimum
			}
			key, must := 0, seat < len(all)
			if must {
				key = all[seat]
			} else {
				key = any[seat-len(all)]
			}
			if free&(1<<key) != 0 {
				add := 1
				if must {
					add = 0
				}
				if fill(seat+1, free&^(1<<key), counted+add) {
					return true
				}
			}
			return !must && fill(seat+1, free, counted)
		}
		free := 0
		for _, i := range have {
			free |= 1 << i
		}
		if want := fill(0, free, 0); got != want {
			rt.Fatalf("trusted %v, want %v\n%s have %v", got, want, src, have)
		}
	})
}

// TestWhoIsCounted: a slot that several signers could fill is filled by the first of them by name, each time.
func TestWhoIsCounted(t *testing.T) {
	p := policy(t, testKeys{},
		"rules:\n- name: r\n  anyOf: {minimumMatches: 1, signers: [{keyless: {issuer: 'https://i.example', subject: {regex: '.*'}}}]}\n")
	var facts []tiers.Fact
	for _, who := range []string{"d", "b", "c", "a", "f", "e", "h", "g"} {
		facts = append(facts, byIdentity("https://i.example", who, now))
	}
	for range 20 {
		d := p.Evaluate(someFile, nil, facts, now)
		if d.Tier != phases.Trusted || len(d.Rules[0].Counted) != 1 || d.Rules[0].Counted[0] != facts[3].Signer() {
			t.Fatalf("%s, counted %q, want %q", d.Tier, d.Rules[0].Counted, facts[3].Signer())
		}
	}
}

// Slots that overlap: one that takes any signer must not take the only signer of
// another. Every assignment is tried and compared.
func TestOverlappingSeatsAreExact(t *testing.T) {
	people := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string, low, high int) [][]string {
			return rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(people), 1, 4, rapid.ID[string]), low, high).Draw(rt,
				label)
		}
		all, some := draw("all", 0, 3), draw("any", 1, 3)
		minimum := rapid.IntRange(1, len(some)).Draw(rt, "min")
		have := rapid.SliceOfDistinct(rapid.SampledFrom(people), rapid.ID[string]).Draw(rt, "have")
		seats := func(list [][]string) string {
			var s []string
			for _, who := range list {
				s = append(s, "{keyless: {issuer: 'https://i.example', subject: {regex: '"+strings.Join(who, "|")+"'}}}")
			}
			return "[" + strings.Join(s, ", ") + "]"
		}
		src := "rules:\n- name: r\n"
		if len(all) > 0 {
			src += "  allOf: " + seats(all) + "\n"
		}
		src += fmt.Sprintf("  anyOf: {minimumMatches: %d, signers: %s}\n", minimum, seats(some))
		var facts []tiers.Fact
		for _, who := range have {
			facts = append(facts, byIdentity("https://i.example", who, now))
		}
		got := policy(t, testKeys{}, src).Evaluate(someFile, nil, facts, now).Tier == phases.Trusted

		var fill func(seat int, free []string, counted int) bool
		fill = func(seat int, free []string, counted int) bool {
			if seat == len(all)+len(some) {
				return counted >= minimum
			}
			who, add := []string(nil), 0
			if seat < len(all) {
				who = all[seat]
			} else {
				who, add = some[seat-len(all)], 1
			}
			for i, p := range free {
				if slices.Contains(who, p) && fill(seat+1, slices.Delete(slices.Clone(free), i, i+1), counted+add) {
					return true
				}
			}
			return add == 1 && fill(seat+1, free, counted)
		}
		if want := fill(0, have, 0); got != want {
			rt.Fatalf("trusted %v, want %v\n%s have %v", got, want, src, have)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte("version: belay/v1\nrules:\n- name: a\n  allOf: [{publicKey: {file: k0.pub}}]\n"))
	f.Add([]byte("version: belay/v1\ndeny: {keys: [x]}\n"))
	k := makeKeys(f, 1)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := tiers.ParsePolicy(b, k.read)
		if err != nil {
			if !errors.Is(err, tiers.PolicyUnusable) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		if d := p.Evaluate(someFile, nil, nil, now); d.Tier == phases.Trusted {
			t.Fatal("an unsigned file is trusted")
		}
	})
}
