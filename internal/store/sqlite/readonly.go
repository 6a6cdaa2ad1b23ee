package sqlite

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/files"
)

// A database with a write-ahead log needs the two companions of its file even
// to be read. Where they cannot be made, no other process has it open for
// writing there either, or they would exist: a file without a log is then read
// as it is, and one with a log is read from a copy.

// unwritable reports whether a database could not be opened because its directory
// does not let the companions be made.
func unwritable(err error) bool {
	return errors.Is(err, sqlite3.CANTOPEN) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.PERM) ||
		errors.Is(err, os.ErrPermission)
}

// openAside opens the database for reading without its companions.
func (s *Store) openAside(ctx context.Context) (*conn, error) {
	if _, err := os.Stat(s.path); err != nil {
		return nil, err
	}
	fi, err := os.Stat(s.path + "-wal")
	if errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		s.immutable = true
		return s.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	if s.temp, err = os.MkdirTemp("", "belay-log-"); err != nil { // mode 0700
		return nil, err
	}
	copied := filepath.Join(s.temp, "belay.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(copied+suffix, s.path+suffix); err != nil {
			return nil, errors.Join(err, s.removeTemp())
		}
	}
	s.path = copied
	c, err := s.open(ctx)
	if err != nil {
		return nil, errors.Join(err, s.removeTemp())
	}
	return c, nil
}

func copyFile(to, from string) error {
	in, err := files.Stream(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (s *Store) removeTemp() error {
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}
