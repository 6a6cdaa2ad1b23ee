package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

// Builder collects results. Recordings can be added in any order. It is used by one
// goroutine.
type Builder struct {
	r        Report
	keys     [][]byte // of the recordings
	hooks    map[Hook]bool
	policies [2]map[string]bool
	flips    map[[2]phases.Decision][]Item
	counts   map[[2]phases.Decision]int
	budgets  map[string]*Budget
	part     *part
}

// part is the recording that is being read. Its results count once its digest is known.
type part struct {
	at      Recording
	key     hash.Hash
	summary Summary
	hooks   map[Hook]bool
	counts  map[[2]phases.Decision]int
	budgets map[string]*Budget
	items   []Item
	group   []int // where the items belong
	cases   []testCase
}

// Places of items.
const (
	inFlips = iota
	inRewrites
	inOthers
)

// NewBuilder begins a report. candidate describes in a few words the hooks or the
// configuration that the recordings are compared with; it must not name a path.
func NewBuilder(mode, candidate string) *Builder {
	return &Builder{
		r:     Report{Version: Version, Mode: mode, Candidate: phases.SafeLine(candidate, 200)},
		hooks: map[Hook]bool{}, policies: [2]map[string]bool{{}, {}}, flips: map[[2]phases.Decision][]Item{},
		counts: map[[2]phases.Decision]int{}, budgets: map[string]*Budget{},
	}
}

// Base and Now name configurations of both sides by their revisions.
func (b *Builder) Base(revision string) { b.policies[0][revision] = true }

// Now names a configuration of the candidate's side.
func (b *Builder) Now(revision string) { b.policies[1][revision] = true }

