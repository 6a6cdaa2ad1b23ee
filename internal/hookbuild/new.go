package hookbuild

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/tiers"
)

// templates are the files of new hooks: common/ for all languages, and one
// directory for each, whose files come before those of common/. They end in .tmpl
// so that no tool takes them for source of this repository.
//
//go:embed all:templates
var templates embed.FS

// New makes the directory of a new hook: a small one that works, with manifest,
// cases, tests, and the SDK. dir must not exist, or be empty; it is made whole or
// not at all. The name is a manifest's name, the language one of Languages.
func New(dir, name, lang string) error { return NewFrom(dir, name, lang, nil) }

// Start is what a new hook begins with in place of the template's own source.
type Start struct {
	Files   map[string][]byte // source, manifest, cases and an invocation, by names with slashes
	Sources string            // what the source files are, in Markdown
}

// NewFrom is New for a hook with other source than the template's: it adds what a project in the language needs, and
// the SDK. A nil start is New.
func NewFrom(dir, name, lang string, start *Start) error {
	files, err := templateFiles(name, lang, start)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return failure(ErrWrite, nil, "%s is there already and not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure(ErrWrite, err, "%s cannot be used: %v", dir, reason(err))
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return failure(ErrWrite, err, "%s could not be made: %v", parent, reason(err))
	}
	tmp, err := os.MkdirTemp(parent, ".belay-new-")
	if err != nil {
		return failure(ErrWrite, err, "%s is not a place to write to: %v", parent, reason(err))
	}
	if err := fill(tmp, dir, files); err != nil {
		_ = os.RemoveAll(tmp)
		return failure(ErrWrite, err, "%s could not be made: %v", dir, reason(err))
	}
	return nil
}

func fill(tmp, dir string, files map[string][]byte) error {
	for name, content := range files {
		file := filepath.Join(tmp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // an empty directory goes, anything else stays
	}
	return os.Rename(tmp, dir)
}

// ofTheTemplatesHook reports whether a file of a template belongs to its own hook, and not to any in its language.
func ofTheTemplatesHook(name string) bool {
	return name == ManifestFile || name == "invocation.json" || strings.HasPrefix(name, "cases/") ||
		slices.Contains([]string{".go", ".rs", ".c", ".ts"}, path.Ext(name))
}

// templateFiles returns the files of a new hook by their names, with slashes.
func templateFiles(name, lang string, start *Start) (map[string][]byte, error) {
	title, source := map[string][2]string{
		"c": {"C", "`hook.c`: the hook"}, "go": {"Go", "`main.go`: the hook; `main_test.go`: its tests (`go test`)"},
		"rust":           {"Rust", "`src/lib.rs`: the hook with its tests (`cargo test`)"},
		"wat":            {"WebAssembly text", "`hook.wat`: the hook"},
		"assemblyscript": {"AssemblyScript", "`assembly/index.ts`: the hook; `tests/`: its tests (`npm test`, after a build)"},
	}[lang], ""
	if title[0] == "" {
		return nil, failure(ErrSource, nil, "there is no template for %q; there are %s", clip(lang),
			strings.Join(Languages(), ", "))
	}
	source = title[1]
	if start != nil {
		source = start.Sources
	}
	crate := strings.NewReplacer("/", "-", ".", "-").Replace(name)
	if crate != "" && crate[0] >= '0' && crate[0] <= '9' {
		crate = "hook-" + crate // cargo takes no leading digit
	}
	slow := ""
	if lang == "go" {
		slow = "--slow-compile " // the runtime of standard Go is more than eval compiles unasked
	}
	words := strings.NewReplacer("EVAL_FLAGS", slow, "HOOK_NAME", name, "HOOK_FILE", path.Base(name), "CRATE_NAME", crate,
		"LANGUAGE", title[0], "SOURCES", source)
	out := map[string][]byte{}
	for _, from := range []string{"common", lang} {
		err := fs.WalkDir(templates, "templates/"+from, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel := strings.TrimSuffix(strings.TrimPrefix(p, "templates/"+from+"/"), ".tmpl")
			if rel == "gitignore" {
				rel = ".gitignore"
			}
			if lang == "wat" && from == "common" && strings.HasPrefix(rel, "cases/") {
				return nil // it has its own hook, so its own cases
			}
			if start != nil && ofTheTemplatesHook(rel) {
				return nil
			}
			b, err := templates.ReadFile(p)
			if err != nil {
				return err
			}
			text := words.Replace(string(b))
			if lang == "wat" && rel == "README.md" {
				text = strings.Replace(text, "- `sdk/`: the SDK, so that the hook builds without a network\n", "", 1)
			}
			if lang == "assemblyscript" && rel == "README.md" {
				const build = "    belay hook build "
				text = strings.Replace(text, build, "    npm ci                    # the compiler, by package-lock.json\n"+build, 1)
				text = strings.Replace(text, "builds without a network", "builds without one from npm", 1)
			}
			out[rel] = []byte(text)
			return nil
		})
		if err != nil {
			return nil, failure(ErrSource, err, "the template is broken: %v", err)
		}
	}
	if start != nil {
		maps.Copy(out, start.Files)
	}
	if lang == "go" {
		// The runtime of standard Go alone needs more than the default.
		const before, after = "\nbudget:\n", "\nbudget:\n  memory_mib: 64\n"
		out[ManifestFile] = bytes.Replace(out[ManifestFile], []byte(before), []byte(after), 1)
	}
	files, err := sdk(lang)
	if err != nil {
		return nil, err
	}
	for file, content := range files {
		out["sdk/"+file] = content
	}
	if _, err := tiers.ParseManifestSource(out[ManifestFile]); err != nil {
		text := err.Error()
		if _, after, found := strings.Cut(text, "/name: "); found {
			text = after // where in the template it was found is of no use
		}
		return nil, failure(ErrSource, err, "%q cannot be the name of a hook: %s", clip(name), text)
	}
	return out, nil
}
