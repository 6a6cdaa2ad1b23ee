package postgres_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Who cannot be reached, and why, is said in a few words, whatever the driver says.
func TestAServerThatIsNotReached(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	for dsn, want := range map[string]string{
		"postgres://u@127.0.0.1:1/d": "no connection to PostgreSQL at 127.0.0.1:1/d: connection refused",
		"postgres://u@localhost:1/d": "no connection to PostgreSQL at localhost:1/d: connection refused",
		"postgres://u@/d?host=" + nowhere: "no connection to PostgreSQL at " + nowhere +
			"/d: no such file or directory",
	} {
		o := postgres.Options{DSN: dsn, Kernel: "k", TLS: postgres.Off, ConnectTimeout: time.Second}
		_, open := postgres.Open(t.Context(), o)
		_, audit := postgres.OpenAuditor(t.Context(), o)
		_, migrate := postgres.Migrate(t.Context(), o)
		for from, err := range map[string]error{
			"open": open, "an auditor": audit, "migrate": migrate, "doctor": postgres.Examine(t.Context(), o).Problem,
			"forget": postgres.ForgetKey(t.Context(), o, "k"),
		} {
			if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %s", from, err, want)
			}
		}
	}
}
