package config

import (
	"errors"
	"testing"
	"time"
)

// A file that names PostgreSQL is seen to do so also when the rest of it cannot be used, and its bounds hold.
func FuzzStore(f *testing.F) {
	const head = "version: belay/v1\nstore: "
	f.Add([]byte(head + "{postgres: {dsn_file: /etc/belay/postgres.dsn, kernel: build-7, schema: acme, tls: off, readers: 8,\n" +
		"  connect_timeout: 1s, statement_timeout: 2s, lock_timeout: 3s, hold: 4s, events: local, keep: 512MiB}}"))
	f.Add([]byte(head + "\n  postgres:\n    dsn_file: /a # here\n    kernel: k\n    root_cert: /r\n"))
	f.Add([]byte(head + "{\"postgr\\x65s\": {dsn_file: /a, kernel: k}}"))
	f.Add([]byte(head + "{\"post\\\n  gres\": {dsn_file: /a, kernel: k}}"))
	f.Add([]byte(head + "{postgres: ~}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse(src)
		if err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		p := file.Central()
		if p == nil {
			return
		}
		if !mayNamePostgres(src) {
			t.Errorf("%q names PostgreSQL, and would be taken for a file that does not", src)
		}
		s := p.Settings()
		for _, d := range []time.Duration{s.ConnectTimeout, s.StatementTimeout, s.LockTimeout, s.Hold} {
			if d < 0 || d > 10*time.Minute {
				t.Errorf("%q: %+v", src, s)
			}
		}
		if s.Keep < minKeep || s.Keep > maxKeep || p.Readers < 0 || p.Readers > maxReaders {
			t.Errorf("%q: %+v", src, s)
		}
	})
}
