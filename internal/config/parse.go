// Package config decides the meaning of belay.yaml: which hooks are bound to
// which phases with which capabilities, what must have run, and what an action
// may touch at most. It decodes strictly, checks the file against itself, and
// edits it in place so that an operator's comments survive.
//
// It never opens a module: the loader decides whether a binding's module
// exists, fits its digest and may hold its capabilities.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/httpcall"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Version is the only version of the format.
const Version = "belay/v1"

// FileName is the name of the configuration in the state directory.
const FileName = "belay.yaml"

// TrustedPriority is the least priority that is reserved for trusted bindings.
const TrustedPriority = 100

// ErrConfig is the class of every error of this package.
var ErrConfig = errors.New("configuration not valid")

// Error names a fault of the configuration and its place. It is of class
// ErrConfig.
type Error struct {
	File    string // that has the fault; "": belay.yaml
	Line    int    // from 1; 0 when not known
	Pointer string // RFC 6901, into the file
	Reason  string
	Cause   error
}

func (e *Error) Error() string {
	s := cmp.Or(e.File, FileName)
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	s += ": "
	if e.Pointer != "" {
		s += e.Pointer + ": "
	}
	return s + e.Reason
}

// Is reports that the error is an ErrConfig.
func (e *Error) Is(target error) bool { return target == ErrConfig }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// File is belay.yaml.
type File struct {
	Version string        `json:"version"`
	Hooks   []Binding     `json:"hooks,omitzero"`
	Require []Require     `json:"require,omitzero"`
	Scopes  phases.Scopes `json:"scopes,omitzero"` // the most that any action may touch

	Default      map[phases.Phase]phases.Decision `json:"default,omitzero"`       // see validateRest
	UnknownTools phases.Decision                  `json:"unknown_tools,omitzero"` // see validateRest
	KnownTools   phases.Scope                     `json:"known_tools,omitzero"`   // see validateRest
	OpenShells   phases.Decision                  `json:"open_shells,omitzero"`   // see validateRest

	Redact Redact `json:"redact,omitzero"`
	Limits Limits `json:"limits,omitzero"`
	Events Events `json:"events,omitzero"`
	MCP    MCP    `json:"mcp,omitzero"`
	Tools  Tools  `json:"tools,omitzero"`

	RequireLease []RequireLease `json:"require_lease,omitzero"`
	LeaseRules   []LeaseRule    `json:"lease_rules,omitzero"`
	Leases       Leases         `json:"leases,omitzero"`

	Approvals  Approvals  `json:"approvals,omitzero"`
	Reviewers  []Reviewer `json:"reviewers,omitzero"`
	SingleUser SingleUser `json:"single_user,omitzero"`

	// LatchChangedCalls latches a session in which a call ran otherwise than belay released it.
	LatchChangedCalls bool `json:"latch_changed_calls,omitzero"`
	// LatchReconcile latches a session whose own log differs from belay's.
	LatchReconcile bool `json:"latch_reconcile,omitzero"`

	Recordings *Recordings `json:"recordings,omitzero"` // nil: full inputs are not kept

	Store *Store `json:"store,omitzero"` // nil: belay.db

	doc     *strictyaml.Document
	configs map[string]configFile // of bindings with a ConfigFile that was read, by their names
}

