package tiers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// ABI is the guest ABI version that this belay speaks.
const ABI = 1

// MaxManifest is the largest manifest accepted, in bytes.
const MaxManifest = 64 << 10

// ManifestSection is the custom section that holds the manifest.
const ManifestSection = "belay.manifest"

// Manifest describes a hook in its author's words. It stands as JSON in the custom
// section belay.manifest of the module file, so that one file is one digest is
// one signature. Nothing in it is believed without a check: phases and
// capabilities must agree with the module's exports and imports, and a tier is
// not among its members.
type Manifest struct {
	ABI          int                `json:"abi"`
	Name         string             `json:"name"`    // lower case, digits, - . _ and / between parts; ≤ 128 bytes
	Version      string             `json:"version"` // semantic version
	Description  string             `json:"description,omitzero"`
	License      string             `json:"license,omitzero"`
	Authors      []string           `json:"authors,omitzero"`
	Phases       []phases.Phase     `json:"phases"`
	Capabilities []WantedCapability `json:"capabilities,omitzero"`
	Optional     []string           `json:"optional,omitempty"` // hostcalls among Capabilities that it can do without
	Mutates      []phases.Phase     `json:"mutates,omitzero"`   // phases in which it rewrites, redacts or clamps
	Match        Match              `json:"match,omitzero"`     // defaults for the binding
	ConfigSchema jsontext.Value     `json:"config_schema,omitzero"`
	Budget       Budget             `json:"budget,omitzero"`
	Examples     []Example          `json:"examples,omitzero"`

	schema *configSchema // of ConfigSchema as it was decoded, or nil
}

// WantedCapability is a capability with the reason an operator reads.
type WantedCapability struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitzero"`
}

// Match says for which actions a hook is asked. Patterns are RE2, unanchored.
type Match struct {
	Tools    string   `json:"tools,omitzero"`
	Agents   string   `json:"agents,omitzero"`
	Runtimes []string `json:"runtimes,omitzero"` // exact names
	Any      bool     `json:"any,omitzero"`      // Tools may match no known tool
}

// Budget limits the resources of a hook for one action; zero means the host's default.
type Budget struct {
	Fuel       int64 `json:"fuel,omitzero"`
	DeadlineMS int64 `json:"deadline_ms,omitzero"` // of work; on the wall ten times as much
	MemoryMiB  int64 `json:"memory_mib,omitzero"`
}

// Example is a configuration that the author suggests.
type Example struct {
	Title  string         `json:"title"`
	Config jsontext.Value `json:"config,omitzero"`
}

