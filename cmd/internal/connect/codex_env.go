package connect

import (
	"path/filepath"
	"slices"
	"strings"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
)

// Codex 0.169.0 starts a hook as `SHELL -c LINE`, with the shell of the person's account (bash, where that
// is none of bash, zsh and sh). It adds every variable of ~/.codex/.env to its own environment, but for
// those that begin with CODEX_. So a variable there that the shell obeys before it reads LINE ends every
// hook, at each level, and Codex goes on.

// startVariables are the variables that a shell, or what loads its program, obeys before the first command:
// files that it reads, options that it takes, and where it or its files are looked up.
func startVariables() []string {
	return []string{"BASH_ENV", "ENV", "ZDOTDIR", "HOME", "PATH", "SHELLOPTS", "BASHOPTS", "PS4", "GCONV_PATH",
		"GLIBC_TUNABLES"}
}

// startPrefixes begin the names of such variables: of the loader, and of functions that bash imports.
func startPrefixes() []string { return []string{"LD_", "DYLD_", "BASH_FUNC_"} }

// obeyedAtStart reports whether a shell that starts a hook may obey the variable.
func obeyedAtStart(name string) bool {
	return slices.Contains(startVariables(), name) ||
		slices.ContainsFunc(startPrefixes(), func(p string) bool { return strings.HasPrefix(name, p) })
}

// dotenvNames returns the variables that a .env file sets, each once, in their order. A line that may set one
// counts, also where it is part of a longer value.
func dotenvNames(src []byte) (names []string) {
	for line := range strings.Lines(strings.TrimPrefix(string(src), "\ufeff")) {
		name, _, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if rest, is := strings.CutPrefix(name, "export"); is && rest != strings.TrimLeft(rest, " \t") {
			name = strings.TrimSpace(rest)
		}
		if !ok || name == "" || strings.HasPrefix(name, "#") || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// codexStart says what in the environment that Codex gives to hooks can end the shell that starts them.
func codexStart(place Place, read Reader) []Finding {
	path := filepath.Join(place.Codex, ".env")
	src, err := readOld(read, path)
	if err != nil {
		return []Finding{{Fail, err.Error(),
			"Codex takes the environment of hooks from it, and belay cannot say what it sets."}}
	}
	bad := slices.DeleteFunc(dotenvNames(src), func(n string) bool { return !obeyedAtStart(n) })
	if len(bad) == 0 {
		return nil
	}
	return []Finding{{Fail, path + " sets " + some(bad) + ": the shell that Codex starts belay-hook with obeys it",
		"It can end every hook, at each level, and the command runs. Take it out, and look who put it there."}}
}

// Danger says what can keep belay-hook from being started, or put another program in its place, once the
// runtime is connected at the level. It writes nothing.
func Danger(name string, level Level, place Place, hook Hook, read Reader) []Finding {
	if place.Root != "" {
		return nil // another file system's, which no account of this one uses
	}
	var found []Finding
	if name == codex.Runtime {
		found = codexStart(place, read)
	}
	if name == claudecode.Runtime {
		found = preloadable(hook.Program)
	}
	settings := ""
	if files := place.files(name, level); len(files) > 0 {
		settings = files[len(files)-1].path
	}
	return append(found, replaceable(hook.Program, level, settings)...)
}
