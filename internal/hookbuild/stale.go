package hookbuild

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrStale means that a module is older than its source; ErrRecord that the record of a build cannot be read.
var (
	ErrStale  = errors.New("stale module")
	ErrRecord = errors.New("build record")
)

// How a file differs from the record of a build.
const (
	Changed = "changed"
	Added   = "added"
	Removed = "removed"
)

// Change is a source file that is not as it was when the module was built.
type Change struct {
	Path string `json:"path"` // from the hook's folder, with slashes
	How  string `json:"how"`  // Changed, Added or Removed
}

// String names the file and says how it differs.
func (c Change) String() string {
	return c.Path + map[string]string{Changed: " has changed", Added: " is new", Removed: " is gone"}[c.How]
}

func order(how string) int { return slices.Index([]string{Changed, Added, Removed}, how) }

// StaleError says that a module is older than its source.
type StaleError struct {
	Module  string // its file
	Dir     string // the hook's folder
	Rules   string // the rules file that it was built from; "" for a hook's folder
	Changes []Change
	Options Options // that build it as it was built

	record string // digest of the record that says so
}

// Error names the module and the first files that differ.
func (e *StaleError) Error() string {
	return e.Module + " is older than its source: " + Differences(e.Changes)
}

// Is reports the class.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Differences names the first files that differ, and counts the others.
func Differences(changes []Change) string {
	const shown = 3
	var texts []string
	for _, c := range changes[:min(len(changes), shown)] {
		texts = append(texts, c.String())
	}
	if more := len(changes) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// Command is the command that builds the module anew.
func (e *StaleError) Command() string {
	if e.Rules != "" {
		return "belay rules build " + quoted(e.Rules)
	}
	command := "belay hook build"
	if e.Dir != "." {
		command += " " + quoted(e.Dir)
	}
	if e.Options.StandardGo {
		command += " --standard-go"
	}
	if e.Options.Target != "" {
		command += " --target " + e.Options.Target
	}
	return command
}

// quoted is a path as one word of a shell.
func quoted(p string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	if p != "" && strings.IndexFunc(p, func(r rune) bool { return !plain(r) }) < 0 {
		return p
	}
	return "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
}
