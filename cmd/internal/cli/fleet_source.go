package cli

import (
	"context"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

const auditorsDSN = "file that holds an auditor's DSN (default: that of belay.yaml, of the kernel)"

// openFleet opens the database for reading.
func (a *App) openFleet(ctx context.Context, d *databaseFlags) (fleet.Database, error) {
	var named config.Postgres
	if a.ownState() == nil { // else belay.yaml is not this person's
		var err error
		if named, err = a.namedStore(); err != nil && d.dsnFile == "" {
			return fleet.Database{}, err
		}
	}
	o, err := d.options(&named)
	if err != nil {
		return fleet.Database{}, err
	}
	if o.DSNFile == "" {
		return fleet.Database{}, usageError("which database?", "belay.yaml names no store. Give --dsn-file FILE: the file "+
			"holds the DSN of an auditor, postgres://USER:PASSWORD@HOST:PORT/DATABASE, mode 600.")
	}
	db, err := postgres.OpenAuditor(ctx, o)
	if err != nil {
		return fleet.Database{}, fleetFailure(err)
	}
	return fleet.Database{Auditor: db}, nil
}

// fleetFailure says why nothing is known of the kernels.
func fleetFailure(err error) error {
	why, _ := whyUnavailable(err)
	return &exitError{code: ExitError, text: safe(why), cause: err, hint: "Nothing is known about the kernels."}
}
