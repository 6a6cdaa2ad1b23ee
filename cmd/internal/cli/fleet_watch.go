package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/fleet"
)

const (
	fleetEvery = 2 * time.Second  // between two looks; kernels say anew how they are as often
	fleetTime  = 15 * time.Second // for one look
)

// fleetWatch shows how the kernels are, and again when that changes, until interrupted. A database that is away for a
// while ends nothing.
func (a *App) fleetWatch(ctx context.Context, db fleet.Database, options *fleetStatusOptions) error {
	screen := a.Terminal && !options.json && a.Getenv("TERM") != "dumb"
	var shown, trouble string
	for first := true; ; first = false {
		changed := db.Changed() // before the look
		all, err := a.fleetLook(ctx, db, options)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil && err.Error() != trouble:
			a.report(err)
		case err == nil:
			if now := standing(&all); screen || now != shown || trouble != "" {
				if err := a.fleetAgain(&all, options, screen, first); err != nil {
					return err
				}
				shown = now
			}
		}
		if trouble = ""; err != nil {
			trouble = err.Error()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(fleetEvery):
		}
	}
}

func (a *App) fleetLook(ctx context.Context, db fleet.Database, options *fleetStatusOptions) (fleet.Overview, error) {
	ctx, cancel := context.WithTimeout(ctx, fleetTime)
	defer cancel()
	all, err := fleet.Look(ctx, db, options.silent)
	if err != nil {
		return all, fleetFailure(err)
	}
	return all, nil
}

// fleetAgain prints a line of JSON, or the table: on a terminal in place of the one before.
func (a *App) fleetAgain(all *fleet.Overview, options *fleetStatusOptions, screen, first bool) error {
	if options.json {
		b, err := encodeJSON(all, false)
		if err != nil {
			return failureBy(err, "")
		}
		fmt.Fprintf(a.Out, "%s\n", b)
		return nil
	}
	switch {
	case screen:
		fmt.Fprint(a.Out, "\x1b[H\x1b[2J")
	case !first:
		fmt.Fprintf(a.Out, "\n%s\n", time.Now().Format(time.DateTime))
	}
	a.printOverview(all)
	if screen {
		fmt.Fprintf(a.Out, "\n%s\n", a.palette().faint(time.Now().Format(time.TimeOnly)+"; Ctrl-C ends it"))
	}
	return nil
}

// standing is what a person would call a change of: all but the numbers that grow while kernels work.
func standing(all *fleet.Overview) string {
	out := *all
	out.Kernels = make([]fleet.Member, len(all.Kernels))
	for i, k := range all.Kernels {
		k.Events, k.Newest, k.Lag, k.Heard = 0, time.Time{}, 0, 0
		for n, why := range k.Why {
			if n == 0 {
				k.Why = make([]string, len(all.Kernels[i].Why))
			}
			k.Why[n] = strings.Map(func(r rune) rune {
				if '0' <= r && r <= '9' {
					return -1
				}
				return r
			}, why)
		}
		out.Kernels[i] = k
	}
	b, err := encodeJSON(&out, false)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
