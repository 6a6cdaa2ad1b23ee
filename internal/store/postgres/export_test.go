package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Setting returns a setting as the server has it for the connection that writes, and for one that reads.
func (s *Store) Setting(ctx context.Context, name string) (writes, reads string, err error) {
	const sql = "SELECT current_setting($1)"
	if err := s.do(ctx, "setting", func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, sql, name).Scan(&writes)
	}); err != nil {
		return "", "", err
	}
	err = s.on(ctx, "setting", func(c *pgxpool.Conn) error { return c.QueryRow(ctx, sql, name).Scan(&reads) })
	return writes, reads, err
}

// Sleep has the server run a statement that takes so long, on a connection that reads.
func (s *Store) Sleep(ctx context.Context, d time.Duration) error {
	return s.on(ctx, "sleep", func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, "SELECT pg_sleep($1)", d.Seconds())
		return err
	})
}

// LookEvery returns options whose files are looked at so often.
func (o Options) LookEvery(d time.Duration) Options {
	o.accessLook = d
	return o
}

// Rules returns what each role may do with each table, and which role may call a function; "": none.
func Rules() (tables map[string]map[string]string, functions map[string]string) {
	tables, functions = map[string]map[string]string{}, map[string]string{}
	for _, t := range allTables() {
		tables[t.name] = map[string]string{"kernel": t.kernel, "reviewer": t.reviewer, "auditor": t.auditor}
	}
	for _, f := range kernelFunctions() {
		functions[f] = "kernel"
	}
	for _, f := range innerFunctions() {
		functions[f] = ""
	}
	return tables, functions
}
