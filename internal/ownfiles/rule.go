package ownfiles

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// errRefused: the file is none that is told for this question.
var errRefused = errors.New("a file that is not told")

// rule says which files are told while one question is open. Paths are absolute and clean.
type rule struct {
	runtime     string   // that asks; "" for a program of its own
	calls       bool     // the question is about commands that have not run
	text        []byte   // the texts of the payload, and the scripts and skills that were told
	homes       []string // of this user
	near        []string // the directories that the payload names, and their real paths
	projects    []string // real: those whose files a command may run
	configs     []string // the runtime's own directories, and their real paths
	transcripts []string
	session     string
	temps       []string // where temporary files lie
}

// claudeCode is the runtime whose settings and skills the daemon asks for.
const claudeCode = "claude-code"

// machineDirs are where an organisation's files of Claude Code lie.
func machineDirs() []string {
	return []string{"/etc/claude-code", "/Library/Application Support/ClaudeCode"}
}

// real returns the real path of a file that is told. The error is errRefused, or one of the file system. A link may
// lead to what would be told by its own name. One of the user's own in the runtime's directory may lead elsewhere in
// the home, to a file of the same fixed name: people keep such files with other settings. A project's link may not: a
// repository brings it.
func (r *rule) real(p files.Purpose, asked string) (string, error) {
	if !r.tellsName(p, asked) {
		return "", errRefused
	}
	real, err := filepath.EvalSymlinks(asked)
	if err != nil {
		return "", err
	}
	base := path.Base(asked)
	switch p {
	case files.Script:
		if r.inProject(real) || r.ownOnly(p, real) {
			return real, nil
		}
	case files.Settings, files.Skill:
		if r.tellsName(p, real) {
			return real, nil
		}
		fixed := slices.Contains(settingsNames(), base) || base == skillName
		if fixed && path.Base(real) == base && inAny(r.configs, asked) && inAny(r.homes, real) && !r.keys(real) {
			return real, nil
		}
	case files.Transcript:
		if path.Base(real) == base && !r.keys(real) {
			return real, nil
		}
	}
	return "", errRefused
}

// ownOnly reports whether the file is told only if it belongs to this user: others can write where temporary files lie.
func (r *rule) ownOnly(p files.Purpose, real string) bool {
	return p == files.Transcript || p == files.Script && !r.inProject(real) &&
		inAny(r.temps, real) && r.hidden(real) == ""
}

// tellsName reports whether a file of that name is told, wherever its links lead.
func (r *rule) tellsName(p files.Purpose, at string) bool {
	switch p {
	case files.Script:
		return r.runs(path.Base(at))
	case files.Settings:
		return r.runtime == claudeCode && r.settings(at)
	case files.Skill:
		return r.runtime == claudeCode && (r.skill(at) || managed(at))
	case files.Transcript:
		return r.transcript(at)
	}
	return false
}

// mayList reports whether the files that match a pattern may be looked for.
func (r *rule) mayList(p files.Purpose, pattern string) bool {
	fixed := "/"
	for _, e := range strings.Split(strings.TrimPrefix(pattern, "/"), "/") {
		name, whole := files.Unmarked(e)
		if name == "." || name == ".." || strings.Contains(name, "/") {
			return false
		}
		if !whole {
			break
		}
		fixed = path.Join(fixed, name)
	}
	switch p {
	case files.Skill:
		last := path.Base(pattern)
		named := last == skillName || strings.HasSuffix(last, ".md") || strings.HasSuffix(last, ".json")
		above, _, _ := strings.Cut(fixed+"/", "/.claude/") // the directory whose own files they are
		return r.runtime == claudeCode && named &&
			(inAny(r.configs, fixed) || inAny(machineDirs(), fixed) || r.nearby(path.Clean(above+"/")))
	case files.Transcript:
		return slices.ContainsFunc(r.transcripts, func(t string) bool { return inAny([]string{path.Dir(t)}, fixed) })
	}
	return false
}

func settingsNames() []string { return []string{"settings.json", "settings.local.json"} }

const skillName = "SKILL.md"

func (r *rule) settings(at string) bool {
	dir := path.Dir(at)
	return managed(at) || slices.Contains(settingsNames(), path.Base(at)) &&
		(slices.Contains(r.configs, dir) || path.Base(dir) == ".claude" && r.nearby(path.Dir(dir)))
}

// managed reports whether the file holds an organisation's settings.
func managed(at string) bool {
	for _, dir := range machineDirs() {
		rest, ok := strings.CutPrefix(at, dir+"/")
		if ok && (rest == "managed-settings.json" || path.Dir(rest) == "managed-settings.d" && path.Ext(rest) == ".json") {
			return true
		}
	}
	return false
}

