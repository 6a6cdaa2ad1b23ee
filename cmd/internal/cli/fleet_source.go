package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// fleetOptions say which database the kernels share.
type fleetOptions struct{ dsnFile, schema, tls, rootCert string }

func (o *fleetOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.dsnFile, "dsn-file", "", "file that holds postgres://USER:PASSWORD@HOST:PORT/DATABASE, of an auditor")
	f.StringVar(&o.schema, "schema", "", "schema of the organisation (default belay)")
	f.StringVar(&o.tls, "tls", "", "verify-full, verify-ca or off (default verify-full)")
	f.StringVar(&o.rootCert, "root-cert", "", "PEM of what signs the server's certificate")
}

// given reports whether one of the flags is.
func (o *fleetOptions) given() bool { return *o != fleetOptions{} }

// postgres returns how to reach the database.
func (a *App) fleetDatabase(o *fleetOptions) (p postgres.Options, err error) {
	if o.dsnFile == "" {
		return p, usageError("which database?", "Give --dsn-file FILE: the file holds the DSN of an auditor, "+
			"postgres://USER:PASSWORD@HOST:PORT/DATABASE, mode 600.")
	}
	p = postgres.Options{Schema: o.schema, TLS: postgres.TLS(o.tls), RootCert: o.rootCert}
	if p.DSNFile, err = filepath.Abs(o.dsnFile); err == nil && p.RootCert != "" {
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
