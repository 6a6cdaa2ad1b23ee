//go:build linux

package sysinstall

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/highwater"
)

// Names in an archive that are not files of the state directory.
const (
	markEntry        = "mark"        // the high-water mark, which lies outside
	checkpointsEntry = "checkpoints" // of the operator
	endEntry         = "end"         // the last one: an archive that was cut off has none
)

// imported returns the files that are taken from a state directory: the log, what follows from it, and the keys
// of its digests. Tokens, the key of the terminal and compiled code are made anew: the user's programs could
// read them. belay.yaml and trust.yaml follow from those of /etc/belay.
func imported() []string {
	return []string{"belay.db", "belay.db-wal", "spool.jsonl", "spool.reserve", "clock.json",
		"keys/approval-item.key", "keys/approval-key.key", "keys/checkpoint.key", "keys/event-input.key",
		"keys/event-output.key", "keys/lease.key", "keys/redact.key"}
}

// maxSmall bounds every file but the database, in bytes.
const maxSmall = 64 << 20

// Source is a user's state directory, open and locked against its daemon. Only files of the user in it are
// read, and no link is followed: the user's programs may change it meanwhile.
type Source struct {
	dir   *os.File
	path  string // real
	uid   int
	extra []byte // checkpoints of the operator
}

// OpenSource opens the state directory of that user. Errors are ErrUnsafe, ErrBusy while a daemon serves it, or
// of the file system.
func OpenSource(dir string, uid int, checkpoints []byte) (*Source, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(real, openDir, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	s := &Source{dir: os.NewFile(uintptr(fd), dir), path: real, uid: uid, extra: checkpoints}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case int(st.Uid) != uid:
		err = unsafe(dir, fmt.Sprintf("belongs to uid %d, and not to uid %d", st.Uid, uid),
			"Is it the directory of another user?")
	case st.Mode&writable != 0:
		err = unsafe(dir, "can be written by others", "Look at who changed it, then: chmod go-w "+dir)
	default:
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) // as the daemon does
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = &Error{Path: dir, Reason: "is served by a daemon", Advice: "Stop it first: belay status shows it.",
				Class: ErrBusy}
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.dir.Close())
	}
	return s, nil
}

// Close lets go of the directory.
func (s *Source) Close() error { return s.dir.Close() }

// Size returns the bytes of the database.
func (s *Source) Size() (int64, error) {
	f, err := s.open("belay.db")
	if err != nil {
		return 0, err
	}
	defer f.Close() // only looked at
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// Send writes the files as an archive for Receive. The error is ErrBusy when one of them changed meanwhile.
func (s *Source) Send(w io.Writer) error {
	archive := tar.NewWriter(w)
	before := map[string]unix.Stat_t{}
	for _, name := range imported() {
		err := s.send(archive, name, before)
		if errors.Is(err, fs.ErrNotExist) && name != "belay.db" {
			continue
		}
		if err != nil {
			return err
		}
	}
	for name, was := range before { // the database is of two files: both as they were at one moment
		now, err := s.stat(name)
		if err != nil || now.Ino != was.Ino || now.Size != was.Size || now.Mtim != was.Mtim || now.Ctim != was.Ctim {
			return &Error{Path: filepath.Join(s.path, name), Reason: "changed while it was read", Class: ErrBusy, Cause: err,
				Advice: "Stop the user's agents, and import again."}
		}
	}
	if now, err := s.stat("belay.db-wal"); err == nil {
		if _, ok := before["belay.db-wal"]; !ok && now.Size > 0 {
			return &Error{Path: s.path, Reason: "changed while it was read", Class: ErrBusy,
				Advice: "Stop the user's agents, and import again."}
		}
	}
	mark, err := s.mark()
	if err != nil {
		return err
	}
	for _, e := range []struct {
		name    string
		content []byte
	}{{markEntry, mark}, {checkpointsEntry, s.extra}, {endEntry, []byte{}}} {
		if e.content == nil {
			continue
		}
		if err := entry(archive, e.name, int64(len(e.content)), bytes.NewReader(e.content)); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (s *Source) send(archive *tar.Writer, name string, before map[string]unix.Stat_t) error {
	f, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if !strings.HasPrefix(name, "belay.db") && st.Size > maxSmall {
		return unsafe(filepath.Join(s.path, name), fmt.Sprintf("is larger than %d bytes", maxSmall), "")
	}
	before[name] = st
	return entry(archive, name, st.Size, io.LimitReader(f, st.Size))
}

func entry(archive *tar.Writer, name string, size int64, content io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

// in calls do with the directory of a name of imported.
func (s *Source) in(name string, do func(dir int, base string) error) error {
	parent, base, nested := strings.Cut(name, "/")
	if !nested {
		return do(int(s.dir.Fd()), name)
	}
	fd, err := unix.Openat(int(s.dir.Fd()), parent, openDir, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Join(s.path, parent), Err: err}
	}
	return errors.Join(do(fd, base), unix.Close(fd))
}

func (s *Source) stat(name string) (st unix.Stat_t, err error) {
	err = s.in(name, func(dir int, base string) error {
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

func (s *Source) open(name string) (f *os.File, err error) {
	path := filepath.Join(s.path, name)
	err = s.in(name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
		f = os.NewFile(uintptr(fd), path)
		return s.theirs(f)
	})
	if err != nil && f != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

// theirs refuses what is no regular file of the user: root must not read other files for them.
func (s *Source) theirs(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != s.uid {
		return unsafe(f.Name(), fmt.Sprintf("is no file of uid %d", s.uid), "Look at it, and move it away.")
	}
	return nil
}

// mark returns the high-water mark of the database; nil when keys/ knows of none.
func (s *Source) mark() ([]byte, error) {
	f, err := s.open("keys/" + highwater.RecordName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	src, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	adopted, err := highwater.DecodeAdoption(src)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(adopted.Dir, highwater.NameAt(s.path))
	// The user names the path: opening what lies there could make a device act.
	fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &Error{Path: name, Reason: "cannot be read: the high-water mark of the log: " + err.Error(),
			Class: ErrUnsafe,
			Cause: err, Advice: "If the directory was moved or copied, the user has to agree first: belay recover"}
	}
	held := os.NewFile(uintptr(fd), name)
	defer held.Close() // only looked at
	if err := s.theirs(held); err != nil {
		return nil, err
	}
	return files.Read(fmt.Sprintf("/proc/self/fd/%d", fd), highwater.MaxBytes)
}
