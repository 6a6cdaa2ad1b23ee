package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

// examinePostgres says how the database stands that kernels share. It looks on a connection of its own and takes no
// name, so that it says the same beside a daemon and without one.
func examinePostgres(ctx context.Context, p *config.Postgres) []finding {
	facts := postgres.Examine(ctx, statelog.PostgresOptions(p, ""))
	rows := databaseRows{facts: &facts, kernel: p.Kernel, now: time.Now()}
	return rows.all()
}

// Bounds beyond which doctor warns.
const (
	clockWarn  = 2 * time.Second // the store refuses more than 10
	lagWarn    = 10 * time.Second
	certWarn   = 21 * 24 * time.Hour
	filledWarn = 80 // per cent of the connections of the server
)

// databaseRows makes the rows of a database.
type databaseRows struct {
	facts  *postgres.Facts
	kernel string
	now    time.Time
	out    []finding
}

func (d *databaseRows) row(check, status, advice, format string, args ...any) {
	d.out = append(d.out, finding{Check: check, Status: status, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (d *databaseRows) all() []finding {
	f := d.facts
	if f.Server == "" {
		d.row("postgres", "fail", "docs/SCALING.md says what a kernel needs of it.", "it cannot be reached: %v", f.Problem)
		return d.out
	}
	d.row("postgres", "ok", "", "PostgreSQL %s at %s", f.Server, f.Where)
	d.settings()
	d.tls()
	d.clock()
	d.pool()
	d.replicas()
	d.schema()
	if f.Have == f.Want {
		d.rights()
		d.name()
	}
	if f.Problem != nil && f.Have == f.Want {
		d.row("postgres", "fail", "", "not all could be looked at: %v", f.Problem)
	}
	return d.out
}

func (d *databaseRows) settings() {
	f := d.facts
	text := fmt.Sprintf("fsync=%s, full_page_writes=%s, synchronous_commit=%s", f.FSync, f.FullPages, f.Commit)
	switch {
	case f.Standby:
		d.row("store settings", "fail", "Name the primary in the DSN.", "the server is a replica, which cannot write")
	case f.FSync != "on" || f.FullPages != "on":
		d.row("store settings", "fail", "Set both to on in postgresql.conf: a power cut would lose acknowledged events.", "%s", text)
	default:
		d.row("store settings", "ok", "", "%s", text)
	}
}

func (d *databaseRows) tls() {
	f := d.facts
	switch {
	case f.Socket:
		d.row("store tls", "ok", "", "not needed: a socket of this machine")
	case f.TLS == nil:
		d.row("store tls", "warn", "Set store.postgres.tls: verify-full. Other programs of this machine can listen.",
			"off, to a server on this machine")
	case f.TLS.Until.Sub(d.now) < certWarn:
		d.row("store tls", "warn", "Give the server a new certificate before that: afterwards every action is blocked.",
			"%s; the certificate of %s ends %s", f.TLS.Version, d.certificate(), f.TLS.Until.UTC().Format(time.DateOnly))
	default:
		d.row("store tls", "ok", "", "%s, certificate of %s until %s", f.TLS.Version, d.certificate(),
			f.TLS.Until.UTC().Format(time.DateOnly))
	}
}

func (d *databaseRows) certificate() string {
	if t := d.facts.TLS; len(t.Names) > 0 {
		return strings.Join(t.Names, ", ")
	}
	return d.facts.TLS.Subject
}

func (d *databaseRows) clock() {
	off := d.facts.Clock.Abs().Round(time.Millisecond)
	switch advice := "Set both by one time server (NTP): leases and approvals end by the clock."; {
	case off > postgres.MaxClockDifference:
		d.row("store clock", "fail", advice, "the server's clock is %v from this machine's: belay does not write", off)
	case off > clockWarn:
		d.row("store clock", "warn", advice, "the server's clock is %v from this machine's", off)
	default:
		d.row("store clock", "ok", "", "within %v of this machine's", max(off, time.Millisecond))
	}
}

func (d *databaseRows) pool() {
	f := d.facts
	text := fmt.Sprintf("this kernel takes up to %d connections; the server has %d of %d in use", f.Readers+2, f.InUse,
		f.Max-f.Reserved)
	if f.InUse*100 >= (f.Max-f.Reserved)*filledWarn {
		d.row("store pool", "warn", "Raise max_connections in postgresql.conf, or lower store.postgres.readers.", "%s", text)
		return
	}
	d.row("store pool", "ok", "", "%s", text)
}

func (d *databaseRows) replicas() {
	f := d.facts
	if len(f.Replicas) == 0 {
		d.row("store replicas", "warn", "Where the server's disk is lost, events are. docs/SCALING.md says how to have a replica.",
			"none follows")
		return
	}
	names, hidden, late := []string{}, false, false
	for _, r := range f.Replicas {
		switch {
		case r.State == "":
			hidden = true
		case r.Lag == postgres.Never:
			late = true
			names = append(names, fmt.Sprintf("%s (%s, %s)", r.Name, r.Sync, r.State))
		default:
			late = late || r.Lag > lagWarn
			names = append(names, fmt.Sprintf("%s (%s, %v behind)", r.Name, r.Sync, r.Lag.Round(time.Millisecond)))
		}
	}
	switch waits := "a commit waits for none: a failover may lose the newest events, which blocks until `belay recover`"; {
	case hidden:
		d.row("store replicas", "warn", fmt.Sprintf("GRANT pg_read_all_stats TO %s; lets it see them.", d.facts.Rights.Role),
			"%s; this role may not see how far behind", plural(len(f.Replicas), "replica"))
	case late:
		d.row("store replicas", "warn", "A failover now would lose events.", "%s", strings.Join(names, ", "))
	case f.Synchronous == "":
		d.row("store replicas", "warn", "synchronous_standby_names in postgresql.conf names those that a commit waits for.",
			"%s; %s", strings.Join(names, ", "), waits)
	default:
		d.row("store replicas", "ok", "", "%s; a commit waits for %s", strings.Join(names, ", "), f.Synchronous)
	}
}

func (d *databaseRows) schema() {
	f := d.facts
	if f.Have == f.Want {
		d.row("store schema", "ok", "", "version %d", f.Have)
		return
	}
	d.row("store schema", "fail", "`belay migrate` brings it up to date, with a DSN of the owner.", "%v", f.Problem)
}

func (d *databaseRows) rights() {
	r := d.facts.Rights
	if len(r.Much)+len(r.Less) == 0 {
		d.row("store rights", "ok", "", "%s can do what a kernel does, and nothing else", r.Role)
		return
	}
	for _, part := range []struct {
		much string
		list []string
	}{{"too much", r.Much}, {"too little", r.Less}} {
		if len(part.list) > 0 {
			d.row("store rights", "fail", "The owner of the schema runs: "+strings.Join(r.Mend, " "), "%s can do %s: %s", r.Role,
				part.much, strings.Join(part.list, ", "))
		}
	}
}

func (d *databaseRows) name() {
	h := d.facts.Holder
	switch {
	case h == nil:
		d.row("store name", "ok", "", "%s: not taken yet", d.kernel)
	case !h.Held:
		d.row("store name", "ok", "", "%s: free; its log is there", d.kernel)
	case h.Heard == postgres.Never:
		d.row("store name", "warn", "Look at the clock of the server.", "%s: held by a process on %s, heard of at no time",
			d.kernel, h.Host)
	default:
		d.row("store name", "ok", "", "%s: held by a process on %s (belay %s), heard of %v ago", d.kernel, h.Host, h.Version,
			h.Heard.Round(time.Millisecond))
	}
}
