package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// maxNames bounds the names in a reason, each of which can stand for 200 bytes.
const maxNames = 8

// checkReason refuses a reason that is too long, or that names what the rule does not
// know: {command} and {program} are of the condition command, {path} of path, {host} of
// host or host_not, {tool} of phases with tools, and {agent} is always known.
func (f *File) checkReason(r *Rule, at, reason string) error {
	if len(reason) > maxText {
		return f.doc.Errorf(at, "longer than %d bytes", maxText)
	}
	names, err := namesIn(reason)
	if err != nil {
		return f.doc.Errorf(at, "%v", err)
	}
	for _, name := range names {
		if needs, known := r.knows(name); !known {
			return f.doc.Errorf(at, "{%s} stands for nothing: a reason knows {command}, {program}, {path}, {host}, {tool} and "+
				"{agent}; {{ is a brace", name)
		} else if needs != "" {
			return f.doc.Errorf(at, "{%s} stands for nothing here: %s", name, needs)
		}
	}
	return nil
}

// namesIn returns the names that stand in braces.
func namesIn(reason string) ([]string, error) {
	var names []string
	for rest := reason; ; {
		_, behind, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		if strings.HasPrefix(behind, "{") {
			rest = behind[1:]
			continue
		}
		name, end, closed := strings.Cut(behind, "}")
		if !closed {
			return nil, errors.New("a brace has no end; {{ is a brace")
		}
		names, rest = append(names, phases.SafeLine(name, 40)), end
	}
	if len(names) > maxNames {
		return nil, fmt.Errorf("has %d names in braces, and may have %d", len(names), maxNames)
	}
	return names, nil
}

// knows says whether a name can stand in a reason at all, and what keeps it from standing
// in one of this rule.
func (r *Rule) knows(name string) (needs string, known bool) {
	has := func(is bool, condition string) (string, bool) {
		if is {
			return "", true
		}
		return "the rule has no condition " + condition, true
	}
	switch name {
	case "command", "program":
		return has(r.When.Command != nil, "command")
	case "path":
		return has(r.When.Path != nil, "path")
	case "host":
		return has(r.When.Host != nil || r.When.HostNot != nil, "host")
	case "tool":
		if i := slices.IndexFunc(r.phases, func(p phases.Phase) bool {
			return p != phases.PreTool && p != phases.PostTool
		}); i >= 0 {
			return "no tool is called in " + string(r.phases[i]), true
		}
		return "", true
	case "agent":
		return "", true
	}
	return "", false
}
