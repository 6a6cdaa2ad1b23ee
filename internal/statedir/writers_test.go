package statedir_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/arch/calls"
)

// edited is every file that belay edits, and by what: its new content depends on the
// old, or it must be there once. Each goes through this package.
var edited = []struct{ file, by, from string }{
	{"belay.yaml: install, enable, disable, remove, grants, reviewer init", "EditFile", "internal/config/file.go"},
	{"belay.yaml: a proposed hook that is approved", "EditFile", "internal/install/review.go"},
	{"belay.yaml: hook install", "EditFile", "internal/install/hook.go"},
	{"belay.yaml: init", "Create", "cmd/internal/cli/init.go"},
	{"trust.yaml: deny, add-key, add-identity", "Edit", "internal/trust/edit.go"},
	{"trust.yaml: init", "Create", "cmd/internal/cli/trust.go"},
	{"keys/*.key", "MakeKey", "internal/keyring/ring.go"},
	{"keys/*.token, keys/*.hash", "Create", "cmd/internal/server/tokens.go"},
	{"NAME.key, NAME.pub, NAME.reviewer.key, signatures beside a module", "Create", "cmd/internal/cli/hook_sign.go"},
	{"blobs/sha256/*", "StoreBlob", "internal/install/hook.go"},
	{"blobs/sha256/*, while it is not bound yet, and while it is dropped", "Lock", "internal/install/propose.go"},
	{"evidence beside a module", "Create", "internal/trust/evidence.go"},
	{"a pulled module", "Replace", "cmd/internal/cli/hook_pull.go"},
	{"*.golden.json", "EditPublic", "internal/suite/golden.go"},
	{"digests.lock of examples", "EditPublic", "internal/hookbuild/buildexamples/main.go"},
	{"spool.jsonl", "OpenLocked", "internal/notes/spool.go"},
	{"spool.reserve", "OpenLocked", "internal/notes/reserve.go"},
	{"tools.json", "Edit", "internal/toolpins/file.go"},
	{"clock.json", "Edit", "internal/notes/clock_watch.go"},
	{"settings of runtimes, and their backups", "Edit", "cmd/internal/connect/write.go"},
	{"files of checkpoints", "OpenLocked", "internal/statelog/checkpointer.go"},
}

