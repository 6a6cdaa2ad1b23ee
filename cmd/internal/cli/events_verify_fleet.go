package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

// verifyFleetOptions are the flags of `events verify --fleet`.
type verifyFleetOptions struct {
	on           bool
	database     databaseFlags
	memory, keys string
	expect       []string
	silent       time.Duration
}

const silentAfter = 10 * time.Minute

func (o *verifyFleetOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "fleet", false, "verify the logs of all kernels that share a PostgreSQL")
	o.database.add(f, auditorsDSN)
	f.StringVar(&o.memory, "memory", "", "with --fleet: file of what the runs before have seen; it is made and kept up")
	f.StringVar(&o.keys, "keys", "", "with --fleet: file of lines NAME KEY, the keys that events key prints")
	f.StringSliceVar(&o.expect, "expect", nil, "with --fleet: kernel that has to be there and to be heard of")
	f.DurationVar(&o.silent, "silent", silentAfter, "with --fleet: how long a kernel may not be heard of")
}

// check refuses flags that do not go together.
func (o *eventsVerifyOptions) check() error {
	one := o.checkpoint != "" || o.against != "" || o.proof != "" || o.key != "" || o.sinceHead
	l := &o.fleet
	all := l.database.given() || l.memory != "" || l.keys != "" || len(l.expect) > 0 || l.silent != silentAfter
	switch {
	case l.on && one:
		return usageError("--fleet does not go with --checkpoint, --against, --proof, --key and --since-head",
			"They are about one log. With --fleet, --keys and --memory say what is known from outside.")
	case !l.on && all:
		return usageError("--dsn-file, --schema, --tls, --root-cert, --memory, --keys, --expect and --silent go with --fleet",
			"`belay events verify --fleet --dsn-file FILE` verifies the logs of all kernels.")
	case l.silent <= 0:
		return usageError("--silent takes a duration such as 10m", "")
	}
	for _, n := range l.expect {
		if !postgres.ValidName(n) {
			return usageError(fmt.Sprintf("--expect %s: no kernel can have this name", safe(n)), "")
		}
	}
	return nil
}

func (a *App) verifyFleet(ctx context.Context, o *verifyFleetOptions, asJSON bool) error {
	known := fleet.Known{Expect: o.expect, Silent: o.silent}
	var err error
	if o.keys != "" {
		if known.Keys, err = fleet.ReadKeys(o.keys); err != nil {
			return failureBy(err, "Nothing was verified.")
		}
	}
	if o.memory != "" {
		if known.Memory, err = fleet.ReadMemory(o.memory); err != nil {
			return failureBy(err, "Nothing was verified. Without its memory, belay does not notice what is missing.")
		}
	}
	db, err := a.openFleet(ctx, &o.database)
	if err != nil {
		return err
	}
	defer db.Close()
	r, next, err := fleet.Verify(ctx, db, known)
	if err != nil {
		return fleetFailure(err)
	}
	if o.memory != "" {
		if err := next.Write(o.memory); err != nil {
			return failureBy(err, "The logs were read. What was seen could not be remembered, so nothing is reported.")
		}
	}
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.printFleetReport(&r)
	}
	if !r.OK {
		return exitWith(ExitDifferences)
	}
	return nil
}

func (a *App) printFleetReport(r *fleet.Report) {
	bad := 0
	for i := range r.Kernels {
		if r.Kernels[i].State.Bad() {
			bad++
		}
	}
	switch shared := r.Shared.Wrong + r.Shared.Went + strings.Join(r.Shared.Denials, ""); {
	case r.OK:
		fmt.Fprintf(a.Out, "events verify: ok\n")
	case bad == 0:
		fmt.Fprintf(a.Out, "events verify: WRONG: what all kernels share\n")
	default:
		fmt.Fprintf(a.Out, "events verify: WRONG: %d of %s", bad, plural(len(r.Kernels), "kernel"))
		if shared != "" {
			fmt.Fprintf(a.Out, ", and what all of them share")
		}
		fmt.Fprintln(a.Out)
	}
	if len(r.Kernels) > 0 {
		a.printFleetKernels(r)
	}
	a.printShared(&r.Shared)
	if r.Since.IsZero() {
		fmt.Fprintf(a.Out, "nothing was known from before: what went back before now does not show; see --memory\n")
	} else {
		fmt.Fprintf(a.Out, "compared with what was seen at %s\n", r.Since.Local().Format(time.DateTime))
	}
}

func (a *App) printFleetKernels(r *fleet.Report) {
	colors := a.palette()
	t := newTable("KERNEL", "STATE", "EVENTS", "HEADS", "HEARD OF", "HOST").alignRight(2, 3)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		events, heads := "-", "-"
		if k.Log != nil {
			events, heads = strconv.FormatInt(k.Log.Events, 10), strconv.Itoa(k.Log.Checkpoints)
		}
		t.row(safe(k.Name), stateText(colors, k.State), events, heads, heardText(k.Heard), safe(k.Host))
	}
	t.print(a.Out, colors)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		for _, f := range k.Findings {
			fmt.Fprintf(a.Out, "%s: %s: %s\n", safe(k.Name), f.State, oneLine(f.Text, 400))
		}
		if k.KeyFrom == fleet.KeyOfDatabase {
			fmt.Fprintf(a.Out, "%s: its key is what the database says: compare it with `belay events key` on its machine\n",
				safe(k.Name))
		}
		if k.New {
			fmt.Fprintf(a.Out, "%s: new since the last time\n", safe(k.Name))
		}
		if k.Log == nil {
			continue
		}
		for _, rec := range k.Log.Recovered {
			fmt.Fprintf(a.Out, "%s: event %d records that a person let the log go on from a database that went back\n",
				safe(k.Name), rec.Event)
		}
	}
}

func (a *App) printShared(s *fleet.Organisation) {
	var said []string
	for _, text := range append([]string{s.Wrong, s.Went, s.Explain}, s.Denials...) {
		if text != "" {
			said = append(said, oneLine(text, 400))
		}
	}
	if len(said) == 0 {
		where := "nothing was written yet"
		if s.Version > 0 {
			where = fmt.Sprintf("event %d of kernel %s records it", s.Event, safe(s.Kernel))
		}
		said = []string{"as recorded: " + where}
	}
	fmt.Fprintf(a.Out, "what all share: %s\n", strings.Join(said, "; "))
}

func stateText(colors palette, s fleet.State) string {
	switch {
	case s == fleet.Sound:
		return colors.paint("32", string(s))
	case !s.Bad():
		return colors.faint(string(s))
	case slices.Contains([]fleet.State{fleet.Silent, fleet.Unproven}, s):
		return colors.paint("33;1", string(s))
	}
	return colors.paint("31;1", string(s))
}

// heardText says how long ago a kernel was heard of.
func heardText(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case seconds < 0:
		return "never"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s") + " ago"
	default:
		return d.Truncate(time.Second).String() + " ago"
	}
}
