package sigstore

import (
	"crypto/sha256"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

type ociManifest struct {
	SchemaVersion int    `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
	Layers        []struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	} `json:"layers"`
}

// addManifest lets statements be about an OCI manifest, when that manifest binds
// exactly this file: one layer, with the file's digest and size. It returns a fact
// only when the manifest cannot be used.
func (a *artifact) addManifest(evidence tiers.Evidence) *tiers.Fact {
	var image, folded ociManifest
	fail := func(text string, err error) *tiers.Fact { f := broken(evidence, text, err); return &f }
	if len(evidence.Data) > tiers.MaxEvidence {
		return fail(fmt.Sprintf("larger than %d bytes", tiers.MaxEvidence), nil)
	}
	if err := json.Unmarshal(evidence.Data, &image); err != nil {
		return fail("not an OCI manifest", err)
	}
	// Signers read the manifest with tools that take "Layers" for "layers": a document
	// that says two things must not count as one of them here.
	err := json.Unmarshal(evidence.Data, &folded, json.MatchCaseInsensitiveNames(true))
	if err != nil || !reflect.DeepEqual(image, folded) {
		return fail("a name in the OCI manifest is written in other letters", err)
	}
	switch {
	case image.SchemaVersion != 2 || image.MediaType != "application/vnd.oci.image.manifest.v1+json":
		return fail("not an OCI image manifest", nil)
	case len(image.Layers) != 1:
		return fail(fmt.Sprintf("the OCI manifest has %d layers, a hook has one", len(image.Layers)), nil)
	case image.Layers[0].MediaType != "application/wasm":
		return fail("the OCI manifest's layer is no WebAssembly module: who signed it signed something else", nil)
	case image.Layers[0].Digest != phases.SumDigest(a.digest[:]) || image.Layers[0].Size != int64(len(a.file)):
		f := problem(tiers.Fact{Source: evidence.Name, Kind: evidence.Kind}, tiers.SignatureInvalid,
			"the OCI manifest is about another file", nil)
		return &f
	}
	a.subjects[sha256.Sum256(evidence.Data)] = true
	return nil
}

// strictJSON reports whether b is one JSON value in UTF-8 without duplicate names:
// readers that disagree about a document make a way round a check.
func strictJSON(b []byte) bool { return jsontext.Value(b).IsValid() }
