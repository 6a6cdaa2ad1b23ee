package suite

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Suite is the content of one YAML file of cases.
type Suite struct {
	// Hook is the hook of the cases: a module file, relative to the suite, builtin:NAME, or
	// rules:FILE of a rules file (rules:FILE#changes for its rules that change actions).
	// Without it, the hook in whose folder the suite lies.
	Hook string `json:"hook,omitzero"`
	// Tier is the tier of the hook: sandboxed by default. A test verifies no signature.
	Tier  phases.Tier `json:"tier,omitzero"`
	Cases []Case      `json:"cases"`

	file string // for errors; "" when not known
	doc  *strictyaml.Document
}

// Case is one invocation with its wanted verdict. Before holds invocations that come first
// in the same run, for hooks that have state or read metadata.
type Case struct {
	Name   string         `json:"name"`
	Note   string         `json:"note,omitzero"`
	Config jsontext.Value `json:"config,omitzero"` // of the hook's binding
	// that the operator allows; absent: all that the hook declares
	Capabilities *[]string    `json:"capabilities,omitzero"`
	Budget       tiers.Budget `json:"budget,omitzero"`    // that the operator gives: fuel and memory_mib
	Recording    string       `json:"recording,omitzero"` // file relative to the suite, in place of the invocation
	Number       int          `json:"number,omitzero"`    // of the invocation in the recording; 1 is the first
	Before       []Input      `json:"before,omitzero"`
	Stubs        []Stub       `json:"stubs,omitzero"`
	Injected     []Injection  `json:"injected,omitzero"` // calls that are made to fail
	Input
	Want Want `json:"want"`

	suite *Suite
	at    string // pointer into the suite
}

// Input is an invocation as a case writes it. Members left out have a neutral value.
type Input struct {
	Phase    phases.Phase              `json:"phase,omitzero"`
	Action   jsontext.Value            `json:"action,omitzero"`
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

	// ReportedTime is the time by the caller; default none. Time is the time by the host's
	// clock, which hooks read.
	ReportedTime time.Time `json:"reported_time,omitzero"`
}

// Want is the wanted verdict. Members left out are not compared.
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
	Effects        []WantEffect              `json:"effects,omitzero"`  // all effects, in order: kinds, or parts of them
	Reply          string                    `json:"reply_contains,omitzero"`
	Retry          string                    `json:"retry_contains,omitzero"`
	Artifacts      []string                  `json:"artifacts,omitzero"` // names, in order
	// pointers into the action that the record does not show
	Masked    []string `json:"masked,omitzero"`
	MaxFuel   int64    `json:"max_fuel,omitzero"`   // of all turns together
	MaxMemory int64    `json:"max_memory,omitzero"` // bytes, of the turn that took most
	// members that the verdict has, each with at least this in it
	Verdict jsontext.Value `json:"verdict,omitzero"`
}

// File is where the suite was read from.
func (s *Suite) File() string { return s.file }

// Line is where the case begins in its suite; 0 when that is not known.
func (c *Case) Line() int {
	if c.suite == nil || c.suite.doc == nil {
		return 0
	}
	return c.suite.doc.Line(c.at + "/name")
}

// errorf is an error at a member of the case.
func (c *Case) errorf(member, format string, args ...any) error {
	if c.suite == nil || c.suite.doc == nil {
		return fmt.Errorf("case %q%s: %s", c.Name, member, fmt.Sprintf(format, args...))
	}
	return c.suite.named(c.suite.doc.Errorf(c.at+member, format, args...))
}

// named puts the file in front of an error.
func (s *Suite) named(err error) error {
	if s.file == "" {
		return err
	}
	return strictyaml.In(s.file, err)
}

// Parse decodes a file of cases strictly; errors name the line.
func Parse(src []byte) (*Suite, error) { return readSuite(src, "") }

