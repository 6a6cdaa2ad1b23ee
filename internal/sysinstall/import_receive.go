//go:build linux

package sysinstall

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/highwater"
)

// MarksDir is the directory of high-water marks in the state directory of system mode: beside the users'
// directories, so that what takes one of those back leaves its mark.
const MarksDir = "marks"

// stagePrefix begins the name of a directory that is not proven yet.
const stagePrefix = ".import-"

// ErrExists: the user has a state directory in system mode already.
var ErrExists = errors.New("is there already")

// Receive makes the state directory of a user out of an archive of Send. It runs as belay's own user, and
// writes as that user alone. verify proves the log in the directory, with the operator's file of checkpoints if
// there is one; it finds the high-water mark by what stands in keys/. After an error nothing is left. The error is
// ErrExists where the user has a directory.
func Receive(r io.Reader, state string, uid int, verify func(dir, checkpoints string) error) error {
	users := filepath.Join(state, "users")
	if err := os.Mkdir(users, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	real, err := filepath.EvalSymlinks(users)
	if err != nil {
		return err
	}
	final := filepath.Join(real, strconv.Itoa(uid))
	exists := &Error{Path: final, Reason: "is there already: the user has asked belay in system mode", Class: ErrExists,
		Advice: "Look at it (belay --state " + final + " events query); move it away if its log need not go on."}
	if _, err := os.Lstat(final); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, exists)
	}
	left, err := filepath.Glob(filepath.Join(real, stagePrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left { // of an import that was killed; the caller lets one run at a time
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	stage := filepath.Join(real, stagePrefix+rand.Text())
	if err := os.MkdirAll(filepath.Join(stage, "keys"), 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(stage) // after the rename it is not there; after a failure there is nothing more to say
	in, err := unpack(r, stage)
	if err != nil {
		return err
	}
	marks := filepath.Join(filepath.Dir(real), MarksDir)
	// A mark holds what was used up, and lies under the name of the directory that it is about.
	mark := func(of string) error {
		if in.mark == nil {
			return nil
		}
		guard := highwater.New(highwater.Options{Dir: marks, Name: highwater.NameAt(of),
			Record: filepath.Join(stage, "keys", highwater.RecordName)})
		return errors.Join(guard.Reset(in.mark), guard.Close())
	}
	if err := mark(stage); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(marks, highwater.NameAt(stage))) // of the staged directory alone
	if err := verify(stage, in.checkpoints); err != nil {
		return err
	}
	if in.checkpoints != "" {
		if err := os.Remove(in.checkpoints); err != nil {
			return err
		}
	}
	if err := mark(final); err != nil {
		return err
	}
	err = unix.Renameat2(unix.AT_FDCWD, stage, unix.AT_FDCWD, final, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) {
		return exists
	}
	return err
}

// received is what was taken in.
type received struct {
	checkpoints string           // file of the operator's checkpoints; "" when there is none
	mark        *highwater.State // nil when there is none
}

// maxArchive bounds what is taken in, in bytes.
const maxArchive = 1 << 40

// unpack writes the files of an archive into a new directory. Names that Send does not send are refused.
func unpack(r io.Reader, stage string) (received, error) {
	var in received
	archive := tar.NewReader(io.LimitReader(r, maxArchive))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return in, io.ErrUnexpectedEOF
		}
		if err != nil {
			return in, err
		}
		if h.Name == endEntry {
			break
		}
		switch {
		case h.Typeflag != tar.TypeReg:
			return in, fmt.Errorf("%q is no file", h.Name)
		case h.Name == markEntry:
			b, err := io.ReadAll(io.LimitReader(archive, highwater.MaxBytes+1))
			if err != nil {
				return in, err
			}
			if in.mark, err = highwater.Decode(b); err != nil {
				return in, err
			}
			continue
		case h.Name == checkpointsEntry:
			in.checkpoints = filepath.Join(stage, checkpointsEntry)
		case !slices.Contains(imported(), h.Name):
			return in, fmt.Errorf("%q is no file of a state directory", h.Name)
		}
		f, err := os.OpenFile(filepath.Join(stage, filepath.FromSlash(h.Name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return in, err
		}
		_, err = io.Copy(f, archive)
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return in, err
		}
	}
	if _, err := os.Lstat(filepath.Join(stage, "belay.db")); err != nil {
		return in, &Error{Reason: "the state directory holds no log", Class: ErrSystem, Cause: err}
	}
	return in, nil
}
