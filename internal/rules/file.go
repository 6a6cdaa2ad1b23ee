package rules

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// Version is the only version of the format.
const Version = "rules/v1"

// Limits of a file.
const (
	MaxRules  = 10_000 // rules
	maxList   = 64     // entries of a list of patterns: what pattern_match takes at once
	maxText   = 1024   // bytes of a pattern or reason
	maxLimits = 60     // rules with a limit: each has a key of the hook's state
	maxCount  = 1000   // calls that a limit counts
	maxWindow = 30 * 24 * 3600
	maxPlaces = 256     // pointers to texts: each has a filter of 1 KiB and more in the index
	maxInput  = 1 << 20 // bytes of the document that a hook sees
)

// File is a rules file.
type File struct {
	Version     string `json:"version"`
	Name        string `json:"name,omitzero"`        // of the hook; default rules
	Description string `json:"description,omitzero"` // of the hook
	CannotTell  string `json:"cannot_tell,omitzero"` // ask (default) or block: see the engine
	Rules       []Rule `json:"rules"`

	source string // digest of the text
	doc    *strictyaml.Document
}

// Rule is one rule: an answer to actions that match.
type Rule struct {
	Name   string `json:"name"`           // unique
	Phase  Texts  `json:"phase,omitzero"` // default pre_tool
	When   *Match `json:"when"`           // every member holds; {} holds always
	Unless *Match `json:"unless,omitzero"`

	CannotTell string `json:"cannot_tell,omitzero"` // default: the file's

	// Exactly one of these.
	Block        string                    `json:"block,omitzero"`
	Ask          string                    `json:"ask,omitzero"`
	Annotate     map[string]jsontext.Value `json:"annotate,omitzero"`
	Limit        *Limit                    `json:"limit,omitzero"`
	RequireLease *NeedsLease               `json:"require_lease,omitzero"`
	RequireStage *NeedsStage               `json:"require_stage,omitzero"`
	Redact       *Redact                   `json:"redact,omitzero"`
	Default      map[string]jsontext.Value `json:"default,omitzero"`
	Fix          map[string]jsontext.Value `json:"fix,omitzero"`
	Scopes       *phases.Scopes            `json:"scopes,omitzero"`

	phases []phases.Phase
	answer answer
	at     string // pointer
	faulty bool   // it could not be decoded to its end
}

// Match says which actions a rule is about. In lists, one entry is enough.
type Match struct {
	Runtime    Texts       `json:"runtime,omitzero"`
	Agent      Texts       `json:"agent,omitzero"`
	User       Texts       `json:"user,omitzero"`
	Tool       Texts       `json:"tool,omitzero"`     // normalised names
	OwnTool    Texts       `json:"own_tool,omitzero"` // names that belay has no table for
	MCPServer  Texts       `json:"mcp_server,omitzero"`
	Command    Texts       `json:"command,omitzero"` // see parseCommand
	Path       Texts       `json:"path,omitzero"`
	Host       Texts       `json:"host,omitzero"`
	HostNot    Texts       `json:"host_not,omitzero"`
	Size       *Size       `json:"size,omitzero"`
	Text       *Text       `json:"text,omitzero"`
	Time       *Time       `json:"time,omitzero"`
	Annotation *Annotation `json:"annotation,omitzero"`
	Branch     Texts       `json:"branch,omitzero"`
	Repository Texts       `json:"repository,omitzero"`

	Config map[string]Values `json:"config,omitzero"` // members of the binding's config
}

// Size holds for a value that is larger.
type Size struct {
	At   string `json:"at"`   // JSON Pointer
	Over int64  `json:"over"` // bytes
}

// Text holds for texts that a pattern matches.
type Text struct {
	Match Texts `json:"match"`       // RE2, unanchored
	At    Texts `json:"at,omitzero"` // JSON Pointers; default: what the phase is about
}