// skill reports whether the file is a skill, command or subagent by its name and its folder.
func (r *rule) skill(at string) bool {
	for _, dir := range append(slices.Clone(r.configs), machineDirs()...) {
		if rest, ok := strings.CutPrefix(at, dir+"/"); ok && skillBelow(strings.TrimPrefix(rest, ".claude/")) {
			return true
		}
	}
	const own = "/.claude/"
	i := strings.LastIndex(at, own)
	return i >= 0 && r.nearby(path.Clean(at[:i]+"/")) && skillBelow(at[i+len(own):])
}

// skillBelow reports whether a path in a runtime's directory, or in a plugin there, is that of a skill, command or
// subagent.
func skillBelow(rest string) bool {
	names := strings.Split(rest, "/")
	at := 0
	if names[0] == "plugins" {
		at = slices.IndexFunc(names, func(n string) bool { return n == "skills" || n == "commands" || n == "agents" })
	}
	if at < 0 || at == len(names)-1 {
		return false
	}
	last := names[len(names)-1]
	switch names[at] {
	case "skills":
		return last == skillName
	case "commands", "agents":
		return path.Ext(last) == ".md"
	}
	return false
}

// transcript reports whether the file is one that the payload names, or of a subagent of that session.
func (r *rule) transcript(at string) bool {
	for _, t := range r.transcripts {
		dir, name := path.Split(at)
		switch dir = path.Clean(dir); {
		case at == t:
			return true
		case r.runtime == claudeCode && dir == strings.TrimSuffix(t, ".jsonl")+"/subagents" &&
			strings.HasPrefix(name, "agent-") && path.Ext(name) == ".jsonl":
			return true
		case r.runtime == "gemini-cli" && r.session != "" && dir == path.Dir(t)+"/"+r.session && path.Ext(name) == ".jsonl":
			return true
		}
	}
	return false
}

// nearby reports whether a directory is one that the payload names, lies below it or above it.
func (r *rule) nearby(dir string) bool {
	return slices.ContainsFunc(r.near, func(n string) bool { return inAny([]string{n}, dir) || inAny([]string{dir}, n) })
}

// inAny reports whether a path is one of the directories, or lies below it.
func inAny(dirs []string, at string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return at == d || strings.HasPrefix(at, strings.TrimSuffix(d, "/")+"/")
	})
}

// inProject reports whether a real path lies in a project. What begins with a dot in the home is the person's own
// set-up, and belongs to no project but one that lies there itself.
func (r *rule) inProject(real string) bool {
	hides := r.hidden(real) != ""
	return slices.ContainsFunc(r.projects, func(d string) bool {
		return real != d && inAny([]string{d}, real) && (!hides || r.hidden(d) != "")
	}) && !r.keys(real)
}

// hidden returns the part of a path below a home whose first name begins with a dot, or "".
func (r *rule) hidden(at string) string {
	for _, home := range r.homes {
		if rest, ok := strings.CutPrefix(at, strings.TrimSuffix(home, "/")+"/"); ok && strings.HasPrefix(rest, ".") {
			return rest
		}
	}
	return ""
}

// keys reports whether a path lies where people have keys and passwords. No project is there.
func (r *rule) keys(at string) bool {
	first, _, _ := strings.Cut(r.hidden(at), "/")
	return slices.Contains(
		[]string{".ssh", ".gnupg", ".aws", ".azure", ".docker", ".kube", ".password-store", ".pki"},
		first,
	)
}

// isProject reports whether the files of a real directory may be told; repository is the one around it, or "".
func (r *rule) isProject(dir, repository string) bool {
	switch {
	case inAny([]string{"/proc", "/sys", "/dev", "/run"}, dir):
		return false
	case slices.ContainsFunc(r.homes, func(home string) bool { return home != dir && inAny([]string{dir}, home) }):
		return false // it holds the whole home
	case r.hidden(dir) != "": // a copy of a repository that a runtime has made, such as ~/.cursor/worktrees/x
		return strings.Contains(r.hidden(repository), "/")
	}
	return dir != "/"
}

// runs reports whether a command of the call may run a file of that name: its name stands in the payload, or in a
// script or skill that was told. Some programs read files that a command need not name.
func (r *rule) runs(base string) bool {
	var by []string
	switch base {
	case "GNUmakefile", "makefile", "Makefile":
		by = []string{"make", "gmake"}
	case "justfile", "Justfile", ".justfile":
		by = []string{"just"}
	case "package.json":
		by = []string{"npm", "pnpm", "yarn", "bun"}
	case "__main__.py":
		by = []string{"-m"}
	}
	named := func(name string) bool { return says(r.text, name, ".-") }
	ext := path.Ext(base)
	return r.calls && (named(base) || slices.ContainsFunc(by, named) ||
		(ext == ".py" || ext == ".js") && says(r.text, strings.TrimSuffix(base, ext), "-"))
}

// ran notes a part of a script or skill that was told: it may run others.
func (r *rule) ran(part []byte) { r.text = append(r.text, part...) }
