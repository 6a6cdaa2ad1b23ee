package openclawinterceptors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Matcher is the toolMatcher of an interceptor: the tools whose calls it is asked about.
type Matcher struct{ names []string } // nil: all

// groups are the tools of the draft by their group. The last three belong to none.
func groups() map[string][]string {
	return map[string][]string{
		"fs": {"read", "write", "edit", "apply_patch"}, "runtime": {"exec", "process"},
		"memory": {"memory_search", "memory_get"}, "web": {"web_search", "web_fetch"},
		"sessions": {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"},
		"ui":       {"browser", "canvas"}, "automation": {"cron", "gateway"}, "messaging": {"message"}, "nodes": {"nodes"},
		"": {"agents_list", "image", "tts"},
	}
}

// canonical is the name of a tool, for a name or an alias of it.
func canonical(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "bash":
		return "exec"
	case "apply-patch":
		return "apply_patch"
	}
	return name
}

// ParseMatcher reads a toolMatcher: names of tools, their aliases (bash, apply-patch) and groups
// (group:fs). An empty list means all tools. A name that is none is an error: an interceptor that
// matches nothing would let pass what it has to decide.
func ParseMatcher(list []string) (Matcher, error) {
	known := map[string]bool{}
	all := groups()
	for _, names := range all {
		for _, name := range names {
			known[name] = true
		}
	}
	var m Matcher
	for _, entry := range list {
		if group, is := strings.CutPrefix(strings.ToLower(strings.TrimSpace(entry)), "group:"); is {
			names := all[group]
			if group == "" || names == nil {
				delete(all, "")
				return Matcher{}, fmt.Errorf("openclaw-interceptors: there is no group %q; there are %s", group,
					strings.Join(slices.Sorted(maps.Keys(all)), ", "))
			}
			m.names = append(m.names, names...)
			continue
		}
		name := canonical(entry)
		if !known[name] {
			return Matcher{}, fmt.Errorf("openclaw-interceptors: there is no tool %q", entry)
		}
		m.names = append(m.names, name)
	}
	return m, nil
}

// Matches reports whether an interceptor is asked about a call of the tool.
func (m Matcher) Matches(tool string) bool {
	return m.names == nil || slices.Contains(m.names, canonical(tool))
}

// Interceptor is one registration of a handler, as far as its place in the order goes.
type Interceptor struct {
	ID       string
	Priority int
	Matcher  Matcher
}

// Order returns the interceptors that are asked about a call of the tool, in their order: by descending
// priority, then as they were registered.
func Order(registered []Interceptor, tool string) []Interceptor {
	var out []Interceptor
	for _, i := range registered {
		if i.Matcher.Matches(tool) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Interceptor) int { return b.Priority - a.Priority })
	return out
}