// Time holds in a window of the host's clock.
type Time struct {
	Days Texts  `json:"days,omitzero"` // mon … sun; default all
	From string `json:"from,omitzero"` // 09:00; default 00:00
	To   string `json:"to,omitzero"`   // before this; default 24:00
	Zone string `json:"zone,omitzero"` // +01:00; default UTC
}

// Annotation holds for metadata that a hook wrote along the run.
type Annotation struct {
	Key  string `json:"key"`
	Is   Values `json:"is,omitzero"`   // default: anything
	Tier string `json:"tier,omitzero"` // trusted: a trusted hook wrote it
}

// Limit lets so many calls pass in a window.
type Limit struct {
	Count  *int64 `json:"count"`
	Per    string `json:"per"`             // 30s, 10m, 8h, 7d
	By     string `json:"by,omitzero"`     // session (default), agent or user
	Answer string `json:"answer,omitzero"` // beyond: block (default) or ask
	Reason string `json:"reason,omitzero"`
}

// NeedsLease blocks unless the agent holds a lease for the action.
type NeedsLease struct {
	Capability string `json:"capability"`
	Answer     string `json:"answer,omitzero"`
	Reason     string `json:"reason,omitzero"`
}

// NeedsStage blocks unless a trusted hook has written one of the stages.
type NeedsStage struct {
	Stage  Texts  `json:"stage"`
	Answer string `json:"answer,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Redact replaces what patterns match in texts.
type Redact struct {
	Match Texts   `json:"match"`
	At    Texts   `json:"at,omitzero"`
	Label string  `json:"label,omitzero"` // leaves [redacted: LABEL]; default: the rule's name
	With  *string `json:"with,omitzero"`  // leaves this instead
}

// Texts is a text or a list of texts.
type Texts []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *Texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var s string
		if err := json.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		*t = Texts{s}
		return nil
	}
	var list []string
	if err := json.UnmarshalDecode(d, &list); err != nil {
		return err
	}
	if list == nil {
		list = []string{}
	}
	*t = list
	return nil
}

// Values is a value or a list of values that are no lists.
type Values []jsontext.Value

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (v *Values) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' {
		var list []jsontext.Value
		if err := json.UnmarshalDecode(d, &list); err != nil {
			return err
		}
		*v = list
		return nil
	}
	var one jsontext.Value
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*v = Values{one}
	return nil
}

// Parse decodes and checks a rules file, which errors call name. The error is an *Error, or
// Faults where there are several, with line and column wherever there is a place.
func Parse(name string, src []byte) (*File, error) {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, faultsOf(name, []error{err})
	}
	// Each rule by itself, so that the fault of one does not hide those of others.
	var outer struct {
		Version     string           `json:"version"`
		Name        string           `json:"name"`
		Description string           `json:"description"`
		CannotTell  string           `json:"cannot_tell"`
		Rules       []jsontext.Value `json:"rules"`
	}
	if err := doc.Decode(&outer); err != nil {
		return nil, faultsOf(name, []error{err})
	}
	f := &File{Version: outer.Version, Name: outer.Name, Description: outer.Description, CannotTell: outer.CannotTell,
		source: phases.ByteDigest(src), doc: doc}
	if err := f.checkHead(len(outer.Rules)); err != nil {
		return nil, faultsOf(name, []error{err})
	}
	var faults []error
	f.Rules = make([]Rule, len(outer.Rules))
	for i, rule := range outer.Rules {
		r, at := &f.Rules[i], fmt.Sprintf("/rules/%d", i)
		err := doc.DecodePart(at, rule, r)
		r.at, r.faulty = at, err != nil // behind it: null leaves nothing of a rule
		if err != nil {
			faults = append(faults, err)
		}
		if len(faults) > maxFaults {
			return nil, faultsOf(name, faults)
		}
	}
	if faults = append(faults, f.check()...); len(faults) > 0 {
		return nil, faultsOf(name, faults)
	}
	return f, nil
}

// Hook is the name of the hook.
func (f *File) Hook() string {
	if f.Name == "" {
		return "rules"
	}
	return f.Name
}
