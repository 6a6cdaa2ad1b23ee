package connect_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// program is a file of Linux with one header of this kind.
func program(t *testing.T, kind elf.ProgType) []byte {
	t.Helper()
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	h.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	for _, v := range []any{h, elf.Prog64{Type: uint32(kind)}} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A belay-hook that loads libraries can be ended by one that a repository's settings name, and so can the belay
// that it becomes.
func TestProgramsThatLoadLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		hook, belay []byte
		runtime     string
		want        bool
		eval        []byte
	}{
		"static":                {program(t, elf.PT_LOAD), program(t, elf.PT_LOAD), "claude-code", false, nil},
		"dynamic":               {program(t, elf.PT_INTERP), nil, "claude-code", true, nil},
		"dynamic beside static": {program(t, elf.PT_LOAD), program(t, elf.PT_INTERP), "claude-code", true, nil},
		"a dynamic belay-eval":  {program(t, elf.PT_LOAD), nil, "claude-code", true, program(t, elf.PT_INTERP)},
		"a script":              {[]byte("#!/bin/sh\nexec x\n"), nil, "claude-code", true, nil},
		"empty":                 {nil, nil, "claude-code", false, nil},
		"another system's":      {[]byte("\xcf\xfa\xed\xfe rest"), nil, "claude-code", false, nil},
		"Codex starts a shell":  {program(t, elf.PT_INTERP), nil, "codex", false, nil},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "belay-hook")
		for file, b := range map[string][]byte{path: c.hook, filepath.Join(dir, "belay"): c.belay,
			filepath.Join(dir, "belay-eval"): c.eval} {
			if b == nil {
				continue
			}
			if err := os.WriteFile(file, b, 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}
		place := connect.Place{Claude: filepath.Join(dir, "c"), Codex: filepath.Join(dir, "x"), Project: dir}
		got := false
		for _, f := range connect.Danger(c.runtime, connect.User, place, connect.Hook{Program: path}, os.ReadFile) {
			got = got || f.Severity == connect.Fail && strings.Contains(f.Text, "loads libraries")
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
