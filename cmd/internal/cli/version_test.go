package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	info := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	for _, c := range []struct {
		stamp string
		info  *debug.BuildInfo
		want  string
	}{
		{"", nil, unstamped},
		{"", info(""), unstamped},
		{"", info("(devel)"), unstamped},
		{"", info("v1.2.3"), "v1.2.3"},
		{"v1.2.3-rc1", info("(devel)"), "v1.2.3-rc1"},
		{"v1.2.3-rc1", info("v0.0.0-20261128035000-6b4167361234"), "v1.2.3-rc1"},
		{"v1.2.3-rc1", nil, "v1.2.3-rc1"},
	} {
		if got := versionOf(c.stamp, c.info); got != c.want {
			t.Errorf("stamp %q, %+v: %s, not %s", c.stamp, c.info, got, c.want)
		}
	}
	if strings.Contains(version(), "devel") {
		t.Errorf("this test is of version %s", version())
	}
}

// The name in the Makefile's -X is that of the variable: the linker is silent about one that is not there.
func TestMakefileStampsTheVersion(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := `-X github.com/belay-hooks/belay/cmd/internal/cli.stamped=$(VERSION)`; !bytes.Contains(makefile, []byte(want)) {
		t.Errorf("the Makefile does not say %s", want)
	}
}

// scripts/version says what Go would say of the commit, or a tag, or nothing where there is no git.
func TestVersionScript(t *testing.T) {
	script, err := os.ReadFile("../../../scripts/version")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "scripts", "version")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_AUTHOR_DATE=2026-11-28T03:50:00Z",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid", "GIT_COMMITTER_DATE=2026-11-28T04:50:00+01:00")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is missing; scripts/setup installs it")
	}
	if got := run(path); got != "" {
		t.Errorf("without git: %q", got)
	}
	run("git", "init", "-q")
	run("git", "add", ".")
	run("git", "commit", "-qm", "one")
	if got := run(path); !regexp.MustCompile(`\Av0\.0\.0-20261128035000-[0-9a-f]{12}\z`).MatchString(got) {
		t.Errorf("a commit: %q", got)
	}
	run("git", "tag", "v1.2.3")
	if got := run(path); got != "v1.2.3" {
		t.Errorf("a tag: %q", got)
	}
	if err := os.WriteFile(path, append(script, '\n'), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := run(path); got != "v1.2.3+dirty" {
		t.Errorf("a change on top: %q", got)
	}
}
