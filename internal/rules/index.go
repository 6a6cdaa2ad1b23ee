package rules

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The index
//
// The engine (examples-wasm/rules-engine/src/index.rs) reads it in place. Numbers are 32
// bits, little endian; offsets count from the start; a text is its offset and its length.
// Behind everything stands a checksum of each block of 1 KiB.

const (
	indexMagic  = "BLYRULE1"
	headerBytes = 64
	blockBytes  = 1024
	maxIndex    = 8 << 20 // bytes that the engine reads

	flagTrace   = 1
	flagChanges = 2
)

// The kinds of conditions. 14 serves branch and repository.
const (
	isRuntime    = 1
	isAgent      = 2
	isUser       = 3
	isTool       = 4
	isMCPServer  = 5
	isCommand    = 6
	isPath       = 7
	isHost       = 8
	isHostNot    = 9
	isSize       = 10
	isText       = 11
	isTime       = 12
	isAnnotation = 13
	isClaimed    = 14
	isConfig     = 15
)

// The kinds of sources of text.
const (
	fromPaths = 1
	fromHosts = 2
	fromTexts = 3
)

// writer builds an index. Texts stand behind everything else, each once.
type writer struct {
	b      []byte
	texts  []byte
	where  map[string]int // text -> place in texts
	fixups []int          // places in b of offsets into texts
}

func (w *writer) word(n int) { w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n)) }

func (w *writer) set(at, n int) { binary.LittleEndian.PutUint32(w.b[at:], uint32(n)) }

func (w *writer) text(s string) {
	at, ok := w.where[s]
	if !ok {
		at = len(w.texts)
		w.where[s] = at
		w.texts = append(w.texts, s...)
	}
	w.fixups = append(w.fixups, len(w.b))
	w.word(at)
	w.word(len(s))
}

func (w *writer) all(list []string) {
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) list(numbers []int) (at int) {
	at = len(w.b)
	w.word(len(numbers))
	for _, n := range numbers {
		w.word(n)
	}
	return at
}

// table writes names, sorted, with the lists of rules under them; 0 when there is none.
func (w *writer) table(rules map[string][]int) (at int) {
	if len(rules) == 0 {
		return 0
	}
	names := slices.Sorted(maps.Keys(rules))
	lists := make([]int, len(names))
	for i, n := range names {
		lists[i] = w.list(rules[n])
	}
	at = len(w.b)
	w.word(len(names))
	for i, n := range names {
		w.text(n)
		w.word(lists[i])
	}
	return at
}

// windows writes a table of windows, sorted, and its filter.
func (w *writer) windows(rules map[window][]int) (table, filter int) {
	all := slices.Sorted(maps.Keys(rules))
	lists := make([]int, len(all))
	for i, win := range all {
		lists[i] = w.list(rules[win])
	}
	bits := 13
	for 1<<bits < 64*len(all) && bits < 19 {
		bits++
	}
	filter = len(w.b)
	w.word(32 - bits)
	at := len(w.b)
	w.b = append(w.b, make([]byte, 1<<bits/8)...)
	for _, win := range all {
		bit := uint32(win) * 0x9e3779b1 >> (32 - bits)
		w.b[at+int(bit>>3)] |= 1 << (bit & 7)
	}
	table = len(w.b)
	w.word(len(all))
	for i, win := range all {
		w.word(int(win))
		w.word(lists[i])
	}
	return table, filter
}

// finish puts the texts and checksums behind what was written, and returns the index.
func (w *writer) finish() []byte {
	base := len(w.b)
	for _, at := range w.fixups {
		w.set(at, base+int(binary.LittleEndian.Uint32(w.b[at:])))
	}
	w.b = append(w.b, w.texts...)
	for len(w.b)%8 != 0 {
		w.b = append(w.b, 0)
	}
	sums := len(w.b)
	blocks := (sums + blockBytes - 1) / blockBytes
	w.set(8, sums+8*blocks)
	w.set(28, sums)
	for i := range blocks {
		block := w.b[i*blockBytes : min(sums, (i+1)*blockBytes)]
		w.b = binary.LittleEndian.AppendUint64(w.b, checksum(block))
	}
	return w.b
}

