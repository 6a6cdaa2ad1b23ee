package hookbuild

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// Limits of a record, in bytes.
const (
	maxRecord     = 4 << 20
	maxToolchain  = 4096
	maxRecordPath = 1024
)

// Record says which source a module was built from. It stands beside the module, in the hook's folder. It is a note of
// the build and proves nothing: belay refuses a module because of it, and never trusts one more.
type Record struct {
	Format     int     `json:"format"`               // 1
	Module     string  `json:"module"`               // sha256:<hex> of the module file
	Language   string  `json:"language"`             // see Known; rules for a module of a rules file
	StandardGo bool    `json:"standard_go,omitzero"` // Options.StandardGo
	Target     string  `json:"target,omitzero"`      // Options.Target
	Toolchain  string  `json:"toolchain"`            // Result.Toolchain
	Files      []Input `json:"files"`                // sorted by path
}

// Input is a file that a module was built from.
type Input struct {
	Path   string `json:"path"`   // from the hook's folder, with slashes
	Digest string `json:"digest"` // sha256:<hex>
}

// RecordPath returns where the record of a module file stands.
func RecordPath(module string) string { return module + ".build.json" }

// DecodeRecord reads a record strictly. The error is ErrSource.
func DecodeRecord(b []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r, json.RejectUnknownMembers(true)); err != nil {
		return nil, failure(ErrSource, err, "%v", err)
	}
	bad := func(format string, args ...any) (*Record, error) {
		return nil, failure(ErrSource, nil, format, args...)
	}
	switch {
	case r.Format != 1:
		return bad("/format is %d; this program knows 1", r.Format)
	case !isDigest(r.Module):
		return bad("/module is no digest: %q", clip(r.Module))
	case !slices.Contains(Known(), r.Language) && r.Language != rulesLanguage:
		return bad("/language is %q; known are %s and %s", clip(r.Language), strings.Join(Known(), ", "), rulesLanguage)
	case r.Language == rulesLanguage && (len(r.Files) != 1 || path.Base(r.Files[0].Path) != r.Files[0].Path ||
		r.Files[0].Path == ".."):
		return bad("/files is not the one rules file beside the module")
	case r.Target != "" && !slices.Contains(Targets(), r.Target):
		return bad("/target is %q; known are %s", clip(r.Target), strings.Join(Targets(), ", "))
	case len(r.Toolchain) > maxToolchain:
		return bad("/toolchain is longer than %d bytes", maxToolchain)
	case len(r.Files) > maxInputs:
		return bad("/files has more than %d entries", maxInputs)
	}
	for i, f := range r.Files {
		switch {
		case !isRecordPath(f.Path):
			return bad("/files/%d/path is no path from the hook's folder: %q", i, clip(f.Path))
		case !isDigest(f.Digest):
			return bad("/files/%d/digest is no digest: %q", i, clip(f.Digest))
		case i > 0 && r.Files[i-1].Path >= f.Path:
			return bad("/files/%d/path: %q does not come after %q", i, clip(f.Path), clip(r.Files[i-1].Path))
		}
	}
	return &r, nil
}

// Encode returns the record as text, the same bytes for the same record.
func (r *Record) Encode() ([]byte, error) {
	b, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, failure(ErrWrite, err, "the record cannot be written: %v", err)
	}
	return append(b, '\n'), nil
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// isRecordPath reports whether p is a clean relative path. It may lead up: crates and modules beside a hook do.
func isRecordPath(p string) bool {
	return p != "" && len(p) <= maxRecordPath && !path.IsAbs(p) && path.Clean(p) == p && phases.SafeLine(p, len(p)) == p
}

// snapshot is the source of a hook before it is compiled.
type snapshot struct {
	options Options
	inputs  []Input
	err     error
}

