package rules

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Section is the custom section of a built module that says which rules are in it.
const Section = "belay-rules"

const (
	slotExport = "RULES_INDEX" // where the engine looks for place and length of the index
	pageBytes  = 64 << 10
)

// Part is one of the two hooks that a file can become.
type Part int

// The parts. Rules that change an action and rules that judge are two hooks: a mutator
// that can block is asked twice about an action that has changed, and would count twice.
const (
	Judges  Part = iota // blocks, asks, annotates, limits, requires
	Changes             // redacts, sets arguments, narrows scopes
)

func (p Part) String() string {
	if p == Changes {
		return "changes"
	}
	return "judges"
}

// ErrNoPart: the file has no rule of the part.
var ErrNoPart = errors.New("there are no such rules in the file")

// Parts returns the parts that the file has.
func (f *File) Parts() []Part {
	var out []Part
	for _, p := range []Part{Judges, Changes} {
		if len(f.of(p)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// HookName is the name of the hook of a part.
func (f *File) HookName(p Part) string {
	if p == Changes {
		return f.Hook() + "-changes"
	}
	return f.Hook()
}

func (f *File) of(p Part) []*Rule {
	var out []*Rule
	for i := range f.Rules {
		if f.Rules[i].answer.changes() == (p == Changes) {
			out = append(out, &f.Rules[i])
		}
	}
	return out
}

// Listed is what a built module says about its rules.
type Listed struct {
	Format int     `json:"format"` // 1
	Source string  `json:"source"` // sha256:<hex> of the rules file
	Part   string  `json:"part"`   // judges or changes
	Rules  []Entry `json:"rules"`  // by name
}

// Entry is one rule of a built module.
type Entry struct {
	Name   string         `json:"name"`
	Phases []phases.Phase `json:"phases"`
	Answer string         `json:"answer"`
}

// Build compiles a part of the file into a copy of the engine's module. The same file and
// engine always become the same bytes. The error is ErrNoPart, or about the engine.
func (f *File) Build(engine []byte, p Part) ([]byte, error) {
	return f.build(engine, p, false)
}

// BuildTrace is Build for a module that decides nothing and says of each rule which of
// its conditions hold; see ReadTrace.
func (f *File) BuildTrace(engine []byte, p Part) ([]byte, error) {
	return f.build(engine, p, true)
}

func (f *File) build(engine []byte, p Part, trace bool) ([]byte, error) {
	rules := f.of(p)
	if len(rules) == 0 {
		return nil, fmt.Errorf("%w: none %s", ErrNoPart, p)
	}
	m, err := wasm.Parse(engine, wasm.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("the engine of rules: %w", err)
	}
	manifest := f.manifest(p, rules)
	index := f.indexOf(rules, p == Changes, trace)
	if len(index) > maxIndex {
		return nil, fmt.Errorf("the rules need %d bytes of memory, more than the %d that the engine reads: "+
			"write fewer of them, with fewer pointers and patterns", len(index), maxIndex)
	}
	if err := place(m, index); err != nil {
		return nil, err
	}
	keepExports(m, manifest.Phases)
	if err := keepImports(m, manifest); err != nil {
		return nil, err
	}
	encoded, err := manifest.Encode()
	if err != nil {
		return nil, err
	}
	listed, err := json.Marshal(f.listed(p, rules), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return wasm.Encode(m, wasm.Custom{Name: Section, Payload: listed},
		wasm.Custom{Name: wasm.ManifestSection, Payload: encoded})
}

func (f *File) listed(p Part, rules []*Rule) *Listed {
	l := &Listed{Format: 1, Source: f.source, Part: p.String()}
	for _, r := range rules {
		l.Rules = append(l.Rules, Entry{Name: r.Name, Phases: r.phases, Answer: r.answer.String()})
	}
	slices.SortFunc(l.Rules, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return l
}

// ReadListed returns what a module says about its rules; nil when it has none.
func ReadListed(module []byte) *Listed {
	m, err := wasm.Parse(module, wasm.DefaultLimits())
	if err != nil {
		return nil
	}
	for _, c := range m.Customs {
		if c.Name == Section {
			var l Listed
			if json.Unmarshal(c.Payload, &l, json.RejectUnknownMembers(true)) == nil && l.Format == 1 {
				return &l
			}
		}
	}
	return nil
}

// place gives the index pages of its own behind what the engine starts with, and tells
// the engine where they are.
func place(m *wasm.Module, index []byte) error {
	e, ok := m.FindExport(slotExport)
	if !ok || e.Kind != wasm.ExternGlobal || int(e.Index) >= len(m.Globals) || m.Memory == nil ||
		m.Globals[e.Index].Init.Op != wasm.OpI32Const {
		return errors.New("the engine of rules does not say where its index goes")
	}
	at := m.Memory.Min * pageBytes
	pages := uint32((len(index) + pageBytes - 1) / pageBytes)
	memory := *m.Memory
	memory.Min += pages
	if memory.HasMax {
		memory.Max += pages
	}
	m.Memory = &memory
	slot := binary.LittleEndian.AppendUint32(nil, at)
	slot = binary.LittleEndian.AppendUint32(slot, uint32(len(index)))
	m.Datas = append(slices.Clone(m.Datas),
		wasm.Data{Mode: wasm.SegActive, Offset: m.Globals[e.Index].Init, Init: slot},
		wasm.Data{Mode: wasm.SegActive, Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: uint64(int64(int32(at)))},
			Init: index})
	return nil
}

// keepExports drops the phases that no rule is about, and what only the builder needs.
func keepExports(m *wasm.Module, serves []phases.Phase) {
	m.Exports = slices.DeleteFunc(slices.Clone(m.Exports), func(e wasm.Export) bool {
		return e.Kind != wasm.ExternMemory && !slices.Contains(serves, phases.Phase(e.Name))
	})
}

// keepImports replaces the imports that no rule needs by functions that trap, so that the
// module asks for no capability that its rules do not use.
func keepImports(m *wasm.Module, manifest *tiers.Manifest) error {
	needed := map[string]bool{}
	for _, c := range manifest.Capabilities {
		cap, err := tiers.ParseCapability(c.Name)
		if err != nil {
			return err
		}
		needed[cap.Name] = true
	}
	var kept []wasm.Import
	var stubs []wasm.Func
	moved := make([]uint32, len(m.Imports))
	for i, im := range m.Imports {
		call, ok := hostcalls.Lookup(im.Name)
		if im.Module != hostcalls.Module || !ok {
			return fmt.Errorf("the engine of rules imports %s.%s", im.Module, im.Name)
		}
		if uses(manifest, call, needed) {
			moved[i] = uint32(len(kept))
			kept = append(kept, im)
		}
	}
	for i, im := range m.Imports {
		call, _ := hostcalls.Lookup(im.Name)
		if !uses(manifest, call, needed) {
			moved[i] = uint32(len(kept) + len(stubs))
			stubs = append(stubs, wasm.Func{Type: im.Type, Body: []byte{byte(wasm.OpUnreachable), byte(wasm.OpEnd)}})
		}
	}
	for i := range m.Elems {
		elem := &m.Elems[i]
		elem.Init = slices.Clone(elem.Init)
		for k, fn := range elem.Init {
			if fn < uint32(len(moved)) {
				elem.Init[k] = moved[fn]
			}
		}
	}
	funcs := make([]wasm.Func, 0, len(stubs)+len(m.Funcs))
	funcs = append(funcs, stubs...)
	for _, fn := range m.Funcs {
		body, err := renumber(fn.Body, moved)
		if err != nil {
			return err
		}
		fn.Body = body
		funcs = append(funcs, fn)
	}
	m.Imports, m.Funcs = kept, funcs
	return nil
}

// uses reports whether the rules of a manifest can need a call of the host.
func uses(m *tiers.Manifest, call hostcalls.Call, capabilities map[string]bool) bool {
	if strings.HasPrefix(call.Name, "config_") {
		return m.ConfigSchema != nil
	}
	return call.Capability == "" || capabilities[call.Capability]
}

// renumber has a body call imports by their new numbers; all other functions keep theirs.
func renumber(body []byte, moved []uint32) ([]byte, error) {
	out := make([]byte, 0, len(body))
	r := wasm.NewReader(body)
	var in wasm.Instr
	for {
		switch err := r.Next(&in); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("the engine of rules: %w", err)
		}
		if (in.Op == wasm.OpCall || in.Op == wasm.OpRefFunc) && in.Index < uint32(len(moved)) {
			in.Index = moved[in.Index]
		}
		out = wasm.AppendInstr(out, &in)
	}
}

// manifest says what the hook of a part is and asks for: what its rules need.
func (f *File) manifest(p Part, rules []*Rule) *tiers.Manifest {
	m := &tiers.Manifest{ABI: tiers.ABI, Name: f.HookName(p), Version: "1.0.0",
		Description: cmp.Or(f.Description, "Rules without code, compiled by belay rules build."),
		Budget:      tiers.Budget{Fuel: 500_000_000}}
	for _, phase := range engagedPhases() {
		if slices.ContainsFunc(rules, func(r *Rule) bool { return slices.Contains(r.phases, phase) }) {
			m.Phases = append(m.Phases, phase)
		}
	}
	m.ConfigSchema = f.configSchema()
	if p == Changes {
		m.Mutates = slices.Clone(m.Phases)
	}
	var order []string
	by := map[string][]string{}
	want := func(name string, r *Rule) {
		if by[name] == nil {
			order = append(order, name)
		}
		if list := by[name]; len(list) == 0 || list[len(list)-1] != r.Name {
			by[name] = append(list, r.Name)
		}
	}
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range sorted {
		for _, c := range r.needs(f.cannotTell(r)) {
			want(c, r)
		}
	}
	slices.Sort(order)
	for _, name := range order {
		m.Capabilities = append(m.Capabilities, tiers.WantedCapability{Name: name, Reason: reason(by[name])})
	}
	return m
}

func reason(rules []string) string {
	const named = 3
	if len(rules) == 1 {
		return "for the rule " + rules[0]
	}
	if len(rules) <= named {
		return "for the rules " + strings.Join(rules, ", ")
	}
	return fmt.Sprintf("for the rules %s and %d more", strings.Join(rules[:named], ", "), len(rules)-named)
}

// needs returns the capabilities that the rule needs.
func (r *Rule) needs(cannotTell string) []string {
	var out []string
	m := r.When
	paths, hosts := m.Path != nil, m.Host != nil || m.HostNot != nil
	texts := m.Text != nil || r.answer == answerRedact
	if m.Command != nil || paths || hosts {
		out = append(out, "shell_parse")
	}
	if paths {
		out = append(out, "path_resolve")
	}
	if paths || texts {
		out = append(out, "pattern_match")
	}
	doubt := m.Command != nil || paths || hosts || m.Text != nil || m.Branch != nil || m.Repository != nil || m.Time != nil
	asks := r.answer == answerAsk || doubt && cannotTell != "block"
	out = append(out, "block")
	otherwise := ""
	switch r.answer {
	case answerAnnotate:
		out, asks = append(out, "annotate"), false
	case answerLimit:
		out, otherwise = append(out, "state_get", "state_put"), r.Limit.Answer
	case answerLease:
		out, otherwise = append(out, "check_lease"), r.RequireLease.Answer
	case answerStage:
		otherwise = r.RequireStage.Answer
	case answerRedact, answerFix, answerDefault:
		out = append(out, r.rewriteGrants()...)
		asks = asks && r.answer != answerDefault
	case answerScopes:
		out, asks = append(out, "clamp_scopes"), false
	}
	if asks || otherwise == "ask" {
		if slices.ContainsFunc(r.phases, func(p phases.Phase) bool { return phases.RulesFor(p).Ask }) {
			out = append(out, "request_approval")
		}
	}
	return out
}

// rewriteGrants are the places that the rule may change.
func (r *Rule) rewriteGrants() []string {
	var out []string
	for _, p := range r.phases {
		var at Texts
		if r.answer == answerRedact {
			at = r.Redact.where(p)
		} else {
			for ptr := range r.rewrites() {
				at = append(at, ptr)
			}
		}
		for _, ptr := range at {
			for _, rule := range phases.RulesFor(p).Rewrite {
				if grant := "rewrite:" + rule.Pointer; phases.Covers(rule.Pointer, ptr) && !slices.Contains(out, grant) {
					out = append(out, grant)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func scopesJSON(s *phases.Scopes) string {
	b, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return "{}"
	}
	return string(b)
}

// compact is a value as the engine writes it: without blanks.
func compact(v jsontext.Value) string {
	c := v.Clone()
	if err := c.Compact(); err != nil {
		return string(v)
	}
	return string(c)
}
