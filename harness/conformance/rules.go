package conformance

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

//go:embed rules/*.yaml behaviours.yaml guests/*.wasm
var kit embed.FS

// Rule is one rule with the guest that shows whether a host obeys it.
type Rule struct {
	ID   string `json:"id"`
	Rule string `json:"rule"` // in words

	// How the guest is made; see rules/README.md.
	Imports  []string          `json:"imports,omitzero"`
	Stubs    string            `json:"stubs,omitzero"` // imports of other modules, as they stand
	Data     map[string]string `json:"data,omitzero"`
	Bytes    map[string]string `json:"bytes,omitzero"` // hexadecimal
	Pages    int               `json:"pages,omitzero"` // of memory, at first; 1 unless said
	More     string            `json:"more,omitzero"`
	Code     string            `json:"code,omitzero"`
	WAT      string            `json:"wat,omitzero"`
	Features []string          `json:"features,omitzero"` // of wat2wasm, that the module needs
	Hex      string            `json:"hex,omitzero"`      // the module itself

	Manifest jsontext.Value `json:"manifest,omitzero"` // in its custom section; absent: none

	// The turn.
	Phase   phases.Phase      `json:"phase,omitzero"` // pre_tool unless said
	Pass    phases.Pass       `json:"pass,omitzero"`  // mutate unless said
	Tier    phases.Tier       `json:"tier,omitzero"`  // sandboxed unless said
	Observe bool              `json:"observe,omitzero"`
	Again   bool              `json:"again,omitzero"`
	Action  jsontext.Value    `json:"action,omitzero"`
	Long    int               `json:"long,omitzero"` // /args/s is a text of so many bytes
	Config  jsontext.Value    `json:"config,omitzero"`
	Granted *[]string         `json:"granted,omitzero"` // absent: everything that it imports
	State   map[string]string `json:"state,omitzero"`
	Answers map[string]Answer `json:"answers,omitzero"`
	Chain   bool              `json:"chain,omitzero"`
	Hosts   []string          `json:"hosts,omitzero"`
	Fuel    int64             `json:"fuel,omitzero"`

	Want Want `json:"want"`
}

// Want is the wanted outcome of a turn. A member left out wants none: no fault, no effect,
// no log, no write, no request.
type Want struct {
	Refused  bool              `json:"refused,omitzero"` // the module is not loaded at all
	Fault    phases.Kind       `json:"fault,omitzero"`
	AnyFault bool              `json:"any_fault,omitzero"` // it fails, by whatever kind
	FailText string            `json:"fail_text,omitzero"`
	Logs     []string          `json:"logs,omitzero"`
	Lines    []jsontext.Value  `json:"lines,omitzero"`   // instead of logs: each line is JSON with at least this
	Effects  []jsontext.Value  `json:"effects,omitzero"` // each with at least these members
	State    map[string]string `json:"state,omitzero"`   // writes; "" removes
	Asked    []Asked           `json:"asked,omitzero"`   // requests that reached Answers or the tool
	Wishes   []Asked           `json:"wishes,omitzero"`  // requests of an observing hook, which have no effect
	Turns    int               `json:"turns,omitzero"`   // how often the hook was called, with chain; 1 unless said

	Without []string `json:"without,omitzero"` // texts that no line has

	FirstBlock       string `json:"first_block,omitzero"`        // reason of the block that counts
	FirstBlockPrefix string `json:"first_block_prefix,omitzero"` // its beginning
	FirstBlockMax    int    `json:"first_block_max,omitzero"`    // its bytes at most
	EffectCount      int    `json:"effect_count,omitzero"`       // instead of effects: how many count
	LogLines         int    `json:"log_lines,omitzero"`          // how many there are
	LogMax           int    `json:"log_max,omitzero"`            // bytes of the longest
	LogDropped       int    `json:"log_dropped,omitzero"`        // how many were cut or dropped
	FailMax          int    `json:"fail_max,omitzero"`           // bytes of the text of fail, at most
	RandomAt         []int  `json:"random_at,omitzero"`          // logs are the bytes of the stream at these places
}

// Rules returns all rules. The error says that the kit itself is broken.
func Rules() ([]Rule, error) {
	files, err := fs.Glob(kit, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the kit has no rules")
	}
	var all []Rule
	for _, name := range files {
		var doc struct {
			Rules []Rule `json:"rules"`
		}
		if err := decode(name, &doc); err != nil {
			return nil, err
		}
		all = append(all, doc.Rules...)
	}
	return all, nil
}

func decode(name string, into any) error {
	src, err := kit.ReadFile(name)
	if err != nil {
		return err
	}
	if err := strictyaml.Unmarshal(src, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// guest returns the module of the rule.
func (r *Rule) guest() ([]byte, error) { return kit.ReadFile("guests/" + r.ID + ".wasm") }
