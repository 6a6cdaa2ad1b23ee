package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Outline is what the rules of a part say, taken apart for those who write it down in another form.
type Outline struct {
	Manifest *tiers.Manifest // of the hook that they become; its description is the file's
	Rules    []OutlineRule   // by name
}

// OutlineRule is one rule of an Outline.
type OutlineRule struct {
	Name         string
	Line         int // of the file
	Phases       []phases.Phase
	When, Unless []Condition // all of them hold; the cheap ones first
	DoubtBlocks  bool        // where it cannot be told whether it applies; else it asks
	Answer       string      // block, ask, annotate, limit, require_lease, require_stage, default, fix or scopes
	Asks         bool        // limit, require_lease, require_stage: they ask, and do not block
	Reason       string
	Count        uint32         // limit: calls that may pass
	Window       uint32         // limit, in seconds
	By           string         // limit: the pointer of whom it counts
	Capability   string         // require_lease
	Stages       []string       // require_stage
	Values       []OutlineValue // annotate, default, fix, by key or pointer
	Scopes       *phases.Scopes
}

// OutlineValue is a value of an annotation, or of what is set at a pointer.
type OutlineValue struct{ At, JSON string }

// Condition is one condition. Which members count depends on Is, its name in a rules file.
type Condition struct {
	Is       string
	At       []string // JSON Pointers: of annotation, config, size and text
	Match    []string // patterns; of annotation and config values as JSON, none for any
	Trusted  bool     // annotation
	Over     int64    // size
	Commands []OutlineCommand
	Days     uint32 // time: Sunday is the lowest bit
	From, To uint32 // minutes of the day
	East     int32  // minutes
}

// OutlineCommand is a pattern of the condition command.
type OutlineCommand struct {
	Text                     string // as it stands in the file
	Program                  string // * is any
	Sub, Flags, Args, Valued []string
}

// Outline takes a part apart. What an Outline cannot say is a fault with its line in the file, which errors call name:
// a condition on paths or hosts, and a redaction.
func (f *File) Outline(name string, p Part) (*Outline, error) {
	rules := f.of(p)
	if len(rules) == 0 {
		return nil, ErrNoPart
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	var faults []error
	o := &Outline{Manifest: f.manifest(p, rules)}
	o.Manifest.Description = f.Description
	for _, r := range rules {
		faults = append(faults, f.unsaid(r)...)
		o.Rules = append(o.Rules, f.outline(r))
	}
	if len(faults) > 0 {
		return nil, faultsOf(name, faults)
	}
	return o, nil
}

// unsaid are the forms of a rule that an Outline cannot say.
func (f *File) unsaid(r *Rule) (faults []error) {
	fault := func(is bool, at string) {
		if is {
			faults = append(faults, f.doc.Errorf(r.at+at, "the rule %s cannot be written as source of a hook: %s is for rules alone",
				r.Name, at[strings.LastIndexByte(at, '/')+1:]))
		}
	}
	fault(r.When.Path != nil, "/when/path")
	fault(r.When.Host != nil, "/when/host")
	fault(r.When.HostNot != nil, "/when/host_not")
	for _, m := range []*Match{r.When, r.Unless} {
		if m != nil && m.Annotation != nil && slices.ContainsFunc(m.Annotation.Is, func(v jsontext.Value) bool {
			return v.Kind() == '{'
		}) {
			fault(true, map[bool]string{true: "/when", false: "/unless"}[m == r.When]+"/annotation/is")
		}
	}
	fault(r.answer == answerRedact, "/redact")
	return faults
}

func (f *File) outline(r *Rule) OutlineRule {
	o := OutlineRule{Name: r.Name, Line: f.doc.Line(r.at), Phases: r.phases, When: r.conditions(r.When),
		DoubtBlocks: f.cannotTell(r) == "block", Answer: r.answer.String()}
	if r.Unless != nil {
		o.Unless = r.conditions(r.Unless)
	}
	switch r.answer {
	case answerBlock, answerAsk:
		o.Reason = r.Block + r.Ask
	case answerAnnotate:
		o.Values = outlineValues(r.Annotate)
	case answerLimit:
		l, _ := r.Limit.parse() // checked before
		o.Asks, o.Count, o.Window = r.Limit.Answer == "ask", l.count, l.window
		o.By = "/" + limitedBy()[l.by]
		o.Reason = or(r.Limit.Reason, limitReason(l, r.Limit))
	case answerLease:
		o.Asks, o.Capability = r.RequireLease.Answer == "ask", r.RequireLease.Capability
		o.Reason = or(r.RequireLease.Reason, leaseReason(r.RequireLease))
	case answerStage:
		o.Asks, o.Stages = r.RequireStage.Answer == "ask", r.RequireStage.Stage
		o.Reason = or(r.RequireStage.Reason, stageReason(r.RequireStage))
	case answerDefault, answerFix:
		o.Values = outlineValues(r.rewrites())
	case answerScopes:
		o.Scopes = r.Scopes
	}
	return o
}

func outlineValues(values map[string]jsontext.Value) (out []OutlineValue) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, OutlineValue{At: name, JSON: compact(values[name])})
	}
	return out
}

// conditions are those of a match, in the order in which the index has them.
func (r *Rule) conditions(m *Match) (out []Condition) {
	add := func(is bool, c Condition) {
		if is {
			out = append(out, c)
		}
	}
	add(m.Tool != nil || m.OwnTool != nil, Condition{Is: "tool", Match: slices.Concat(m.Tool, m.OwnTool)})
	add(m.Runtime != nil, Condition{Is: "runtime", Match: m.Runtime})
	add(m.Agent != nil, Condition{Is: "agent", Match: m.Agent})
	add(m.User != nil, Condition{Is: "user", Match: m.User})
	add(m.MCPServer != nil, Condition{Is: "mcp_server", Match: m.MCPServer})
	if m.Time != nil {
		w, _ := m.Time.parse() // checked before
		add(true, Condition{Is: "time", Days: w.days, From: w.from, To: w.to, East: w.east})
	}
	if a := m.Annotation; a != nil {
		add(true, Condition{Is: "annotation", At: []string{phases.Join("/metadata", a.Key)}, Match: compacts(a.Is),
			Trusted: a.Tier == "trusted"})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Config)) {
		add(true, Condition{Is: "config", At: []string{phases.Join("", name)}, Match: compacts(m.Config[name])})
	}
	add(m.Branch != nil, Condition{Is: "branch", Match: m.Branch})
	add(m.Repository != nil, Condition{Is: "repository", Match: m.Repository})
	if m.Size != nil {
		add(true, Condition{Is: "size", At: []string{m.Size.At}, Over: m.Size.Over})
	}
	add(m.Command != nil, Condition{Is: "command", Commands: outlineCommands(m.Command)})
	if m.Text != nil {
		add(true, Condition{Is: "text", At: r.textPlaces(), Match: m.Text.Match})
	}
	return out
}

func outlineCommands(list Texts) (out []OutlineCommand) {
	for _, s := range list {
		if c, err := parseCommand(s); err == nil { // checked before
			out = append(out, OutlineCommand{Text: s, Program: c.program, Sub: c.sub, Flags: c.flags, Args: c.args,
				Valued: c.valued})
		}
	}
	return out
}

func compacts(values Values) (out []string) {
	for _, v := range values {
		out = append(out, compact(v))
	}
	return out
}