var (
	manifestName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A[a-z0-9]+(?:[._-][a-z0-9]+)*(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*){0,3}\z`)
	})
	semanticNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`\A(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\z`)
	})
)

// DecodeManifest decodes the JSON of a manifest section strictly and checks it
// against itself. Errors are of class ErrManifest and name the member.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) > MaxManifest {
		return nil, manifestError("", fmt.Sprintf("larger than %d bytes", MaxManifest), nil)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m, json.RejectUnknownMembers(true)); err != nil {
		return nil, decodeError(err)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// ParseManifestSource decodes the YAML form that stands as belay.yaml beside a
// hook's source. Errors name the line.
func ParseManifestSource(src []byte) (*Manifest, error) {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, manifestError("", err.Error(), err)
	}
	m := new(Manifest)
	if err := doc.Decode(m); err != nil {
		return nil, manifestError("", err.Error(), err)
	}
	if err := m.validate(); err != nil {
		var e *Error
		if errors.As(err, &e) {
			placed := doc.Errorf(e.Field, "%s", e.Text)
			return nil, manifestError("", placed.Error(), placed)
		}
		return nil, err
	}
	return m, nil
}

// Encode returns the manifest as the JSON that goes into the module: the same
// bytes for the same manifest.
func (m *Manifest) Encode() ([]byte, error) {
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, manifestError("", "cannot be written as JSON", err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return nil, manifestError("", "cannot be written as canonical JSON", err)
	}
	if len(v) > MaxManifest {
		return nil, manifestError("", fmt.Sprintf("larger than %d bytes", MaxManifest), nil)
	}
	return v, nil
}

// Validate checks the manifest against itself.
func (m *Manifest) validate() error {
	switch {
	case m.ABI != ABI:
		return manifestError("/abi", fmt.Sprintf("this belay speaks ABI %d, the hook asks for %d", ABI, m.ABI), nil)
	case !manifestName().MatchString(m.Name) || len(m.Name) > 128:
		return manifestError("/name", "a name is lower-case words joined by - . _ or /, at most 128 bytes", nil)
	case !semanticNumber().MatchString(m.Version) || len(m.Version) > 64:
		return manifestError("/version", "a version has the form 1.2.3", nil)
	}
	for _, t := range []struct {
		at, text string
		max      int
	}{{"/description", m.Description, 1024}, {"/license", m.License, 128}, {"/match/tools", m.Match.Tools, 1024},
		{"/match/agents", m.Match.Agents, 1024}} {
		if err := plainText(t.at, t.text, t.max); err != nil {
			return err
		}
	}
	if err := m.validateLists(); err != nil {
		return err
	}
	if err := m.Match.Validate("/match"); err != nil {
		return err
	}
	if m.Budget.Fuel < 0 || m.Budget.DeadlineMS < 0 || m.Budget.MemoryMiB < 0 {
		return manifestError("/budget", "a budget cannot be negative", nil)
	}
	if err := m.checkSchema(); err != nil {
		return err
	}
	return m.validateExamples()
}

func (m *Manifest) validateLists() error {
	if len(m.Phases) == 0 {
		return manifestError("/phases", "a hook serves at least one phase", nil)
	}
	for i, p := range m.Phases {
		at := fmt.Sprintf("/phases/%d", i)
		if !p.Valid() {
			return manifestError(at, fmt.Sprintf("%q is not a phase", clip(string(p))), nil)
		}
		if slices.Contains(m.Phases[:i], p) {
			return manifestError(at, "listed twice", nil)
		}
	}
	for i, p := range m.Mutates {
		at := fmt.Sprintf("/mutates/%d", i)
		if !slices.Contains(m.Phases, p) {
			return manifestError(at, "not among the hook's phases", nil)
		}
		if slices.Contains(m.Mutates[:i], p) {
			return manifestError(at, "listed twice", nil)
		}
	}
	if len(m.Capabilities) > 128 || len(m.Authors) > 64 || len(m.Examples) > 16 {
		return manifestError("", "a list is too long", nil)
	}
	for i, a := range m.Authors {
		if err := plainText(fmt.Sprintf("/authors/%d", i), a, 256); err != nil {
			return err
		}
	}
	for i, w := range m.Capabilities {
		at := fmt.Sprintf("/capabilities/%d", i)
		if _, err := ParseCapability(w.Name); err != nil {
			return manifestError(at+"/name", err.Error(), err)
		}
		if err := plainText(at+"/reason", w.Reason, 512); err != nil {
			return err
		}
		if slices.ContainsFunc(m.Capabilities[:i], func(o WantedCapability) bool { return o.Name == w.Name }) {
			return manifestError(at+"/name", "listed twice", nil)
		}
	}
	return m.validateOptional()
}

func (m *Manifest) validateExamples() error {
	for i, x := range m.Examples {
		at := fmt.Sprintf("/examples/%d", i)
		if err := plainText(at+"/title", x.Title, 256); err != nil {
			return err
		}
		if len(x.Config) > 0 {
			if err := m.ValidateConfig(x.Config); err != nil {
				return manifestError(at+"/config", "does not fit the schema", err)
			}
		}
	}
	return nil
}

// Validate compiles the patterns: one on tools that matches no known tool is
// refused unless Any is set. at is the pointer of the match in its document.
func (m *Match) Validate(at string) error {
	if _, err := phases.CompileTools(m.Tools, m.Any); err != nil {
		return manifestError(at+"/tools", err.Error(), err)
	}
	if _, err := phases.CompileNames(m.Agents); err != nil {
		return manifestError(at+"/agents", err.Error(), err)
	}
	for i, r := range m.Runtimes {
		if err := plainText(fmt.Sprintf("%s/runtimes/%d", at, i), r, 64); err != nil {
			return err
		}
	}
	return nil
}

func plainText(at, s string, limit int) error {
	switch {
	case len(s) > limit:
		return manifestError(at, fmt.Sprintf("longer than %d bytes", limit), nil)
	case !utf8.ValidString(s):
		return manifestError(at, "not valid UTF-8", nil)
	case strings.ContainsFunc(s, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }):
		return manifestError(at, "holds control characters", nil)
	}
	return nil
}

func manifestError(field, text string, cause error) error {
	return &Error{Class: ErrManifest, Field: field, Text: text, Cause: cause}
}

func decodeError(err error) error {
	var sem *json.SemanticError
	var syn *jsontext.SyntacticError
	var at jsontext.Pointer
	text := "not JSON"
	switch {
	case errors.As(err, &sem):
		at, text = sem.JSONPointer, "wrong type"
		if errors.Is(err, json.ErrUnknownName) {
			text = "unknown member"
		}
	case errors.As(err, &syn):
		at, text = syn.JSONPointer, fmt.Sprintf("not JSON, at byte %d", syn.ByteOffset)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			text = "duplicate name"
		}
	}
	return manifestError(string(at), text, err)
}
