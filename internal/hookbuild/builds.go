package hookbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// Builds is a folder outside of all hooks in which `belay hook build` notes the records that it wrote. A record says
// what a module was built from; it comes with the module, and so from its maker. Only a note here says that
// this user built it, and so that belay may compile the folder again unasked. "" notes nothing and knows nothing.
type Builds string

// BuildsIn returns the folder of a user: belay/builds in $XDG_CACHE_HOME, else in $HOME/.cache; "" without either.
func BuildsIn(getenv func(string) string) Builds {
	if x := getenv("XDG_CACHE_HOME"); filepath.IsAbs(x) {
		return Builds(filepath.Join(x, "belay", "builds"))
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return Builds(filepath.Join(home, ".cache", "belay", "builds"))
	}
	return ""
}

// note stores that this user wrote the record. Without a note belay asks for `belay hook build` instead of building.
func (b Builds) note(record string, content []byte) {
	at := b.path(record)
	if at == "" || os.MkdirAll(string(b), 0o700) != nil {
		return
	}
	_ = files.Write(at, []byte(phases.ByteDigest(content)), files.Options{Perm: 0o600})
}

// Ours reports whether this user built the module, at this place and with this record.
func (b Builds) Ours(e *StaleError) bool {
	at := b.path(RecordPath(e.Module))
	if at == "" {
		return false
	}
	noted, err := files.Read(at, maxNote)
	return err == nil && string(noted) == e.record
}

const maxNote = 128 // bytes

// path is the note of the record at a place, or "".
func (b Builds) path(record string) string {
	place, err := filepath.EvalSymlinks(record)
	if err == nil {
		place, err = filepath.Abs(place)
	}
	if b == "" || err != nil {
		return ""
	}
	name := sha256.Sum256([]byte(place))
	return filepath.Join(string(b), hex.EncodeToString(name[:16]))
}
