package hookbuild

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const testSource = "abi: 1\nname: t\nversion: 1.0.0\nphases: [pre_tool]\n"

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		lang  string
		class error
		text  string
	}{
		{"no manifest", map[string]string{"hook.c": ""}, "", ErrSource, "has no belay.yaml"},
		{"a manifest that is wrong", map[string]string{"hook.c": "", "belay.yaml": testSource + "tier: trusted\n"}, "",
			ErrSource, "tier"},
		{"no source", map[string]string{"belay.yaml": testSource}, "", ErrSource, "no source"},
		{"two languages", map[string]string{"belay.yaml": testSource, "a.c": "", "a.wat": ""}, "", ErrSource,
			"several languages (c, wat)"},
		{"unknown language", map[string]string{"belay.yaml": testSource}, "cobol", ErrSource,
			"assemblyscript, c, go, rust, wat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.files)
			_, err := Build(context.Background(), dir, Options{Language: c.lang})
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(files) > 0 {
				t.Errorf("written: %q", files)
			}
		})
	}
}

// Each missing compiler has a sentence that says what to install.
func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	want := map[string]string{"c": "clang-19", "go": "tinygo", "wat": "wabt", "assemblyscript": "nodejs"}
	for lang, text := range want {
		if got := Missing(lang); !strings.Contains(got, text) {
			t.Errorf("%s: %q", lang, got)
		}
		dir := t.TempDir()
		write(t, dir, map[string]string{"belay.yaml": testSource})
		if _, err := Build(context.Background(), dir, Options{Language: lang}); !errors.Is(err, ErrTool) ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", lang, err)
		}
	}
	if got := Missing("cobol"); got == "" {
		t.Error("cobol is not known")
	}
}

// What a compiler says reaches the author, and no file is written.
func TestCompilerErrors(t *testing.T) {
	for lang, files := range map[string]map[string]string{
		"c":   {"hook.c": "int broken = nonsense;"},
		"wat": {"hook.wat": "(module nonsense)"},
	} {
		t.Run(lang, func(t *testing.T) {
			if m := Missing(lang); m != "" {
				t.Fatalf("%s; scripts/setup installs it", m)
			}
			dir := t.TempDir()
			write(t, dir, files)
			write(t, dir, map[string]string{"belay.yaml": testSource})
			_, err := Build(context.Background(), dir, Options{})
			if !errors.Is(err, ErrCompile) || !strings.Contains(err.Error(), "nonsense") {
				t.Errorf("got %v", err)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(files) > 0 {
				t.Errorf("written: %q", files)
			}
		})
	}
}

func TestBuildObeysItsContext(t *testing.T) {
	if m := Missing("c"); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	dir := t.TempDir()
	write(t, dir,
		map[string]string{"belay.yaml": testSource,
			"hook.c": "#include \"belay.h\"\nBELAY_PHASE(pre_tool) { return BELAY_OK; }\n"})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Build(ctx, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Build(context.Background(), dir, Options{}); err != nil {
		t.Error(err)
	}
}
