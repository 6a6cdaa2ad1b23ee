package belay_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/phases"
)

// A kernel with a local log shares questions with one that writes to PostgreSQL. While that is away it blocks what a
// person was asked about, lets through what needs no answer, and goes on by itself.
func TestKernelsForward(t *testing.T) {
	key, lines := reviewer(t)
	p := pgtest.NewProxy(t)
	o := pgtest.Login(t, pgtest.Options(t, "central"), "kernel")
	central := state(t, asking+lines)
	write(t, filepath.Join(central, "rules.yaml"), askingRules)
	a := open(t, central, belay.Options{Store: pgtest.Open(t, o)})

	dir := state(t, asking+lines)
	dsn := filepath.Join(dir, "dsn")
	write(t, dsn, p.Through(t, o.DSN))
	write(t, filepath.Join(dir, "rules.yaml"), askingRules)
	write(t, filepath.Join(dir, "belay.yaml"), asking+lines+fmt.Sprintf(
		"store: {postgres: {dsn_file: %s, kernel: local, schema: %s, tls: \"off\", events: local}}\n", dsn, o.Schema))
	b := open(t, dir, belay.Options{})

	passes := func(n int) {
		t.Helper()
		inv := exec(fmt.Sprint("npm install package-", n))
		v := invoke(t, b, inv)
		if v.Decision != phases.Ask || v.Approval == nil {
			t.Fatalf("%s: %s", v.Decision, v.Reason)
		}
		if err := approve(t, a, v.Approval.ID, key); err != nil {
			t.Fatal(err)
		}
		if v := invoke(t, b, inv); v.Decision != phases.Allow {
			t.Errorf("%s: %s", v.Decision, v.Reason)
		}
		if again := invoke(t, a, inv); again.Decision != phases.Ask {
			t.Errorf("a second time: %s: %s", again.Decision, again.Reason)
		}
	}
	passes(1)
	p.Down(true)
	waitFor(t, func() bool {
		v, err := b.Invoke(t.Context(), exec("npm install away"))
		return err != nil && v.Decision == phases.Block
	})
	if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow {
		t.Errorf("what needs no person: %s: %s", v.Decision, v.Reason)
	}
	st, err := b.Status(t.Context())
	if err != nil || st.Health != wire.HealthDegraded || len(st.Warnings) == 0 {
		t.Errorf("the status while PostgreSQL is away: %s %q, %v", st.Health, st.Warnings, err)
	}
	p.Down(false)
	waitFor(t, func() bool {
		v, err := b.Invoke(t.Context(), exec("npm install back"))
		return err == nil && v.Decision == phases.Ask
	})
	passes(2)
	verified(t, b)
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it has not happened in 20 seconds")
		}
	}
}