func readSuite(src []byte, file string) (*Suite, error) {
	s := &Suite{file: file}
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, s.named(err)
	}
	if err := doc.Decode(s); err != nil {
		return nil, s.named(err)
	}
	s.doc = doc
	if len(s.Cases) == 0 {
		return nil, s.named(doc.Errorf("/cases", "holds no case"))
	}
	if s.Tier != "" && s.Tier != phases.Sandboxed && s.Tier != phases.Trusted {
		return nil, s.named(doc.Errorf("/tier", "must be sandboxed or trusted"))
	}
	seen := map[string]bool{}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.suite, c.at = s, fmt.Sprintf("/cases/%d", i)
		if c.Name == "" || seen[c.Name] {
			return nil, c.errorf("/name", "every case has a name of its own")
		}
		seen[c.Name] = true
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// check returns the first fault of the case that does not depend on the hook.
func (c *Case) check() error {
	switch c.Want.Decision {
	case phases.Allow, phases.Ask, phases.Block:
	default:
		return c.errorf("/want/decision", "must be allow, ask or block")
	}
	switch {
	case c.Recording != "" && (c.Phase != "" || len(c.Action) > 0 || len(c.Before) > 0):
		return c.errorf("/recording", "the recording has the invocation: leave phase, action and before out")
	case c.Recording == "" && c.Number != 0:
		return c.errorf("/number", "counts the invocations of a recording, and there is none")
	case c.Number < 0:
		return c.errorf("/number", "counts from 1")
	case c.Recording == "" && !c.Phase.Valid():
		return c.errorf("/phase", "%q is not a phase", string(c.Phase))
	case c.Budget.DeadlineMS != 0:
		return c.errorf("/budget/deadline_ms",
			"tests keep no deadlines, so that they come out the same everywhere; give fuel")
	case c.Budget.Fuel < 0 || c.Budget.MemoryMiB < 0:
		return c.errorf("/budget", "must not be negative")
	case c.Want.MaxFuel < 0 || c.Want.MaxMemory < 0:
		return c.errorf("/want", "ceilings must not be negative")
	}
	if err := c.pointers(); err != nil {
		return err
	}
	for i, in := range c.Before {
		if !in.Phase.Valid() {
			return c.errorf(fmt.Sprintf("/before/%d/phase", i), "%q is not a phase", string(in.Phase))
		}
		if _, err := in.Invocation(); err != nil {
			return c.errorf(fmt.Sprintf("/before/%d/action", i), "%v", err)
		}
	}
	if c.Recording == "" {
		if _, err := c.Invocation(); err != nil {
			return c.errorf("/action", "%v", err)
		}
	}
	for i := range c.Stubs {
		if member, text := c.Stubs[i].check(); text != "" {
			return c.errorf(fmt.Sprintf("/stubs/%d%s", i, member), "%s", text)
		}
	}
	for i := range c.Injected {
		if member, text := c.Injected[i].check(); text != "" {
			return c.errorf(fmt.Sprintf("/injected/%d%s", i, member), "%s", text)
		}
	}
	return c.contradiction()
}

// pointers refuses texts that look like JSON Pointers and are none: they name nothing, so
// that `absent` would hold whatever the hook does.
func (c *Case) pointers() error {
	bad := func(member, ptr string) error {
		if ptr == "" || strings.HasPrefix(ptr, "/") {
			return nil
		}
		return c.errorf(member, "%q is not a JSON Pointer: those begin with /", phases.SafeLine(ptr, 80))
	}
	for _, ptr := range slices.Sorted(maps.Keys(c.Want.Action)) {
		if err := bad("/want/action", ptr); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		member string
		list   []string
	}{{"/want/absent", c.Want.Absent}, {"/want/changed", c.Want.Changed}, {"/want/masked", c.Want.Masked}} {
		for i, ptr := range l.list {
			if err := bad(fmt.Sprintf("%s/%d", l.member, i), ptr); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadCases reads every *.yaml file of a directory, in order of their names.
// A directory without a case is an error: it would prove nothing.
func ReadCases(dir string) ([]Case, error) {
	suites, err := readDir(dir)
	var cases []Case
	for _, s := range suites {
		cases = append(cases, s.Cases...)
	}
	return cases, err
}

func readDir(dir string) ([]*Suite, error) {
	entries, err := os.ReadDir(dir) // sorted; Glob would take names for patterns
	if err != nil {
		return nil, err
	}
	var out []*Suite
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".yaml") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		s, err := ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no cases", dir)
	}
	return out, nil
}

// ReadFile reads one file of cases; errors name the file and the line.
func ReadFile(path string) (*Suite, error) {
	src, err := files.Start(path, strictyaml.MaxSize+1) // more is refused by its size
	if err != nil {
		return nil, err
	}
	return readSuite(src, path)
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
	if inv, err = phases.DecodeInvocation(b); err != nil {
		return phases.Invocation{}, err
	}
	inv.ReportedTime = in.ReportedTime
	return inv, inv.Validate()
}

func jsonOf(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
