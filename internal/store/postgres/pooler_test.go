package postgres

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnSession(t *testing.T) {
	if err := ownSession("4711", 4711); err != nil {
		t.Error(err)
	}
	if err := ownSession("4711", 4712); !errors.Is(err, errPooler()) {
		t.Errorf("a session of a pooler: %v", err)
	}
}

// A pgbouncer in transaction mode is refused with advice: as it comes, and when it drops the settings of a connection
// without a word.
func TestPgbouncerIsRefused(t *testing.T) {
	control := strings.Fields(os.Getenv("BELAY_TEST_POSTGRES_CONTROL"))
	if len(control) != 2 {
		t.Skip("it needs a server of its own: run `make test-postgres`")
	}
	for name, ignore := range map[string]string{"as it comes": "", "settings are dropped": strings.Join([]string{
		"search_path", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "synchronous_commit",
		"timezone", "client_min_messages", "plan_cache_mode", "application_name"}, ",")} {
		t.Run(name, func(t *testing.T) {
			dir := control[1] + ".pooler"
			run := func(args ...string) {
				t.Helper()
				c := exec.Command(filepath.Join(filepath.Dir(control[0]), "pgbouncer"), args...)
				if c.Env = os.Environ(); ignore != "" {
					c.Env = append(c.Env, "IGNORE="+ignore)
				}
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			run("start", dir, control[1])
			t.Cleanup(func() {
				run("stop", dir)
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			u, err := url.Parse(os.Getenv("BELAY_TEST_POSTGRES"))
			if err != nil {
				t.Fatal(err)
			}
			u.RawQuery = url.Values{"host": {dir}}.Encode()
			_, err = Open(t.Context(), Options{DSN: u.String(), Kernel: "k", TLS: Off, AnyRole: true})
			if !errors.Is(err, errPooler()) || !strings.Contains(err.Error(), "name the server itself in the DSN") {
				t.Errorf("%v", err)
			}
		})
	}
}
