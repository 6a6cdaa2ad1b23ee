package reconcile

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// maxLogs is how many logs of one runtime are listed.
const maxLogs = 10_000

// Logs returns the runtime's logs that were written since then, absolute and sorted. more reports that there
// are others. A directory that is not there has none.
func Logs(runtime, dir string, since time.Time) (logs []string, more bool) {
	kind, ok := runtimes()[runtime]
	if !ok || dir == "" {
		return nil, false
	}
	found, more := transcripts.Directory{Path: dir}.Find(kind.logs, "", maxLogs)
	for _, f := range found {
		path := filepath.Join(dir, filepath.FromSlash(f))
		if !written(path).Before(since) {
			logs = append(logs, path)
		}
	}
	slices.Sort(logs)
	return logs, more
}

// written is when a log was last written: the later time of a database and its journal. What is no file was
// never written.
func written(path string) (at time.Time) {
	for _, suffix := range []string{"", "-wal"} {
		fi, err := os.Stat(path + suffix)
		switch {
		case suffix == "" && (err != nil || !fi.Mode().IsRegular()):
			return time.Time{}
		case err == nil && fi.ModTime().After(at):
			at = fi.ModTime()
		}
	}
	return at
}

// RuntimeOf returns the runtime in whose directory the file lies, "" for none. dirs returns a runtime's
// directory, "" for none.
func RuntimeOf(path string, dirs func(runtime string) string) string {
	for _, name := range Runtimes() {
		dir := dirs(name)
		if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
			return name
		}
	}
	return ""
}
