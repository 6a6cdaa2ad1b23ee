package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/statedir"
)

// NamedFiles returns the files and directories that the configuration names, absolute and cleaned, each once,
// wherever they lie: files of options, rules files and modules, those that redaction reads, those that events,
// checkpoints and recordings are written to, and the programs of MCP servers. Who changes one of them changes what
// belay does. dir is the state directory, absolute: relative names start from it.
func (f *File) NamedFiles(dir string) []string {
	var list []string
	add := func(name string) {
		if name != "" {
			list = append(list, filepath.Clean(statedir.Inside(dir, name)))
		}
	}
	for _, b := range f.Hooks { // those that are disabled, too: they may be enabled again
		add(b.ConfigFile)
		add(moduleFile(b.Module))
	}
	for _, s := range f.Redact.Secrets {
		if name, ok := strings.CutPrefix(s, "file:"); ok {
			add(name)
		}
	}
	add(f.Redact.Gitleaks)
	for _, s := range f.Events.Sinks {
		if s.JSONL != nil {
			add(s.JSONL.Path)
		}
	}
	for _, c := range f.Events.CheckpointFiles() {
		add(c.Path)
	}
	add(f.Events.HighWater)
	if f.Recordings != nil {
		add(f.Recordings.Dir)
	}
	for _, s := range f.MCP.Servers {
		for _, name := range s.programs() {
			add(name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// moduleFile returns the file that a binding's module is or is made of; "" where it is none of the operator's.
func moduleFile(module string) string {
	switch scheme, rest, _ := strings.Cut(module, ":"); scheme {
	case "builtin", "sha256":
		return ""
	case "rules":
		file, _, _ := strings.Cut(rest, "#")
		return file
	}
	return module
}

// programs returns the program of a server, and the script that an interpreter is told to run. Further arguments may
// be what the server works on, which is not belay's.
func (s *MCPServer) programs() []string {
	if len(s.Command) == 0 {
		return nil
	}
	out := s.Command[:1:1]
	for _, arg := range s.Command[1:] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if filepath.IsAbs(arg) && filepath.Ext(arg) != "" {
			out = append(out, arg)
		}
		break
	}
	return out
}
