package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// lists returns the members that are lists of names or patterns.
func (m *Match) lists() map[string]Texts {
	return map[string]Texts{"runtime": m.Runtime, "agent": m.Agent, "user": m.User, "tool": m.Tool, "own_tool": m.OwnTool,
		"mcp_server": m.MCPServer, "command": m.Command, "path": m.Path, "host": m.Host, "host_not": m.HostNot,
		"branch": m.Branch, "repository": m.Repository}
}

func (f *File) checkMatch(r *Rule, m *Match, at string) error {
	lists := m.lists()
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if err := f.checkList(at+"/"+name, lists[name]); err != nil {
			return err
		}
	}
	for _, name := range []string{"tool", "own_tool", "mcp_server", "command", "path", "host", "host_not"} {
		if lists[name] == nil {
			continue
		}
		for _, p := range r.phases {
			if p != phases.PreTool && p != phases.PostTool {
				return f.doc.Errorf(at+"/"+name, "never matches in %s, where no tool is called", p)
			}
		}
	}
	for i, t := range m.Tool {
		if err := f.checkTool(itemAt(f, at+"/tool", i), t); err != nil {
			return err
		}
	}
	for i, s := range m.Command {
		if _, err := parseCommand(s); err != nil {
			return f.doc.Errorf(itemAt(f, at+"/command", i), "%q %v", s, err)
		}
	}
	if m.Command != nil && m.Tool != nil && m.OwnTool == nil && !slices.ContainsFunc(m.Tool, mayRun) {
		return f.doc.Errorf(at+"/command", "never matches: none of the tools runs commands (%s)", strings.Join(m.Tool, ", "))
	}
	if m.MCPServer != nil && m.Tool != nil && !slices.ContainsFunc(m.Tool, func(t string) bool {
		return strings.HasPrefix(t, "mcp:") || strings.HasPrefix("mcp:", strings.TrimSuffix(t, "*"))
	}) {
		return f.doc.Errorf(at+"/mcp_server", "never matches: none of the tools is one of an MCP server (%s)",
			strings.Join(m.Tool, ", "))
	}
	for i, p := range m.Path {
		if err := checkPath(p); err != nil {
			return f.doc.Errorf(itemAt(f, at+"/path", i), "%q: %v", p, err)
		}
	}
	for _, name := range []string{"host", "host_not"} {
		for i, h := range lists[name] {
			if strings.ContainsAny(h, "/:@ ") || h != strings.ToLower(h) {
				return f.doc.Errorf(itemAt(f, at+"/"+name, i),
					"%q never matches: a host is a name in lower case, without scheme, port and path; * is any text", h)
			}
		}
	}
	for _, name := range []string{"branch", "repository"} {
		if lists[name] != nil && !r.answer.restricts() {
			return f.doc.Errorf(at+"/"+name,
				"the agent can write it: a rule that goes by it can only restrict, and %s does more",
				r.answer)
		}
	}
	return f.checkValues(r, m, at)
}

// itemAt is the pointer of an entry of a list, or of the text that stands in its place.
func itemAt(f *File, at string, i int) string {
	if one := fmt.Sprintf("%s/%d", at, i); f.doc.Has(one) {
		return one
	}
	return at
}

func (f *File) checkList(at string, list Texts) error {
	if list == nil {
		return nil
	}
	switch {
	case len(list) == 0:
		return f.doc.Errorf(at, "is empty and never matches: leave it out")
	case len(list) > maxList:
		return f.doc.Errorf(fmt.Sprintf("%s/%d", at, maxList), "at most %d entries", maxList)
	}
	for i, s := range list {
		switch {
		case s == "":
			return f.doc.Errorf(itemAt(f, at, i), "is empty and never matches")
		case len(s) > maxText:
			return f.doc.Errorf(itemAt(f, at, i), "longer than %d bytes", maxText)
		case slices.Contains(list[:i], s):
			return f.doc.Errorf(itemAt(f, at, i), "%q is listed twice", s)
		}
	}
	return nil
}

func (f *File) checkTool(at, name string) error {
	if strings.HasPrefix(name, "mcp:") || slices.Contains(phases.KnownTools(), name) {
		return nil
	}
	if prefix, star := strings.CutSuffix(name, "*"); star && !strings.Contains(prefix, "*") {
		if slices.ContainsFunc(phases.KnownTools(), func(t string) bool { return strings.HasPrefix(t, prefix) }) {
			return nil
		}
	}
	for _, runtime := range phases.ToolRuntimes() {
		if known, ok := phases.NormalizeTool(runtime, name); ok && known != name {
			return f.doc.Errorf(at, "%q never matches: rules see that tool of %s as %s", name, runtime, known)
		}
	}
	return f.doc.Errorf(at, "%q is no tool that belay knows (%s); name a tool of your own runtime under own_tool", name,
		strings.Join(phases.KnownTools(), ", "))
}

// mayRun reports whether the tools that a pattern matches may run commands.
func mayRun(pattern string) bool {
	if prefix, star := strings.CutSuffix(pattern, "*"); star && strings.HasPrefix("exec", prefix) {
		return true
	}
	return pattern == "exec" || pattern == "process" || pattern == "cron" || pattern == "nodes" ||
		strings.HasPrefix(pattern, "mcp:")
}

