package postgres

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// Everything odd about a DSN or an option is refused, with its name, and no error shows the password.
func TestOptionsAreStrict(t *testing.T) {
	good := Options{DSN: "postgres://u:geheim@db.example:5433/d", Kernel: "build-1"}
	for want, change := range map[string]func(o *Options){
		"dsn: give either":              func(o *Options) { o.DSN = "" },
		"dsn: give either ":             func(o *Options) { o.DSNFile = "/x" },
		"dsn: want postgres://":         func(o *Options) { o.DSN = "mysql://u:geheim@h/d" },
		"dsn: want postgres:// ":        func(o *Options) { o.DSN = "host=h user=u password=geheim" },
		"dsn: it is no URL":             func(o *Options) { o.DSN = "postgres://u:geheim@h:x/d" },
		"the port is no number":         func(o *Options) { o.DSN = "postgres://u:geheim@h:0/d" },
		"names no user":                 func(o *Options) { o.DSN = "postgres://h/d" },
		"names no host":                 func(o *Options) { o.DSN = "postgres://u:geheim@/d" },
		"names no database":             func(o *Options) { o.DSN = "postgres://u:geheim@h" },
		"names no database ":            func(o *Options) { o.DSN = "postgres://u:geheim@h/d/e" },
		"names no host, or more":        func(o *Options) { o.DSN = "postgres://u:geheim@h,i/d" },
		"may follow ?, once":            func(o *Options) { o.DSN += "?sslmode=disable" },
		"may follow ?, once, ":          func(o *Options) { o.DSN = "postgres://u:12?geheim@h/d" },
		"the port is no number ":        func(o *Options) { o.DSN = "postgres://u:99999/geheim@h/d" },
		"the port is no number from":    func(o *Options) { o.DSN = "postgres://u:4711111/x@h/d" },
		"only host=/DIRECTORY may":      func(o *Options) { o.DSN = "postgres://u:geheim@/d?host=/a&host=/b" },
		"stands for a socket":           func(o *Options) { o.DSN += "?host=/a" },
		"stands for a socket, ":         func(o *Options) { o.DSN = "postgres://u:geheim@/d?host=a" },
		"cannot be read":                func(o *Options) { o.DSN += "?%zz" },
		`kernel: "" is no name`:         func(o *Options) { o.Kernel = "" },
		`kernel: "A" is no name`:        func(o *Options) { o.Kernel = "A" },
		`kernel: "a-" is no name`:       func(o *Options) { o.Kernel = "a-" },
		"kernel: ":                      func(o *Options) { o.Kernel = strings.Repeat("a", 64) },
		`schema: "pg_x" is no name`:     func(o *Options) { o.Schema = "pg_x" },
		`schema: "a\"b" is no name`:     func(o *Options) { o.Schema = `a"b` },
		`tls: "prefer" is not one of`:   func(o *Options) { o.TLS = "prefer" },
		"tls: off is only for a server": func(o *Options) { o.TLS = Off },
		"root_cert: it has no meaning":  func(o *Options) { o.TLS, o.RootCert = Off, "/x" },
		"root_cert: open":               func(o *Options) { o.RootCert = "/does/not/exist" },
		"readers: 65":                   func(o *Options) { o.Readers = 65 },
		"hold: 1s is not from":          func(o *Options) { o.Hold = time.Second },
		"statement_timeout: 1ms":        func(o *Options) { o.StatementTimeout = time.Millisecond },
	} {
		o := good
		change(&o)
		if _, _, err := o.resolve(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%q: %v", want, err)
		} else if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "4711111") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	o, c, err := good.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "db.example" || c.Port != 5433 || c.User != "u" || c.Password != "geheim" || c.Database != "d" ||
		c.TLSConfig == nil || c.TLSConfig.ServerName != "db.example" || c.TLSConfig.InsecureSkipVerify ||
		len(c.Fallbacks) != 0 ||
		o.Schema != "belay" || c.RuntimeParams["search_path"] != "belay, pg_temp" ||
		c.RuntimeParams["lock_timeout"] != "5000" {
		t.Errorf("%+v, %v", o, c.RuntimeParams)
	}
}

