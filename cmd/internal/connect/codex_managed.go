package connect

import (
	"fmt"
	"maps"
	"strings"

	"github.com/belay-hooks/belay/adapters/codex"
)

// codexManaged returns what requirements.toml becomes. Three things hold together there: belay's
// hooks, which need no stored trust; allow_managed_hooks_only, without which a hook of the project
// rewrites a command afterwards; and the features that are pinned, without which one flag of the
// command line ends the hooks.
func codexManaged(src []byte, h Hook, connected bool) (out []byte, notes []string, err error) {
	before, err := readTOML(src)
	if err != nil {
		return nil, nil, err
	}
	base := withoutOwn(src)
	rest, err := readTOML(base)
	if err != nil {
		return nil, nil, byHand("belay's entries cannot be taken out and leave the rest as it is: " + err.Error())
	}
	if !sameTOML(foreignManaged(before, rest), rest) {
		return nil, nil, byHand("the tables that are marked as belay's hold other members")
	}
	if !connected {
		return base, nil, nil
	}
	out = base
	var tables []string
	switch on := rest["allow_managed_hooks_only"].(type) {
	case nil:
		first := "allow_managed_hooks_only = true " + mark + "\n"
		if base != nil && len(base) == 0 {
			first = "\n" + first // says that the file stood empty
		}
		out = append([]byte(first), out...)
	case bool:
		if !on {
			return nil, nil, &Error{Reason: "allow_managed_hooks_only is false: a hook of the project could change a command " +
				"after belay has judged it", Advice: "Take it out; belay changes only its own entries.", Err: ErrConflict}
		}
	default:
		return nil, nil, byHand("allow_managed_hooks_only is not true or false")
	}
	add, note, err := codexFeatures(rest)
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	switch {
	case len(add) == 0:
	case rest["features"] == nil:
		tables = append(tables, "[features]\n"+strings.Join(add, "\n"))
	default:
		if out, err = intoFeatures(out, add); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range codexEvents() {
		line, err := e.command(h)
		if err != nil {
			return nil, nil, err
		}
		tables = append(tables, fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\n"+
			"command = \"%s\"\ntimeout = %d",
			e.name, e.name, line, e.timeout))
	}
	out = withTables(out, tables)
	after, err := readTOML(out)
	if err != nil {
		return nil, nil, byHand("a table cannot be added: " + err.Error())
	}
	if !sameTOML(foreignManaged(after, rest), rest) {
		return nil, nil, byHand("a table cannot be added and leave the rest as it is")
	}
	if sameText(src, out) {
		return src, notes, nil
	}
	return out, notes, nil
}

// pinned are the features that belay sets: hooks run, and no command gets a terminal, whose input no
// hook sees.
var pinned = []struct {
	name  string
	value bool
}{{"hooks", true}, {"unified_exec_tty", false}}

// codexFeatures returns the lines that are missing in the table of features. Terminals that others
// let in are theirs to decide; hooks that they end are an ErrConflict.
func codexFeatures(rest map[string]any) (lines []string, note string, err error) {
	for _, p := range pinned {
		switch have := dig(rest, "features", p.name).(type) {
		case nil:
			lines = append(lines, fmt.Sprintf("%s = %v", p.name, p.value))
		case bool:
			if have == p.value {
				continue
			}
			if p.name == "hooks" {
				return nil, "", &Error{Reason: "features.hooks is false: Codex starts no hooks",
					Advice: "Take it out; belay changes only its own entries.", Err: ErrConflict}
			}
			note = "features." + p.name + " is true: input to a running command reaches it without an event"
		default:
			return nil, "", byHand("features." + p.name + " is not true or false")
		}
	}
	return lines, note, nil
}

// intoFeatures adds members to the table that is there.
func intoFeatures(src []byte, add []string) ([]byte, error) {
	for _, l := range linesOf(src) {
		if strings.TrimSpace(l.text) == "[features]" {
			head := string(src[:l.end])
			if !strings.HasSuffix(head, "\n") {
				return nil, byHand("the table features has no members")
			}
			for _, a := range add {
				head += a + " " + mark + "\n"
			}
			return []byte(head + string(src[l.end:])), nil
		}
	}
	return nil, byHand("features is not written as a table of its own")
}

// foreignManaged is a copy of the document without what belay wrote; rest says which of the two
// settings were there without belay.
func foreignManaged(doc, rest map[string]any) map[string]any {
	doc = maps.Clone(doc)
	if rest["allow_managed_hooks_only"] == nil {
		delete(doc, "allow_managed_hooks_only")
	}
	if f, is := doc["features"].(map[string]any); is {
		f = maps.Clone(f)
		for _, p := range pinned {
			if dig(rest, "features", p.name) == nil {
				delete(f, p.name)
			}
		}
		doc["features"] = f
	}
	hooks, is := doc["hooks"].(map[string]any)
	if !is {
		return doc
	}
	hooks = maps.Clone(hooks)
	for event, v := range hooks {
		list, is := v.([]any)
		if !is {
			continue
		}
		var kept []any
		for _, g := range list {
			if !ownManaged(g) {
				kept = append(kept, g)
			}
		}
		hooks[event] = kept
	}
	doc["hooks"] = hooks
	return doc
}

// ownManaged reports whether a group holds one handler, which is belay's.
func ownManaged(group any) bool {
	m, is := group.(map[string]any)
	if !is || len(m) != 1 {
		return false
	}
	handlers, is := m["hooks"].([]any)
	if !is || len(handlers) != 1 {
		return false
	}
	h, is := handlers[0].(map[string]any)
	if !is {
		return false
	}
	command, _ := h["command"].(string)
	_, own := ownCommand(split(command), codex.Runtime)
	return own
}
