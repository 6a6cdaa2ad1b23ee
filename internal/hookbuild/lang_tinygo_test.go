package hookbuild

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeTinyGo puts a program of this name first on PATH. It notes its arguments, and writes an empty module.
func fakeTinyGo(t *testing.T, says string) (args func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	bin := t.TempDir()
	noted := filepath.Join(bin, "args")
	script := `#!/bin/sh
if [ "$1" = version ]; then echo "` + says + `"; exit; fi
echo "$*" > "` + noted + `"
while [ "$1" != -o ]; do shift; done
printf '\000asm\001\000\000\000' > "$2"
`
	if err := os.WriteFile(filepath.Join(bin, "tinygo"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		b, err := os.ReadFile(noted)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

const goModFile = "module example.invalid/t\n\ngo 1.23\n"

func TestTinyGoTargets(t *testing.T) {
	args := fakeTinyGo(t, "tinygo version 0.34.0 linux/amd64 (using go version go1.23.1 and LLVM version 18.1.2)")
	for target, want := range map[string]string{"": "wasm-unknown", "wasm-unknown": "wasm-unknown", "wasip1": "wasip1"} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"belay.yaml": testSource, "go.mod": goModFile})
		r, err := Build(context.Background(), dir, Options{Target: target})
		if err != nil || !strings.HasPrefix(r.Toolchain, "tinygo version 0.34.0") {
			t.Fatalf("%q: %+v %v", target, r, err)
		}
		words := " " + args() + " "
		for _, word := range []string{"-target=" + want, "-buildmode=c-shared", "-scheduler=none", "-gc=leaking",
			"-no-debug"} {
			if !strings.Contains(words, " "+word+" ") {
				t.Errorf("%q: no %s in%s", target, word, words)
			}
		}
	}
}

func TestTinyGoRefuses(t *testing.T) {
	for _, c := range []struct {
		name, says, lang string
		options          Options
		class            error
		text             string
	}{
		{"too old", "tinygo version 0.33.0 linux/amd64", "go", Options{}, ErrTool, "TinyGo 0.33.0 does not know"},
		{"unknown target", "tinygo version 0.40.1", "go", Options{Target: "wasm"}, ErrSource, "wasm-unknown, wasip1"},
		{"two compilers", "tinygo version 0.40.1", "go", Options{Target: "wasip1", StandardGo: true}, ErrSource,
			"not to be used"},
		{"a hook in C", "tinygo version 0.40.1", "c", Options{Target: "wasip1"}, ErrSource, "the hook is in c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakeTinyGo(t, c.says)
			dir := t.TempDir()
			write(t, dir, map[string]string{"belay.yaml": testSource,
				map[string]string{"go": "go.mod", "c": "hook.c"}[c.lang]: goModFile})
			if _, err := Build(context.Background(), dir, c.options); !errors.Is(err, c.class) ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("no TinyGo", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "go"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write(t, dir, map[string]string{"belay.yaml": testSource, "go.mod": goModFile})
		if _, err := Build(context.Background(), dir, Options{Target: "wasip1"}); !errors.Is(err, ErrTool) ||
			!strings.Contains(err.Error(), "tinygo is missing") {
			t.Errorf("got %v", err)
		}
	})
}
