// Package revision decides what the log says of a configuration that comes into force
// without a reviewer's signature: which revision was in force before, and what differs.
// It cannot know who made the change, and it never decides whether one is allowed.
package revision

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Summary is the remembered part of a configuration: names and digests. Each
// map goes from a name to its value or digest.
type Summary struct {
	Revision  string            `json:"revision"`  // as in verdicts
	Hooks     map[string]string `json:"hooks"`     // binding -> module, and a digest of the whole entry
	Reviewers map[string]string `json:"reviewers"` // name -> key
	Settings  map[string]string `json:"settings"`  // other members of belay.yaml -> digest
	Rules     map[string]string `json:"rules"`     // of trust.yaml -> digest
	Denied    map[string]string `json:"denied"`    // in trust.yaml -> list
	Trust     map[string]string `json:"trust"`     // other members of trust.yaml -> digest
	Files     map[string]string `json:"files"`     // rules file -> digest
}

// Of summarises a configuration. file and policy are belay.yaml and trust.yaml as they
// were read; what they encode to in JSON has the members of the files. policy may be nil.
func Of(revision string, file, policy any) (Summary, error) {
	s := Summary{Revision: revision, Hooks: map[string]string{}, Reviewers: map[string]string{},
		Settings: map[string]string{},
		Rules:    map[string]string{}, Denied: map[string]string{}, Trust: map[string]string{}, Files: map[string]string{}}
	members, err := membersOf(file)
	if err != nil {
		return s, err
	}
	for name, v := range members {
		switch name {
		case "hooks":
			err = each(v, func(e entry, raw jsontext.Value) { s.Hooks[e.Name] = e.Module + " (" + digest(raw) + ")" })
		case "reviewers":
			err = each(v, func(e entry, _ jsontext.Value) { s.Reviewers[e.Name] = e.Key })
		default:
			s.Settings[name] = digest(v)
		}
		if err != nil {
			return s, err
		}
	}
	if policy == nil {
		return s, nil
	}
	if members, err = membersOf(policy); err != nil {
		return s, err
	}
	for name, v := range members {
		switch name {
		case "rules":
			err = each(v, func(e entry, raw jsontext.Value) { s.Rules[e.Name] = digest(raw) })
		case "deny":
			err = s.deny(v)
		default:
			s.Trust[name] = digest(v)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// entry is what counts of an element of hooks, reviewers and rules.
type entry struct {
	Name   string         `json:"name"`
	Module string         `json:"module"`
	Key    string         `json:"key"`
	Rest   jsontext.Value `json:",unknown"`
}

func membersOf(v any) (map[string]jsontext.Value, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var out map[string]jsontext.Value
	return out, json.Unmarshal(b, &out)
}

func each(v jsontext.Value, do func(e entry, raw jsontext.Value)) error {
	var list []jsontext.Value
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	for _, raw := range list {
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		do(e, raw)
	}
	return nil
}

func (s *Summary) deny(v jsontext.Value) error {
	var lists map[string][]jsontext.Value
	if err := json.Unmarshal(v, &lists); err != nil {
		return err
	}
	for name, list := range lists {
		for _, e := range list {
			text := string(e)
			if e.Kind() == '"' {
				if b, err := jsontext.AppendUnquote(nil, e); err == nil {
					text = string(b)
				}
			}
			s.Denied[text] = name
		}
	}
	return nil
}

// digestPrefix begins a digest that is only compared, never shown.
const digestPrefix = "content:"

func digest(v jsontext.Value) string {
	sum := sha256.Sum256(v)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// Item is one thing that differs. Before is "" when it is new, After when it is gone.
type Item struct {
	Name   string `json:"name"`
	Before string `json:"before,omitzero"`
	After  string `json:"after,omitzero"`
}

// Change is the output of the event that a revision came into force.
type Change struct {
	Before    string `json:"before,omitzero"` // revision; "" when the log does not say
	After     string `json:"after"`           // revision
	Known     bool   `json:"known"`           // what Before held is known; without that the lists are empty
	Hooks     []Item `json:"hooks,omitzero"`
	Reviewers []Item `json:"reviewers,omitzero"`
	Settings  []Item `json:"settings,omitzero"`
	Rules     []Item `json:"rules,omitzero"`
	Denied    []Item `json:"denied,omitzero"`
	Trust     []Item `json:"trust,omitzero"`
	Files     []Item `json:"files,omitzero"`   // rules files, with the digests of their content
	Omitted   int    `json:"omitted,omitzero"` // items beyond MaxItems of a list
}

// MaxItems is how many items of each kind a change lists.
const MaxItems = 50

// Compare lists what differs. A summary of another revision than before is of no use.
func Compare(before string, was, now Summary) Change {
	c := Change{Before: before, After: now.Revision, Known: before != "" && was.Revision == before}
	if !c.Known {
		return c
	}
	for _, l := range []struct {
		to       *[]Item
		was, now map[string]string
	}{{&c.Hooks, was.Hooks, now.Hooks}, {&c.Reviewers, was.Reviewers, now.Reviewers},
		{&c.Settings, was.Settings, now.Settings},
		{&c.Rules, was.Rules, now.Rules}, {&c.Denied, was.Denied, now.Denied}, {&c.Trust, was.Trust, now.Trust},
		{&c.Files, was.Files, now.Files}} {
		items := diff(l.was, l.now)
		for i := range items {
			items[i].Before, items[i].After = shown(items[i].Before), shown(items[i].After)
		}
		if over := len(items) - MaxItems; over > 0 {
			items, c.Omitted = items[:MaxItems], c.Omitted+over
		}
		*l.to = items
	}
	return c
}

// shown is what the log says of a value: a digest of a setting could be guessed at.
func shown(v string) string {
	module, _, _ := strings.Cut(v, " (")
	if strings.HasPrefix(v, digestPrefix) {
		return "set"
	}
	return module
}

func diff(was, now map[string]string) (out []Item) {
	for name, v := range now {
		if old := was[name]; old != v {
			out = append(out, Item{Name: name, Before: old, After: v})
		}
	}
	for name, v := range was {
		if _, there := now[name]; !there {
			out = append(out, Item{Name: name, Before: v})
		}
	}
	slices.SortFunc(out, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Text says in one line what changed: + is new, - is gone, ~ is another one.
func (c *Change) Text() string {
	before := c.Before
	if before == "" {
		before = "a revision that is not logged"
	}
	var parts []string
	for _, l := range []struct {
		what  string
		items []Item
	}{{"reviewers", c.Reviewers}, {"hooks", c.Hooks}, {"settings", c.Settings}, {"trust rules", c.Rules},
		{"denied", c.Denied}, {"trust", c.Trust}, {"rules files", c.Files}} {
		if len(l.items) == 0 {
			continue
		}
		var names []string
		for _, i := range l.items {
			names = append(names, sign(i)+i.Name)
		}
		parts = append(parts, l.what+" "+strings.Join(names, " "))
	}
	switch {
	case !c.Known:
		parts = append(parts, "what that held is not known here")
	case len(parts) == 0:
		parts = append(parts, "only comments, order or spelling differ")
	}
	if c.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", c.Omitted))
	}
	return "changed without a reviewer's signature, from " + before + "; " + strings.Join(parts, "; ")
}

func sign(i Item) string {
	switch {
	case i.Before == "":
		return "+"
	case i.After == "":
		return "-"
	}
	return "~"
}

// same reports whether two summaries say the same.
func (s *Summary) same(o *Summary) bool {
	return s.Revision == o.Revision && maps.Equal(s.Hooks, o.Hooks) && maps.Equal(s.Reviewers, o.Reviewers) &&
		maps.Equal(s.Settings, o.Settings) &&
		maps.Equal(s.Rules, o.Rules) && maps.Equal(s.Denied, o.Denied) && maps.Equal(s.Trust, o.Trust) &&
		maps.Equal(s.Files, o.Files)
}
