package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

// parallel runs commands of one state directory at the same time and returns which
// of them said that they did what they were asked.
func parallel(t *testing.T, dir string, commands [][]string) (done []bool) {
	t.Helper()
	p := &process{dir: dir}
	done = make([]bool, len(commands))
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() {
			out, code := p.belay(t, c...)
			if done[i] = code == 0; !done[i] {
				t.Logf("belay %s: %s", strings.Join(c, " "), out)
			}
		})
	}
	wg.Wait()
	return done
}

// Twenty revocations at the same time: each that says "Revoked" is in the file.
func TestParallelDenies(t *testing.T) {
	dir := t.TempDir()
	initState(t, dir)
	var commands [][]string
	digest := func(i int) string { return fmt.Sprintf("sha256:%064x", i+1) }
	for i := range 20 {
		commands = append(commands, []string{"trust", "deny", "--digest", digest(i)})
	}
	done := parallel(t, dir, commands)
	text := fileText(t, filepath.Join(dir, "trust.yaml"))
	for i, ok := range done {
		if !ok {
			t.Errorf("denial %d was not made", i)
		} else if !strings.Contains(text, digest(i)) {
			t.Errorf("denial %d was acknowledged, and is not stored", i)
		}
	}
}

// Installations, switches and a removal at the same time, and two reviewers who
// register: each acknowledged one is in the file, and a person's edits are,
// too.
func TestParallelEdits(t *testing.T) {
	dir := t.TempDir()
	initState(t, dir)
	path := filepath.Join(dir, "belay.yaml")
	const note = "# by hand, and to stay\n"
	if err := os.WriteFile(path, []byte(note+fileText(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
	var people []*terminal
	for _, name := range []string{"anna", "bert"} {
		x := openTerminal(t, dir, "reviewer", "init", name)
		x.expect("Passphrase for the reviewer")
		x.send("correct horse battery\n")
		x.expect("The same again")
		people = append(people, x)
	}
	commands := [][]string{{"hook", "disable", "path-guard"}, {"hook", "disable", "strip-ansi"},
		{"hook", "remove", "redact-secret"}}
	for i := range 10 {
		commands = append(commands,
			[]string{"hook", "install", "builtin:command-guard", "--name", fmt.Sprintf("guard-%d", i)})
	}
	for _, x := range people {
		x.send("correct horse battery\n")
	}
	done := parallel(t, dir, commands)
	for _, x := range people {
		x.end()
	}
	text := fileText(t, path)
	f, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	bound := map[string]config.Binding{}
	for _, h := range f.Hooks {
		bound[h.Name] = h
	}
	for i, ok := range done {
		if !ok {
			t.Errorf("belay %v was refused", commands[i])
		}
	}
	for i := range 10 {
		if _, ok := bound[fmt.Sprintf("guard-%d", i)]; !ok {
			t.Errorf("guard-%d was acknowledged and is not bound", i)
		}
	}
	if !bound["path-guard"].Disabled || !bound["strip-ansi"].Disabled {
		t.Errorf("a hook is enabled that was disabled: %s", text)
	}
	if _, ok := bound["redact-secret"]; ok {
		t.Error("a hook is bound that was removed")
	}
	if len(f.Reviewers) != 1 {
		t.Errorf("%d reviewers are registered; the first registers itself, and no other", len(f.Reviewers))
	}
	if !strings.HasPrefix(text, note) {
		t.Error("a comment is gone")
	}
}

// Of equal names one installation is made, and the others say that it is taken.
func TestParallelInstallsOfOneName(t *testing.T) {
	dir := t.TempDir()
	initState(t, dir)
	var commands [][]string
	for range 4 {
		commands = append(commands, []string{"hook", "install", "builtin:command-guard", "--name", "guard"})
	}
	n := 0
	for _, ok := range parallel(t, dir, commands) {
		if ok {
			n++
		}
	}
	if n != 1 || strings.Count(fileText(t, filepath.Join(dir, "belay.yaml")), "name: guard\n") != 1 {
		t.Errorf("%d said that they installed it", n)
	}
}

// Enable and disable follow a link to the file and change it there; a pipe is
// refused at once.
func TestEditsOfALinkedConfiguration(t *testing.T) {
	dir := t.TempDir()
	state, dotfiles := filepath.Join(dir, "state"), filepath.Join(dir, "dotfiles")
	initState(t, state)
	if err := os.Mkdir(dotfiles, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"belay.yaml", "trust.yaml"} {
		if err := os.Rename(filepath.Join(state, name), filepath.Join(dotfiles, name)); err != nil && name == "belay.yaml" {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..", "dotfiles", name), filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dotfiles, "trust.yaml"), []byte(config.EmptyTrust), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{dir: state}
	digest := "sha256:" + strings.Repeat("d", 64)
	for _, c := range [][]string{{"hook", "disable", "path-guard"}, {"trust", "deny", "--digest", digest}} {
		if out, code := p.belay(t, c...); code != 0 {
			t.Fatalf("belay %v: %s", c, out)
		}
	}
	if text := fileText(t, filepath.Join(dotfiles, "belay.yaml")); !strings.Contains(text, "disabled: true") {
		t.Errorf("the file that the link leads to was not edited: %s", text)
	}
	if text := fileText(t, filepath.Join(dotfiles, "trust.yaml")); !strings.Contains(text, digest) {
		t.Errorf("the file that the link leads to was not edited: %s", text)
	}
	for _, name := range []string{"belay.yaml", "trust.yaml"} {
		if fi, err := os.Lstat(filepath.Join(state, name)); err != nil || fi.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
}
