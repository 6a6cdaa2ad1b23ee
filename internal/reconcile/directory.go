package reconcile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Runtimes returns the names of the runtimes whose logs can be read, sorted.
func Runtimes() []string {
	var out []string
	for name := range runtimes() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// DirectoryOf returns the runtime's own directory by the path of a log in it. "" where no log of the runtime is named
// so.
func DirectoryOf(runtime, log string) string {
	kind, ok := runtimes()[runtime]
	if !ok || kind.rows != nil || !filepath.IsAbs(log) {
		return ""
	}
	dir := filepath.Clean(log)
	for range strings.Count(kind.logs, "/") + 1 {
		dir = filepath.Dir(dir)
	}
	rel, err := filepath.Rel(dir, log)
	if err != nil || !transcripts.Matches(kind.logs, rel) {
		return ""
	}
	return dir
}

// Directory returns the runtime's own directory, of which its logs are read, by the environment and the
// home of the person. "" where it is not known.
func Directory(runtime, home string, getenv func(string) string) string {
	below := func(variable string, name ...string) string {
		if dir := getenv(variable); variable != "" && filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		if !filepath.IsAbs(home) {
			return ""
		}
		return filepath.Join(append([]string{home}, name...)...)
	}
	switch runtime {
	case "claude-code":
		return below("CLAUDE_CONFIG_DIR", ".claude")
	case "codex":
		return below("CODEX_HOME", ".codex")
	case "gemini-cli":
		if dir := getenv("GEMINI_CLI_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, ".gemini")
		}
		return below("", ".gemini")
	case "opencode":
		if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "opencode")
		}
		return below("", ".local", "share", "opencode")
	case "openclaw":
		return below("OPENCLAW_STATE_DIR", ".openclaw")
	}
	return ""
}
