package hookbuild

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ManifestFile is the manifest's source beside a hook's source.
const ManifestFile = "belay.yaml"

// Options say how to build. The zero value is right for an author's own hook.
type Options struct {
	Output     string // file to write; DIR/NAME.wasm when empty
	Language   string // one of Known; found by looking at the directory when empty
	WorkDir    string // where compilers keep what they can use again; DIR/build when empty
	StandardGo bool   // Go only: do not use TinyGo even if it is there
	Target     string // TinyGo only: one of Targets; the first when empty
	Debug      bool   // keep names and line numbers, for coverage; such a module is not for installing
	Record     bool   // write beside a module in its own place which source it was built from (see Record)
	Builds     Builds // with Record: where it is noted that this user built it
}

// Result is a module that was built.
type Result struct {
	Path      string // the file written
	Digest    string // sha256:<hex> of it
	Size      int    // bytes
	Toolchain string // the compilers with their versions, as they name themselves
	Name      string // from the manifest
	Language  string
	Record    string // file with the record of the build; "" where there is none
	NoRecord  error  // why there is none, though one was wanted
}

// Build compiles the hook in dir, packs its manifest into the module and writes
// the file, all or nothing. It runs one compiler at a time and obeys ctx; it is
// safe for concurrent use on different directories.
func Build(ctx context.Context, dir string, o Options) (Result, error) {
	shown := dir
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, failure(ErrSource, err, "%s: %v", dir, reason(err))
	}
	o.Record = o.Record && inPlace(dir, o.Output)
	before := sourceBefore(dir, o) // what changes under the compiler's hands is newer than the module
	module, m, r, err := compile(ctx, dir, shown, o)
	if err != nil {
		return Result{}, err
	}
	if r.Path == "" {
		r.Path = filepath.Join(dir, ModuleFile(m))
	}
	if err := files.Write(r.Path, module, files.Options{Perm: 0o644, NoUmask: true}); err != nil {
		return Result{}, failure(ErrWrite, err, "%s could not be written: %v", r.Path, reason(err))
	}
	if o.Record {
		r.NoRecord = before.record(dir, &r)
	}
	return r, nil
}

// inPlace reports whether a module that is written to output lies where a build in dir puts it. One that is written
// elsewhere is a copy to be retained, such as a release: it does not age when the source goes on.
func inPlace(dir, output string) bool {
	if output == "" {
		return true
	}
	m, err := readManifest(dir)
	if err != nil {
		return false // which the build says
	}
	at, err := filepath.Abs(output)
	return err == nil && at == filepath.Join(dir, ModuleFile(m))
}

// ModuleFile is the name of the file that Build writes a hook's module to.
func ModuleFile(m *tiers.Manifest) string { return path.Base(m.Name) + ".wasm" }

// compile builds the module of dir, which is absolute, and which errors name as shown.
func compile(ctx context.Context, dir, shown string, o Options) ([]byte, *tiers.Manifest, Result, error) {
	fail := func(err error) ([]byte, *tiers.Manifest, Result, error) { return nil, nil, Result{}, err }
	m, err := readManifest(dir)
	if err != nil {
		return fail(err)
	}
	manifest, err := m.Encode()
	if err != nil {
		return fail(failure(ErrSource, err, "%s: %v", ManifestFile, err))
	}
	if o.Language == "" {
		if o.Language, err = Detect(dir); err != nil {
			return fail(err)
		}
	}
	lang, ok := languages()[o.Language]
	if !ok {
		return fail(failure(ErrSource, nil, "%q is not a language that hooks can be built from; known are %s",
			clip(o.Language), strings.Join(Known(), ", ")))
	}
	if o.Target != "" && o.Language != "go" {
		return fail(failure(ErrSource, nil, "the hook is in %s, and only hooks in Go have a target to choose", o.Language))
	}
	keeps := o.WorkDir == ""
	if keeps {
		o.WorkDir = filepath.Join(dir, "build")
	}
	if err := os.MkdirAll(o.WorkDir, 0o755); err != nil {
		return fail(failure(ErrWrite, err, "%s could not be made: %v", o.WorkDir, reason(err)))
	}
	j := &job{dir: dir, work: o.WorkDir, shown: shown, keeps: keeps, lang: o.Language, opts: o}
	_ = os.Remove(filepath.Join(j.work, outputFile)) // of a build before
	raw, err := lang.compile(ctx, j)
	if err != nil {
		return fail(err)
	}
	module, err := Pack(raw, manifest)
	if err != nil {
		return fail(err)
	}
	return module, m, Result{
		Path: o.Output, Digest: phases.ByteDigest(module), Size: len(module),
		Toolchain: strings.Join(j.tools, "; "), Name: m.Name, Language: o.Language,
	}, nil
}

func readManifest(dir string) (*tiers.Manifest, error) {
	src, err := files.Read(filepath.Join(dir, ManifestFile), strictyaml.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure(ErrSource, err,
			"%s has no %s; `belay hook new` makes one, and it says who the hook is and what it may do", dir, ManifestFile)
	}
	if err != nil {
		return nil, failure(ErrSource, err, "%s cannot be read: %v", ManifestFile, reason(err))
	}
	m, err := tiers.ParseManifestSource(src)
	if err != nil {
		return nil, failure(ErrSource, err, "%s", strictyaml.At(filepath.Join(dir, ManifestFile), err))
	}
	return m, nil
}

// Detect says which language the hook in dir is written in.
func Detect(dir string) (string, error) {
	var found []string
	for _, name := range Known() {
		for _, pattern := range languages()[name].marks {
			if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
				found = append(found, name)
				break
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", failure(ErrSource, nil,
			"%s holds no source that hooks can be built from: go.mod, Cargo.toml, hook.c, hook.wat or asconfig.json", dir)
	}
	return "", failure(ErrSource, nil, "%s holds sources in several languages (%s); keep one, or name it", dir,
		strings.Join(found, ", "))
}

// reason is the cause of a file error without the path, which the text has.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
