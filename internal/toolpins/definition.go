package toolpins

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Definition is what a server says of one tool. The digest is over exactly these members, in
// the canonical form of RFC 8785; members that are not set are not in it.
type Definition struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitzero"`
	Description  string         `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"inputSchema,omitzero"`
	OutputSchema jsontext.Value `json:"outputSchema,omitzero"`
	Annotations  *Annotations   `json:"annotations,omitzero"`
}

// Annotations are a server's hints about a tool. They stand here with names of their own, so that
// a newer MCP library that writes them otherwise changes no digest.
type Annotations struct {
	Title       string `json:"title,omitzero"`
	ReadOnly    bool   `json:"readOnlyHint,omitzero"`
	Destructive *bool  `json:"destructiveHint,omitzero"`
	Idempotent  bool   `json:"idempotentHint,omitzero"`
	OpenWorld   *bool  `json:"openWorldHint,omitzero"`
}

// Canonical returns the definition's canonical form and its digest, sha256:HEX.
func (d *Definition) Canonical() (text jsontext.Value, digest string, err error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, "", err
	}
	if text, err = phases.Canonical(raw); err != nil {
		return nil, "", err
	}
	return text, phases.ByteDigest(text), nil
}

// readable is a canonical definition with line breaks, for a person who compares two.
func readable(canonical jsontext.Value) string {
	v := canonical.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(canonical)
	}
	return string(v)
}

// CheckDigest says why a text is no digest of a definition.
func CheckDigest(s string) error {
	name, ok := strings.CutPrefix(s, "sha256:")
	if b, err := hex.DecodeString(name); !ok || err != nil || len(b) != 32 || strings.ToLower(name) != name {
		return fmt.Errorf("%q is not sha256: and 64 lower-case hexadecimal digits", phases.SafeLine(s, 80))
	}
	return nil
}

// Listing is what a server that is reached in a certain way says of its tools.
type Listing struct {
	Server   string
	Way      jsontext.Value            // how belay.yaml reaches the server: canonical
	Tools    map[string]jsontext.Value // by name: canonical definitions
	Callable func(tool string) bool    // whether belay.yaml lets hooks call it
	Pins     map[string]string         // of belay.yaml: digests that count whatever else was accepted
}
