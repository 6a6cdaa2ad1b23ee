package sandbox

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
)

// cacheVersion tells apart what different engines have compiled: by the engine's version, or, in a program that does
// not carry one, such as a test, by the program itself. "dev" says that neither is known.
func cacheVersion() string {
	if v := engineVersion(); v != "dev" {
		return v
	}
	if id := programID(); id != "" {
		return "program-" + id
	}
	return "dev"
}

// programID identifies this program's build by the note that Go's linker writes; "" where there is none. A program of
// other sources has another one.
func programID() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := elf.Open(exe)
	if err != nil {
		return ""
	}
	defer f.Close()
	note := f.Section(".note.go.buildid")
	if note == nil {
		return ""
	}
	id, err := note.Data()
	if err != nil || len(bytes.Trim(id, "\x00")) < 32 {
		return ""
	}
	sum := sha256.Sum256(id)
	return hex.EncodeToString(sum[:16])
}
