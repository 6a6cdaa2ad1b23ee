package config

import (
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Store says which store has events and all that restricts. Without it: belay.db in the state directory.
type Store struct {
	Postgres *Postgres `json:"postgres,omitzero"`
}

// Postgres is a store that many kernels share: one set of leases, approvals and quotas, and a log for each kernel.
type Postgres struct {
	DSNFile string `json:"dsn_file"`        // absolute; the file holds postgres://USER:PASSWORD@HOST:PORT/DATABASE
	Kernel  string `json:"kernel"`          // a name of its own for each kernel: 1 to 52 of a-z 0-9 . _ -
	Schema  string `json:"schema,omitzero"` // of the organisation; default belay

	// verify-full (default), verify-ca: the certificate's name is not compared, or off: a server on this machine
	TLS      string `json:"tls,omitzero"`
	RootCert string `json:"root_cert,omitzero"` // absolute; PEM of what signs the server; default: the system's

	Readers          int    `json:"readers,omitzero"`           // connections that read, 1…64; default 4
	ConnectTimeout   string `json:"connect_timeout,omitzero"`   // 100ms…1m; default 5s
	StatementTimeout string `json:"statement_timeout,omitzero"` // 100ms…10m; default 15s
	LockTimeout      string `json:"lock_timeout,omitzero"`      // for other kernels, 10ms…10m; default 5s
	Hold             string `json:"hold,omitzero"`              // a silent kernel keeps its name, 3s…10m; default 15s

	// central (default): this kernel writes to PostgreSQL; local: it has a belay.db, and forwards events
	Events string `json:"events,omitzero"`
	// such as 1GiB, with events: local: so much may wait to be forwarded, then everything blocks; default 1GiB
	Keep string `json:"keep,omitzero"`
}

// Values of Postgres.TLS and Postgres.Events.
const (
	TLSOff        = "off"
	EventsCentral = "central"
	EventsLocal   = "local"
)

// Bounds of Postgres. maxKernelBytes leaves room for what WithUID adds to a name of 63 bytes.
const (
	maxKernelBytes = 52
	maxSchemaBytes = 63
	maxReaders     = 64
	minKeep        = 1 << 20
	maxKeep        = 1 << 40
	defaultUnsent  = 1 << 30
)

// Central returns the store that kernels share; nil: there is none, and belay.db has everything.
func (f *File) Central() *Postgres {
	if f.Store == nil {
		return nil
	}
	return f.Store.Postgres
}

// WithUID returns the store for the kernel of one user of system mode: each has a kernel of its own.
func (s *Store) WithUID(uid int) *Store {
	if s == nil || s.Postgres == nil {
		return s
	}
	own := *s.Postgres
	own.Kernel += "-" + strconv.Itoa(uid)
	return &Store{Postgres: &own}
}

func (s *Store) validate(c checker, at string) error {
	if s == nil {
		if _, ok := c.value(at); ok { // it must not look as if something were shared
			return c.errorf(at, "says nothing: it needs postgres; take it out for belay.db in the state directory")
		}
		return nil
	}
	if s.Postgres == nil {
		return c.errorf(at, "says nothing: it needs postgres; take it out for belay.db in the state directory")
	}
	return s.Postgres.validate(c, at+"/postgres")
}

func (p *Postgres) validate(c checker, at string) error {
	switch {
	case p.DSNFile == "":
		return c.errorf(at+"/dsn_file", "is missing: the file that holds postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	case !absoluteFile(p.DSNFile):
		return c.errorf(at+"/dsn_file", "must be the absolute path of a file, without .. and such; a DSN holds a password "+
			"and does not stand in this file")
	case p.Kernel == "":
		return c.errorf(at+"/kernel", "is missing: the name of this kernel, which no other kernel of the organisation has")
	case len(p.Kernel) > maxKernelBytes || !kernelForm().MatchString(p.Kernel):
		return c.errorf(at+"/kernel", "is 1 to %d of a-z 0-9 . _ -, with a letter or digit at both ends", maxKernelBytes)
	case p.Schema != "" && (len(p.Schema) > maxSchemaBytes || !schemaForm().MatchString(p.Schema) ||
		strings.HasPrefix(p.Schema, "pg_")):
		return c.errorf(at+"/schema", "is 1 to %d of a-z 0-9 _, no digit first, and not pg_…", maxSchemaBytes)
	case p.RootCert != "" && !absoluteFile(p.RootCert):
		return c.errorf(at+"/root_cert", "must be the absolute path of a file, without .. and such")
	case p.Readers < 0 || p.Readers > maxReaders:
		return c.errorf(at+"/readers", "must be between 1 and %d", maxReaders)
	}
	switch p.TLS {
	case "", "verify-full", "verify-ca":
	case TLSOff:
		if p.RootCert != "" {
			return c.errorf(at+"/root_cert", "has no meaning with tls: off")
		}
	default:
		return c.errorf(at+"/tls", "must be verify-full, verify-ca or off")
	}
	for _, d := range []struct {
		key, value string
		min, max   time.Duration
	}{
		{"connect_timeout", p.ConnectTimeout, 100 * time.Millisecond, time.Minute},
		{"statement_timeout", p.StatementTimeout, 100 * time.Millisecond, 10 * time.Minute},
		{"lock_timeout", p.LockTimeout, 10 * time.Millisecond, 10 * time.Minute},
		{"hold", p.Hold, 3 * time.Second, 10 * time.Minute},
	} {
		if v, err := time.ParseDuration(d.value); d.value != "" && (err != nil || v < d.min || v > d.max) {
			return c.errorf(at+"/"+d.key, "is a duration such as 5s, from %v to %v", d.min, d.max)
		}
	}
	switch p.Events {
	case "", EventsCentral:
		if p.Keep != "" {
			return c.errorf(at+"/keep", "needs events: local: nothing waits to be forwarded otherwise")
		}
	case EventsLocal:
	default:
		return c.errorf(at+"/events", "must be central or local")
	}
	if n, ok := bytesOf(p.Keep); p.Keep != "" && (!ok || n < minKeep || n > maxKeep) {
		return c.errorf(at+"/keep", "is a size such as 512MiB, from 1MiB to 1024GiB")
	}
	return nil
}

// absoluteFile reports whether a path names the same file wherever belay is started.
func absoluteFile(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && path != "/" && !strings.ContainsRune(path, 0)
}

func kernelForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`) }
func schemaForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z_][a-z0-9_]*$`) }

