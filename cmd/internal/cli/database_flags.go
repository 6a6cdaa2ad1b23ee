package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// databaseFlags say how to reach the database that kernels share. What they leave open, belay.yaml says.
type databaseFlags struct{ dsnFile, schema, tls, rootCert string }

// add defines the flags; dsn is the help text of --dsn-file, which says whose DSN it is.
func (d *databaseFlags) add(f *pflag.FlagSet, dsn string) {
	f.StringVar(&d.dsnFile, "dsn-file", "", dsn)
	f.StringVar(&d.schema, "schema", "", "schema of the organisation (default that of belay.yaml, then belay)")
	f.StringVar(&d.tls, "tls", "", "verify-full, verify-ca or off (default that of belay.yaml, then verify-full)")
	f.StringVar(&d.rootCert, "root-cert", "", "PEM of what signs the server's certificate (default that of belay.yaml)")
}

// given reports whether one of the flags is.
func (d *databaseFlags) given() bool { return *d != databaseFlags{} }

// options returns how to reach the database, where belay.yaml names the store named. Without a DSNFile in them, neither
// a flag nor belay.yaml says which database it is.
func (d *databaseFlags) options(named *config.Postgres) (o postgres.Options, err error) {
	o = postgres.Options{DSNFile: cmp.Or(d.dsnFile, named.DSNFile),
		Schema: cmp.Or(d.schema, named.Schema, postgres.DefaultSchema),
		TLS:    postgres.TLS(cmp.Or(d.tls, named.TLS)), RootCert: cmp.Or(d.rootCert, named.RootCert)}
	if d.tls == config.TLSOff && d.rootCert == "" {
		o.RootCert = ""
	}
	for _, path := range []*string{&o.DSNFile, &o.RootCert} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, nil
}

// namedStore is the store that belay.yaml names; an empty one where there is none.
func (a *App) namedStore() (config.Postgres, error) {
	dir, err := a.stateDir()
	if err != nil {
		return config.Postgres{}, err
	}
	src, err := config.ReadFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Postgres{}, nil
	}
	var f *config.File
	if err == nil {
		f, err = config.Parse(src)
	}
	if err != nil {
		return config.Postgres{}, failureBy(err, "Correct it in "+safe(dir)+", or name another directory with --state.")
	}
	if p := f.Central(); p != nil {
		return *p, nil
	}
	return config.Postgres{}, nil
}

// whyUnavailable returns why a store cannot be used, without the words that stand before each such reason. It reports
// whether err gives such a reason; the text of another error it returns as it is.
func whyUnavailable(err error) (why string, ok bool) {
	if errors.Is(err, kernel.ErrUnavailable) {
		if _, why, _ = strings.Cut(err.Error(), kernel.ErrUnavailable.Error()+": "); why != "" {
			return why, true
		}
	}
	return err.Error(), false
}
