package postgres

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/store/marked"
)

// Options say how to reach the database, and as which kernel. Zero values of all but DSN and Kernel are usual.
type Options struct {
	// DSN is postgres://USER:PASSWORD@HOST:PORT/DATABASE, or postgres://USER@/DATABASE?host=/DIRECTORY for a
	// socket. Nothing else is taken from it, and nothing from the environment.
	DSN     string
	DSNFile string // the file that holds it, instead of DSN

	Kernel  string // a name of its own for each kernel
	Schema  string // of the organisation; "" means DefaultSchema
	Version string // of the program, for those who look at the list of kernels

	// CheckpointKey verifies the heads of this kernel's log (eventlog.Key.Verifier). Once a process has taken the
	// name with a key, one with another key is refused. "" is for stores whose heads are not signed.
	CheckpointKey string

	TLS      TLS    // "" means verify-full
	RootCert string // PEM file of the certificates that sign the server's; "" means those of the system

	Readers          int           // connections that read, at most; 0 means 4
	ConnectTimeout   time.Duration // 0 means 5 seconds
	StatementTimeout time.Duration // after which the server gives up a statement; 0 means 15 seconds
	LockTimeout      time.Duration // how long a statement waits for other kernels; 0 means 5 seconds
	Hold             time.Duration // how long a kernel that is not heard of keeps its name; 0 means 15 seconds

	ReadOnly   bool // nothing is written, and the name is not taken
	auditor    bool // of all kernels' logs: see OpenAuditor
	Forwarding bool // the kernel's log is in a store of its own: it is forwarded, see Turn, and Commit refuses all

	// AnyRole lets a role in that can do more or less than a kernel. It is for tests, whose server has one role for all,
	// and nothing that an operator writes sets it.
	AnyRole bool

	// Mark says how far this kernel's log has come and what it has seen of others, outside of the database; nil: a
	// database that goes back while no process of this kernel runs is not noticed.
	Mark marked.Mark

	accessLook time.Duration // between two looks at DSNFile and RootCert

	Now func() time.Time // the clock of this machine, which is compared with the server's; nil means time.Now
}

// DefaultSchema is the schema of an organisation that names none.
const DefaultSchema = "belay"

// TLS says how a connection over a network is protected. A socket in the file system needs nothing.
type TLS string

const (
	VerifyFull TLS = "verify-full" // the server's certificate is signed, and is of the host in the DSN
	VerifyCA   TLS = "verify-ca"   // it is signed
	Off        TLS = "off"         // no TLS; only for a server on this machine
)

// Bounds of options.
const (
	maxReaders    = 64
	maxDSNBytes   = 4 << 10
	maxRootsBytes = 1 << 20
	minHold       = 3 * time.Second
	maxHold       = 10 * time.Minute
	maxNameBytes  = 63
	maxIdle       = 5 * time.Second  // between two statements of a transaction: others may wait for it
	maxDifference = 10 * time.Second // of the clock from the server's
)

// namePattern is what kernels' names are like.
const namePattern = `^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`

func optionError(name, format string, args ...any) error {
	return fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
}