// Replay replays a recording into the report. It reports whether the report holds the
// same recording already: then it counts once.
func (b *Builder) Replay(ctx context.Context, o replay.Options, rd *recording.Reader) (again bool, err error) {
	b.Begin(rd.Header())
	err = replay.All(ctx, o, rd, func(res *replay.Result) error {
		b.Add(res)
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, revision := range rd.Revisions() {
		b.Base(revision)
		if o.Candidate == nil || o.Candidate.Policy == "" {
			b.Now(revision)
		}
	}
	if rd.End().Cut {
		b.Cut()
	}
	return !b.End(rd.Digest(), rd.End().Dropped), nil
}

// Begin starts a recording.
func (b *Builder) Begin(h recording.Header) {
	b.part = &part{
		at:  Recording{Source: h.Source, Redacted: h.Redacted},
		key: sha256.New(), hooks: map[Hook]bool{}, counts: map[[2]phases.Decision]int{}, budgets: map[string]*Budget{},
	}
	b.part.key.Write([]byte("belay report\x00"))
}

// Add takes one result, in the order of the recording.
func (b *Builder) Add(res *replay.Result) {
	p := b.part
	p.at.Invocations++
	s := &p.summary
	s.Invocations++
	// The contents of the recording are the key of its placeholders.
	fmt.Fprintf(p.key, "%d %s %s\n", p.at.Invocations, res.Invocation.ID, res.Invocation.Action)
	for _, t := range res.Turns {
		p.turn(&t)
	}
	if len(res.Unknown) > 0 {
		s.Unknown++
	}
	item := itemOf(res, p.at.Invocations)
	if len(p.cases) < MaxCases {
		p.cases = append(p.cases, testCase{number: item.Number, name: caseName(&item), changes: item.Changes})
	}
	if res.Same() {
		s.Same++
		return
	}
	s.Different++
	group := inOthers
	switch {
	case res.Base.Decision != res.Now.Decision:
		group = inFlips
		s.Flips++
		p.counts[[2]phases.Decision{res.Base.Decision, res.Now.Decision}]++
	case slices.ContainsFunc(res.Differences, func(d replay.Difference) bool { return d.What == replay.WhatRewrite }):
		group = inRewrites
		s.Rewrites++
	default:
		s.Others++
	}
	if len(p.items) < MaxItems {
		p.items, p.group = append(p.items, item), append(p.group, group)
	}
}

// Cut says of the recording that was begun that it ended before its source did.
func (b *Builder) Cut() { b.part.at.Cut = true }

// End finishes a recording. False: the same recording is in the report already, and
// counts once.
func (b *Builder) End(digest string, dropped int) bool {
	if slices.ContainsFunc(b.r.Recordings, func(r Recording) bool { return r.Digest == digest }) {
		return false
	}
	p := b.part
	p.at.Digest, p.at.Dropped, p.at.Shown = digest, dropped, len(p.items)
	b.r.Recordings = append(b.r.Recordings, p.at)
	b.keys = append(b.keys, p.key.Sum(nil))
	b.r.Summary.add(&p.summary)
	maps.Copy(b.hooks, p.hooks)
	for k, n := range p.counts {
		b.counts[k] += n
	}
	for name, g := range p.budgets {
		if b.budgets[name] == nil {
			b.budgets[name] = &Budget{Hook: name}
		}
		b.budgets[name].add(g)
	}
	for i := range p.cases {
		p.cases[i].recording = digest
	}
	b.r.cases = append(b.r.cases, p.cases...)
	for i, item := range p.items {
		item.Recording = digest
		switch p.group[i] {
		case inFlips:
			key := [2]phases.Decision{item.Base.Decision, item.Now.Decision}
			b.flips[key] = append(b.flips[key], item)
		case inRewrites:
			b.r.Rewrites = append(b.r.Rewrites, item)
		default:
			b.r.Others = append(b.r.Others, item)
		}
	}
	return true
}

func (p *part) turn(t *replay.TurnResult) {
	p.summary.Turns++
	h := Hook{Name: t.Hook}
	if t.Base != nil {
		h.Base = t.Base.Digest
	}
	if t.Now != nil {
		h.Now = t.Now.Digest
	}
	p.hooks[h] = true
	g := p.budgets[t.Hook]
	if g == nil {
		g = &Budget{Hook: t.Hook}
		p.budgets[t.Hook] = g
	}
	switch {
	case t.Base == nil:
		fuel := Pair{Now: t.Now.Fuel}
		g.add(&Budget{Only: Counts{Now: 1}, Alone: Costs{Fuel: fuel, Most: fuel, Memory: Pair{Now: t.Now.MemoryPeak}}})
	case t.Now == nil:
		fuel := Pair{Base: t.Base.Fuel}
		g.add(&Budget{Only: Counts{Base: 1}, Alone: Costs{Fuel: fuel, Most: fuel, Memory: Pair{Base: t.Base.MemoryPeak}}})
	case t.NotCompare:
	default:
		fuel := Pair{t.Base.Fuel, t.Now.Fuel}
		g.add(&Budget{Turns: 1, Fuel: fuel, Most: fuel, Memory: Pair{t.Base.MemoryPeak, t.Now.MemoryPeak}})
	}
}

// Report puts everything in order and redacts secrets. After an error there is no report.
func (b *Builder) Report() (*Report, error) {
	slices.SortFunc(b.keys, slices.Compare)
	key := sha256.New()
	for _, p := range b.keys {
		key.Write(p)
	}
	red, err := redact.New(redact.Config{Key: key.Sum(nil)})
	if err != nil {
		return nil, err
	}
	r := &b.r
	slices.SortFunc(r.Recordings, func(x, y Recording) int { return cmp.Compare(x.Digest, y.Digest) })
	for h := range b.hooks {
		r.Hooks = append(r.Hooks, h)
	}
	r.Hooks = dropHalves(r.Hooks)
	slices.SortFunc(r.Hooks, func(x, y Hook) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Base, y.Base), cmp.Compare(x.Now, y.Now))
	})
	r.Policies = Policies{Base: sorted(b.policies[0]), Now: sorted(b.policies[1])}
	r.Flips = []Flip{}
	for k, n := range b.counts {
		items := b.flips[k]
		order(items)
		r.Flips = append(r.Flips, Flip{From: k[0], To: k[1], Count: n, Items: items})
	}
	slices.SortFunc(r.Flips, func(x, y Flip) int {
		return cmp.Or(cmp.Compare(flipRank(x), flipRank(y)), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	order(r.Rewrites)
	order(r.Others)
	r.Budgets = []Budget{}
	for _, g := range b.budgets {
		r.Budgets = append(r.Budgets, *g)
	}
	slices.SortFunc(r.Budgets, func(x, y Budget) int { return cmp.Compare(x.Hook, y.Hook) })
	slices.SortFunc(r.cases, func(x, y testCase) int {
		return cmp.Or(cmp.Compare(x.recording, y.recording), cmp.Compare(x.number, y.number))
	})
	return r, r.redact(red)
}

// flipRank puts flips that loosen first, where readers see them.
func flipRank(f Flip) int {
	strength := map[phases.Decision]int{phases.Allow: 0, phases.Ask: 1, phases.Block: 2}
	return strength[f.To] - strength[f.From]
}

// dropHalves leaves out sightings of a hook on one side when it was seen on both.
func dropHalves(list []Hook) []Hook {
	whole := map[string]bool{}
	for _, h := range list {
		if h.Base != "" && h.Now != "" {
			whole[h.Name] = true
		}
	}
	return slices.DeleteFunc(list, func(h Hook) bool { return (h.Base == "" || h.Now == "") && whole[h.Name] })
}

func sorted(m map[string]bool) []string {
	out := []string{}
	for s := range m {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func order(items []Item) {
	slices.SortFunc(items, func(x, y Item) int {
		return cmp.Or(cmp.Compare(x.Recording, y.Recording), cmp.Compare(x.Number, y.Number))
	})
}

func itemOf(res *replay.Result, n int) Item {
	inv := &res.Invocation
	i := Item{
		Number: n, Invocation: inv.ID, Phase: inv.Phase, Tool: inv.Tool(), About: about(inv),
		Base: sideOf(&res.Base), Now: sideOf(&res.Now), Changes: []Change{}, Unknown: res.Unknown,
	}
	for _, d := range res.Differences {
		i.Changes = append(i.Changes, Change{What: d.What, Where: d.Where, Was: cut(d.Want), Is: cut(d.Got)})
	}
	return i
}

func sideOf(v *recording.Verdict) Side {
	return Side{Decision: v.Decision, By: v.DecidedBy, Kind: v.Kind, Reason: v.Reason}
}

func cut(s string) string {
	if len(s) <= MaxValue {
		return s
	}
	return strings.ToValidUTF8(s[:MaxValue], "") + "…"
}

// about describes an invocation in a few words.
func about(inv *phases.Invocation) string {
	for _, ptr := range []string{"/args/command", "/args/file_path", "/args/path", "/args/url", "/text", "/child/agent",
		"/to", "/model", "/kind"} {
		if s, ok := phases.GetString(inv.Action, ptr); ok && strings.TrimSpace(s) != "" {
			return line(s)
		}
	}
	if v, ok := phases.Get(inv.Action, "/args"); ok {
		return line(string(v))
	}
	return ""
}

// line is text on one line, cut. The forms of the report make hidden characters visible.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > 240 {
		s = strings.ToValidUTF8(s[:240], "") + "…"
	}
	return s
}

func caseName(i *Item) string {
	name := fmt.Sprintf("%05d %s", i.Number, i.Phase)
	if i.Tool != "" {
		name += " " + i.Tool
	}
	if i.About != "" {
		name += ": " + phases.SafeLine(i.About, 80)
	}
	return name
}

// redact redacts secrets in every text that comes from a recording.
func (r *Report) redact(red *redact.Redactor) error {
	text := func(s *string) {
		if *s != "" {
			*s, _ = red.Text(*s)
		}
	}
	value := func(s *string) error {
		if v := jsontext.Value(*s); len(v) > 0 && (v.Kind() == '{' || v.Kind() == '[') && v.IsValid() {
			covered, _, err := red.JSON(v)
			*s = string(covered)
			return err
		}
		text(s)
		return nil
	}
	changes := func(list []Change) error {
		for i := range list {
			text(&list[i].Where)
			if err := value(&list[i].Was); err != nil {
				return err
			}
			if err := value(&list[i].Is); err != nil {
				return err
			}
		}
		return nil
	}
	items := func(list []Item) error {
		for i := range list {
			it := &list[i]
			for _, s := range []*string{&it.About, &it.Base.Reason, &it.Now.Reason} {
				text(s)
			}
			for n := range it.Unknown {
				text(&it.Unknown[n])
			}
			if err := changes(it.Changes); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range r.Flips {
		if err := items(r.Flips[i].Items); err != nil {
			return err
		}
	}
	if err := items(r.Rewrites); err != nil {
		return err
	}
	if err := items(r.Others); err != nil {
		return err
	}
	for i := range r.cases {
		r.cases[i].changes = slices.Clone(r.cases[i].changes) // they are the items' own
		text(&r.cases[i].name)
		if err := changes(r.cases[i].changes); err != nil {
			return err
		}
	}
	return nil
}
