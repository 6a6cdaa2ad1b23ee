package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// fleetOptions say which database the kernels share.
type fleetOptions struct{ dsnFile, schema, tls, rootCert string }

func (o *fleetOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.dsnFile, "dsn-file", "", "file that holds an auditor's DSN (default: that of belay.yaml, of the kernel)")
	f.StringVar(&o.schema, "schema", "", "schema of the organisation (default that of belay.yaml, then belay)")
	f.StringVar(&o.tls, "tls", "", "verify-full, verify-ca or off (default that of belay.yaml, then verify-full)")
	f.StringVar(&o.rootCert, "root-cert", "", "PEM of what signs the server's certificate (default that of belay.yaml)")
}

// given reports whether one of the flags is.
func (o *fleetOptions) given() bool { return *o != fleetOptions{} }

// fleetDatabase returns how to reach the database: as the flags say, and belay.yaml the rest.
func (a *App) fleetDatabase(o *fleetOptions) (p postgres.Options, err error) {
	var named config.Postgres
	if a.ownState() == nil { // else belay.yaml is not this person's
		if named, err = a.namedStore(); err != nil && o.dsnFile == "" {
			return p, err
		}
	}
	if p.DSNFile = cmp.Or(o.dsnFile, named.DSNFile); p.DSNFile == "" {
		return p, usageError("which database?", "belay.yaml names no store. Give --dsn-file FILE: the file holds the DSN of "+
			"an auditor, postgres://USER:PASSWORD@HOST:PORT/DATABASE, mode 600.")
	}
	p.Schema, p.TLS = cmp.Or(o.schema, named.Schema), postgres.TLS(cmp.Or(o.tls, named.TLS))
	if p.RootCert = cmp.Or(o.rootCert, named.RootCert); o.tls == config.TLSOff && o.rootCert == "" {
		p.RootCert = ""
	}
	if p.DSNFile, err = filepath.Abs(p.DSNFile); err == nil && p.RootCert != "" {
		p.RootCert, err = filepath.Abs(p.RootCert)
	}
	return p, err
}

// openFleet opens the database for reading.
func (a *App) openFleet(ctx context.Context, o *fleetOptions) (fleet.Database, error) {
	p, err := a.fleetDatabase(o)
	if err != nil {
		return fleet.Database{}, err
	}
	db, err := postgres.OpenAuditor(ctx, p)
	if err != nil {
		return fleet.Database{}, fleetFailure(err)
	}
	return fleet.Database{Auditor: db}, nil
}

// fleetFailure says why nothing is known of the kernels.
func fleetFailure(err error) error {
	text := err.Error()
	if _, why, ok := strings.Cut(text, kernel.ErrUnavailable.Error()+": "); ok && errors.Is(err, kernel.ErrUnavailable) {
		text = why
	}
	return &exitError{code: ExitError, text: safe(cmp.Or(text, err.Error())), cause: err,
		hint: "Nothing is known about the kernels."}
}
