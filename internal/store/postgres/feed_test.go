package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// What one kernel changes, another one hears of: at once, and within two seconds where notices are lost. Events that
// change nothing that is shared wake it for nothing at most.
func TestChangesAreHeardOf(t *testing.T) {
	o := pgtest.Options(t, "a")
	a := pgtest.Open(t, o)
	o.Kernel = "b"
	b := pgtest.Open(t, o)
	heard := func(what string, within time.Duration, of, not func() <-chan struct{}, change func()) {
		t.Helper()
		next, other := of(), not()
		for quiet := false; !quiet; { // what went before
			select {
			case <-next:
				next = of()
			case <-other:
				other = not()
			case <-time.After(1200 * time.Millisecond):
				quiet = true
			}
		}
		change()
		begun := time.Now()
		select {
		case <-next:
			t.Logf("%s: after %v", what, time.Since(begun))
		case <-other:
			t.Errorf("%s: it is told as something else", what)
		case <-time.After(within):
			t.Errorf("%s: not heard of in %v", what, within)
		}
	}
	changed, denied := b.Changed, b.Denied
	deny := func(n byte) func() {
		return func() {
			t.Helper()
			r := commit(t, a, batch(string('p'+rune(n))))
			if err := a.Deny(t.Context(), postgres.Denial{Name: [16]byte{n}, Seq: r.First, Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	heard("a change of what restricts", 500*time.Millisecond, changed, denied, func() { commit(t, a, value("v1")) })
	heard("a denial", 500*time.Millisecond, denied, changed, deny(1))
	heard("a denial that is edited by hand", 500*time.Millisecond, denied, changed, func() {
		pgtest.Exec(t, o.Schema, "UPDATE denials SET body = body")
	})
	pgtest.Exec(t, o.Schema, "DROP TRIGGER tell ON changes", "DROP TRIGGER tell ON denials")
	heard("a change, by looking", 2*time.Second, changed, denied, func() { commit(t, a, value("v2")) })
	heard("a denial, by looking", 2*time.Second, denied, changed, deny(2))

	list, err := b.Denials(t.Context())
	if err != nil || len(list) != 2 || list[1].Name != [16]byte{2} || list[1].By != "a" || string(list[1].Body) != "{}" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := a.Deny(t.Context(), list[1]); err != nil { // once more: it is there
		t.Error(err)
	}
	if list, err = b.Denials(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	stolen := list[1]
	stolen.Body = []byte(`{"x":1}`)
	if err := a.Deny(t.Context(), stolen); err == nil || postgres.Away(err) {
		t.Errorf("another denial has the name: %v", err)
	}
	err = a.Deny(t.Context(), postgres.Denial{Name: [16]byte{3}, Seq: 99, Body: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), "no event records the denial") {
		t.Errorf("without an event: %v", err)
	}
	next, other := changed(), denied()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // who waits is let go, and so is who comes later
		for _, c := range []<-chan struct{}{next, other} {
			select {
			case <-c:
			case <-time.After(time.Second):
				t.Error("it waits for a store that is closed")
			}
		}
		next, other = changed(), denied()
	}
}

// A report reaches those who look at the kernels, and one that is too long does not replace it.
func TestReports(t *testing.T) {
	o := pgtest.Options(t, "a")
	o.Hold = 3 * time.Second
	s := pgtest.Open(t, o)
	commit(t, s, batch("e"))
	s.SetReport([]byte("one"))
	s.SetReport(make([]byte, postgres.MaxReport+1))
	a, err := postgres.OpenAuditor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		rows, err := a.Kernels(t.Context())
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if k := rows[0]; string(k.Report) == "one" && k.Reported >= 0 && k.Reported < time.Minute && k.Held &&
			k.Last.Equal(event("e").Time) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", rows[0])
		}
	}
}
