//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Each command that reads a file by its name, with a pipe, socket, device or
// directory in the file's place. DIR is the state directory, FILE the obstacle.
var readers = []struct {
	what  string // the file
	at    string // where it is
	asked []string
	more  string // what the message says besides, when it is not about a regular file
	dirs  bool   // a directory is as good as a file
}{
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"hook", "list"}},
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"status"}},
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"doctor"}},
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"latch", "clear", "claude-code", "s"}},
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"serve"}},
	{what: "belay.yaml", at: "DIR/belay.yaml", asked: []string{"hook", "inspect", "command-guard"}},
	{what: "trust policy", at: "DIR/trust.yaml", asked: []string{"trust", "list"}},
	{what: "key", at: "DIR/keys/redact.key", asked: []string{"status"}, more: "chmod 600"},
	{what: "key of the loopback address", at: "DIR/keys/tls.key", asked: []string{"serve", "--listen", "127.0.0.1:0"},
		more: "chmod 600"},
	{what: "hash of a token", at: "DIR/keys/admin.hash", asked: []string{"serve"}, more: "chmod 600"},
	{what: "database", at: "DIR/belay.db", asked: []string{"status"}},
	{what: "database", at: "DIR/belay.db", asked: []string{"events", "tail"}},
	{what: "database", at: "DIR/belay.db", asked: []string{"events", "verify"}},
	{what: "log of the database", at: "DIR/belay.db-wal", asked: []string{"events", "tail"}},
	{what: "module", asked: []string{"hook", "inspect", "FILE.wasm"}},
	{what: "module", asked: []string{"hook", "verify", "FILE.wasm"}},
	{what: "module", asked: []string{"hook", "install", "FILE.wasm"}},
	{what: "module", asked: []string{"hook", "propose", "FILE.wasm"}},
	{what: "module", asked: []string{"hook", "sign", "--key", "KEY", "FILE.wasm"}},
	{what: "module", asked: []string{"fuzz", "FILE.wasm"}, dirs: true},
	{what: "module", asked: []string{"eval", "--hook", "FILE.wasm", "-f", "/dev/null"}},
	{what: "configuration of a hook", asked: []string{"eval", "--hook", "WASM,config=FILE", "-f", "/dev/null"}},
	{what: "configuration of a hook", asked: []string{"hook", "install", "WASM", "--config", "FILE"}},
	{what: "configuration of a hook", asked: []string{"fuzz", "WASM", "--config", "FILE"}},
	{what: "private key", asked: []string{"hook", "sign", "--key", "FILE", "WASM"}},
	{what: "bundle", asked: []string{"hook", "verify", "--bundle", "FILE", "WASM"}},
	{what: "manifest", at: "SOURCE/belay.yaml", asked: []string{"hook", "build", "SOURCE"}},
	{what: "policy", asked: []string{"replay", "--policy", "FILE", "/dev/fd/0"}},
	{what: "suite", at: "SOURCE/cases/c.yaml", asked: []string{"test", "SOURCE"}, dirs: true},
	{what: "recording", asked: []string{"replay", "FILE"}, dirs: true},
	{what: "recording", asked: []string{"fuzz", "WASM", "--recordings", "FILE"}, dirs: true},
	{what: "identity", asked: []string{"replay", "--identity", "FILE", "SEALED"}},
	{what: "checkpoints", asked: []string{"events", "verify", "--checkpoint", "FILE"}},
	{what: "copies", asked: []string{"events", "verify", "--against", "FILE"}},
	{what: "proof", asked: []string{"events", "verify", "--proof", "FILE", "--key", "k"}},
	{what: "statement", asked: []string{"latch", "clear", "claude-code", "s", "--statement", "FILE"}},
	{what: "invocation", asked: []string{"eval", "-f", "FILE"}},
	{what: "payload", asked: []string{"eval", "--runtime", "claude-code", "--event", "FILE"}},
	{what: "rules", asked: []string{"redact", "--gitleaks", "FILE"}},
}

// No command waits for an obstacle in the place of a file: it names the file
// and the fault, and its exit status is not that of success.
func TestNoCommandWaitsForAFile(t *testing.T) {
	wasm, err := filepath.Abs("../../../examples-wasm/prompt-length/prompt-length.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, code := (&process{dir: dir}).belay(t, "init"); code != 0 {
		t.Fatal(out)
	}
	if out, code := (&process{dir: dir}).belay(t, "trust", "init"); code != 0 {
		t.Fatal(out)
	}
	source := filepath.Join(t.TempDir(), "source")
	sealed := filepath.Join(t.TempDir(), "sealed.rec.age")
	manifest := "abi: 1\nname: h\nversion: 1.0.0\nphases: [pre_tool]\n"
	err = errors.Join(os.Chmod(dir, 0o700), os.WriteFile(sealed, []byte("age-encryption.org/v1\n-> X25519 x\n"), 0o600),
		os.MkdirAll(filepath.Join(source, "cases"), 0o700),
		os.WriteFile(filepath.Join(source, "belay.yaml"), []byte(manifest), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name, is string
		put      func(path string) error
	}{
		{"pipe", "a pipe", func(p string) error { return unix.Mkfifo(p, 0o600) }},
		{"directory", "a directory", func(p string) error { return os.Mkdir(p, 0o700) }},
		{"device", "a device", func(p string) error { return os.Symlink("/dev/zero", p) }},
	} {
		for _, r := range readers {
			if kind.name == "directory" && r.dirs {
				continue
			}
			t.Run(kind.name+"/"+r.what+"/"+strings.Join(r.asked, "_"), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "f")
				names := strings.NewReplacer("DIR", dir, "SOURCE", source, "FILE", file, "WASM", wasm, "KEY",
					filepath.Join(source, "none"), "SEALED", sealed)
				at := file
				if r.at != "" {
					at = names.Replace(r.at)
				} else if strings.Contains(strings.Join(r.asked, " "), "FILE.wasm") {
					at += ".wasm"
				}
				aside := filepath.Join(t.TempDir(), "aside")
				_ = os.Rename(at, aside) // where there is one
				if err := kind.put(at); err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = os.RemoveAll(at)
					_ = os.Rename(aside, at)
				}()
				var args []string
				for _, a := range r.asked {
					args = append(args, names.Replace(a))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				cmd := exec.CommandContext(ctx, "belay", args...)
				cmd.Env = append(os.Environ(), "BELAY_HOME="+dir, "BELAY_KEY_PASSWORD=x", "NO_COLOR=1")
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				err := cmd.Run()
				switch said := out.String(); {
				case ctx.Err() != nil:
					t.Fatalf("it waits: %s", said)
				case err == nil && r.what != "payload":
					t.Errorf("it ends as if all were well: %s", said)
				case regexp.MustCompile(regexp.QuoteMeta(filepath.Base(at)) +
					"( cannot be used:)? is not a regular file, but " + kind.is).MatchString(said):
				case r.more != "" && strings.Contains(said, filepath.Base(at)) && strings.Contains(said, r.more):
				default:
					t.Errorf("it says: %s", said)
				}
			})
		}
	}
}