// Errorf makes an error of class ErrConfig about the place that an RFC 6901 pointer
// names, for what only those can find out who use the file.
func (f *File) Errorf(pointer, format string, args ...any) error {
	if f.doc == nil {
		return &Error{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
	}
	return checker{f.doc}.errorf(pointer, format, args...)
}

// Binding installs one hook.
type Binding struct {
	Name string `json:"name"` // unique; what verdicts and events call the hook
	// builtin:NAME, sha256:HEX of an installed file, rules:FILE of a rules file (rules:FILE#changes for its rules that
	// change actions), or the path of a file
	Module   string         `json:"module"`
	Digest   string         `json:"digest,omitzero"`   // sha256:HEX; needed with a path
	Phases   []phases.Phase `json:"phases,omitzero"`   // default: all that the hook serves
	Priority int            `json:"priority,omitzero"` // -1000…1000; ≥ 100 for trusted hooks only
	// trusted: the hook must be, or it blocks its phases; default: any tier
	Tier   phases.Tier    `json:"tier,omitzero"`
	Match  *tiers.Match   `json:"match,omitzero"` // default: the manifest's
	Config jsontext.Value `json:"config,omitzero"`
	// ConfigFile is a YAML file that holds Config, below the state directory unless absolute: ReadConfigs reads it.
	ConfigFile string `json:"config_file,omitzero"`
	// ConfigFileOptional: where there is no such file, the hook has no configuration; default: that is a fault
	ConfigFileOptional bool `json:"config_file_optional,omitzero"`
	// what the operator allows; an empty list allows nothing beyond reading the input
	Capabilities []string       `json:"capabilities"`
	Budget       tiers.Budget   `json:"budget,omitzero"`
	HTTP         *httpcall.Spec `json:"http,omitzero"` // where http_request may go; default: nowhere
	Mode         phases.Mode    `json:"mode,omitzero"` // default: enforce
	// queue: a person answers what the hook asks in belay's queue, also where the runtime has a prompt of its own
	Via string `json:"via,omitzero"`
	// text that its rewrites take out is redacted in the log; default: true if
	// the hook imports find_secrets
	Redacts *bool `json:"redacts,omitzero"`
	// default of the phase decides as if this hook had not been asked: it can only restrict further
	KeepsDefault bool `json:"keeps_default,omitzero"`
	// what it annotates is kept apart, under user/KEY: only hooks that are kept apart see it
	Apart    bool `json:"apart,omitzero"`
	Disabled bool `json:"disabled,omitzero"`
}

// Require blocks an action of the phases (and, in tool phases, of the tools)
// unless every named binding has run.
type Require struct {
	Phases []phases.Phase `json:"phases"`
	Tools  string         `json:"tools,omitzero"` // RE2, unanchored; empty means all
	Hooks  []string       `json:"hooks"`
}

// Redact adds to the secrets that are always redacted in events.
type Redact struct {
	Masks []Mask   `json:"masks,omitzero"`
	Keys  []string `json:"keys,omitzero"` // member names whose values are secret
	// Secrets are covered wherever they stand: env:NAME or file:PATH, below the
	// state directory unless absolute. The file names them, it never holds them.
	Secrets []string `json:"secrets,omitzero"`
	// Patterns are forms of secrets that belay does not know. Gitleaks is the path of
	// a rule file of that scanner, below the state directory unless absolute.
	Patterns []Pattern `json:"patterns,omitzero"`
	Gitleaks string    `json:"gitleaks,omitzero"`
	Profile  string    `json:"profile,omitzero"` // standard (default), or strict: every string of an action is hashed
	Allow    []string  `json:"allow,omitzero"`   // JSON Pointers into the action that strict leaves readable
	// Recorded are further masks, keys and patterns for what is recorded alone. What hooks store and read again (metadata,
	// values), and names of sessions and agents, stay as they are: no hook decides otherwise because of them.
	Recorded Recorded `json:"recorded,omitzero"`
}

// Recorded is redacted in events and in questions to people only.
type Recorded struct {
	Masks    []Mask    `json:"masks,omitzero"`
	Keys     []string  `json:"keys,omitzero"`
	Patterns []Pattern `json:"patterns,omitzero"`
}

// Limits bound a whole chain.
type Limits struct {
	ChainMS int64 `json:"chain_ms,omitzero"` // default 2000, at most 60000
}

// isBindingName reports whether the name is one of a binding: 1 to 64 lower-case letters, digits, dots, dashes
// and underscores, the first of them a letter or a digit. It is asked at each start, which compiles no
// expression for it.
func isBindingName(name string) bool {
	for i := range len(name) {
		b := name[i]
		word := 'a' <= b && b <= 'z' || '0' <= b && b <= '9'
		if !word && (i == 0 || b != '.' && b != '_' && b != '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}

// isDigest reports whether s is sha256: with 64 lower-case hexadecimal digits.
func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Parse decodes and checks the file. Errors are of class ErrConfig with a line.
func Parse(src []byte) (*File, error) {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, wrap(err)
	}
	f := new(File)
	if err := doc.Decode(f); err != nil {
		return nil, wrap(err)
	}
	if err := f.validate(doc); err != nil {
		return nil, err
	}
	f.doc = doc
	return f, nil
}

// Revision names the exact text of a configuration: sha256:HEX.
func Revision(src []byte) string {
	return phases.ByteDigest(src)
}

// Enabled returns the bindings that count, in the order of the file.
func (f *File) Enabled() []Binding {
	return slices.DeleteFunc(slices.Clone(f.Hooks), func(b Binding) bool { return b.Disabled })
}

type checker struct {
	doc *strictyaml.Document
}

func (c checker) errorf(ptr, format string, args ...any) error {
	return wrap(c.doc.Errorf(ptr, format, args...))
}

// value returns what stands in the file at a place.
func (c checker) value(ptr string) (jsontext.Value, bool) { return phases.Get(c.doc.JSON, ptr) }

func (f *File) validate(doc *strictyaml.Document) error {
	c := checker{doc}
	if f.Version != Version {
		return c.errorf("/version", "must be %s", Version)
	}
	names := map[string]bool{}
	for i := range f.Hooks {
		if err := f.Hooks[i].validate(c, fmt.Sprintf("/hooks/%d", i), names); err != nil {
			return err
		}
	}
	for i, r := range f.Require {
		if err := r.validate(c, fmt.Sprintf("/require/%d", i), names); err != nil {
			return err
		}
	}
	if err := f.validateRest(c); err != nil {
		return err
	}
	if err := f.validateLeases(c); err != nil {
		return err
	}
	if err := f.Scopes.Validate(); err != nil {
		return c.errorf("/scopes", "%v", err)
	}
	if err := f.Redact.validate(c); err != nil {
		return err
	}
	if f.Limits.ChainMS < 0 || f.Limits.ChainMS > 60_000 {
		return c.errorf("/limits/chain_ms", "must be between 1 and 60000")
	}
	if err := f.Approvals.validate(c, "/approvals"); err != nil {
		return err
	}
	if err := validateReviewers(c, f.Reviewers); err != nil {
		return err
	}
	if err := f.MCP.validate(c, "/mcp"); err != nil {
		return err
	}
	if err := f.Tools.validate(c, "/tools"); err != nil {
		return err
	}
	if f.Recordings == nil {
		if _, ok := c.value("/recordings"); ok { // it must not look as if something were kept
			return c.errorf("/recordings", "says nothing: it needs dir and recipients; take it out to keep nothing")
		}
	} else {
		if err := f.Recordings.validate(c, "/recordings"); err != nil {
			return err
		}
	}
	if err := f.Store.validate(c, "/store"); err != nil {
		return err
	}
	return f.Events.validate(c, "/events")
}

func (b *Binding) validate(c checker, at string, names map[string]bool) error {
	switch {
	case !isBindingName(b.Name):
		return c.errorf(at+"/name", "a name is lower-case letters, digits, - . _, at most 64 bytes")
	case names[b.Name]:
		return c.errorf(at+"/name", "%q is bound twice", b.Name)
	}
	names[b.Name] = true
	if err := b.validateModule(c, at); err != nil {
		return err
	}
	for i, p := range b.Phases {
		if !p.Valid() {
			return c.errorf(fmt.Sprintf("%s/phases/%d", at, i), "%q is not a phase", string(p))
		}
		if slices.Contains(b.Phases[:i], p) {
			return c.errorf(fmt.Sprintf("%s/phases/%d", at, i), "listed twice")
		}
	}
	if b.Phases != nil && len(b.Phases) == 0 {
		return c.errorf(at+"/phases", "lists no phase: leave it out for all that the hook serves, or set disabled: true")
	}
	if b.Priority < -1000 || b.Priority > 1000 {
		return c.errorf(at+"/priority", "must be between -1000 and 1000")
	}
	if b.Tier != "" && b.Tier != phases.Trusted {
		return c.errorf(at+"/tier", "a binding can demand trusted, and nothing else")
	}
	if b.Capabilities == nil && !b.isRules() {
		return c.errorf(at+"/capabilities", "is missing: list what the hook may do ([] for nothing)")
	}
	for i, s := range b.Capabilities {
		if _, err := tiers.ParseCapability(s); err != nil {
			return c.tiersError(fmt.Sprintf("%s/capabilities/%d", at, i), err)
		}
	}
	if b.Match != nil {
		if err := b.Match.Validate(at + "/match"); err != nil {
			return c.tiersError(at+"/match", err)
		}
	}
	if len(b.Config) > 0 && b.Config.Kind() != '{' {
		return c.errorf(at+"/config", "must be a mapping")
	}
	if err := b.validateConfigFile(c, at); err != nil {
		return err
	}
	if b.Budget.Fuel < 0 || b.Budget.DeadlineMS < 0 || b.Budget.MemoryMiB < 0 {
		return c.errorf(at+"/budget", "cannot be negative")
	}
	if b.HTTP != nil {
		if err := b.validateHTTP(c, at+"/http"); err != nil {
			return err
		}
	}
	switch b.Mode {
	case "", phases.Enforce, phases.Observe:
	default:
		return c.errorf(at+"/mode", "must be enforce or observe")
	}
	if b.Via != "" && b.Via != "queue" {
		return c.errorf(at+"/via", "must be queue, or left out")
	}
	return nil
}

// tiersError puts what package tiers says into the words of this file: its place and
// its sentence, without its class, which speaks of manifests.
func (c checker) tiersError(at string, err error) error {
	var te *tiers.Error
	if !errors.As(err, &te) {
		return c.errorf(at, "%v", err)
	}
	if strings.HasPrefix(te.Field, at) {
		at = te.Field
	}
	return c.errorf(at, "%s", te.Text)
}

// rulesScheme begins the name of a module that is built from a rules file.
const rulesScheme = "rules:"

// isRules reports whether the module is built from a rules file. What the operator wrote in
// there needs no list of capabilities beside it.
func (b *Binding) isRules() bool { return strings.HasPrefix(b.Module, rulesScheme) }

func (b *Binding) validateModule(c checker, at string) error {
	if b.Digest != "" && !isDigest(b.Digest) {
		return c.errorf(at+"/digest", "has the form sha256: and 64 hexadecimal digits")
	}
	switch name, builtin := strings.CutPrefix(b.Module, "builtin:"); {
	case builtin:
		if !isBindingName(name) {
			return c.errorf(at+"/module", "builtin: is followed by a hook's name")
		}
	case strings.HasPrefix(b.Module, "sha256:"):
		if !isDigest(b.Module) {
			return c.errorf(at+"/module", "has the form sha256: and 64 hexadecimal digits")
		}
		if b.Digest != "" && b.Digest != b.Module {
			return c.errorf(at+"/digest", "contradicts module")
		}
	case b.isRules():
		if file := strings.TrimSuffix(strings.TrimPrefix(b.Module, rulesScheme), "#changes"); file == "" ||
			strings.Contains(file, "#") {
			return c.errorf(at+"/module", "rules: is followed by a rules file, and by #changes for those that change actions")
		}
	case b.Module == "":
		return c.errorf(at+"/module", "is missing: builtin:NAME, sha256:HEX or a file")
	case b.Digest == "":
		return c.errorf(at+"/digest",
			"is missing: a hook from a file is pinned by its digest (`belay hook inspect %s` prints it)", b.Module)
	}
	return nil
}

func (r *Require) validate(c checker, at string, names map[string]bool) error {
	if len(r.Phases) == 0 || len(r.Hooks) == 0 {
		return c.errorf(at, "needs phases and hooks")
	}
	for i, p := range r.Phases {
		if !p.Valid() || p == phases.Audit {
			return c.errorf(fmt.Sprintf("%s/phases/%d", at, i), "%q is not a phase that can be blocked", string(p))
		}
	}
	for i, h := range r.Hooks {
		if !names[h] {
			return c.errorf(fmt.Sprintf("%s/hooks/%d", at, i), "no hook is bound as %q", h)
		}
	}
	if _, err := regexp.Compile(r.Tools); err != nil {
		return c.errorf(at+"/tools", "not an RE2 pattern")
	}
	return nil
}

func wrap(err error) error {
	var e *strictyaml.Error
	if errors.As(err, &e) {
		return &Error{Line: e.Line, Pointer: e.Pointer, Reason: e.Reason, Cause: err}
	}
	return &Error{Reason: err.Error(), Cause: err}
}
