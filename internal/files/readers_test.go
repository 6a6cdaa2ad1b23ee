package files_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/arch/calls"
)

// others are the functions that open files in another way, and why they may.
var others = map[string]string{
	"internal/files/read.go open":                             "is this package",
	"internal/files/within.go StreamWithin":                   "is this package",
	"internal/files/read.go OpenDir":                          "is this package",
	"internal/files/real_linux.go OpenReal":                   "is this package",
	"internal/daemonapi/held_unix.go held":                    "looks at the daemon's lock, and reads nothing",
	"cmd/internal/server/dirlock_unix.go takeDirLock":         "is a directory, opened to be locked, and not read",
	"cmd/internal/server/dirlock_unix.go lockFile":            "is the daemon's lock: opened for writing, which waits at no pipe, and not read",
	"internal/sandbox/lock_unix.go lockFile":                  "is the cache's lock: the same",
	"internal/statedir/lock_unix.go tryLock":                  "is a file's lock: does not wait, and refuses what is no regular file",
	"internal/statedir/lock_other.go tryLock":                 "the lock where there are no locks: a few bytes that a process has just written",
	"internal/statedir/lock.go OpenLocked":                    "does not wait, refuses what is no regular file, and may make it",
	"internal/statedir/read.go SyncDir":                       "a directory in which a name was just made",
	"internal/sink/disk.go open":                              "makes the file that was not there; one that took its name meanwhile is refused",
	"internal/store/sqlite/files.go createFiles":              "makes files for SQLite, after checkFiles has looked at them",
	"internal/sandbox/pagemap_linux.go openPagemap":           "a file of the kernel's, with a fixed name",
	"leases/boot_linux.go (package)":                          "a file of the kernel's, with a fixed name",
	"cmd/internal/connect/owned_unix.go walk":                 "opens directories one by one, and follows no link",
	"cmd/internal/connect/owned_unix.go readAt":               "follows no link, does not wait, and refuses what is no regular file",
	"cmd/internal/connect/owned_unix.go createAt":             "makes a file that was not there",
	"internal/sysinstall/import_send.go OpenSource":           "opens a directory whose real path is known by then, and looks whose it is",
	"internal/sysinstall/import_send.go in":                   "opens a directory in it, and follows no link",
	"internal/sysinstall/import_send.go open":                 "follows no link, does not wait, and refuses what is no regular file of the user",
	"internal/sysinstall/import_send.go mark":                 "is opened for its path alone until it is known for a regular file of the user",
	"internal/sysinstall/image.go inside":                     "what an image's links lead to, within the image",
	"internal/sysinstall/tree_linux.go openTree":              "opens directories one by one, and follows no link",
	"internal/sysinstall/tree_linux.go walk":                  "opens directories one by one, and follows no link",
	"internal/sysinstall/tree_linux.go open":                  "follows no link, does not wait, and refuses what is no regular file",
	"internal/sysinstall/tree_linux.go give":                  "a directory that was just made",
	"internal/sysinstall/tree_linux.go chmod":                 "follows no link, does not wait, and reads nothing",
	"internal/sysinstall/tree_linux.go write":                 "makes a file that was not there",
	"internal/sysinstall/tree_linux.go removeAll":             "a directory to remove what is in it",
	"internal/sysinstall/tree_linux.go lock":                  "is a lock: does not wait, and refuses what is no regular file",
	"cmd/internal/cli/input.go openFile":                      "a descriptor that this process was started with",
	"cmd/internal/cli/input.go readLimited":                   "a descriptor that this process was started with",
	"cmd/internal/cli/password.go keyPassword":                "the terminal",
	"cmd/internal/cli/reviewer.go passphrase":                 "the terminal",
	"cmd/internal/cli/approvals_terminal.go decideAtTerminal": "the terminal",
	"cmd/internal/cli/record_file.go recordingPassphrase":     "the terminal",
	"cmd/internal/cli/resident_linux.go releaseProgram":       "the kernel's own list of this process",
}

// opens are the functions of the standard library, and of the system's calls, with which
// files are opened or read by their names.
var opens = map[string][]string{
	"os":      {"ReadFile", "Open", "OpenFile", "OpenInRoot", "OpenRoot", "DirFS", "CopyFS"},
	"ioutil":  {"ReadFile", "ReadDir"},
	"syscall": {"Open", "Openat"},
	"unix":    {"Open", "Openat", "Openat2"},
}

// Nothing in the product opens a file by its name but through this package, or with a reason.
func TestEveryReaderIsKnown(t *testing.T) {
	used := map[string]bool{}
	source := calls.Source{
		Root: filepath.Join("..", ".."),
		// guests; tools that work on the source of this repository; what only tests use; what measures beside it
		Skip: []string{"hooks-sdk", "examples-wasm", "internal/mutants", "internal/agents",
			"internal/hookbuild/buildexamples", "adapters/internal/goldens", "bench"},
		Past: isNew,
	}
	err := source.Each(func(u calls.Use) {
		switch {
		case !slices.Contains(opens[u.Pkg], u.Name):
		case others[u.At()] == "":
			t.Errorf("%s calls %s.%s: read through internal/files, or say here why not", u.At(), u.Pkg, u.Name)
		default:
			used[u.At()] = true
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range others {
		if !used[at] {
			t.Errorf("%s is listed and opens nothing", at)
		}
	}
}

// isNew reports whether the call makes a file that was not there, or fails.
func isNew(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "OpenFile" || len(call.Args) != 3 {
		return false
	}
	new := false
	ast.Inspect(call.Args[1], func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "O_EXCL" {
			new = true
		}
		return true
	})
	return new
}
