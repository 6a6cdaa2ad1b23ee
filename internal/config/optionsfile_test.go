package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

const withOptions = `version: belay/v1
hooks:
  - name: gate
    module: builtin:stage-gate
    capabilities: []
    config_file: gates.yaml
`

func load(t *testing.T, belay, gates string) (*config.File, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{config.FileName: belay, "gates.yaml": gates} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(dir)
}

// The options are those of the file, the revision covers them, and faults have their place in it.
func TestFilesOfOptions(t *testing.T) {
	f, first, err := load(t, withOptions, "gates: []\n")
	if err != nil || string(f.Hooks[0].Config) != `{"gates":[]}` {
		t.Fatalf("%v, %s", err, f.Hooks[0].Config)
	}
	if _, second, err := load(t, withOptions, "gates: [] # the same\n"); err != nil || second == first {
		t.Errorf("the revision does not cover the file: %v", err)
	}
	f, _, err = load(t, withOptions, "other: 1\ngates: []\n")
	if place := f.ConfigPlace("gate", "/gates"); err != nil || place != "gates.yaml:2" {
		t.Errorf("%q, %v", place, err)
	}
	f, plain, err := load(t, strings.Replace(withOptions, "config_file: gates.yaml", "config: {gates: []}", 1), "")
	if place := f.ConfigPlace("gate", "/gates"); err != nil || place != "belay.yaml:6" {
		t.Errorf("%q, %v", place, err)
	}
	if src := strings.Replace(withOptions, "config_file: gates.yaml", "config: {gates: []}",
		1); plain != config.Revision([]byte(src)) {
		t.Error("without such files the revision is another than before")
	}
	// A binding that is switched off reads nothing; one that says so does without.
	for _, more := range []string{"    disabled: true\n", "    config_file_optional: true\n"} {
		if f, _, err := load(t, withOptions+more, ""); err != nil || f.Hooks[0].Config != nil {
			t.Errorf("%s: %v", more, err)
		}
	}

	for _, c := range []struct{ belay, gates, want string }{
		{withOptions, "", "belay.yaml:6: /hooks/0/config_file: there is no file gates.yaml"},
		{withOptions, "a: 1\na: 2\n", "gates.yaml:2: /a: duplicate key"},
		{withOptions, "a: 1\nb: {\n", "gates.yaml:"},
		{withOptions, "[1]\n", "gates.yaml:1: must be a mapping"},
		{withOptions, "a: \xff\n", "gates.yaml:1: not valid UTF-8"},
		{withOptions, "a: " + strings.Repeat("x", 1<<20), "gates.yaml is larger than 1048576 bytes"},
		{withOptions + "    config: {}\n", "a: 1\n", "contradicts config"},
		{strings.Replace(withOptions, "config_file: gates.yaml", "config_file_optional: true", 1), "",
			"says nothing without config_file"},
	} {
		_, _, err := load(t, c.belay, c.gates)
		if !errors.Is(err, config.ErrUnusable) || !errors.Is(err, config.ErrConfig) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.gates, err, c.want)
		}
	}
}
