package geminicli

import (
	"io"
	"path"
	"strings"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Logs is the form of the paths of all sessions' logs.
const Logs = "tmp/*/chats/session-*.jsonl"

// shortLen is how much of a session's id its file's name ends with.
const shortLen = 8

// Session returns the session whose log the file is: by what it begins with, and by its name. file is
// relative to the directory of Gemini CLI, with slashes. Errors are transcripts.ErrName, or of reading.
func Session(file string, r io.Reader) (string, error) {
	if !transcripts.Matches(Logs, file) {
		return "", transcripts.ErrName
	}
	first, err := transcripts.FirstLine(r)
	if err != nil {
		return "", err
	}
	var l line
	stem := strings.TrimSuffix(path.Base(file), ".jsonl")
	if transcripts.Decode(first, &l) != nil || len(l.Session) < shortLen || !transcripts.Plain(l.Session) ||
		!strings.HasSuffix(stem, "-"+l.Session[:shortLen]) {
		return "", transcripts.ErrName
	}
	return l.Session, nil
}

// Files returns the session's own file and those of its subagents; more reports that there are others.
func Files(dir transcripts.Directory, file, session string) (out []transcripts.File, more bool) {
	out = []transcripts.File{{Path: file}}
	at := path.Dir(file)
	if strings.ContainsAny(at, `*?[\`) || !transcripts.Plain(session) {
		return out, true
	}
	found, more := dir.Find(at+"/"+session+"/*.jsonl", "", transcripts.MaxFiles)
	for _, f := range found {
		out = append(out, transcripts.File{Path: f, Agent: strings.TrimSuffix(path.Base(f), ".jsonl")})
	}
	return out, more
}

// ReadFile is Read for one of Files.
func ReadFile(r io.Reader, session string, file transcripts.File,
	before transcripts.Mark) (log transcripts.Log, rewritten bool, err error) {
	return Read(r, session, file.Agent, before)
}
