package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/jsonedit"
)

// pin is a member of the managed settings that has to say what belay needs.
type pin struct {
	path  []string
	value string // JSON
	fits  func(have string) bool
	why   string
}

// claudePins are the members beside the hooks that hold them: no hook but the managed ones runs,
// and the variables that could lead a hook elsewhere are those of the managed settings.
func claudePins(h Hook) ([]pin, error) {
	skillShell := pin{path: []string{"disableSkillShellExecution"}, value: "true",
		why: "a command or skill of the repository could run commands of which Claude Code tells no hook; " +
			"--allow-skill-shell leaves it as it is"}
	pins := []pin{{path: []string{"allowManagedHooksOnly"}, value: "true",
		why: "a hook of the repository could change a command after belay has judged it"}}
	if !h.SkillShell {
		pins = append(pins, skillShell)
	}
	if h.State != "" || h.Machine { // empty, it names none
		dir, err := text(h.State)
		if err != nil {
			return nil, err
		}
		pins = append(pins, pin{path: []string{"env", "BELAY_HOME"}, value: string(dir),
			why: "a repository's settings could name another state directory"})
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		pins = append(pins, pin{path: []string{"env", name}, value: `"localhost,127.0.0.1,::1"`, fits: loopback,
			why: "a proxy that a repository's settings name could answer for the daemon"})
	}
	return pins, nil
}

// loopback reports whether a list of hosts without a proxy, as JSON, covers this machine.
func loopback(have string) bool {
	var hosts []string
	for _, h := range strings.Split(strings.Trim(have, `"`), ",") {
		hosts = append(hosts, strings.TrimSpace(h))
	}
	return slices.Contains(hosts, "*") || slices.Contains(hosts, "127.0.0.1") && slices.Contains(hosts, "localhost")
}

// pinsMark is the member that names those which belay has put, so that disconnect finds them after a
// program has formatted the file anew: of a value the order of members and the blanks are no part.
func pinsMark() []string { return []string{"env", "BELAY_CONNECT"} }

func (p pin) name() string { return strings.Join(p.path, ".") }

// markedPins returns the names of the members that belay has put.
func markedPins(src []byte) []string {
	root, err := parse(src)
	if err != nil {
		return nil
	}
	return strings.Fields(str(src, root.Member("env"), "BELAY_CONNECT"))
}

// putPins adds the members, and takes out one that belay had put and that is not wanted any more.
func putPins(src []byte, h Hook) (out []byte, err error) {
	pins, err := claudePins(h)
	if err != nil {
		return nil, err
	}
	own := markedPins(src)
	out = src
	for _, p := range pins {
		before := out
		if out, err = p.put(out, own); err != nil {
			return nil, err
		}
		marked, err := jsonedit.Unput(out, p.path)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(before, out) || !slices.Equal(marked, out) {
			own = append(own, p.name())
		}
	}
	var left []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(own))) {
		path := strings.Split(name, ".")
		if slices.ContainsFunc(pins, func(p pin) bool { return p.name() == name }) {
			left = append(left, name)
		} else if out, err = take(out, path); err != nil {
			return nil, err
		}
	}
	value, err := text(strings.Join(left, " "))
	if err != nil {
		return nil, err
	}
	root, err := parse(out)
	if err != nil {
		return nil, err
	}
	switch n := root.Member("env").Member("BELAY_CONNECT"); {
	case n == nil && len(left) == 0:
		return out, nil
	case n == nil:
		return jsonedit.Put(out, pinsMark(), value, true)
	case equal(out[n.Start:n.End], value):
		return out, nil
	default:
		return jsonedit.Replace(out, n.Start, n.End, value), nil
	}
}

// put adds the member. One that is belay's own and says another thing is made anew; one of others
// that stands against it is an ErrConflict. own are the names of belay's.
func (p pin) put(src []byte, own []string) ([]byte, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	n := root
	for _, name := range p.path {
		n = n.Member(name)
	}
	if n != nil {
		have := string(src[n.Start:n.End])
		if equal(jsontext.Value(have), jsontext.Value(p.value)) || p.fits != nil && p.fits(have) {
			return src, nil
		}
		without, err := jsonedit.Unput(src, p.path)
		if err != nil {
			return nil, err
		}
		if string(without) == string(src) && !slices.Contains(own, p.name()) {
			return nil, conflict(jsonedit.Line(src, n.Start), fmt.Sprintf("%s is %s: %s", p.name(), have, p.why),
				fmt.Sprintf("Write %s there, or take the member out; belay changes only its own entries.", p.value))
		}
		return jsonedit.Replace(src, n.Start, n.End, jsontext.Value(p.value)), nil
	}
	return jsonedit.Put(src, p.path, jsontext.Value(p.value), true)
}

// unpin takes out what put added, in the reverse order.
func unpin(src []byte) (out []byte, notes []string, err error) {
	pins, err := claudePins(Hook{State: "/"})
	if err != nil {
		return nil, nil, err
	}
	if src == nil {
		return nil, nil, nil
	}
	own := markedPins(src)
	if src, err = take(src, pinsMark()); err != nil {
		return nil, nil, err
	}
	slices.Reverse(pins)
	for _, p := range pins {
		if src == nil {
			break
		}
		if slices.Contains(own, p.name()) && p.saysSo(src) {
			src, err = take(src, p.path)
		} else {
			src, err = jsonedit.Unput(src, p.path)
		}
		if err != nil {
			return nil, nil, err
		}
		last := p.path[len(p.path)-1]
		if root, _ := parse(src); root != nil && (last == "BELAY_HOME" || len(p.path) == 1) &&
			(root.Member(last) != nil || root.Member("env").Member(last) != nil) {
			notes = append(notes, last+" stays: it does not look like belay's own entry")
		}
	}
	return src, notes, nil
}

// saysSo reports whether the member still says what belay wrote. The state directory may be any.
func (p pin) saysSo(src []byte) bool {
	root, err := parse(src)
	if err != nil {
		return false
	}
	n := root
	for _, name := range p.path {
		n = n.Member(name)
	}
	if n == nil {
		return false
	}
	return p.name() == "env.BELAY_HOME" || equal(src[n.Start:n.End], jsontext.Value(p.value))
}

// take cuts the member out, whatever blanks are around it, with the objects that it leaves empty. nil means
// that nothing is left of the document.
func take(src []byte, path []string) ([]byte, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	n := root
	for _, name := range path[:len(path)-1] {
		n = n.Member(name)
	}
	if n == nil || n.Kind != '{' {
		return src, nil
	}
	for i := range n.Members {
		if n.Members[i].Name == path[len(path)-1] {
			return jsonedit.CutAt(src, path[:len(path)-1], i)
		}
	}
	return src, nil
}
