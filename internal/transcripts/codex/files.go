package codex

import (
	"io"
	"path"
	"strings"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Logs is the form of the paths of all sessions' logs.
const Logs = "sessions/*/*/*/rollout-*.jsonl"

// threadLen is the length of the id at the end of a rollout's name.
const threadLen = 36

// thread returns the id at the end of a rollout's name.
func thread(file string) (string, bool) {
	stem := strings.TrimSuffix(path.Base(file), ".jsonl")
	if len(stem) < threadLen || !transcripts.Plain(stem[len(stem)-threadLen:]) {
		return "", false
	}
	return stem[len(stem)-threadLen:], true
}

// Session returns the session whose log the file is: by its name, and by what it begins with. file is
// relative to the directory of Codex, with slashes. Errors are transcripts.ErrName, or of reading.
func Session(file string, r io.Reader) (string, error) {
	id, ok := thread(file)
	if !ok || !transcripts.Matches(Logs, file) {
		return "", transcripts.ErrName
	}
	first, err := transcripts.FirstLine(r)
	if err != nil {
		return "", err
	}
	var l line
	in := reader{log: &transcripts.Log{}, id: id}
	if transcripts.Decode(first, &l) != nil || in.first(&l) != "" {
		return "", transcripts.ErrName
	}
	return in.log.Session, nil
}

// maxLater is how many rollouts, of those that began after the session, are looked at for its subagents.
const maxLater = 1024

// Files returns the session's own file and those of its subagents; more reports that there may be others. A
// rollout of a subagent stands beside those of all sessions, and says in its first line whose it is.
func Files(dir transcripts.Directory, file, session string) (out []transcripts.File, more bool) {
	if id, _ := thread(file); id != session { // a subagent's: the session's own is another
		if dir.Named() {
			return []transcripts.File{{Path: file, Agent: id}}, true
		}
		own, _ := dir.Find("sessions/*/*/*/rollout-*-"+session+".jsonl", "", 1)
		if len(own) == 0 || !transcripts.Plain(session) {
			return []transcripts.File{{Path: file, Agent: id}}, true
		}
		file = own[0]
	}
	out = []transcripts.File{{Path: file}}
	if dir.Named() {
		return out, false // verdicts about subagents have no log then, which the comparison says
	}
	found, more := dir.Find(Logs, file, maxLater)
	for _, f := range found {
		r, err := dir.Open(f)
		if err != nil {
			continue // it is no log that could be read
		}
		owner, err := Session(f, r)
		_ = r.Close() // only read
		if id, ok := thread(f); err == nil && ok && owner == session && id != session {
			out = append(out, transcripts.File{Path: f, Agent: id})
		}
	}
	return out, more || len(out) > transcripts.MaxFiles
}

// ReadFile is Read for one of Files. What a file says to be of another session is unknown.
func ReadFile(r io.Reader, session string, file transcripts.File,
	before transcripts.Mark) (log transcripts.Log, rewritten bool, err error) {
	id, _ := thread(file.Path)
	log, rewritten, err = Read(r, id, before)
	if log.Session != session {
		log = transcripts.Log{Session: session, Agent: file.Agent, Mark: log.Mark}
		log.Note(transcripts.Foreign)
	}
	return log, rewritten, err
}
