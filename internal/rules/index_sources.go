package rules

import (
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

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
