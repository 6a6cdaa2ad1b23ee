package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// state makes a state directory with a configuration.
func (y *yard) state(name, config string) (string, error) {
	dir := filepath.Join(y.work, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte("version: belay/v1\n"+config), 0o600)
}

// host opens a belay with these hooks, in memory or durable.
func (y *yard) host(ctx context.Context, name string, memory bool, hooks ...belay.AdHocHook) (*belay.Belay, error) {
	dir, err := y.state(name, "")
	if err != nil {
		return nil, err
	}
	b, err := belay.Open(ctx, dir, belay.Options{Hooks: hooks, InMemory: memory})
	if err == nil {
		y.atEnd(func() { _ = b.Close() })
	}
	return b, err
}

// invokes is one whole decision.
func invokes(b *belay.Belay, inv phases.Invocation) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := b.Invoke(ctx, inv)
		if err == nil && v.Decision != phases.Allow {
			err = fmt.Errorf("%s: %s", v.Decision, v.Reason)
		}
		return err
	}
}

func openDecisions(ctx context.Context, y *yard) ([]subject, error) {
	subjects, err := judges(ctx, y, []prepared{
		{"OPA", "the query alone, nothing recorded", opaPrepared},
	})
	if err != nil {
		return nil, err
	}
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	inMemory, err := y.host(ctx, "memory", true, hooks(module, 1)...)
	if err != nil {
		return nil, err
	}
	return append(subjects, subject{name: "belay, Invoke in memory", note: "redacted, recorded, not on disk",
		do: invokes(inMemory, inv)}), nil
}

// openDurable compares a decision with an insert of the bytes that it records: what a program would write that only
// kept a log of its own.
func openDurable(ctx context.Context, y *yard) ([]subject, error) {
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	b, err := y.host(ctx, "durable", false, hooks(module, 1)...)
	if err != nil {
		return nil, err
	}
	v, err := b.Invoke(ctx, inv)
	if err != nil {
		return nil, err
	}
	events, err := b.Events(ctx, wire.Query{Invocation: v.ID})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(events)
	if err != nil {
		return nil, err
	}
	insert, err := y.inserts(ctx, text)
	if err != nil {
		return nil, err
	}
	return []subject{
		{name: "an insert into SQLite", do: insert,
			note: fmt.Sprintf("%d bytes, those of the decision's %d events; synced", len(text), len(events))},
		{name: "belay, durable Invoke", note: "on disk before the verdict", do: invokes(b, inv)},
	}, nil
}

// inserts puts a row into a database that syncs each commit, as belay's does.
func (y *yard) inserts(ctx context.Context, text []byte) (func(context.Context) error, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(y.work, "rows.db")+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "create table rows (seq integer primary key, event blob not null)"); err != nil {
		return nil, err
	}
	insert, err := db.PrepareContext(ctx, "insert into rows (event) values (?)")
	return func(ctx context.Context) error {
		_, err := insert.ExecContext(ctx, text)
		return err
	}, err
}