// Nothing of the environment says where or as whom belay connects.
func TestNothingComesFromTheEnvironment(t *testing.T) {
	for name, v := range map[string]string{"PGHOST": "evil", "PGUSER": "evil", "PGPASSWORD": "evil", "PGDATABASE": "evil",
		"PGSSLMODE": "require", "PGOPTIONS": "-c fsync=off", "PGTARGETSESSIONATTRS": "any",
		"PGAPPNAME": "evil", "PGPASSFILE": "/evil", "PGPORT": "1"} {
		t.Setenv(name, v)
	}
	o := Options{DSN: "postgres://u@/d?host=/run/x", Kernel: "k"}
	_, c, err := o.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "/run/x" || c.User != "u" || c.Password != "" || c.Database != "d" ||
		c.TLSConfig != nil || c.Port != 5432 {
		t.Errorf("host %s, user %s, password %q, database %s", c.Host, c.User, c.Password, c.Database)
	}
	t.Setenv("PGSERVICE", "evil")
	if _, _, err := o.resolve(); err == nil || !strings.Contains(err.Error(), "PGSERVICE") {
		t.Errorf("a service of the environment: %v", err)
	}
	for name, v := range c.RuntimeParams {
		if strings.Contains(v, "evil") || strings.Contains(v, "fsync") {
			t.Errorf("%s=%s", name, v)
		}
	}
}

// What the environment says of connections, however odd, keeps a store neither from its connections nor from those that
// read.
func TestOddEnvironment(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSSLMODE", "PGSSLNEGOTIATION", "PGSSLSNI",
		"PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLPASSWORD", "PGREQUIREAUTH", "PGCHANNELBINDING",
		"PGTARGETSESSIONATTRS",
		"PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION", "PGCONNECT_TIMEOUT", "PGTZ", "PGOPTIONS", "PGAPPNAME", "PGPASSFILE",
		"PGSERVICEFILE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGHOST", "odd.example") // a host, for which the client library looks at TLS
			t.Setenv(name, "/odd")
			for _, dsn := range []string{"postgres://u@/d?host=/run/x", "postgres://u:geheim@db.example/d"} {
				o, c, err := (Options{DSN: dsn, Kernel: "k"}).resolve()
				if err != nil {
					t.Fatal(err)
				}
				pool, err := (&Store{o: o, access: &access{config: c}}).openPool(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				p := pool.Config()
				if p.ConnConfig.RequireAuth != "" || p.ConnConfig.MinProtocolVersion != "3.0" ||
					p.ConnConfig.MaxProtocolVersion != "3.0" || p.MaxConns != int32(o.Readers) ||
					strings.Contains(fmt.Sprint(p.ConnConfig.RuntimeParams, p.ConnConfig.Host, p.ConnConfig.User), "odd") {
					t.Errorf("%+v", p.ConnConfig.Config)
				}
			}
		})
	}
}

// A DSN holds a password: a file that others can read is refused, with what to do.
func TestDSNFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dsn")
	const dsn = "postgres://u:geheim@127.0.0.1/d"
	if err := os.WriteFile(path, []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readDSN(path); err != nil || got != dsn {
		t.Errorf("%q, %v", got, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := readDSN(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, other := range []string{dir, "dsn", filepath.Join(dir, "missing")} {
		if _, err := readDSN(other); err == nil {
			t.Errorf("%s was read", other)
		}
	}
	long, empty := filepath.Join(dir, "long"), filepath.Join(dir, "empty")
	if err := os.WriteFile(long, make([]byte, maxDSNBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{long, empty} {
		if _, err := readDSN(other); err == nil {
			t.Errorf("%s was read", other)
		}
	}
}

// A file of a DSN that cannot be read says why, and not that it is empty; what was read before is not shown.
func TestDSNThatCannotBeRead(t *testing.T) {
	broken := errors.New("the disk is broken")
	whole := strings.Repeat("x", maxDSNBytes)
	for name, c := range map[string]struct {
		r    io.Reader
		want string
	}{
		"at once":    {iotest.ErrReader(broken), broken.Error()},
		"on its way": {io.MultiReader(strings.NewReader("postgres://u:geheim@"), iotest.ErrReader(broken)), broken.Error()},
		"no bytes":   {strings.NewReader(""), "/run/dsn is empty"},
		"has grown":  {strings.NewReader(whole + "x"), "/run/dsn is longer than"},
	} {
		got, err := contents(c.r, "/run/dsn")
		if err == nil || got != "" || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "dsn_file: ") ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := contents(iotest.OneByteReader(strings.NewReader(whole)), "/run/dsn"); err != nil || got != whole {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
