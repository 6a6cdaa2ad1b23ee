package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/belay-hooks/belay/internal/files"
)

// codeCache stores compiled code between processes. The engine's own files are
// native code that it maps and runs with no more than a checksum, so that every
// module gets a directory of its own here, in which each file must have a seal:
// a MAC over its purpose and its content, under a key that is stored elsewhere.
// All seals are checked before the engine gets to see the directory.
//
//	DIR/<module>/wazero-<version>-<arch>-<os>/<entry>   written by the engine
//	DIR/<module>/<entry>.seal                           written here
//	DIR/<module>.lock                                   taken while either is used
//
// If a process of the same uid changes a file between the check and the
// engine's reading, a second check finds it before any of the code runs (see
// sealed.same). One moment remains: between the engine's writing of a new file
// and its seal, since the engine does not hand out the bytes. A process that
// uses that moment has this process's uid, and mostly other ways into it.
type codeCache struct {
	dir     string
	key     []byte
	version string // of the engine
	log     *slog.Logger
	remove  func(path string) error // with everything below it; nil: os.RemoveAll
}

var errCache = errors.New("code cache")

const (
	minCacheKey   = 16
	lockPatience  = 10 * time.Second
	maxCacheFiles = 8 // in one module's directory: one per kind of processor
)

// engineVersion is the version that the engine writes into its cache files. "dev"
// says that it does not know its own: then nothing tells apart what two versions
// have compiled.
func engineVersion() string {
	const path = "github.com/tetratelabs/wazero"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if strings.Contains(dep.Path, path) && dep.Version != "" && dep.Version != "(devel)" {
				return dep.Version
			}
		}
	}
	return "dev"
}

// openCache checks the directory. The result is nil, without an error, when the
// engine's version is not known.
func openCache(dir string, key []byte, version string, log *slog.Logger) (*codeCache, error) {
	if len(key) < minCacheKey {
		return nil, fmt.Errorf("%w: the key must have %d bytes at least", errCache, minCacheKey)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", errCache, err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	if version == "dev" {
		log.Warn("code cache is off: the engine's version is not known")
		return nil, nil
	}
	c := &codeCache{dir: dir, key: bytes.Clone(key), version: version, log: log}
	c.prune(maxCacheModules, maxCacheBytes)
	return c, nil
}

// private refuses a directory that others have access to, or own.
func private(dir string) error {
	st, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errCache, err)
	case !st.IsDir():
		return fmt.Errorf("%w: %s is not a directory", errCache, dir)
	case st.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: others have access to %s; its mode must be 0700", errCache, dir)
	case !ownedByUs(st):
		return fmt.Errorf("%w: %s belongs to someone else", errCache, dir)
	}
	return nil
}

// compile compiles m's code through the cache. After an error m has to be
// compiled without it, unless that is of class ErrCompiler, or ctx has ended.
func (c *codeCache) compile(ctx context.Context, m *code, code []byte) (err error) {
	name := c.name(code)
	unlock, err := lockFile(filepath.Join(c.dir, name+".lock"), lockPatience)
	if err != nil {
		return err
	}
	defer unlock()
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// In any case, the next process starts from nothing.
			err = errors.Join(err, c.delete(dir))
		}
	}()
	if err := private(dir); err != nil {
		return err
	}
	before, err := c.check(dir)
	if err != nil {
		return err
	}
	files, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	if m.compiler == nil {
		if err := m.compileWith(files, code); err != nil {
			return err
		}
		return c.seal(dir, before)
	}
	if err := m.takeFrom(files, code); errors.Is(err, errNoCode) {
		m.reset()
		if before, err = c.compileApart(ctx, m, dir, code); err != nil {
			return err
		}
		if files, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return err
		}
		if err := m.takeFrom(files, code); err != nil {
			return misnamed(err)
		}
	} else if err != nil {
		return err
	}
	return unchanged(dir, before)
}

// unchanged says whether a directory holds the checked files and no other that
// the engine could have read: where this process compiles nothing, the engine
// adds nothing.
func unchanged(dir string, before sealed) error {
	paths, err := entries(dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !before.same(path, st) {
			return fmt.Errorf("%w: an entry was changed while it was in use", errCache)
		}
	}
	return nil
}

