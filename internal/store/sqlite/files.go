package sqlite

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// fileURI names the database for SQLite. modeof makes the log files that it
// creates later as private as the database.
func fileURI(path, vfs string, immutable bool) string {
	q := url.Values{"modeof": {path}}
	if vfs != "" {
		q = url.Values{"vfs": {vfs}}
	}
	if immutable {
		q.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// checkFiles refuses a database, or a companion, that is no file: SQLite opens them by
// itself, and would wait at a pipe for ever.
func checkFiles(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := files.Check(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// createFiles makes the database and its two companions before SQLite does,
// which would give them the mode of the umask, and makes their names durable.
// Files that are there already must be private, too.
func createFiles(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		err = errors.Join(private(f), f.Close())
		// Another process that closes last removes the companions meanwhile.
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return statedir.SyncDir(filepath.Dir(path))
}

func private(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return f.Chmod(0o600)
}
