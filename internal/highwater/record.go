package highwater

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
)

// RecordName is the name of the file in keys/ that says that there is a mark, and where.
const RecordName = "high-water.json"

// ErrNoPlace: nothing says where a mark is to be kept.
var ErrNoPlace = errors.New("there is no directory to keep the high-water mark in")

// Dir returns the default directory of marks: $XDG_DATA_HOME/belay/marks, else the one
// below $HOME. The error is ErrNoPlace.
func Dir(getenv func(string) string) (string, error) {
	if x := getenv("XDG_DATA_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "belay", "marks"), nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("%w: neither XDG_DATA_HOME nor HOME is set; name one in belay.yaml (events: {high_water: DIR})",
			ErrNoPlace)
	}
	return filepath.Join(home, ".local", "share", "belay", "marks"), nil
}

// Name returns the name of the mark of a state directory: a digest of its real path.
func Name(state string) (string, error) {
	path, err := realPath(state)
	if err != nil {
		return "", err
	}
	return NameAt(path), nil
}

func realPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	return path, err
}

// NameAt returns the name of the mark of a state directory that need not be there. Preconditions: path is
// absolute and leads through no link.
func NameAt(path string) string {
	digest := sha256.Sum256([]byte(path))
	return hex.EncodeToString(digest[:16])
}

// RecordOf returns the name of the file in keys/ that says that a kernel of a shared database has a mark, and where.
func RecordOf(kernel string) string { return "high-water." + kernel + ".json" }

// Adoption is what stands in keys/: that the database has a mark, and where.
type Adoption struct {
	Version int    `json:"version"`
	Store   string `json:"store"` // id of the database
	Dir     string `json:"dir"`   // of marks, absolute
}

const maxAdoption = 16 << 10

// DecodeAdoption reads the file in keys/. The error is ErrDamaged.
func DecodeAdoption(b []byte) (*Adoption, error) {
	var a Adoption
	err := error(nil)
	if len(b) > maxAdoption {
		err = fmt.Errorf("%d bytes: at most %d", len(b), maxAdoption)
	}
	if err == nil {
		err = json.Unmarshal(b, &a, json.RejectUnknownMembers(true))
	}
	switch {
	case err != nil:
	case a.Version != 1:
		err = fmt.Errorf("version %d: this belay knows 1", a.Version)
	case !validStore(a.Store):
		err = errors.New("a store's id has 32 hex digits")
	case !filepath.IsAbs(a.Dir):
		err = errors.New("the directory of marks is not absolute")
	}
	if err != nil {
		return nil, &Error{Class: ErrDamaged, Reason: err.Error()}
	}
	return &a, nil
}

// ReadAdoption returns what stands in keys/, or nil when there is no such file.
func ReadAdoption(path string) (*Adoption, error) {
	b, err := files.Start(path, maxAdoption+1) // more is refused by its size
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := DecodeAdoption(b)
	var e *Error
	if errors.As(err, &e) {
		e.Path = path
	}
	return a, err
}

func (a *Adoption) encode() ([]byte, error) {
	b, err := json.Marshal(a, json.Deterministic(true))
	return append(bytes.TrimSpace(b), '\n'), err
}

func sortedKeys(m map[string]Use) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// ForState returns the guard of a state directory. configured is the directory of marks
// that the configuration names, or "": then it is the default one. What stands in keys/
// counts before the default, so that all processes use one mark, in every environment.
// Errors are about a directory that must not be used.
func ForState(state, configured string, getenv func(string) string) (*Guard, error) {
	return forState(state, RecordName, NameAt, configured, getenv)
}

// ForKernel is ForState for a kernel whose log is in a database that others share. It has a mark of its own, beside
// that of belay.db, so that a state directory that goes over to the shared database, or to another name, begins anew.
func ForKernel(state, kernel, configured string, getenv func(string) string) (*Guard, error) {
	return forState(
		state,
		RecordOf(kernel),
		func(real string) string { return NameAt(real + "\x00" + kernel) },
		configured,
		getenv,
	)
}

func forState(state, record string, name func(real string) string, configured string,
	getenv func(string) string) (*Guard, error) {
	o := Options{Dir: configured, Record: filepath.Join(state, "keys", record)}
	real, err := realPath(state)
	if err != nil {
		return nil, err
	}
	o.Name = name(real)
	if configured != "" {
		switch _, err := files.Outside("", state, configured); {
		case errors.Is(err, files.ErrInside):
			return nil, errors.New(
				"the high-water mark must not be in the state directory: what takes the one back takes the other")
		case err != nil:
			return nil, err
		}
	}
	if o.Dir == "" {
		// Without a place, or with one inside, there is none: that is for those to say who look.
		if o.Dir, err = Dir(getenv); err == nil {
			_, err = files.Outside("", state, o.Dir)
		}
		if err != nil {
			o.Dir = ""
		}
	}
	return New(o), nil
}
