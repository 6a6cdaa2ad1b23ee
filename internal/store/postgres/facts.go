package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxClockDifference is how far a machine's clock may be from the server's.
const MaxClockDifference = maxDifference

// Facts are what Examine finds out about a database and a kernel's place in it. What could not be found out is in
// Problem, and what follows it is zero.
type Facts struct {
	Where   string // host and database, as the DSN names them
	Socket  bool   // the server is on this machine, and reached without a network
	TLS     *TLSFacts
	Server  string // version of PostgreSQL
	Standby bool   // it is a replica

	FSync, FullPages, Commit string // settings of the server by which an acknowledged event outlives a power cut

	Have, Want int64 // versions of the schema; Have is 0 where there is none
	Rights     Rights

	Clock time.Duration // how far the server's is ahead of this machine's

	Max, InUse, Reserved int // connections of the server
	Readers              int // connections that read, of one kernel at most

	Holder *Holder // nil: the kernel's name was never taken
	Key    string  // the verifier of the kernel's checkpoints, where one is pinned

	Synchronous string    // which replicas a commit waits for, as the server names them; "" is none
	Replicas    []Replica // that stream from it now

	Problem error // why it cannot be used, or why not all of this could be found out
}

// TLSFacts say how a connection is protected.
type TLSFacts struct {
	Version string
	Subject string    // of the server's certificate
	Names   []string  // for which it is
	Until   time.Time // when it ends
}

// Holder is the process that has a kernel's name, or had it.
type Holder struct {
	Held          bool // it has it
	Host, Version string
	Heard         Ago
}

// Replica is a server that follows.
type Replica struct {
	Name  string        // "" where this role may not see more than that there is one
	State string        // streaming, catchup and the like
	Sync  string        // sync, async, quorum or potential
	Lag   time.Duration // of what it has made visible; Never: not known
}

// Examine looks at a database for one kernel. It takes no name and writes nothing. A kernel may run meanwhile.
func Examine(ctx context.Context, o Options) (f Facts) {
	o, config, err := o.resolve()
	if err != nil {
		return Facts{Problem: err}
	}
	f.Where, f.Readers = config.Host+"/"+config.Database, o.Readers
	f.Socket = len(config.Host) > 0 && config.Host[0] == '/'
	_, want, err := wanted()
	if err != nil {
		f.Problem = err
		return f
	}
	f.Want = want[len(want)-1]
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout+o.StatementTimeout)
	defer cancel()
	c, err := connectDirectly(ctx, config)
	if err != nil {
		f.Problem = err
		return f
	}
	defer c.Close(ctx)
	f.TLS = tlsOf(c)
	for _, look := range []func(context.Context, *pgx.Conn, *Options) error{f.server, f.clock, f.replicas, f.schema,
		f.rights,
		f.holder} {
		if err := look(ctx, c, &o); err != nil {
			f.Problem = errors.Join(f.Problem, err)
			return f
		}
	}
	return f
}

// tlsOf says how a connection is protected; nil: it is not.
func tlsOf(c *pgx.Conn) *TLSFacts {
	of, ok := c.PgConn().Conn().(*tls.Conn)
	if !ok {
		return nil
	}
	s := of.ConnectionState()
	out := &TLSFacts{Version: tls.VersionName(s.Version)}
	if len(s.PeerCertificates) > 0 {
		cert := s.PeerCertificates[0]
		out.Subject, out.Names, out.Until = cert.Subject.String(), cert.DNSNames, cert.NotAfter
	}
	return out
}

func (f *Facts) server(ctx context.Context, c *pgx.Conn, _ *Options) error {
	err := c.QueryRow(ctx, `SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('fsync'),
		current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('max_connections')::int,
		current_setting('superuser_reserved_connections')::int, current_setting('synchronous_standby_names'),
		(SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database)`).Scan(&f.Server, &f.Standby, &f.FSync, &f.FullPages,
		&f.Commit, &f.Max, &f.Reserved, &f.Synchronous, &f.InUse)
	return err
}

func (f *Facts) clock(ctx context.Context, c *pgx.Conn, o *Options) error {
	before := o.Now()
	var server time.Time
	if err := c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&server); err != nil {
		return err
	}
	after := o.Now()
	switch {
	case server.Before(before):
		f.Clock = server.Sub(before)
	case server.After(after):
		f.Clock = server.Sub(after)
	}
	return nil
}

func (f *Facts) replicas(ctx context.Context, c *pgx.Conn, _ *Options) error {
	rows, err := c.Query(ctx, `SELECT coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, ''),
		coalesce(extract(epoch FROM replay_lag)::float8, CASE WHEN state = 'streaming' THEN 0 ELSE -1 END)
		FROM pg_stat_replication ORDER BY 1`)
	if err != nil {
		return err
	}
	f.Replicas, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Replica, err error) {
		var lag float64
		err = row.Scan(&r.Name, &r.State, &r.Sync, &lag)
		r.Lag = agoOf(lag)
		return r, err
	})
	return err
}

func (f *Facts) schema(ctx context.Context, c *pgx.Conn, o *Options) error {
	var readable bool
	if err := c.QueryRow(ctx, "SELECT coalesce(has_table_privilege(to_regclass($1), 'SELECT'), false)", versionsTable).
		Scan(&readable); err != nil {
		return err
	}
	if readable {
		err := c.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionsTable+" WHERE is_applied").Scan(&f.Have)
		if err != nil {
			return err
		}
	}
	return checkSchema(ctx, c, o.Schema)
}

func (f *Facts) rights(ctx context.Context, c *pgx.Conn, o *Options) (err error) {
	err = f.Rights.find(ctx, c, o.Schema, true)
	if err != nil {
		return fmt.Errorf("the rights of this role cannot be read: %w", err)
	}
	return nil
}

func (f *Facts) holder(ctx context.Context, c *pgx.Conn, o *Options) error {
	var h Holder
	var heard float64
	err := c.QueryRow(ctx, "SELECT holder IS NOT NULL, left(host, 300), left(version, 200), "+fmt.Sprintf(ago, "renewed")+
		", left(checkpoint_key, 400) FROM kernels WHERE name = $1", o.Kernel).Scan(&h.Held, &h.Host, &h.Version, &heard, &f.Key)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	h.Heard = agoOf(heard)
	f.Holder = &h
	return nil
}
