package claudecode

import (
	"io"
	"path"
	"strings"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Session returns the session whose log the file is, by its name. file is relative to the directory of Claude
// Code, with slashes. The error is transcripts.ErrName.
func Session(file string, _ io.Reader) (string, error) {
	if !transcripts.Matches(Logs, file) {
		return "", transcripts.ErrName
	}
	return strings.TrimSuffix(path.Base(file), ".jsonl"), nil
}

// Files returns the session's own file and those of its subagents; more reports that there are others.
func Files(dir transcripts.Directory, file, _ string) (out []transcripts.File, more bool) {
	out = []transcripts.File{{Path: file}}
	beside := strings.TrimSuffix(file, ".jsonl")
	if strings.ContainsAny(beside, `*?[\`) {
		return out, true
	}
	found, more := dir.Find(beside+"/subagents/agent-*.jsonl", "", transcripts.MaxFiles)
	for _, f := range found {
		out = append(out, transcripts.File{Path: f,
			Agent: strings.TrimPrefix(strings.TrimSuffix(path.Base(f), ".jsonl"), "agent-")})
	}
	return out, more
}

// Logs is the form of the paths of all sessions' logs.
const Logs = "projects/*/*.jsonl"

// ReadFile is Read for one of Files.
func ReadFile(r io.Reader, session string, file transcripts.File,
	before transcripts.Mark) (log transcripts.Log, rewritten bool, err error) {
	return Read(r, session, file.Agent, before)
}
