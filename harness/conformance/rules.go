package conformance

import (
	"embed"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

//go:embed rules.yaml behaviours.yaml guests
var kit embed.FS

// Rule is one rule with the guest that shows whether it is kept.
type Rule struct {
	ID   string `json:"id"`
	Rule string `json:"rule"` // in words

	// How the guest is made; see rules.yaml.
	Imports []string          `json:"imports,omitzero"`
	Data    map[string]string `json:"data,omitzero"`
	Bytes   map[string]string `json:"bytes,omitzero"` // hexadecimal
	More    string            `json:"more,omitzero"`
	Code    string            `json:"code,omitzero"`
	WAT     string            `json:"wat,omitzero"`

	// What it is given.
	Pass    phases.Pass       `json:"pass,omitzero"` // mutate unless said
	Action  jsontext.Value    `json:"action,omitzero"`
	Config  jsontext.Value    `json:"config,omitzero"`
	Granted *[]string         `json:"granted,omitzero"` // absent: everything that it imports
	State   map[string]string `json:"state,omitzero"`
	Fuel    int64             `json:"fuel,omitzero"`

	Want Want `json:"want"`
}

// Want is what has to come of a turn. What is not named must not be there: no fault,
// no effect, no log, no write.
type Want struct {
	Refused  bool              `json:"refused,omitzero"` // the module is not loaded at all
	Fault    phases.Kind       `json:"fault,omitzero"`
	AnyFault bool              `json:"any_fault,omitzero"` // it fails, by whatever kind
	FailText string            `json:"fail_text,omitzero"`
	Logs     []string          `json:"logs,omitzero"`
	Effects  []jsontext.Value  `json:"effects,omitzero"` // each with at least these members
	State    map[string]string `json:"state,omitzero"`   // writes; "" removes

	FirstBlock       string `json:"first_block,omitzero"`        // reason of the block that counts
	FirstBlockPrefix string `json:"first_block_prefix,omitzero"` // what it begins with
	FirstBlockMax    int    `json:"first_block_max,omitzero"`    // its bytes at most
	LogLines         int    `json:"log_lines,omitzero"`          // how many there are
	LogMax           int    `json:"log_max,omitzero"`            // bytes of the longest
	FailMax          int    `json:"fail_max,omitzero"`           // bytes of the text of fail, at most
	RandomAt         []int  `json:"random_at,omitzero"`          // logs are the bytes of the stream at these places
}

// Rules returns all rules. The error says that the kit itself is broken.
func Rules() ([]Rule, error) {
	src, err := kit.ReadFile("rules.yaml")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Rules []Rule `json:"rules"`
	}
	if err := strictyaml.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("rules.yaml: %w", err)
	}
	return doc.Rules, nil
}

// Guest returns the module of the rule.
func (r *Rule) Guest() ([]byte, error) { return kit.ReadFile("guests/" + r.ID + ".wasm") }
