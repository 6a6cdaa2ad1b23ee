package notes

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// SpoolName is the file's name in a state directory.
const SpoolName = "spool.jsonl"

// MaxSpool is the size beyond which nothing is added to the file.
const MaxSpool = 256 << 10

// maxFile is the most that is read of a file, in bytes. Notes of before the bound, and the
// last one that passes it, are well below.
const maxFile = 16 << 20

// ErrFull: the file takes no more notes.
var ErrFull = errors.New("spool full")

// Note is one action that was blocked without a record. It holds names and fixed
// texts, nothing of the action itself.
type Note struct {
	Time        time.Time    `json:"time"`
	Invocation  string       `json:"invocation"`
	Phase       phases.Phase `json:"phase,omitzero"`
	Runtime     string       `json:"runtime,omitzero"`
	Session     string       `json:"session,omitzero"`
	Kind        phases.Kind  `json:"kind"`
	Reason      string       `json:"reason"`
	Unblockable bool         `json:"unblockable,omitzero"` // what the answer did not hold, a latch has to

	Cause  phases.LatchKind `json:"cause,omitzero"`  // of that latch; "" in notes of older versions
	Ends   phases.LatchEnd  `json:"ends,omitzero"`   // what ends it, where that is known
	Phases []phases.Phase   `json:"phases,omitzero"` // of the event, where what ends it is not known

	// Whole: the latch holds every event of the runtime, since there was no space to note
	// which sessions it has to hold.
	Whole bool `json:"whole,omitzero"`
}

// Hold returns the note that takes the place of n where there is no space for n. It is
// false for a note that latches nothing, or whose latch ends with its cause, and where one
// of those that are kept holds the runtime already: then it is enough to count n.
func Hold(n Note, kept []Note) (Note, bool) {
	if !n.Unblockable || n.Ends == phases.EndsWithCause ||
		slices.ContainsFunc(kept, func(k Note) bool { return k.Whole && k.Runtime == n.Runtime }) {
		return Note{}, false
	}
	return Note{Time: n.Time, Invocation: n.Invocation, Runtime: n.Runtime, Kind: n.Kind, Cause: n.Cause,
		Reason: "there was no space to note which sessions have to be held", Unblockable: true, Whole: true}, true
}

// Of returns the note of a refusal, with the names cut to what a record may hold.
// Of the fault it keeps kind and text; a nil one is of kind protocol, and so is
// one that would pass for a hook's decision.
func Of(inv phases.Invocation, f *phases.Fault, unblockable bool, now time.Time) Note {
	n := Note{
		Time: now.UTC(), Invocation: phases.SafeLine(inv.ID, 36), Phase: inv.Phase,
		Runtime: phases.SafeLine(inv.Runtime, phases.MaxRuntimeBytes),
		Session: phases.SafeLine(inv.Session, phases.MaxIDBytes), Kind: phases.KindProtocol,
		Reason: "the action could not be decided", Unblockable: unblockable,
	}
	if f != nil {
		n.Reason = phases.SafeText(f.Text, phases.MaxReasonBytes)
		if f.Kind != "" && f.Kind != phases.KindPolicy {
			n.Kind = f.Kind
		}
	}
	return n
}

// Append adds one line to the file at path, which it makes if need be. A line that
// was cut short before it does not take it along. Processes may share the file: a line
// goes to the file of that name, never to one that was taken away to be reported. Where
// the file takes no more, such as on a full disk, the note goes to the reserve, or is counted
// there. The error is ErrFull, statedir.ErrBusy, or one of the file system's: it is lost.
func Append(path string, n Note) error {
	line, err := json.Marshal(&n)
	if err != nil {
		return err
	}
	if err = appendLine(path, line); err == nil {
		return nil
	}
	if appendReserve(path, &n, append(line, '\n')) == nil {
		return nil
	}
	return err
}

func appendLine(path string, line []byte) error {
	f, err := statedir.OpenLocked(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() > MaxSpool {
		err = ErrFull
	}
	if err == nil && fi.Size() > 0 {
		last := []byte{'\n'}
		if _, err = f.ReadAt(last, fi.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if err == nil {
		if _, err = f.Write(append(slices.Clip(line), '\n')); err != nil {
			err = errors.Join(err, f.Truncate(fi.Size())) // a part of a line would count as another note
		}
	}
	return errors.Join(err, f.Close())
}

// Taken returns the files of path that Take gave another name, and that are still there.
func Taken(path string) []string {
	files, _ := filepath.Glob(path + ".*") // the error is of a pattern
	return slices.DeleteFunc(files, func(name string) bool { return name == reserveOf(path) })
}

// Take gives the file at path another name, so that no process adds to it any more;
// fs.ErrNotExist when there is none.
func Take(path, name string) error {
	f, err := statedir.OpenLocked(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(path, name), f.Close())
}

// Read reads what can be read; a line cut short by a crash or a full disk counts
// as dropped, and so does a file that cannot be read.
func Read(path string) (notes []Note, dropped int) {
	b, err := files.Read(path, maxFile)
	if err != nil {
		return nil, 1
	}
	for line := range bytes.Lines(b) {
		var n Note
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case json.Unmarshal(line, &n) != nil:
			dropped++
		default:
			notes = append(notes, n)
		}
	}
	return notes, dropped
}