// compileApart has m's compiler make the missing files of the cache, and seals
// them before any of them is on the disk.
func (c *codeCache) compileApart(ctx context.Context, m *code, dir string, code []byte) (sealed, error) {
	e, err := m.compiler.run(ctx, code, m.funcs, m.class.compilerLimits())
	if err != nil {
		return nil, err
	}
	path, err := e.write(dir, m.compiler.version)
	if err != nil {
		return nil, err
	}
	sum, err := c.macOf(dir, path, int64(len(e.content)), bytes.NewReader(e.content))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(sealOf(dir, path), sum, 0o600); err != nil {
		return nil, err
	}
	return c.check(dir)
}

// name is the directory of a module: everything that the compiled form depends on
// and the engine's key leaves out is in the metered code or here.
func (c *codeCache) name(code []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "belay code 1\x00%s\x00%s\x00%s\x00%s\x00%d\x00", c.version, runtime.GOARCH, runtime.GOOS,
		runtime.Version(), maxMemory)
	h.Write(code)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sealed are the files of a module's directory that have passed the check.
type sealed map[string]os.FileInfo

// same says whether a file is still the one that was checked.
func (s sealed) same(path string, now os.FileInfo) bool {
	was := s[path]
	return was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) &&
		sameChangeTime(was, now)
}

// entries lists what the engine could read in a module's directory: everything in
// its own directories, and those themselves when they are not directories.
func entries(dir string) ([]string, error) {
	var out []string
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		switch {
		case !strings.HasPrefix(d.Name(), "wazero-"):
		case !d.IsDir():
			out = append(out, path) // a link, say: check deletes it
		default:
			files, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				out = append(out, filepath.Join(path, f.Name()))
			}
		}
	}
	return out, nil
}

// check verifies every file that the engine could read and deletes bad ones.
func (c *codeCache) check(dir string) (sealed, error) {
	paths, err := entries(dir)
	if err != nil {
		return nil, err
	}
	good := sealed{}
	for i, path := range paths {
		st, err := c.verify(dir, path)
		if err == nil && i < maxCacheFiles {
			good[path] = st
			continue
		}
		c.log.Warn("code cache entry deleted", slog.String("entry", escape(filepath.Base(path), maxFunction)),
			slog.String("error", escape(fmt.Sprint(err), maxReason)))
		if err := c.delete(path); err != nil {
			return nil, err // the engine would find it
		}
	}
	return good, nil
}

func (c *codeCache) delete(path string) error {
	if c.remove != nil {
		return c.remove(path)
	}
	return os.RemoveAll(path)
}

func (c *codeCache) verify(dir, path string) (os.FileInfo, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", errCache)
	}
	want, err := files.Read(sealOf(dir, path), sha256.Size)
	if err != nil {
		return nil, err
	}
	got, err := c.mac(dir, path, st)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(got, want) {
		return nil, fmt.Errorf("%w: wrong seal", errCache)
	}
	return st, nil
}

// seal writes seals for what the engine has added.
func (c *codeCache) seal(dir string, before sealed) error {
	paths, err := entries(dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if before[path] != nil {
			if !before.same(path, st) {
				return fmt.Errorf("%w: an entry was changed while it was in use", errCache)
			}
			continue
		}
		sum, err := c.mac(dir, path, st)
		if err != nil {
			return err
		}
		if err := os.WriteFile(sealOf(dir, path), sum, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func sealOf(dir, path string) string {
	return filepath.Join(dir, filepath.Base(path)+".seal")
}

// mac covers the place of a file as well as its contents: an entry moved to
// another module's directory must not pass there.
func (c *codeCache) mac(dir, path string, want os.FileInfo) ([]byte, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(want, st) {
		return nil, fmt.Errorf("%w: the file was replaced", errCache)
	}
	return c.macOf(dir, path, st.Size(), f)
}

func (c *codeCache) macOf(dir, path string, size int64, content io.Reader) ([]byte, error) {
	rel, err := filepath.Rel(filepath.Dir(dir), path)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, c.key)
	fmt.Fprintf(h, "belay code cache 1\x00%s\x00%d\x00", filepath.ToSlash(rel), size)
	if _, err := io.Copy(h, io.LimitReader(content, size)); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
