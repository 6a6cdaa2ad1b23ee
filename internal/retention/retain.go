package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/files"
)

// Names of files.
const (
	prefix  = "kept-"
	stamp   = "20060102T150405.000Z"
	partExt = ".part"
	cutExt  = ".cut"
)

// state is the state of a file by its name.
type state int

const (
	whole state = iota
	writing
	cutOff
)

// entry is a file that a Recorder has made.
type entry struct {
	name  string
	begun time.Time
	state state
	size  int64
}

// look lists the files of Recorders in a directory, oldest first; none when there is no
// directory.
func look(dir string) ([]entry, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, d := range found { // sorted by name, which begins with the time
		e, ok := named(d.Name())
		if !ok || !d.Type().IsRegular() {
			continue
		}
		fi, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has renamed or removed it
		}
		if err != nil {
			return nil, err
		}
		e.size = fi.Size()
		out = append(out, e)
	}
	return out, nil
}

// named reads a name; false for a file that no Recorder has made.
func named(name string) (entry, bool) {
	e := entry{name: name}
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || len(rest) < len(stamp) {
		return e, false
	}
	var err error
	if e.begun, err = time.Parse(stamp, rest[:len(stamp)]); err != nil {
		return e, false
	}
	rest, part := strings.CutSuffix(rest, partExt)
	rest, cut := strings.CutSuffix(rest, cutExt)
	switch {
	case part:
		e.state = writing
	case cut:
		e.state = cutOff
	}
	return e, strings.HasSuffix(rest, ".rec") || strings.HasSuffix(rest, ".rec.age")
}

// claim recognises files whose process ended while it wrote them: they are not locked.
func (rec *Recorder) claim() error {
	if !canLock {
		return nil
	}
	list, err := look(rec.policy.Dir)
	if err != nil {
		return err
	}
	var cut []string
	for _, e := range list {
		if e.state != writing {
			continue
		}
		name, err := claimOne(filepath.Join(rec.policy.Dir, e.name))
		if err != nil {
			return err
		}
		if name != "" {
			cut = append(cut, name)
		}
	}
	if len(cut) > 0 {
		rec.notice("a process ended while it wrote %s; what had been written until then can be read (belay record --from kept)",
			strings.Join(cut, ", "))
	}
	return nil
}

func claimOne(path string) (string, error) {
	f, err := files.OpenFlags(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if ok, err := lock(f); err != nil || !ok {
		return "", err
	}
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	name, err := cutOffFile(path, fi.Size())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // its process has just finished it, or another one has claimed it
	}
	return name, err
}

// calm is the time by which recordings are old.
func (rec *Recorder) calm(now time.Time) time.Time {
	if rec.policy.Calm != nil {
		return rec.policy.Calm()
	}
	return now
}

// prune removes files that are too old, and the oldest of the rest until a file of full
// size fits beside them. A notice reports the removed files.
func (rec *Recorder) prune(now time.Time) error {
	list, err := look(rec.policy.Dir)
	if err != nil {
		return err
	}
	var total int64
	for _, e := range list {
		total += e.size
	}
	oldest := now.Add(-rec.policy.Keep)
	room := rec.policy.MaxBytes - rec.policy.RotateBytes
	low := room
	if total > room {
		low = room - room/10 // not again with the next file
	}
	var old, large int
	var bytes int64
	var last time.Time
	for _, e := range list {
		tooOld := e.begun.Before(oldest)
		if e.state == writing || !tooOld && total <= low {
			continue
		}
		if err := os.Remove(filepath.Join(rec.policy.Dir, e.name)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				total -= e.size
				continue // another process was faster, and says so
			}
			return err
		}
		total -= e.size
		bytes += e.size
		last = e.begun
		if tooOld {
			old++
		} else {
			large++
		}
	}
	if old+large > 0 {
		rec.notice("%d recordings (%d bytes) were removed from %s: %s; the newest of them began at %s",
			old+large, bytes, rec.policy.Dir, why(old, large, rec.policy.Keep, rec.policy.MaxBytes),
			last.UTC().Format(time.RFC3339))
	}
	return nil
}

func why(old, large int, keep time.Duration, most int64) string {
	var out []string
	if old > 0 {
		out = append(out, fmt.Sprintf("%d older than %v", old, keep))
	}
	if large > 0 {
		out = append(out, fmt.Sprintf("%d to stay below %d MiB", large, most>>20))
	}
	return strings.Join(out, ", ")
}

// Files lists the readable files of a directory: recordings, those that were cut off, and
// those that are being written. A Recorder's come first, the oldest at the front.
func Files(dir string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"*.rec", "*.rec.age"} {
		for _, ext := range []string{"", cutExt, partExt} {
			found, err := filepath.Glob(filepath.Join(escape(dir), pattern+ext))
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	slices.Sort(out)
	return out, nil
}

// escape keeps a directory's name from being taken for a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Unfinished reports whether a file of this name is meant to have no end.
func Unfinished(path string) bool {
	return strings.HasSuffix(path, cutExt) || strings.HasSuffix(path, partExt)
}
