package sigstore

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/belay-hooks/belay/tiers"
)

// What a signer sees in a manifest with other tools is what counts here, or
// nothing does.
func TestManifestReadInTwoWays(t *testing.T) {
	file := fixture(t, "guard.wasm")
	s := signerOf(t)
	good := fmt.Appendf(nil,
		`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","layers":[{"mediaType":"application/wasm","digest":"sha256:%x","size":%d}]}`, sha256.Sum256(file), len(file))
	v := &verifier{keys: []tiers.Key{s.Key()}}
	signed := func(m []byte) []tiers.Fact {
		bundle := statementBundle(t, s,
			fmt.Sprintf(
				`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%x"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, sha256.Sum256(m)))
		return v.Facts(file, []tiers.Evidence{bundleOf(bundle), {Kind: tiers.EvidenceManifest, Name: "manifest", Data: m}})
	}
	if facts := signed(good); len(facts) != 1 || facts[0].Problem != nil {
		t.Fatalf("%+v", facts)
	}
	for name, bad := range map[string][]byte{
		"others see another layer": bytes.Replace(good, []byte(`"layers"`),
			[]byte(`"Layers":[{"mediaType":"application/wasm","digest":"sha256:00","size":1}],"layers"`), 1),
		"others see another type": bytes.Replace(good, []byte(`"mediaType":"application/wasm"`),
			[]byte(`"mediaType":"application/wasm","MediaType":"text/plain"`), 1),
		"other letters": bytes.Replace(good, []byte(`"schemaVersion"`),
			[]byte(`"SchemaVersion":1,"schemaVersion"`), 1),
		"a text": bytes.Replace(good, []byte(`application/wasm`), []byte(`text/plain`), 1),
	} {
		for _, f := range signed(bad) {
			if f.Problem == nil {
				t.Errorf("%s: %+v counts", name, f)
			}
		}
	}
}
