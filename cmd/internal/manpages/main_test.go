package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// made writes the pages into a new directory.
func made(t *testing.T, epoch string) string {
	t.Helper()
	dir := t.TempDir()
	var stderr bytes.Buffer
	getenv := func(string) string { return epoch }
	if code := run([]string{"-o", dir, "-version", "v1.2.3"}, getenv, &stderr); code != 0 {
		t.Fatalf("%d %s", code, stderr.String())
	}
	return dir
}

func pagesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every command has a page with each of its flags, no page is of a command that there is not, and every YAML file
// has one.
func TestEveryCommandHasAPage(t *testing.T) {
	pages := pagesIn(t, made(t, "1790000000"))
	for _, name := range []string{"belay.yaml", "belay-trust", "belay-rules", "belay-manifest", "belay-suite"} {
		page := filepath.Join("man5", name+".5")
		if !strings.Contains(pages[page], ".SH MEMBERS") {
			t.Errorf("there is no page %s", page)
		}
		delete(pages, page)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" { // man is what help would print
				walk(sub)
			}
		}
		name := filepath.Join("man1", strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		page, ok := pages[name]
		if !ok {
			t.Errorf("%s has no page", c.CommandPath())
			return
		}
		delete(pages, name)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, `\fB--`+f.Name+`\fP`) {
				t.Errorf("%s does not tell of --%s", name, f.Name)
			}
		})
	}
	root := cli.Commands()
	root.InitDefaultHelpCmd()
	walk(root)
	for name := range pages {
		t.Errorf("%s is the page of nothing", name)
	}
}

// The same sources give the same bytes: the date is that of the version, and there is no page without one.
func TestPagesAreReproducible(t *testing.T) {
	first, second := pagesIn(t, made(t, "1790000000")), pagesIn(t, made(t, "1790000000"))
	for name, page := range first {
		if page != second[name] || !strings.Contains(page, `"2026-09-21" "belay v1.2.3" "belay"`) {
			t.Errorf("%s: the bytes differ, or have another date: %.100s", name, page)
		}
	}
	var stderr bytes.Buffer
	dir := t.TempDir()
	if code := run([]string{"-o", dir}, func(string) string { return "" }, &stderr); code != 1 ||
		!strings.Contains(stderr.String(), "SOURCE_DATE_EPOCH") {
		t.Errorf("%d %s", code, stderr.String())
	}
	if left := pagesIn(t, dir); len(left) > 0 {
		t.Errorf("%d pages", len(left))
	}
}

// What Markdown and roff would take for marks of theirs stands on the page as the help says it.
func TestPagesShowTheHelpAsItStands(t *testing.T) {
	dir := made(t, "1790000000")
	for page, wants := range map[string][]string{
		"man1/belay-trust-add-key.1":  {"acme/* and acme/**"},
		"man1/belay-lease-mint.1":     {"*.suffix:PORT", "DIR/**", "ns:* or *"},
		"man1/belay-hook-install.1":   {"FILE.wasm|builtin:NAME|oci://HOST/REPO@sha256:"},
		"man1/belay.1":                {"  belay eval < invocation.json    ask once", "BELAY_HOME"},
		"man1/belay-events-compact.1": {"{--before TIME | --keep DAYS}"},
		"man5/belay.yaml.5":           {"hooks[].module", "approvals.timeout"},
	} {
		text := rendered(t, filepath.Join(dir, page))
		for _, want := range wants {
			if text != "" && !strings.Contains(squeezed(text), squeezed(want)) {
				t.Errorf("%s does not show %q:\n%s", page, want, text)
			}
		}
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// rendered is a page as a terminal shows it; "" without groff.
func rendered(t *testing.T, page string) string {
	t.Helper()
	if _, err := exec.LookPath("groff"); err != nil {
		return ""
	}
	out, err := exec.Command("groff", "-man", "-Tascii", "-P-cbou", "-rLL=200n", "-rHY=0", page).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Formatters have nothing to say about the pages, where there are any.
func TestPagesRenderWithoutWarnings(t *testing.T) {
	dir := made(t, "1790000000")
	var files []string
	for name, page := range pagesIn(t, dir) {
		files = append(files, filepath.Join(dir, name))
		if i := strings.IndexFunc(page, func(r rune) bool { return r >= 0x80 }); i >= 0 {
			t.Errorf("%s: a formatter may not know the encoding of %.20q", name, page[i:])
		}
	}
	slices.Sort(files)
	for _, command := range [][]string{{"groff", "-man", "-ww", "-z", "-Tutf8"},
		{"mandoc", "-T", "lint", "-W", "warning"}} {
		path, err := exec.LookPath(command[0])
		if err != nil {
			t.Logf("there is no %s here", command[0])
			continue
		}
		out, err := exec.Command(path, append(command[1:], files...)...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%.2000s", command[0], err, out)
		}
	}
}
