package retention

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/statedir"
)

// file is a recording that is being written.
type file struct {
	w     *recording.Writer
	begun time.Time
	dir   string
	path  string // ends in .part
	f     *os.File
	seal  io.WriteCloser // nil: plain
	sink  *counted
}

// counted counts the bytes that reach the file, and remembers its first error.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

func (f *file) err() error  { return f.sink.err }
func (f *file) size() int64 { return f.sink.n }

// begin evicts for the quota and begins a file. doubt: writing has failed before, so that it is
// tried first.
func (rec *Recorder) begin(now time.Time, doubt bool) (*file, error) {
	if err := checkDir(rec.policy.Dir, true); err != nil {
		return nil, err
	}
	if doubt {
		if err := probe(rec.policy.Dir); err != nil {
			return nil, err
		}
	}
	if err := rec.claim(); err != nil {
		return nil, err
	}
	if err := rec.prune(rec.calm(now)); err != nil {
		return nil, err
	}
	f := &file{begun: now, dir: rec.policy.Dir}
	if err := f.create(rec.to); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *file) create(to recording.Recipients) error {
	var id [8]byte
	rand.Read(id[:]) // never fails: the runtime ends the process instead
	ext := ".rec"
	if to != nil {
		ext += ".age"
	}
	f.path = filepath.Join(f.dir, prefix+f.begun.UTC().Format(stamp)+"-"+hex.EncodeToString(id[:])+ext+partExt)
	var err error
	if f.f, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err = f.own(); err == nil {
		err = f.head(to)
	}
	if err != nil {
		_ = f.f.Close()
		_ = os.Remove(f.path)
	}
	return err
}

// own locks the file, so that others see that it is being written.
func (f *file) own() error {
	if ok, err := lock(f.f); err != nil || !ok {
		return errors.Join(err, errors.New("another process has the file"))
	}
	mine, err := f.f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(f.path); err != nil || !os.SameFile(mine, there) {
		return errors.New("the file was taken away") // for a leftover, before it was locked
	}
	return nil
}

func (f *file) head(to recording.Recipients) (err error) {
	f.sink = &counted{w: f.f}
	var dst io.Writer = f.sink
	if to != nil {
		if f.seal, err = recording.Seal(f.sink, to); err != nil {
			return err
		}
		dst = f.seal
	}
	f.w, err = recording.NewWriter(dst, recording.Header{Source: recording.SourceKept, CostTable: loader.CostTable})
	return err
}

// finish completes the file and gives it the name that says so. It removes a file without
// invocations.
func (f *file) finish() error {
	if f.w.Runs() == 0 && f.w.Losses() == 0 {
		return errors.Join(os.Remove(f.path), f.f.Close())
	}
	if err := f.w.Close(); err != nil {
		return err
	}
	if f.seal != nil {
		if err := f.seal.Close(); err != nil {
			return err
		}
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	old := filepath.Base(f.path)
	ext := strings.TrimSuffix(old[strings.Index(old, ".rec"):], partExt)
	name := prefix + f.begun.UTC().Format(stamp) + "-" + strings.TrimPrefix(f.w.Digest(), "sha256:")[:16] + ext
	if err := os.Rename(f.path, filepath.Join(f.dir, name)); err != nil {
		return err
	}
	return errors.Join(statedir.SyncDir(f.dir), f.f.Close())
}

// cut gives the file the name of one that has no end; "" when there is nothing in it.
func (f *file) cut() (string, error) {
	defer f.f.Close() // unlocks, too
	return cutOffFile(f.path, f.size())
}

// cutOffFile renames a file that was being written.
func cutOffFile(path string, size int64) (string, error) {
	if size == 0 {
		return "", os.Remove(path)
	}
	name := strings.TrimSuffix(path, partExt) + cutExt
	return filepath.Base(name), os.Rename(path, name)
}

// checkDir says why a directory is not fit for originals; with create it makes one
// that is missing.
func checkDir(dir string, create bool) error {
	fi, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		fi, err = os.Stat(dir)
	}
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: others can open %s (%v): chmod 700 it", fs.ErrPermission, dir, fi.Mode().Perm())
	}
	return nil
}

// probeBytes is more than one piece of an encrypted file: bytes that fit into a directory
// entry or a buffer prove nothing.
const probeBytes = 128 << 10

// probe finds out whether the directory can be written, by writing. One that is not
// there yet is made.
func probe(dir string) error {
	if err := checkDir(dir, true); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".probe-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