// others are the functions that write files in another way, and why they may.
var others = map[string]string{
	"internal/store/sqlite/foreign/copy.go copyWithin":        "a copy in a private directory, which is removed",
	"internal/highwater/disk.go Open":                         "the high-water mark: the disk that its crash tests replace",
	"internal/highwater/disk.go Replace":                      "the high-water mark: the same; synced before it gets its name",
	"cmd/internal/server/tls.go newKey":                       "made under the daemon's lock",
	"cmd/internal/server/tls.go newCertificate":               "made under the daemon's lock, anew when it runs out",
	"internal/retention/file.go create":                       "a recording: a name of its own, locked while it is written",
	"internal/retention/file.go finish":                       "a recording: whole, and synced before it gets its name",
	"internal/retention/file.go cutOffFile":                   "a recording: gets the name of what was cut off, under its lock",
	"internal/retention/file.go probe":                        "writes nothing that stays",
	"internal/retention/retain.go claimOne":                   "opens a recording to lock it",
	"internal/files/read.go open":                             "opens what is there for its callers, and makes no file",
	"internal/files/read.go OpenDir":                          "opens a directory to list it",
	"kernel/intents.go begin":                                 "an intent: a name of its own, synced before and after it gets its name",
	"kernel/intents.go left":                                  "opens an intent to lock it",
	"cmd/internal/cli/preview.go RunPreview":                  "a directory of its own that goes again",
	"internal/daemonapi/held_unix.go held":                    "opens the daemon's lock to look",
	"cmd/internal/server/dirlock_unix.go takeDirLock":         "opens the directory to lock it",
	"cmd/internal/server/dirlock_unix.go lockFile":            "is the daemon's lock",
	"internal/sandbox/lock_unix.go lockFile":                  "is the cache's lock",
	"internal/sandbox/cache.go compileApart":                  "compiled code: under the cache's lock, and refused when it is not whole",
	"internal/sandbox/compiler_load.go write":                 "compiled code: in a directory that goes again, or under the cache's lock",
	"internal/sandbox/cache.go seal":                          "compiled code: made again when it is not whole; under the cache's lock",
	"internal/sealcache/cache.go Put":                         "built rules: built again when an entry is not the one that was written",
	"internal/sink/disk.go open":                              "appends under a lock of its own, and starts from the log after a crash",
	"internal/sink/disk.go rename":                            "rotates under the same lock",
	"internal/notes/spool.go Take":                            "gives the file another name under its lock",
	"internal/store/sqlite/files.go createFiles":              "makes the database's files empty; SQLite writes them",
	"internal/store/sqlite/readonly.go copyFile":              "a copy in a directory of its own",
	"internal/files/write.go Create":                          "beside its place, under a name of its own",
	"internal/files/write.go Commit":                          "a complete file gets its place",
	"internal/hookbuild/build.go Build":                       "a module that is made anew, whatever was there; all or nothing",
	"internal/hookbuild/record.go writeRecord":                "the record of a module that was just made; all or nothing",
	"internal/hookbuild/record_rules.go RecordRules":          "the record of a module that was just made; all or nothing",
	"internal/hookbuild/builds.go note":                       "a digest in a file of its own; without it belay builds nothing unasked",
	"internal/hookbuild/new.go fill":                          "a new directory, which gets its name when it is whole",
	"internal/hookbuild/lang_rust.go compileRust":             "a directory for building",
	"internal/hookbuild/lang_c.go compileC":                   "a directory for building",
	"internal/hookbuild/refusal.go refuse":                    "a directory for building",
	"cmd/internal/cli/demo.go demo":                           "a directory of its own that goes again",
	"cmd/internal/cli/demo_leases.go prepare":                 "a directory of its own that goes again",
	"cmd/internal/cli/reviewer_sign.go writeOrder":            "a statement that is made anew, whatever was there",
	"cmd/internal/cli/fuzz_out.go canWriteIn":                 "writes nothing that stays",
	"cmd/internal/cli/password.go keyPassword":                "the terminal",
	"cmd/internal/cli/reviewer.go passphrase":                 "the terminal",
	"cmd/internal/cli/approvals_terminal.go decideAtTerminal": "the terminal",
	"cmd/internal/cli/record_file.go createRecording":         "a recording: a name of its own",
	"cmd/internal/cli/record_file.go finish":                  "a recording: synced before it gets its name, which is its digest's",
	"cmd/internal/cli/record_file.go recordingPassphrase":     "the terminal",
	"cmd/internal/cli/outputs.go add":                         "reports that are made anew; all of them or none",
	"cmd/internal/cli/init.go init":                           "the schema for editors, which is made anew, whatever was there",
	"cmd/internal/cli/rules.go rulesBuild":                    "modules that are made anew, whatever was there",
	"cmd/internal/manpages/commands.go write":                 "pages that are made anew, whatever was there",
	"internal/confine/report.go Write":                        "a report that is made anew, whatever was there",
	"internal/sysinstall/import_receive.go unpack":            "in a new directory, which gets its name when it is whole and proven",
	"cmd/internal/cli/events_export.go eventsExport":          "an export that is made anew; all or nothing",
}

// writes are the functions of the standard library, and of the package for complete files,
// with which files are made or replaced.
var writes = map[string][]string{
	"os":    {"WriteFile", "Rename", "Create", "CreateTemp", "OpenFile", "Link", "Symlink", "Truncate"},
	"files": {"OpenFlags", "Write", "Create"},
}

// Nothing in the product writes a file but through this package, or with a reason.
func TestEveryWriterIsKnown(t *testing.T) {
	used := map[string]bool{}
	through := map[string][]string{} // file -> its calls of this package, or of config's EditFile
	source := calls.Source{
		Root: filepath.Join("..", ".."),
		// guests; this package; a tool that works on copies of the source
		Skip: []string{"hooks-sdk", "examples-wasm", "internal/statedir", "internal/mutants", "internal/agents",
			"adapters/internal/goldens", "bench"},
	}
	err := source.Each(func(u calls.Use) {
		switch {
		case u.Pkg == "statedir", u.Pkg == "config" && u.Name == "EditFile":
			through[u.File] = append(through[u.File], u.Name)
			if u.File == "internal/config/file.go" {
				through[u.File] = append(through[u.File], "EditFile")
			}
		case !slices.Contains(writes[u.Pkg], u.Name):
		case others[u.At()] == "":
			t.Errorf("%s calls %s.%s: write through internal/statedir, or say here why not", u.At(), u.Pkg, u.Name)
		default:
			used[u.At()] = true
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range others {
		if !used[at] {
			t.Errorf("%s is listed and writes nothing", at)
		}
	}
	for _, e := range edited {
		if !slices.Contains(through[e.from], e.by) {
			t.Errorf("%s: %s does not call %s", e.file, e.from, e.by)
		}
	}
}
