package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
)

func TestStore(t *testing.T) {
	f, err := config.Parse([]byte(`version: belay/v1
store:
  postgres: {dsn_file: /etc/belay/postgres.dsn, kernel: build-7, schema: acme, tls: off, readers: 8,
    connect_timeout: 1s, statement_timeout: 2s, lock_timeout: 3s, hold: 4s, events: local, keep: 512MiB}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := f.Central()
	want := config.PostgresSettings{ConnectTimeout: time.Second, StatementTimeout: 2 * time.Second,
		LockTimeout: 3 * time.Second, Hold: 4 * time.Second, Local: true, Keep: 512 << 20}
	if p == nil || p.Settings() != want || p.TLS != config.TLSOff || p.Readers != 8 || p.Schema != "acme" {
		t.Errorf("%+v", p)
	}
	if own := f.Store.WithUID(1000).Postgres; own.Kernel != "build-7-1000" || own.DSNFile != p.DSNFile {
		t.Errorf("for a user: %+v", own)
	}
	if p.Kernel != "build-7" {
		t.Errorf("the kernel is called %q now", p.Kernel)
	}
	usual, err := config.Parse([]byte("version: belay/v1\nstore: {postgres: {dsn_file: /a, kernel: k}}\n"))
	if s := usual.Central().Settings(); err != nil || s != (config.PostgresSettings{Keep: 1 << 30}) {
		t.Errorf("%+v, %v", s, err)
	}
	if none, err := config.Parse([]byte("version: belay/v1\n")); err != nil || none.Central() != nil {
		t.Errorf("%v, %v", none.Central(), err)
	}
}

func TestStoreSaysWhatIsWrongAndWhere(t *testing.T) {
	const at = "belay.yaml:2: /store"
	for text, want := range map[string]string{
		"store:":                  at + ": says nothing",
		"store: {}":               at + ": says nothing",
		"store: {postgres: null}": at + ": says nothing",
		"store: {postgres: {}}":   at + "/postgres/dsn_file: is missing",
		"store: {sqlite: {}}":     at + "/sqlite",
		"store: {postgres: {kernel: k, dsn: \"postgres://u:secret@h/d\"}}":           at + "/postgres/dsn",
		"store: {postgres: {dsn_file: postgres.dsn, kernel: k}}":                     at + "/postgres/dsn_file: must be the absolute path",
		"store: {postgres: {dsn_file: /a/../b, kernel: k}}":                          at + "/postgres/dsn_file: must be the absolute path",
		"store: {postgres: {dsn_file: \"postgres://u:secret@h/d\", kernel: k}}":      at + "/postgres/dsn_file: must be the absolute path",
		"store: {postgres: {dsn_file: /a}}":                                          at + "/postgres/kernel: is missing",
		"store: {postgres: {dsn_file: /a, kernel: A}}":                               at + "/postgres/kernel: is 1 to 52",
		"store: {postgres: {dsn_file: /a, kernel: k-}}":                              at + "/postgres/kernel: is 1 to 52",
		"store: {postgres: {dsn_file: /a, kernel: " + strings.Repeat("k", 53) + "}}": at + "/postgres/kernel: is 1 to 52",
		"store: {postgres: {dsn_file: /a, kernel: 7}}":                               at + "/postgres/kernel",
		"store: {postgres: {dsn_file: /a, kernel: k, kernel: l}}":                    "belay.yaml:2",
		"store: {postgres: {dsn_file: /a, kernel: k, schema: pg_x}}":                 at + "/postgres/schema: is 1 to 63",
		"store: {postgres: {dsn_file: /a, kernel: k, schema: \"x; drop\"}}":          at + "/postgres/schema: is 1 to 63",
		"store: {postgres: {dsn_file: /a, kernel: k, tls: prefer}}":                  at + "/postgres/tls: must be verify-full, verify-ca or off",
		"store: {postgres: {dsn_file: /a, kernel: k, tls: off, root_cert: /r}}":      at + "/postgres/root_cert: has no meaning",
		"store: {postgres: {dsn_file: /a, kernel: k, root_cert: r.pem}}":             at + "/postgres/root_cert: must be the absolute path",
		"store: {postgres: {dsn_file: /a, kernel: k, readers: 65}}":                  at + "/postgres/readers: must be between 1 and 64",
		"store: {postgres: {dsn_file: /a, kernel: k, readers: -1}}":                  at + "/postgres/readers: must be between 1 and 64",
		"store: {postgres: {dsn_file: /a, kernel: k, hold: 1s}}":                     at + "/postgres/hold: is a duration such as 5s, from 3s",
		"store: {postgres: {dsn_file: /a, kernel: k, connect_timeout: 5}}":           at + "/postgres/connect_timeout",
		"store: {postgres: {dsn_file: /a, kernel: k, statement_timeout: 1h}}":        at + "/postgres/statement_timeout: is a duration",
		"store: {postgres: {dsn_file: /a, kernel: k, lock_timeout: soon}}":           at + "/postgres/lock_timeout: is a duration",
		"store: {postgres: {dsn_file: /a, kernel: k, events: both}}":                 at + "/postgres/events: must be central or local",
		"store: {postgres: {dsn_file: /a, kernel: k, keep: 1GiB}}":                   at + "/postgres/keep: needs events: local",
		"store: {postgres: {dsn_file: /a, kernel: k, events: local, keep: 1GB}}":     at + "/postgres/keep: is a size",
		"store: {postgres: {dsn_file: /a, kernel: k, events: local, keep: 1KiB}}":    at + "/postgres/keep: is a size",
	} {
		_, err := config.Parse([]byte("version: belay/v1\n" + text + "\n"))
		if !errors.Is(err, config.ErrConfig) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

// What lies in an old belay.db is not what all kernels share.
func TestAStoreThatIsNotKnownIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	broken := func(text string) error {
		if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := config.Load(dir)
		return config.StoreKnown(dir, err)
	}
	if err := broken("version: belay/v1\nstore: {postgres: {dsn_file: /a}}\n"); !errors.Is(err, config.ErrUnusable) {
		t.Errorf("a store that is named by halves: %v", err)
	}
	if err := broken("version: belay/v1\n  store:\n postgres: [\n"); !errors.Is(err, config.ErrUnusable) {
		t.Errorf("no YAML: %v", err)
	}
	for _, text := range []string{"hooks: 7\nstore: {\"post\\x67res\": {dsn_file: /a, kernel: k}}\n",
		"hooks: 7\nstore: {\"post\\\n  gres\": {dsn_file: /a, kernel: k}}\n", "\xff\xfes\x00t\x00o\x00r\x00e\x00:\x00"} {
		if err := broken("version: belay/v1\n" + text); !errors.Is(err, config.ErrUnusable) {
			t.Errorf("%q, which may name a store: %v", text, err)
		}
	}
	if err := broken("version: belay/v1\nhooks: 7\n"); err != nil {
		t.Errorf("no store is named: %v", err)
	}
	if err := broken("version: belay/v1\nstore: {postgres: {dsn_file: /a, kernel: k}}\n"); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
}
