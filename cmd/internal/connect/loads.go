package connect

import (
	"bytes"
	"debug/elf"
	"io"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// preloadable says that belay-hook, or what it becomes, loads libraries when it starts. A repository's
// settings can set LD_PRELOAD for the hooks of Claude Code, and a library can end the program without a word.
func preloadable(program string) []Finding {
	if !filepath.IsAbs(program) {
		return nil // PATH says which one starts: that is said elsewhere
	}
	for _, path := range []string{program, filepath.Join(filepath.Dir(program), "belay-eval"),
		filepath.Join(filepath.Dir(program), "belay")} {
		if loads(path) {
			return []Finding{{Fail, path + " loads libraries when it starts: LD_PRELOAD in a repository's settings can end it",
				"Build it with CGO_ENABLED=0, and connect again."}}
		}
	}
	return nil
}

// loads reports whether the system has another program start this one: the loader of libraries, or what a script
// names. A file that cannot be read, or is no program of Linux, is none.
func loads(path string) bool {
	f, err := files.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err == nil && bytes.Equal(head, []byte("#!")) {
		return true
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}
