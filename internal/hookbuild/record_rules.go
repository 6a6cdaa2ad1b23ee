package hookbuild

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// rulesLanguage is the language of a record that `belay rules build` writes.
const rulesLanguage = "rules"

// RecordRules writes the record of a module that was built from a rules file, which stands in the same folder. src is
// what it was built from.
func RecordRules(module, digest, rules string, src []byte) error {
	r := Record{Format: 1, Module: digest, Language: rulesLanguage,
		Files: []Input{{Path: filepath.Base(rules), Digest: phases.ByteDigest(src)}}}
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if _, err := DecodeRecord(b); err != nil {
		return err
	}
	at := RecordPath(module)
	if err := files.Write(at, b, files.Options{Perm: 0o644, NoUmask: true}); err != nil {
		return failure(ErrWrite, err, "%s could not be written: %v", at, reason(err))
	}
	return nil
}

// checkRules compares a module of rules with its file. Without the file nothing can be told.
func checkRules(module string, r *Record) error {
	rules := filepath.Join(filepath.Dir(module), r.Files[0].Path)
	src, err := files.Read(rules, strictyaml.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failure(ErrSource, err, "%s cannot be read: %v", rules, reason(err))
	case phases.ByteDigest(src) == r.Files[0].Digest:
		return nil
	}
	return &StaleError{Module: module, Dir: filepath.Dir(module), Rules: rules,
		Changes: []Change{{Path: r.Files[0].Path, How: Changed}}}
}
