package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// Suite is the content of one YAML file of cases.
type Suite struct {
	Cases []Case `json:"cases"`
}

// Case is one invocation with what is wanted of it. Before holds invocations
// that come first in the same run, for hooks that keep state or read metadata.
type Case struct {
	Name   string         `json:"name"`
	Note   string         `json:"note,omitzero"`
	Config jsontext.Value `json:"config,omitzero"` // of the hook's binding
	Before []Input        `json:"before,omitzero"`
	Input
	Want Want `json:"want"`
}

// Input is an invocation as a case writes it; what is left out has a neutral value.
type Input struct {
	Phase    phases.Phase              `json:"phase"`
	Action   jsontext.Value            `json:"action"`
	Runtime  string                    `json:"runtime,omitzero"` // default "custom"
	Session  string                    `json:"session,omitzero"` // default "s-1"
	Agent    string                    `json:"agent,omitzero"`   // default "main"
	Run      string                    `json:"run,omitzero"`     // default "r-1"
	User     string                    `json:"user,omitzero"`
	CWD      string                    `json:"cwd,omitzero"` // default /home/dev/project
	Scopes   phases.Scopes             `json:"scopes,omitzero"`
	Metadata map[string]jsontext.Value `json:"metadata,omitzero"`
	Time     time.Time                 `json:"time,omitzero"` // default 2026-01-02T03:04:05Z
	ID       string                    `json:"id,omitzero"`
}

// Want is what has to hold of the verdict. Members left out are not looked at.
type Want struct {
	Decision       phases.Decision           `json:"decision"`
	Kind           phases.Kind               `json:"kind,omitzero"`
	ReasonContains string                    `json:"reason_contains,omitzero"`
	Changed        []string                  `json:"changed,omitzero"`  // exactly these pointers; [] means nothing
	Action         map[string]jsontext.Value `json:"action,omitzero"`   // values in the final action, by pointer
	Absent         []string                  `json:"absent,omitzero"`   // pointers that the final action does not have
	Metadata       map[string]jsontext.Value `json:"metadata,omitzero"` // values by key
	Scopes         *phases.Scopes            `json:"scopes,omitzero"`
	Contexts       []string                  `json:"contexts,omitzero"` // each is part of one context, in order
	Effects        []phases.EffectKind       `json:"effects,omitzero"`  // kinds of all effects, in order
	Reply          string                    `json:"reply_contains,omitzero"`
	Retry          string                    `json:"retry_contains,omitzero"`
	Artifacts      []string                  `json:"artifacts,omitzero"` // names, in order
	Masked         []string                  `json:"masked,omitzero"`    // pointers into the action that the record does not show
	MaxFuel        int64                     `json:"max_fuel,omitzero"`  // of all turns together
}

// ReadSuite decodes a file of cases strictly; errors name the line.
func ReadSuite(src []byte) (*Suite, error) {
	s := new(Suite)
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, err
	}
	if err := doc.Decode(s); err != nil {
		return nil, err
	}
	if len(s.Cases) == 0 {
		return nil, doc.Errorf("/cases", "holds no case")
	}
	seen := map[string]bool{}
	for i := range s.Cases {
		c := &s.Cases[i]
		at := fmt.Sprintf("/cases/%d", i)
		switch {
		case c.Name == "" || seen[c.Name]:
			return nil, doc.Errorf(at+"/name", "every case has a name of its own")
		case !c.Phase.Valid():
			return nil, doc.Errorf(at+"/phase", "%q is not a phase", string(c.Phase))
		}
		seen[c.Name] = true
		switch c.Want.Decision {
		case phases.Allow, phases.Ask, phases.Block:
		default:
			return nil, doc.Errorf(at+"/want/decision", "must be allow, ask or block")
		}
	}
	return s, nil
}

// ReadSuites reads every *.yaml file of a directory, in order of their names.
// A directory without a case is an error: it would prove nothing.
func ReadSuites(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var cases []Case
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		s, err := ReadSuite(src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(f), err)
		}
		cases = append(cases, s.Cases...)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s holds no cases", dir)
	}
	return cases, nil
}

// Invocation returns the input as an invocation, checked like one from outside.
func (in Input) Invocation() (phases.Invocation, error) {
	or := func(s, def string) string {
		if s == "" {
			return def
		}
		return s
	}
	at := in.Time
	if at.IsZero() {
		at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	inv := phases.Invocation{
		ID: in.ID, Phase: in.Phase, Runtime: or(in.Runtime, "custom"), Session: or(in.Session, "s-1"),
		Agent: or(in.Agent, "main"), Run: or(in.Run, "r-1"), User: in.User, CWD: or(in.CWD, "/home/dev/project"),
		Action: in.Action, Scopes: in.Scopes, Metadata: in.Metadata, Time: at,
	}
	b, err := phases.EncodeInvocation(inv)
	if err != nil {
		return phases.Invocation{}, err
	}
	return phases.DecodeInvocation(b)
}

func jsonOf(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