// Check says what is wrong with the options, without a look at files or the network.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults checks the options and fills in what is usual.
func (o Options) withDefaults() (Options, error) {
	schema := regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	if o.Schema == "" {
		o.Schema = DefaultSchema
	}
	if o.TLS == "" {
		o.TLS = VerifyFull
	}
	switch {
	case (o.DSN == "") == (o.DSNFile == ""):
		return o, optionError("dsn", "give either the DSN or the file that holds it")
	case !ValidName(o.Kernel):
		return o, optionError("kernel", "%q is no name: use 1 to %d of a-z 0-9 . _ -, with a letter or digit at both ends",
			o.Kernel, maxNameBytes)
	case len(o.Schema) > maxNameBytes || !schema.MatchString(o.Schema) || strings.HasPrefix(o.Schema, "pg_"):
		return o, optionError("schema", "%q is no name: use 1 to %d of a-z 0-9 _, no digit first, not pg_", o.Schema,
			maxNameBytes)
	case !slices.Contains([]TLS{VerifyFull, VerifyCA, Off}, o.TLS):
		return o, optionError("tls", "%q is not one of %s, %s, %s", o.TLS, VerifyFull, VerifyCA, Off)
	case o.TLS == Off && o.RootCert != "":
		return o, optionError("root_cert", "it has no meaning with tls: off")
	case o.Readers < 0 || o.Readers > maxReaders:
		return o, optionError("readers", "%d is not from 1 to %d", o.Readers, maxReaders)
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.accessLook == 0 {
		o.accessLook = accessLook
	}
	for _, d := range []struct {
		name            string
		value           *time.Duration
		usual, min, max time.Duration
	}{
		{"connect_timeout", &o.ConnectTimeout, 5 * time.Second, 100 * time.Millisecond, time.Minute},
		{"statement_timeout", &o.StatementTimeout, 15 * time.Second, 100 * time.Millisecond, 10 * time.Minute},
		{"lock_timeout", &o.LockTimeout, 5 * time.Second, 10 * time.Millisecond, 10 * time.Minute},
		{"hold", &o.Hold, 15 * time.Second, minHold, maxHold},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
		if *d.value < d.min || *d.value > d.max {
			return o, optionError(d.name, "%v is not from %v to %v", *d.value, d.min, d.max)
		}
	}
	return o, nil
}

// readDSN reads the file of a DSN. It holds a password: a file that others can read is refused. A link is
// followed, since secrets are often mounted behind one.
func readDSN(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", optionError("dsn_file", "%s is not an absolute path", path)
	}
	f, err := files.Open(path)
	if err != nil {
		return "", fmt.Errorf("dsn_file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("dsn_file: %w", err)
	}
	switch {
	case info.Mode().Perm()&0o077 != 0:
		return "", optionError("dsn_file", "others can read %s, which holds a password (mode %s); run: chmod 600 %s", path,
			info.Mode().Perm(), path)
	case info.Size() > maxDSNBytes:
		return "", errLongDSN(path)
	}
	return contents(f, path)
}

// contents reads a DSN from its file. No error of it shows a part of the DSN.
func contents(r io.Reader, path string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDSNBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("dsn_file: %s cannot be read: %w", path, err)
	case len(b) > maxDSNBytes: // it has grown
		return "", errLongDSN(path)
	case len(b) == 0:
		return "", optionError("dsn_file", "%s is empty", path)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

func errLongDSN(path string) error {
	return optionError("dsn_file", "%s is longer than %d bytes", path, maxDSNBytes)
}

const encoded = "in a password, / ? # @ : and % are written as %2F %3F %23 %40 %3A and %25"

// target is what a DSN says.
type target struct {
	host, user, password, database string
	port                           uint16
	socket                         bool
}

// parseDSN takes a DSN apart. No error of it shows a part of the DSN: where a password is not written as URLs have it,
// any part may be one of the password.
func parseDSN(dsn string) (t target, err error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return t, optionError("dsn", "it is no URL; want postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" || u.Fragment != "" {
		return t, optionError("dsn", "want postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, optionError("dsn", "what follows ? cannot be read")
	}
	for name, list := range values {
		if name != "host" || len(list) != 1 {
			return t, optionError("dsn", "only host=/DIRECTORY may follow ?, once, for a socket; %s", encoded)
		}
	}
	t.user, t.database = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	t.password, _ = u.User.Password()
	t.host, t.port = u.Hostname(), 5432
	if dir := values.Get("host"); dir != "" {
		if t.host != "" || !filepath.IsAbs(dir) {
			return t, optionError("dsn", "host=/DIRECTORY stands for a socket, without a host before it")
		}
		t.host, t.socket = dir, true
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return t, optionError("dsn", "the port is no number from 1 to 65535; %s", encoded)
		}
		t.port = uint16(n)
	}
	for name, v := range map[string]string{"user": t.user, "host": t.host, "database": t.database} {
		if v == "" || strings.ContainsRune(v, 0) || strings.Contains(v, ",") ||
			name == "database" && strings.Contains(v, "/") {
			return t, optionError("dsn", "it names no %s, or more than one", name)
		}
	}
	return t, nil
}

// local reports whether the server is on this machine.
func (t *target) local() bool {
	ip := net.ParseIP(t.host)
	return t.socket || t.host == "localhost" || ip != nil && ip.IsLoopback()
}

// config returns how to connect. Everything is said here, so that nothing comes from the environment.
func (o *Options) config(t *target) (*pgx.ConnConfig, error) {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	text := ""
	for _, kv := range [][2]string{{"host", t.host}, {"port", strconv.Itoa(int(t.port))}, {"user", t.user},
		{"password", t.password}, {"dbname", t.database}, {"sslmode", "disable"}, {"passfile", os.DevNull},
		{"servicefile", os.DevNull}, {"target_session_attrs", "any"}, {"sslnegotiation", "postgres"},
		{"channel_binding", "prefer"}, {"application_name", "belay"}, {"require_auth", ""}, {"sslsni", "1"},
		{"min_protocol_version", "3.0"}, {"max_protocol_version", "3.0"}, {"sslrootcert", ""}, {"sslcert", ""},
		{"sslkey", ""}, {"sslpassword", ""},
		{"connect_timeout", strconv.Itoa(int(max(1, o.ConnectTimeout/time.Second)))}} {
		text += kv[0] + "=" + quote(kv[1]) + " "
	}
	if os.Getenv("PGSERVICE") != "" {
		return nil, optionError("dsn", "nothing is taken from the environment, and PGSERVICE is set, which the client "+
			"library would follow; start belay without it")
	}
	c, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, errConfig()
	}
	c.ConnectTimeout = o.ConnectTimeout
	c.Fallbacks = nil
	c.RuntimeParams = map[string]string{
		"application_name":                    "belay " + o.Kernel,
		"search_path":                         o.Schema + ", pg_temp",
		"statement_timeout":                   milliseconds(o.StatementTimeout),
		"lock_timeout":                        milliseconds(o.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(min(o.StatementTimeout, maxIdle)),
		"synchronous_commit":                  "on",
		"timezone":                            "UTC",
		"client_min_messages":                 "warning",
		"plan_cache_mode":                     "auto",
	}
	if t.socket {
		return c, nil
	}
	// A kernel that vanished may hold the lock of what restricts: the server is to notice soon.
	for name, v := range map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2",
		"tcp_keepalives_count": "3", "tcp_user_timeout": "15000", "client_connection_check_interval": "2000"} {
		c.RuntimeParams[name] = v
	}
	if o.TLS == Off {
		if !t.local() {
			return nil, optionError("tls", "off is only for a server on this machine; %s is none", t.host)
		}
		return c, nil
	}
	c.TLSConfig, err = o.tls(t.host)
	return c, err
}

// errConfig says nothing of what the client library says, which may show parts of the DSN.
func errConfig() error { return optionError("dsn", "it cannot be used to connect") }

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (o *Options) tls(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if o.RootCert != "" {
		pem, err := files.Read(o.RootCert, maxRootsBytes)
		if err != nil {
			return nil, fmt.Errorf("root_cert: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, optionError("root_cert", "%s holds no certificate in PEM form", o.RootCert)
		}
	}
	if o.TLS == VerifyCA {
		roots := c.RootCAs
		c.InsecureSkipVerify = true // its name is not looked at; the chain is, below
		c.VerifyConnection = func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the server has shown no certificate")
			}
			between := x509.NewCertPool()
			for _, cert := range s.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		}
	}
	return c, nil
}

// resolve checks the options and returns how to connect.
func (o Options) resolve() (Options, *pgx.ConnConfig, error) {
	o, err := o.withDefaults()
	if err != nil {
		return o, nil, err
	}
	if o.DSNFile != "" {
		if o.DSN, err = readDSN(o.DSNFile); err != nil {
			return o, nil, err
		}
	}
	t, err := parseDSN(o.DSN)
	if err != nil {
		return o, nil, err
	}
	c, err := o.config(&t)
	return o, c, err
}
