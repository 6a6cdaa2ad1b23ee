package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

func watched(s *server.Options) { s.Watch = 20 * time.Millisecond }

// until waits for something that the daemon does by itself.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// The cause of a failed reload ends without a change of belay.yaml: the daemon
// notices, and logs the fault only once.
func TestAReloadThatFailedIsTriedAgain(t *testing.T) {
	d := startDaemon(t, withServer(watched))
	hash := filepath.Join(d.dir, "keys", "review.hash")
	if err := errors.Join(os.Rename(hash, hash+".aside"), os.Mkdir(hash, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := d.server.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "review.hash") {
		t.Fatalf("a directory was taken for a hash: %v", err)
	}
	time.Sleep(200 * time.Millisecond)
	if n := strings.Count(d.log.String(), "not reloaded"); n != 1 {
		t.Errorf("said %d times what is wrong", n)
	}
	if err := errors.Join(os.Remove(hash), os.Rename(hash+".aside", hash)); err != nil {
		t.Fatal(err)
	}
	until(t, "not tried again", func() bool { return strings.Contains(d.log.String(), "msg=reloaded") })
}

// A module that could not be loaded is loaded when its file is there, without a word to
// the daemon, and a file that stays away is looked for once more and no further.
func TestAModuleThatIsBackIsLoaded(t *testing.T) {
	module, err := os.ReadFile("../../../examples-wasm/prompt-length/prompt-length.wasm")
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, withServer(watched),
		withConfig("version: belay/v1\nhooks:\n  - name: guard\n    module: guard.wasm\n    digest: "+phases.ByteDigest(module)+
			"\n    capabilities: [block, add_context]\n"))
	broken := func() bool { return d.host.Bindings()[0].Problem != "" }
	if !broken() {
		t.Fatal("a module that is not there was loaded")
	}
	time.Sleep(200 * time.Millisecond)
	if n := strings.Count(d.log.String(), "msg=reloaded"); n > 1 {
		t.Errorf("reloaded %d times for a file that is still away", n)
	}
	path := filepath.Join(d.dir, "guard.wasm")
	if err := errors.Join(os.WriteFile(path+".new", module, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	until(t, "not loaded", func() bool { return !broken() })
}

// The file was away for one reload only, and is back, the same one, before the daemon looks.
func TestAModuleThatWasAwayForAReloadIsLoaded(t *testing.T) {
	module, err := os.ReadFile("../../../examples-wasm/prompt-length/prompt-length.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := stateDir(t, "version: belay/v1\nhooks:\n  - name: guard\n    module: guard.wasm\n    digest: "+
		phases.ByteDigest(module)+"\n    capabilities: [block, add_context]\n")
	path := filepath.Join(dir, "guard.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	d := serveDir(t, dir, withServer(func(s *server.Options) { s.Watch = 2 * time.Second }))
	if err := errors.Join(os.Rename(path, path+".aside"), d.server.Reload(t.Context()),
		os.Rename(path+".aside", path)); err != nil {
		t.Fatal(err)
	}
	broken := func() bool { return d.host.Bindings()[0].Problem != "" }
	if !broken() {
		t.Fatal("the reload did not miss the file")
	}
	until(t, "not loaded", func() bool { return !broken() })
}
