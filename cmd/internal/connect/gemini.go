package connect

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// Gemini CLI 0.61.0 starts a hook as `bash -c LINE`. It adds the variables of a trusted project's .env file that
// are not set yet to its own environment, and those of the entry's member env over both. So an entry empties every
// variable that the shell, or what loads it, obeys before it reads LINE.
//
// The entry has no name: a project's hooksConfig.disabled lists hooks by name, or by the line where there is none,
// and the line holds paths that a repository does not know beforehand.

// geminiHook is one handler.
type geminiHook struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Timeout int64             `json:"timeout"` // milliseconds
	Env     map[string]string `json:"env"`
}

type geminiGroup struct {
	Hooks []geminiHook `json:"hooks"`
}

// geminiEnv are the variables that an entry empties. PATH and HOME are always set, so that no .env file sets them.
func geminiEnv() map[string]string {
	return map[string]string{"BASH_ENV": "", "ENV": "", "SHELLOPTS": "", "BASHOPTS": "", "PS4": "", "LD_PRELOAD": "",
		"LD_AUDIT": "", "LD_LIBRARY_PATH": "", "GCONV_PATH": "", "GLIBC_TUNABLES": "", "BELAY_HOME": ""}
}

// geminiGroups are belay's entries. With marked they name the member that belay has put beside them, so that
// disconnect finds it after a program has formatted the file.
func geminiGroups(h Hook, marked bool) groups {
	env := geminiEnv()
	if marked {
		env[geminiMark] = geminiPin().name()
	}
	return groups{
		runtime: geminicli.Runtime,
		events:  geminicli.Events(),
		command: func(src []byte, n *jsonedit.Node) []string { return split(str(src, n, "command")) },
		group: func(event string) (jsontext.Value, error) {
			line, err := shellLine(append([]string{h.Program}, h.args(geminicli.Runtime, event)...))
			if err != nil {
				return nil, err
			}
			return text(geminiGroup{Hooks: []geminiHook{{Type: "command", Command: line,
				Timeout: geminiTimeout(event), Env: env}}})
		},
	}
}

// geminiTimeout is how long Gemini CLI waits for the answer to the event, in milliseconds.
func geminiTimeout(event string) int64 {
	return int64(geminicli.New().Table().Wait(event) / time.Millisecond)
}

// geminiPin holds hooks on: what the machine's settings say goes before what the project and the person say.
func geminiPin() pin {
	return pin{path: []string{"hooksConfig", "enabled"}, value: "true",
		why: "Gemini CLI starts no hook"}
}

// geminiMark is the variable of an entry that says which members beside the entries are belay's.
const geminiMark = "BELAY_CONNECT"

// geminiPinned reports whether the settings have the member that geminiPin puts, and whether it is belay's.
func geminiPinned(src []byte) (there, own bool, err error) {
	root, err := parse(src)
	if err != nil {
		return false, false, err
	}
	n := root.Member("hooksConfig").Member("enabled")
	if n == nil || src == nil {
		return false, false, nil
	}
	without, err := jsonedit.Unput(src, geminiPin().path)
	if err != nil {
		return false, false, err
	}
	own = string(without) != string(src)
	g, hooks := geminiGroups(Hook{}, false), root.Member("hooks")
	for _, event := range members(hooks) {
		list := hooks.Member(event)
		for _, p := range g.owned(src, list) {
			h := list.Elements[p.group].Member("hooks").Elements[p.handler]
			own = own || str(src, orNone(h.Member("env")), geminiMark) == geminiPin().name()
		}
	}
	return true, own, nil
}

// gemini returns what the settings become: connected, or without belay's entries. nil is no file,
// before and after.
func gemini(src []byte, level Level, h Hook, connected bool) (out []byte, notes []string, err error) {
	there, own, err := geminiPinned(src)
	if err != nil {
		return nil, nil, err
	}
	if !connected {
		if src == nil {
			return nil, nil, nil
		}
		if out, err = geminiGroups(h, false).disconnect(src); err != nil || level != Managed || out == nil ||
			!own || !geminiPin().saysSo(out) {
			return out, nil, err
		}
		out, err = take(out, geminiPin().path)
		return out, nil, err
	}
	root, err := parse(src)
	if err != nil {
		return nil, nil, err
	}
	if n := root.Member("hooksConfig").Member("enabled"); n != nil && n.Kind != 't' {
		return nil, nil, conflict(jsonedit.Line(src, n.Start),
			"hooksConfig.enabled is "+string(src[n.Start:n.End])+": "+geminiPin().why,
			"Take the member out; belay changes only its own entries.")
	}
	if level != Managed {
		out, err = geminiGroups(h, false).connect(src)
		return out, nil, err
	}
	if out, err = geminiGroups(h, own || !there).connect(src); err != nil {
		return nil, nil, err
	}
	out, err = geminiPin().put(out, nil)
	return out, nil, err
}

// gemini reads the settings of each level. Gemini CLI merges them: lists of hooks and of disabled ones are joined,
// and of hooksConfig.enabled the machine's counts, then the project's, then the person's.
func (l *look) gemini(place Place, read Reader) {
	var off string
	disabled := map[string]string{} // line -> the file that disables it
	lines := map[string]string{}    // of belay's entries, by level, file and event
	for _, level := range []Level{User, Project, Managed} {
		path := place.files(geminicli.Runtime, level)[0].path
		src, there := l.read(path, read)
		if !there {
			continue
		}
		root, err := parse(src)
		if err != nil {
			l.say(Warn, in(path, err).Error(), "Gemini CLI may read less of it than it says, or does not start.")
			continue
		}
		switch n := root.Member("hooksConfig").Member("enabled"); {
		case n == nil:
		case n.Kind == 't':
			off = ""
		default:
			off = path
		}
		names, _ := list(src, orNone(root.Member("hooksConfig")), "disabled")
		for _, name := range names {
			disabled[name] = path
		}
		l.gather(geminiGroups(Hook{}, false), level, path, src, func(h *jsonedit.Node, r *registered) {
			geminiEntry(src, h, r)
			lines[string(level)+path+r.event] = str(src, h, "command")
		})
	}
	for i := range l.entries {
		r := &l.entries[i]
		if off != "" {
			r.wrong, r.void = append(r.wrong, "hooks are switched off: "+off+" has hooksConfig.enabled = false"), true
		}
		if by := disabled[lines[string(r.level)+r.path+r.event]]; by != "" {
			r.wrong, r.void = append(r.wrong, "it is switched off: "+by+" names it in hooksConfig.disabled"), true
		}
	}
}

// geminiEntry checks one handler of belay's.
func geminiEntry(src []byte, h *jsonedit.Node, r *registered) {
	env := h.Member("env")
	var missing []string
	for name := range geminiEnv() {
		if n := orNone(env).Member(name); n == nil || str(src, env, name) != "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		r.wrong = append(r.wrong, "a project's .env file can end the shell that starts it, by "+some(missing))
	}
	if want := geminiTimeout(r.event); h.Member("timeout") != nil && int64(seconds(src, h)) < want {
		r.wrong = append(r.wrong, fmt.Sprintf("Gemini CLI stops waiting after less than %d ms, and the event goes on", want))
	}
	if str(src, h, "name") != "" {
		r.wrong = append(r.wrong, "it has a name, by which any project's settings can switch it off")
	}
}

// orNone returns a node that has no members where there is none.
func orNone(n *jsonedit.Node) *jsonedit.Node {
	if n == nil {
		return &jsonedit.Node{Kind: '{'}
	}
	return n
}