func (f *File) checkValues(r *Rule, m *Match, at string) error {
	if s := m.Size; s != nil {
		switch {
		case !pointer(s.At):
			return f.doc.Errorf(at+"/size/at", "must be a JSON Pointer, such as /args/content")
		case s.Over < 0:
			return f.doc.Errorf(at+"/size/over", "cannot be negative")
		case s.Over >= maxInput:
			return f.doc.Errorf(at+"/size/over", "never holds: a hook sees at most %d bytes", maxInput)
		}
	}
	if t := m.Text; t != nil {
		if len(t.Match) == 0 {
			return f.doc.Errorf(at+"/text", "needs match: RE2 patterns")
		}
		if err := f.checkPatterns(at+"/text/match", t.Match); err != nil {
			return err
		}
		if err := f.checkPointers(at+"/text/at", t.At); err != nil {
			return err
		}
	}
	if t := m.Time; t != nil {
		if _, err := t.parse(); err != nil {
			return f.doc.Errorf(at+"/time", "%v", err)
		}
	}
	if err := f.checkConfig(at+"/config", m.Config); err != nil {
		return err
	}
	if a := m.Annotation; a != nil {
		switch {
		case !metaKey().MatchString(a.Key):
			return f.doc.Errorf(at+"/annotation/key", "must be a key of metadata")
		case a.Key == "caller":
			return f.doc.Errorf(at+"/annotation/key", "caller holds what the runtime sends: no hook writes it")
		case a.Tier != "" && a.Tier != string(phases.Trusted):
			return f.doc.Errorf(at+"/annotation/tier", "must be trusted, or left out")
		case a.Is != nil && len(a.Is) == 0:
			return f.doc.Errorf(at+"/annotation/is", "is empty and never matches: leave it out")
		case len(a.Is) > maxList:
			return f.doc.Errorf(at+"/annotation/is", "at most %d values", maxList)
		}
	}
	return nil
}

func (f *File) checkPatterns(at string, list Texts) error {
	if err := f.checkList(at, list); err != nil {
		return err
	}
	for i, p := range list {
		if _, _, err := patternCost(p); err != nil {
			return f.doc.Errorf(itemAt(f, at, i), "%q: %v", p, err)
		}
		if matchesNothing(p) {
			return f.doc.Errorf(itemAt(f, at, i), "%q is found in every text, since it matches no character at all: "+
				"write + for * where one has to stand there", p)
		}
	}
	return nil
}

func (f *File) checkPointers(at string, list Texts) error {
	if err := f.checkList(at, list); err != nil {
		return err
	}
	for i, p := range list {
		if !pointer(p) {
			return f.doc.Errorf(itemAt(f, at, i), "must be a JSON Pointer, such as /args/content")
		}
	}
	return nil
}

func pointer(s string) bool {
	if !strings.HasPrefix(s, "/") || len(s) > maxText {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// checkUnless refuses what could be used to get round a rule: a condition that one of
// several commands, paths, hosts or texts fulfils says nothing about the others.
func (f *File) checkUnless(r *Rule) error {
	at, m := r.at+"/unless", r.Unless
	for name, is := range map[string]bool{"command": m.Command != nil, "path": m.Path != nil, "host": m.Host != nil,
		"host_not": m.HostNot != nil, "text": m.Text != nil, "size": m.Size != nil} {
		if is {
			return f.doc.Errorf(at+"/"+name, "would exempt an action for one of the things in it, whatever else it holds: "+
				"narrow when instead (hosts: host_not)")
		}
	}
	for name, is := range map[string]bool{"branch": m.Branch != nil, "repository": m.Repository != nil} {
		if is {
			return f.doc.Errorf(at+"/"+name, "the agent can write it: it can restrict under when, and exempts from nothing")
		}
	}
	if m.Config != nil && r.When.Config != nil && canonicalConfig(m.Config) == canonicalConfig(r.When.Config) {
		return f.doc.Errorf(at+"/config", "is what when asks for, so that the rule never applies")
	}
	if m.Annotation != nil && m.Annotation.Tier != string(phases.Trusted) {
		return f.doc.Errorf(at+"/annotation", "exempts only with tier: trusted, so that no other rule can loosen this one")
	}
	if err := f.checkMatch(r, m, at); err != nil {
		return err
	}
	return f.checkPossible(r)
}

// checkPossible refuses a rule that unless exempts from all that when matches.
func (f *File) checkPossible(r *Rule) error {
	when, unless := r.When.lists(), r.Unless.lists()
	any := false
	for name, list := range unless {
		if list == nil {
			continue
		}
		any = true
		if slices.Contains(list, "*") {
			continue
		}
		if when[name] == nil || slices.ContainsFunc(when[name], func(s string) bool { return !slices.Contains(list, s) }) {
			return nil
		}
	}
	if t := r.Unless.Time; t != nil {
		any = true
		if r.When.Time == nil || !t.same(r.When.Time) {
			return nil
		}
	}
	if r.Unless.Annotation != nil || r.Unless.Config != nil {
		return nil
	}
	if !any {
		return f.doc.Errorf(r.at+"/unless", "says nothing: leave it out")
	}
	return f.doc.Errorf(r.at+"/unless", "exempts everything that when matches, so that the rule never applies")
}
