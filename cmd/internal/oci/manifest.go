package oci

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Descriptor points at content. Members that we do not use are ignored, as the
// image specification demands of readers.
type Descriptor struct {
	MediaType    string   `json:"mediaType"`
	Digest       string   `json:"digest"`
	Size         int64    `json:"size"`
	ArtifactType string   `json:"artifactType,omitempty"`
	URLs         []string `json:"urls,omitempty"`
}

// Manifest is an image manifest, as far as we look at it.
type Manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType,omitempty"`
	ArtifactType  string       `json:"artifactType,omitempty"`
	Config        Descriptor   `json:"config"`
	Layers        []Descriptor `json:"layers"`
	Subject       *Descriptor  `json:"subject,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType,omitempty"`
	Manifests     []Descriptor `json:"manifests"`
}

// decode refuses what another reader could understand in another way: duplicate
// names, invalid UTF-8, and names that are ours but for the case of their letters
// (the standard library, which signing tools use, takes "Layers" for "layers").
// It reads twice, exactly and leniently; both must come out the same.
func decode[T any](b []byte, exact, lenient *T) error {
	if err := json.Unmarshal(b, exact); err != nil {
		return err
	}
	if err := json.Unmarshal(b, lenient, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if !reflect.DeepEqual(exact, lenient) {
		return errors.New("a name is written in other letters")
	}
	return nil
}

// decodeManifest reads any image manifest.
func decodeManifest(b []byte) (*Manifest, error) {
	if len(b) > MaxManifest {
		return nil, fail(ErrTooLarge, fmt.Sprintf("a manifest may have %d bytes", MaxManifest))
	}
	var m Manifest
	if err := decode(b, &m, new(Manifest)); err != nil {
		return nil, &Error{Class: ErrMalformed, Text: "the manifest is not the JSON of one", Cause: err}
	}
	if m.SchemaVersion != 2 {
		return nil, fail(ErrMalformed, "the manifest's schemaVersion is not 2")
	}
	if m.MediaType != "" && m.MediaType != MediaTypeManifest {
		return nil, fail(ErrMediaType, "the document says that it is "+quote(m.MediaType)+", an image manifest was announced")
	}
	if err := m.Config.check(); err != nil {
		return nil, err
	}
	for _, l := range m.Layers {
		if err := l.check(); err != nil {
			return nil, err
		}
	}
	if m.Subject != nil {
		if err := m.Subject.check(); err != nil {
			return nil, err
		}
	}
	return &m, nil
}

func (d *Descriptor) check() error {
	switch {
	case !digestForm().MatchString(d.Digest):
		return fail(ErrMalformed, "a descriptor's digest is not sha256: and 64 hexadecimal digits")
	case d.Size < 0:
		return fail(ErrMalformed, "a descriptor's size is negative")
	case d.MediaType == "":
		return fail(ErrMalformed, "a descriptor has no mediaType")
	}
	return nil
}

// ModuleLayer returns the descriptor of the module that the manifest binds. It
// is how a verifier follows a signature over a manifest digest to the file: the
// digest of these bytes was signed, the layer's digest is the file's. Errors are
// ErrMalformed, ErrMediaType, ErrTooLarge and ErrLayout.
func ModuleLayer(manifest []byte) (Descriptor, error) {
	m, err := decodeManifest(manifest)
	if err != nil {
		return Descriptor{}, err
	}
	return m.module()
}

func (m *Manifest) module() (Descriptor, error) {
	switch {
	case m.MediaType == "":
		return Descriptor{}, fail(ErrLayout, "it does not say its mediaType: the same bytes could be read as something else")
	case m.Subject != nil:
		return Descriptor{}, fail(ErrLayout, "it is attached to something else, it is no hook itself")
	case m.Config.MediaType != MediaTypeWasmConfig:
		return Descriptor{}, fail(ErrLayout, "its config is "+quote(m.Config.MediaType)+", a hook's is "+MediaTypeWasmConfig)
	case len(m.Layers) != 1:
		return Descriptor{}, fail(ErrLayout, fmt.Sprintf("it has %d layers, a hook has one", len(m.Layers)))
	}
	l := m.Layers[0]
	switch {
	case l.MediaType != MediaTypeWasm:
		return Descriptor{}, fail(ErrLayout, "its layer is "+quote(l.MediaType)+", a hook's is "+MediaTypeWasm)
	case len(l.URLs) > 0:
		return Descriptor{}, fail(ErrLayout, "its layer is to be fetched from elsewhere")
	case l.Size == 0:
		return Descriptor{}, fail(ErrLayout, "its layer is empty")
	case l.Size > MaxModule:
		return Descriptor{},
			fail(ErrTooLarge, fmt.Sprintf("the layer is announced with %d bytes, a module may have %d", l.Size, MaxModule))
	}
	return l, nil
}

// evidence returns the kind and layer of a referrer's manifest.
func (m *Manifest) evidence(subject string) (Kind, Descriptor, error) {
	none := Descriptor{}
	if m.Subject == nil || m.Subject.Digest != subject {
		return "", none, fail(ErrLayout, "its subject is another manifest")
	}
	kind, ok := kindOf(m.kind())
	if !ok {
		return "", none, fail(ErrLayout, quote(m.kind())+" is no evidence that we know")
	}
	if len(m.Layers) != 1 || len(m.Layers[0].URLs) > 0 {
		return "", none, fail(ErrLayout, "evidence has exactly one layer, in the same registry")
	}
	if l := m.Layers[0]; l.Size == 0 || l.Size > MaxEvidence {
		return "", none,
			fail(ErrTooLarge, fmt.Sprintf("it is announced with %d bytes, evidence may have 1 to %d", l.Size, MaxEvidence))
	}
	if mt := m.Layers[0].MediaType; mt != m.kind() {
		return "", none, fail(ErrMediaType, "the layer is "+quote(mt)+" in an artifact of "+quote(m.kind()))
	}
	return kind, m.Layers[0], nil
}

// kind is the artifact type; documents from before it existed have it as the
// config's media type.
func (m *Manifest) kind() string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

func decodeIndex(b []byte) ([]Descriptor, error) {
	if len(b) > MaxManifest {
		return nil, fail(ErrTooLarge, fmt.Sprintf("a list of referrers may have %d bytes", MaxManifest))
	}
	var x index
	if err := decode(b, &x, new(index)); err != nil {
		return nil, &Error{Class: ErrMalformed, Text: "the list of referrers is not the JSON of an index", Cause: err}
	}
	if x.SchemaVersion != 2 {
		return nil, fail(ErrMalformed, "the index's schemaVersion is not 2")
	}
	if x.MediaType != "" && x.MediaType != MediaTypeIndex {
		return nil, fail(ErrMediaType, "the document says that it is "+quote(x.MediaType)+", an index was announced")
	}
	// A broken descriptor is one broken referrer, not a broken list.
	return slices.DeleteFunc(x.Manifests, func(d Descriptor) bool { return d.check() != nil }), nil
}

// packEvidence is the referrer that attaches a piece of evidence to subject.
func packEvidence(e Evidence, subject Descriptor) ([]byte, error) {
	return json.Marshal(Manifest{
		SchemaVersion: 2, MediaType: MediaTypeManifest, ArtifactType: e.Kind.mediaType(),
		Config: describe(MediaTypeEmpty, emptyConfig()), Layers: []Descriptor{describe(e.Kind.mediaType(), e.Bytes)},
		Subject: &subject,
	})
}

func emptyConfig() []byte { return []byte("{}") }

func describe(mediaType string, b []byte) Descriptor {
	return Descriptor{MediaType: mediaType, Digest: phases.ByteDigest(b), Size: int64(len(b))}
}

// isModule looks at the magic number only: whether the sandbox takes the module
// is not decided here.
func isModule(b []byte) bool { return bytes.HasPrefix(b, []byte("\x00asm")) }
