package hookbuild

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// job is one run of a compiler.
type job struct {
	dir, work string // absolute
	shown     string // dir as the caller names it
	keeps     bool   // work is the hook's own, and stays
	lang      string
	opts      Options
	tools     []string          // versions of the tools that ran
	crates    map[string]string // of a hook in Rust: the directories of its packages, by name
}

// find returns the path of the first of the programs that is there, or "".
func find(programs ...string) string {
	for _, p := range programs {
		if at, err := exec.LookPath(p); err == nil {
			return at
		}
	}
	return ""
}

// env adds settings to the environment; later ones win. Compilers write no colours: on a build server some do without a
// terminal, and their errors could not be read.
func env(settings ...string) []string {
	environ := slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "FORCE_COLOR" || name == "CLICOLOR_FORCE"
	})
	return append(append(environ, "NO_COLOR=1", "CARGO_TERM_COLOR=never"), settings...)
}

// run starts a program in the hook's directory. Of one that fails, find takes the output apart for the error.
func (j *job) run(ctx context.Context, environ []string, find finder, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = j.dir, environ
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, failure(ErrCompile, ctx.Err(), "building was interrupted")
		}
		text := rendered(out.String(), said.String()+"\n"+textOf(out.Bytes()))
		if text == "" {
			text = err.Error()
		}
		name := filepath.Base(program)
		if len(args) > 0 && filepath.Base(args[0]) == ascScript {
			name = "asc" // node runs it
		}
		return nil, j.refuse(name, text, find(j, out.String(), said.String()), err)
	}
	return out.Bytes(), nil
}

// textOf drops machine-readable lines.
func textOf(out []byte) string {
	var lines []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// version notes the first line of what a program says about itself.
func (j *job) version(ctx context.Context, label, program string, args ...string) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		line = "unknown version"
	}
	if label != "" {
		line = label + " " + line
	}
	j.tools = append(j.tools, line)
}

// output is where the compiler writes.
func (j *job) output() string { return filepath.Join(j.work, "module.wasm") }

func (j *job) read() ([]byte, error) {
	b, err := files.Read(j.output(), maxCompiled)
	if err != nil {
		return nil, failure(ErrCompile, err, "the compiler wrote no module: %v", reason(err))
	}
	return b, nil
}

func (j *job) glob(patterns ...string) []string {
	var out []string
	for _, p := range patterns {
		files, _ := filepath.Glob(filepath.Join(j.dir, p))
		for _, f := range files {
			out = append(out, filepath.Base(f)) // relative, so that no path of this machine gets into a module
		}
	}
	return out
}
