package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belay-hooks/belay/cmd/internal/alone"
	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/cmd/internal/signing/sigstoretest"
	"github.com/belay-hooks/belay/internal/highwater/highwatertest"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
)

// Commands of the scripts: "belay" is the program itself; "xbelay" ends with
// status 0 and says the real one on standard error as "exit N", so that a script
// can tell 3 from 1; "belay-hook" and "xbelay-hook" are the small program, "belay-eval" the one that decides without a daemon; "sigstore-kms-scripted" is a key
// management service; "sql FILE TEXT…" does to a database what another program could
// (events are JSON then, where a statement changes them), "sqlite-copy
// backup|restore FILE OTHER" what .backup and .restore do; "pgsql TEXT…" does to $SCHEMA what the owner of the database
// could; "aged N" adds events of a month ago, and "retain" does what the daemon does with old events.
func TestMain(m *testing.M) {
	if alone.IsCompiler(os.Args) { // of the commands below, as of the program itself
		os.Exit(alone.Compile(os.Stdin, os.Stdout, os.Stderr))
	}
	signals := func() context.Context { // as the programs do it
		ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		return ctx
	}
	run := func() int {
		return warm(func() int {
			return (&cli.App{Compiler: alone.OwnCompiler(), Geteuid: scriptUser}).Main(signals(), os.Args[1:])
		})
	}
	testscript.Main(highwatertest.With{M: m}, map[string]func(){
		"belay":  func() { os.Exit(run()) },
		"tamper": tamper,
		"sigstore-kms-scripted": func() {
			if err := sigstoretest.KMS(os.Args, os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		"daemon-http": daemonHTTP,
		"belay-hook":  func() { os.Exit(hookcmd.Command{}.Main(signals(), os.Args[1:])) },
		"belay-eval": func() {
			os.Exit(warm(func() int { return hookcmd.Command{Alone: alone.Open}.Main(signals(), os.Args[1:]) }))
		},
		"xbelay-hook": func() {
			code := hookcmd.Command{}.Main(signals(), os.Args[1:])
			fmt.Fprintf(os.Stderr, "exit %d\n", code)
		},
		"xbelay": func() {
			code := run()
			fmt.Fprintf(os.Stderr, "exit %d\n", code)
		},
		"aged":   agedEvents,
		"retain": retain,
		"pgsql": func() {
			if err := runPostgres(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		"sqlite-copy": func() {
			if err := sqliteCopy(os.Args[1], os.Args[2], os.Args[3]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		"sql": func() {
			if err := runSQL(os.Args[1], os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// scriptUser is the user of a script: a person, also where root runs the tests, unless the script says root.
func scriptUser() int {
	if os.Getenv("SCRIPT_USER") == "root" {
		return 0
	}
	return 1000
}

// sqliteCopy is .backup and .restore of the sqlite3 shell.
func sqliteCopy(what, path, other string) error {
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	if what == "restore" {
		return errors.Join(c.Restore("main", other), c.Close())
	}
	return errors.Join(c.Backup("main", other), c.Close())
}

// runSQL runs statements, and prints how many rows they changed or what they answer.
func runSQL(path string, texts []string) error {
	if strings.Contains(strings.Join(texts, "\n"), "UPDATE events SET body") {
		if err := sqlitetest.Unpack(context.Background(), path); err != nil {
			return err
		}
	}
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, text := range texts {
		stmt, _, err := c.Prepare(text)
		if err != nil {
			return err
		}
		for stmt.Step() {
			for i := range stmt.ColumnCount() {
				fmt.Print(stmt.ColumnText(i), " ")
			}
			fmt.Println()
		}
		if err := stmt.Close(); err != nil {
			return err
		}
		fmt.Printf("changed %d\n", c.Changes())
	}
	return nil
}

func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../../examples-wasm")
	if err != nil {
		t.Fatal(err)
	}
	// Hooks in Go are built with the module and build caches of the test's
	// user.
	keep := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "CARGO_HOME", "RUSTUP_HOME"}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "postgres":
				return os.Getenv(postgresVariable) != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("KIT", filepath.Join(filepath.Dir(examples), "harness", "conformance", "sdk"))
			env.Setenv("FUZZ", filepath.Join(filepath.Dir(examples), "internal", "fuzz", "testdata", "planted"))
			env.Setenv("REPLAY", filepath.Join(filepath.Dir(examples), "internal", "replay", "testdata"))
			env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			for _, k := range keep {
				if v, ok := os.LookupEnv(k); ok {
					env.Setenv(k, v)
				}
			}
			if os.Getenv("GOCACHE") == "" {
				if dir, err := os.UserCacheDir(); err == nil {
					env.Setenv("GOCACHE", filepath.Join(dir, "go-build"))
				}
			}
			if os.Getenv("GOPATH") == "" {
				if home, err := os.UserHomeDir(); err == nil {
					env.Setenv("GOPATH", filepath.Join(home, "go"))
				}
			}
			givePostgres(t, env)
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
	})
}
