package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

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
		where := r.textPlaces()
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
		w.text(or(r.Limit.Reason, limitReason(l, r.Limit)))
	case answerLease:
		w.text(r.RequireLease.Capability)
		w.word(asks[r.RequireLease.Answer])
		w.text(or(r.RequireLease.Reason, leaseReason(r.RequireLease)))
	case answerStage:
		w.word(asks[r.RequireStage.Answer])
		w.text(or(r.RequireStage.Reason, stageReason(r.RequireStage)))
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

func limitReason(c counter, l *Limit) string {
	return fmt.Sprintf("this may happen %d times in %s", c.count, l.Per)
}

func leaseReason(n *NeedsLease) string { return "this needs a lease of " + n.Capability }

func stageReason(n *NeedsStage) string {
	return "this is for the stage " + strings.Join(n.Stage, " or ")
}

// textPlaces are the pointers of the condition text in all phases of the rule.
func (r *Rule) textPlaces() (where Texts) {
	for _, p := range r.phases {
		for _, ptr := range r.When.Text.where(p) {
			if !slices.Contains(where, ptr) {
				where = append(where, ptr)
			}
		}
	}
	return where
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
