package harnesstest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/harness/harnesstest"
	"github.com/belay-hooks/belay/internal/recording"
)

func TestRun(t *testing.T) { harnesstest.Run(t, "testdata/same") }

// A test that is to fail runs in a process of its own.
func TestInner(t *testing.T) {
	dir := os.Getenv("BELAY_INNER")
	if dir == "" {
		dir = "testdata/same"
	}
	var options []harnesstest.Option
	if key := os.Getenv("BELAY_INNER_KEY"); key != "" {
		options = append(options, harnesstest.Identity(key))
	}
	harnesstest.Run(t, dir, options...)
}

// sealed makes a directory with a sealed recording, and a case of it.
func sealed(t *testing.T) (dir, key string) {
	t.Helper()
	dir = t.TempDir()
	key = filepath.Join(t.TempDir(), "key.txt")
	file, to, err := recording.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile("testdata/same/session.rec")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("testdata/same/strict.wasm")
	if err != nil {
		t.Fatal(err)
	}
	recipients, err := recording.ParseRecipients(to)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := recording.Seal(&out, recipients)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{
		filepath.Join(dir, "session.rec.age"): out.Bytes(),
		filepath.Join(dir, "strict.wasm"):     module,
		filepath.Join(dir,
			"cases.yaml"): []byte("cases:\n  - {name: the first, recording: session.rec.age, want: {decision: block}}\n"),
		key: []byte(file),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, key
}

// What differs in a sealed recording is said without its values.
func TestSealedDiffers(t *testing.T) {
	dir, key := sealed(t)
	other, err := os.ReadFile("testdata/other/strict.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "strict.wasm"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "cases.yaml")); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestInner$")
	cmd.Env = append(os.Environ(), "BELAY_INNER="+dir, "BELAY_INNER_KEY="+key)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "differs; it is sealed") ||
		strings.Contains(string(out), "is:  allow") || strings.Contains(string(out), "nothing is allowed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Sealed recordings run with the key, and fail without it: a test that did nothing would
// look as if it had passed.
func TestSealed(t *testing.T) {
	dir, key := sealed(t)
	harnesstest.Run(t, dir, harnesstest.Identity(key))
	_, other := sealed(t)
	for name, c := range map[string]struct {
		key   string
		wants []string
	}{
		"no key": {"",
			[]string{"no key for it: harnesstest.Identity(FILE)",
				"/recording: session.rec.age is sealed, and no identity was given"}},
		"another key": {other, []string{"none of the identities opens it"}},
		"no file":     {other + "x", []string{"no such file"}},
		"not a key":   {filepath.Join(dir, "cases.yaml"), []string{"not a file of age identities"}},
	} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestInner$")
		cmd.Env = append(os.Environ(), "BELAY_INNER="+dir, "BELAY_INNER_KEY="+c.key)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: passed", name)
		}
		for _, want := range c.wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

func TestRunFails(t *testing.T) {
	for dir, wants := range map[string][]string{
		"testdata/other": {"--- FAIL: TestInner/session.rec",
			"testdata/other/session.rec: invocation 1 (pre_tool exec): decision decision", "is:  allow"},
		"testdata/broken": {"--- FAIL: TestInner/cases/wishful",
			"testdata/broken/cases.yaml:2: decision: want allow, got block", "--- FAIL: TestInner/session.rec",
			"session.rec:3: the recording was changed"},
		"testdata":      {"holds neither cases nor recordings"},
		"testdata/none": {"no such file"},
		"testdata/typo": {"testdata/typo/cases.yaml:5:5: /cases/0/wants: unknown member"},
	} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestInner$")
		cmd.Env = append(os.Environ(), "BELAY_INNER="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: passed", dir)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", dir, want, out)
			}
		}
	}
}

// An embedder uses harnesstest from another module, as docs/HARNESS.md shows.
func TestFromAnotherModule(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, part, _ := strings.Cut(read(filepath.Join(root, "docs", "HARNESS.md")), "## From go test")
	_, code, _ := strings.Cut(part, "```go\n")
	code, _, found := strings.Cut(code, "```\n")
	if !found {
		t.Fatal("docs/HARNESS.md shows no test")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"guard_test.go": code,
		"go.sum":        read(filepath.Join(root, "go.sum")),
		"go.mod": "module example.com/guard\n\ngo 1.26\n\nrequire github.com/belay-hooks/belay v0.0.0\n\n" +
			"replace github.com/belay-hooks/belay => " + strconv.Quote(root) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	guard := filepath.Join(dir, "testdata", "guard")
	if err := os.CopyFS(guard, os.DirFS("testdata/same")); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wrong := "cases:\n  - name: wishful\n    phase: pre_tool\n    action: {tool: exec, args: {command: ls}}\n    want: {decision: allow}\n"
	if err := os.WriteFile(filepath.Join(guard, "cases.yaml"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil ||
		!strings.Contains(out, "testdata/guard/cases.yaml:2: decision: want allow, got block") {
		t.Errorf("%v\n%s", err, out)
	}
}