// bytesOf reads a size with a binary unit.
func bytesOf(s string) (n int64, ok bool) {
	for unit, shift := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if number, has := strings.CutSuffix(s, unit); has {
			v, err := strconv.ParseUint(number, 10, 31)
			return int64(v) << shift, err == nil
		}
	}
	return 0, false
}

// PostgresSettings are the bounds of Postgres as the store takes them: 0 means the default of the store.
type PostgresSettings struct {
	ConnectTimeout, StatementTimeout, LockTimeout, Hold time.Duration

	Local bool  // events have a local log first
	Keep  int64 // in bytes
}

// Settings returns the bounds. Preconditions: the file was parsed.
func (p *Postgres) Settings() PostgresSettings {
	duration := func(s string) time.Duration {
		d, _ := time.ParseDuration(s) // "" means the default
		return d
	}
	s := PostgresSettings{ConnectTimeout: duration(p.ConnectTimeout), StatementTimeout: duration(p.StatementTimeout),
		LockTimeout: duration(p.LockTimeout), Hold: duration(p.Hold), Local: p.Events == EventsLocal, Keep: defaultUnsent}
	if n, ok := bytesOf(p.Keep); ok {
		s.Keep = n
	}
	return s
}

// StoreKnown refuses to open a store while belay.yaml cannot be used (bad is of class ErrUnusable) and may name one
// that is not belay.db: what lies in an old belay.db must not be taken for what all kernels share. The error is bad.
func StoreKnown(dir string, bad error) error {
	if !errors.Is(bad, ErrUnusable) {
		return nil
	}
	src, err := ReadFile(dir)
	if err != nil || mayNamePostgres(src) {
		return bad
	}
	return nil
}

// mayNamePostgres reports whether a file names PostgreSQL in a way that YAML has: an escape can stand for a letter, and
// for the end of a line within a name. Of bytes that are no text it is not known.
func mayNamePostgres(src []byte) bool {
	return regexp.MustCompile(`postgres|\\[xuU\r\n]|\x00`).Match(src) || !utf8.Valid(src)
}