// sourceBefore reads the source, where a record is wanted.
func sourceBefore(dir string, o Options) (s snapshot) {
	if !o.Record {
		return s
	}
	s.options = o
	if o.Language == "" {
		if o.Language, s.err = Detect(dir); s.err != nil {
			return s
		}
	}
	s.inputs, s.err = inputs(dir, o.Language)
	return s
}

// record writes the record of a module, and notes that this user built it. Where it cannot, an older record goes: it
// would be about another build.
func (s snapshot) record(dir string, r *Result) error {
	err := s.err
	if err == nil {
		var b []byte
		if b, err = writeRecord(dir, r, &s); err == nil {
			s.options.Builds.note(r.Record, b)
			return nil
		}
	}
	_ = os.Remove(RecordPath(r.Path))
	return err
}

// writeRecord writes the record of a module and returns it. before is what the compiler found; what it writes into the
// folder itself, as cargo its lock, counts as it is now.
func writeRecord(dir string, r *Result, before *snapshot) ([]byte, error) {
	after, err := inputs(dir, r.Language)
	if err != nil {
		return nil, err
	}
	all := byPath(before.inputs)
	for _, f := range after {
		if path.Base(f.Path) == "Cargo.lock" {
			all[f.Path] = f.Digest
		}
	}
	at := RecordPath(r.Path)
	rec := Record{Format: 1, Module: r.Digest, Language: r.Language,
		StandardGo: before.options.StandardGo, Target: before.options.Target,
		Toolchain: r.Toolchain[:min(len(r.Toolchain), maxToolchain)], Files: []Input{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rec.Files = append(rec.Files, Input{Path: name, Digest: all[name]})
	}
	b, err := rec.Encode()
	if err != nil {
		return nil, err
	}
	if _, err := DecodeRecord(b); err != nil {
		return nil, err // a name that no record can hold
	}
	if err := files.Write(at, b, files.Options{Perm: 0o644, NoUmask: true}); err != nil {
		return nil, failure(ErrWrite, err, "%s could not be written: %v", at, reason(err))
	}
	r.Record = at
	return b, nil
}

func byPath(list []Input) map[string]string {
	out := make(map[string]string, len(list))
	for _, f := range list {
		out[f.Path] = f.Digest
	}
	return out
}

// Check compares a module file with its source, by the record beside it. It is nil when nothing has changed, and when
// nothing can be told: the module has no record, the record is about other bytes, or they do not lie in a hook's
// folder. A module that is older than its source is a *StaleError, a record that cannot be read ErrRecord. Check reads
// files and runs nothing.
func Check(module string, content []byte) error {
	at := RecordPath(module)
	src, err := files.Read(at, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure(ErrRecord, err, "%s cannot be read: %v", at, reason(err))
	}
	r, err := DecodeRecord(src)
	if err != nil {
		return failure(ErrRecord, err, "%s: %v", at, err)
	}
	if r.Module != phases.ByteDigest(content) {
		return nil
	}
	dir := filepath.Dir(module)
	if r.Language == rulesLanguage {
		return checkRules(module, r)
	}
	if _, err := files.Read(filepath.Join(dir, ManifestFile), maxSource); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	now, err := inputs(dir, r.Language)
	if err != nil {
		return err
	}
	if changes := compare(r.Files, now); len(changes) > 0 {
		return &StaleError{Module: module, Dir: dir, Changes: changes,
			Options: Options{Language: r.Language, StandardGo: r.StandardGo, Target: r.Target}, record: phases.ByteDigest(src)}
	}
	return nil
}

func compare(was, now []Input) []Change {
	var out []Change
	had, has := byPath(was), byPath(now)
	for _, f := range was {
		switch digest, there := has[f.Path]; {
		case !there:
			out = append(out, Change{f.Path, Removed})
		case digest != f.Digest:
			out = append(out, Change{f.Path, Changed})
		}
	}
	for _, f := range now {
		if _, there := had[f.Path]; !there {
			out = append(out, Change{f.Path, Added})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(order(a.How), order(b.How)), strings.Compare(a.Path, b.Path))
	})
	return out
}
