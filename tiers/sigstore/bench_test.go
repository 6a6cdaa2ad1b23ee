package sigstore

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/tiers"
)

// BenchmarkVerify measures what each kind of evidence costs for a file of 1 MiB.
// x-sha256 is that as a multiple of one SHA-256 of the same file, in the same run.
func BenchmarkVerify(b *testing.B) {
	file := make([]byte, 1<<20)
	s := signerOf(b)
	raw := s.signFile(b, file)
	statement := fmt.Sprintf(
		`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%x"}}],"predicateType":"p","predicate":{}}`, sha256.Sum256(file))
	w := world(b)
	byKey := &verifier{keys: []tiers.Key{s.Key()}}
	for _, c := range []struct {
		name string
		v    *verifier
		e    tiers.Evidence
	}{
		{"detached", byKey, detachedOf(signatureIn(b, raw))},
		{"bundle", byKey, bundleOf(raw)},
		{"statement", byKey, bundleOf(statementBundle(b, s, statement))},
		{"keyless", verifierOf(w, withoutSCT),
			bundleFrom(b, w, attested(b, w, subject, issuer, file, time.Now().Add(5*time.Minute)), nil)},
	} {
		b.Run(c.name, func(b *testing.B) {
			evidence := []tiers.Evidence{c.e}
			for b.Loop() {
				if f := c.v.Facts(file, evidence); f[0].Problem != nil {
					b.Fatal(f[0].Problem)
				}
			}
			each := b.Elapsed() / time.Duration(b.N)
			start := time.Now()
			for range b.N {
				sha256.Sum256(file)
			}
			b.ReportMetric(float64(each)/(float64(time.Since(start))/float64(b.N)), "x-sha256")
		})
	}
	b.Run("sha256", func(b *testing.B) {
		for b.Loop() {
			sha256.Sum256(file)
		}
	})
}

// BenchmarkPolicyWithoutKeyless is what every start pays: nothing of it parses a
// trusted root.
func BenchmarkPolicyWithoutKeyless(b *testing.B) {
	src := []byte("version: belay/v1\nrules:\n- name: a\n  allOf: [{publicKey: {file: k}}]\n")
	key := fixture(b, "c0.pub")
	for b.Loop() {
		p, err := tiers.ParsePolicy(src, func(string, int64) ([]byte, error) { return key, nil })
		if err != nil {
			b.Fatal(err)
		}
		New(p)
	}
}