func checksum(block []byte) uint64 {
	sum := uint64(0xcbf29ce484222325)
	for ; len(block) >= 8; block = block[8:] {
		sum ^= binary.LittleEndian.Uint64(block)
		sum *= 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	return sum
}

// indexOf compiles rules. They stand in the order of their names, so that the order in
// the file says nothing.
func (f *File) indexOf(rules []*Rule, changes, trace bool) []byte {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	w := &writer{b: make([]byte, headerBytes), where: map[string]int{}}
	copy(w.b, indexMagic)
	flags := 0
	if trace {
		flags |= flagTrace
	}
	if changes {
		flags |= flagChanges
	}
	w.set(12, flags)
	w.set(20, len(rules))
	for i, p := range engagedPhases() {
		if at := w.phase(p, rules); at != 0 {
			w.set(32+4*i, at)
		}
	}
	offsets := make([]int, len(rules))
	for i, r := range rules {
		offsets[i] = w.rule(r, f.cannotTell(r) == "block")
	}
	w.set(24, len(w.b))
	for _, at := range offsets {
		w.word(at)
	}
	return w.finish()
}

// engagedPhases are the phases of the engine, in its order.
func engagedPhases() []phases.Phase {
	return []phases.Phase{phases.PrePlan, phases.PreSend, phases.PostReceive, phases.PreTool, phases.PostTool,
		phases.StateTransition, phases.Spawn}
}

// source is a place of texts with the rules that are found by windows in it.
type source struct {
	kind    int
	pointer string
	entries []entry
}

type entry struct {
	rule   int
	pieces pieces // one of them has to occur
}

// phase writes the table of a phase; 0 when no rule is about it.
func (w *writer) phase(p phases.Phase, rules []*Rule) int {
	var all, general, unknown []int
	tools, programs := map[string][]int{}, map[string][]int{}
	type place struct {
		kind    int
		pointer string
	}
	var sources []*source
	known := map[place]*source{}
	at := func(kind int, pointer string) *source {
		s := known[place{kind, pointer}]
		if s == nil {
			s = &source{kind: kind, pointer: pointer}
			known[place{kind, pointer}], sources = s, append(sources, s)
		}
		return s
	}
	for i, r := range rules {
		if !slices.Contains(r.phases, p) {
			continue
		}
		all = append(all, i)
		a := r.anchor(p)
		switch {
		case a.programs != nil:
			unknown = append(unknown, i)
			for _, name := range a.programs {
				programs[name] = append(programs[name], i)
			}
		case a.pieces != nil:
			for _, ptr := range a.pointers {
				s := at(a.kind, ptr)
				s.entries = append(s.entries, entry{i, a.pieces})
			}
		case a.tools != nil:
			for _, name := range a.tools {
				tools[name] = append(tools[name], i)
			}
		default:
			general = append(general, i)
		}
	}
	if len(all) == 0 {
		return 0
	}
	allAt, generalAt, unknownAt := w.list(all), w.list(general), w.list(unknown)
	toolsAt, programsAt := w.table(tools), w.table(programs)
	type written struct{ table, filter, all int }
	places := make([]written, len(sources))
	for i, s := range sources {
		table, filter := w.windows(s.choose())
		var rules []int
		for _, e := range s.entries {
			rules = append(rules, e.rule)
		}
		places[i] = written{table, filter, w.list(slices.Compact(rules))}
	}
	here := len(w.b)
	for _, n := range []int{allAt, generalAt, toolsAt, programsAt, unknownAt, len(sources)} {
		w.word(n)
	}
	for i, s := range sources {
		w.word(s.kind)
		w.text(s.pointer)
		w.word(places[i].table)
		w.word(places[i].filter)
		w.word(places[i].all)
	}
	return here
}

// choose takes for each piece the window that fewest others have.
func (s *source) choose() map[window][]int {
	often := map[window]int{}
	for _, e := range s.entries {
		for _, p := range e.pieces {
			for _, win := range windowsOf(p) {
				often[win]++
			}
		}
	}
	out := map[window][]int{}
	for _, e := range s.entries {
		for _, p := range e.pieces {
			all := windowsOf(p)
			best := slices.MinFunc(all, func(a, b window) int { return often[a] - often[b] })
			if list := out[best]; len(list) == 0 || list[len(list)-1] != e.rule {
				out[best] = append(list, e.rule)
			}
		}
	}
	return out
}

// anchor is what has to be there for a rule to match, by which the engine finds it.
type anchor struct {
	programs []string
	kind     int // a source
	pointers []string
	pieces   pieces
	tools    []string
}

func (r *Rule) anchor(p phases.Phase) anchor {
	m := r.When
	if names := programKeys(m.Command); names != nil {
		return anchor{programs: names}
	}
	if list := piecesFor(m.Path, func(s string) pieces { return globPieces(parsePath(s).glob) }); list != nil {
		return anchor{kind: fromPaths, pointers: []string{""}, pieces: list}
	}
	if m.Text != nil {
		if list := piecesFor(m.Text.Match, regexPieces); list != nil {
			return anchor{kind: fromTexts, pointers: m.Text.where(p), pieces: list}
		}
	}
	if list := piecesFor(m.Host, wildPieces); list != nil {
		return anchor{kind: fromHosts, pointers: []string{""}, pieces: list}
	}
	tools := slices.Concat(m.Tool, m.OwnTool)
	if len(tools) > 0 && !slices.ContainsFunc(tools, func(t string) bool { return strings.Contains(t, "*") }) {
		slices.Sort(tools)
		return anchor{tools: slices.Compact(tools)}
	}
	if r.answer == answerRedact {
		if list := piecesFor(r.Redact.Match, regexPieces); list != nil {
			return anchor{kind: fromTexts, pointers: r.Redact.where(p), pieces: list}
		}
	}
	return anchor{}
}

// programKeys are what the engine looks up for a command: the program, or program and
// subcommand; under the program and a NUL stand all rules about its subcommands, for
// arguments that are not known. nil when a pattern is about any program.
func programKeys(commands Texts) []string {
	var names []string
	for _, s := range commands {
		c, err := parseCommand(s) // checked before
		if err != nil || c.program == "*" {
			return nil
		}
		if len(c.sub) == 0 {
			names = append(names, c.program)
			continue
		}
		names = append(names, c.program+"\x00")
		for _, word := range strings.Split(c.sub[0], "|") {
			names = append(names, c.program+" "+word)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// piecesFor returns pieces of which one occurs wherever one of the patterns matches; nil
// when a pattern has none.
func piecesFor(patterns Texts, of func(string) pieces) pieces {
	var out pieces
	for _, p := range patterns {
		some := of(p)
		if some == nil {
			return nil
		}
		out = append(out, some...)
	}
	return out
}

// rule writes a rule's record.
func (w *writer) rule(r *Rule, doubtBlocks bool) int {
	conditions := w.match(r, r.When, 0)
	if r.Unless != nil {
		conditions = append(conditions, w.match(r, r.Unless, 1<<16)...)
	}
	answer := len(w.b)
	w.answer(r)
	at := len(w.b)
	w.text(r.Name)
	w.word(int(r.answer))
	w.word(answer)
	w.word(map[bool]int{true: 1}[doubtBlocks])
	w.word(len(conditions))
	for _, c := range conditions {
		w.word(c)
	}
	return at
}

// match writes conditions, the cheap ones first.
func (w *writer) match(r *Rule, m *Match, group int) (at []int) {
	names := func(kind int, list Texts) {
		if list != nil {
			at = append(at, len(w.b))
			w.word(kind | group)
			w.word(len(list))
			w.all(list)
		}
	}
	names(isTool, slices.Concat(m.Tool, m.OwnTool))
	names(isRuntime, m.Runtime)
	names(isAgent, m.Agent)
	names(isUser, m.User)
	names(isMCPServer, m.MCPServer)
	if t := m.Time; t != nil {
		v, _ := t.parse() // checked before
		at = append(at, len(w.b))
		for _, n := range []int{isTime | group, int(v.days), int(v.from), int(v.to), int(v.east)} {
			w.word(n)
		}
	}
	if a := m.Annotation; a != nil {
		at = append(at, len(w.b))
		w.word(isAnnotation | group)
		w.word(len(a.Is))
		w.text(phases.Join("/metadata", a.Key))
		w.word(map[string]int{"trusted": 1}[a.Tier])
		for _, v := range a.Is {
			w.text(compact(v))
		}
	}
	claimed := func(key string, list Texts) {
		if list != nil {
			at = append(at, len(w.b))
			w.word(isClaimed | group)
			w.word(len(list))
			w.text("/metadata/caller/" + key)
			w.all(list)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Config)) {
		at = append(at, len(w.b))
		w.word(isConfig | group)
		w.word(len(m.Config[name]))
		w.text(phases.Join("", name))
		for _, v := range m.Config[name] {
			w.text(compact(v))
		}
	}
	claimed("branch", m.Branch)
	claimed("repository", m.Repository)
	if s := m.Size; s != nil {
		at = append(at, len(w.b))
		w.word(isSize | group)
		w.word(int(s.Over))
		w.text(s.At)
	}
	if m.Command != nil {
		at = append(at, w.commands(m.Command, group))
	}
	if m.Path != nil {
		at = append(at, len(w.b))
		w.word(isPath | group)
		w.word(len(m.Path))
		for _, s := range m.Path {
			p := parsePath(s)
			w.text(p.glob)
			w.word(int(p.base))
		}
	}
	names(isHost, m.Host)
	names(isHostNot, m.HostNot)
	if t := m.Text; t != nil {
		var where Texts
		for _, p := range r.phases {
			for _, ptr := range t.where(p) {
				if !slices.Contains(where, ptr) {
					where = append(where, ptr)
				}
			}
		}
		at = append(at, len(w.b))
		w.word(isText | group)
		w.word(len(where))
		w.all(where)
		w.patterns(t.Match)
	}
	return at
}

func (w *writer) commands(list Texts, group int) int {
	var records []int
	for _, s := range list {
		c, err := parseCommand(s)
		if err != nil {
			continue // checked before
		}
		records = append(records, len(w.b))
		w.text(c.program)
		for _, l := range [][]string{c.sub, c.flags, c.args, c.valued} {
			w.word(len(l))
		}
		for _, l := range [][]string{c.sub, c.flags, c.args, c.valued} {
			w.all(l)
		}
	}
	at := len(w.b)
	w.word(isCommand | group)
	w.word(len(records))
	for _, r := range records {
		w.word(r)
	}
	return at
}

func (w *writer) patterns(list Texts) {
	w.word(len(list))
	for _, p := range list {
		longest, steps, _ := patternCost(p) // checked before
		how := steps<<17 | longest<<1
		if byLine(p) {
			how |= 1
		}
		w.text(p)
		w.word(how)
	}
}

func (w *writer) answer(r *Rule) {
	asks := map[string]int{"ask": 1}
	switch r.answer {
	case answerBlock:
		w.text(r.Block)
	case answerAsk:
		w.text(r.Ask)
	case answerAnnotate:
		w.values(r.Annotate)
	case answerLimit:
		l, _ := r.Limit.parse() // checked before
		for _, n := range []uint32{l.count, l.window, l.by} {
			w.word(int(n))
		}
		w.word(asks[r.Limit.Answer])
		w.text(or(r.Limit.Reason, fmt.Sprintf("this may happen %d times in %s", l.count, r.Limit.Per)))
	case answerLease:
		w.text(r.RequireLease.Capability)
		w.word(asks[r.RequireLease.Answer])
		w.text(or(r.RequireLease.Reason, "this needs a lease of "+r.RequireLease.Capability))
	case answerStage:
		w.word(asks[r.RequireStage.Answer])
		w.text(or(r.RequireStage.Reason, "this is for the stage "+strings.Join(r.RequireStage.Stage, " or ")))
		w.word(len(r.RequireStage.Stage))
		w.all(r.RequireStage.Stage)
	case answerRedact:
		var where Texts
		for _, p := range r.phases {
			for _, ptr := range r.Redact.where(p) {
				if !slices.Contains(where, ptr) {
					where = append(where, ptr)
				}
			}
		}
		with := "[redacted: " + or(r.Redact.Label, r.Name) + "]"
		if r.Redact.With != nil {
			with = *r.Redact.With
		}
		w.text(with)
		w.word(len(where))
		w.all(where)
		w.patterns(r.Redact.Match)
	case answerDefault, answerFix:
		w.values(r.rewrites())
	case answerScopes:
		w.text(scopesJSON(r.Scopes))
	}
}

func (w *writer) values(values map[string]jsontext.Value) {
	w.word(len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		w.text(name)
		w.text(compact(values[name]))
	}
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
