package postgres_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// A login takes so many kernel names and no more: each is a few tables. The owner of the schema can allow more.
func TestOneLoginTakesFewNames(t *testing.T) {
	owner := pgtest.Options(t, "a")
	pgtest.Exec(t, owner.Schema, "UPDATE settings SET names = 2")
	o := pgtest.Login(t, owner, "kernel")
	take := func(o postgres.Options, name string) error {
		t.Helper()
		o.Kernel = name
		s, err := postgres.Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	for _, name := range []string{"a", "b", "a"} {
		if err := take(o, name); err != nil {
			t.Fatal(err)
		}
	}
	err := take(o, "c")
	if err == nil || !strings.Contains(err.Error(), "has 2 kernel names, and one role can take no more") ||
		!strings.Contains(err.Error(), `UPDATE "`+owner.Schema+`"."settings" SET names = 2000`) {
		t.Errorf("a third name: %v", err)
	}
	var n int
	query(t, owner, "SELECT count(*) FROM kernels", &n)
	if n != 2 {
		t.Errorf("%d names", n)
	}
	if err := take(o, "b"); err != nil {
		t.Errorf("a name that it has: %v", err)
	}
	if err := take(owner, "d"); err != nil {
		t.Errorf("another login: %v", err)
	}
	pgtest.Exec(t, owner.Schema, "UPDATE settings SET names = 3")
	if err := take(o, "c"); err != nil {
		t.Errorf("after more were allowed: %v", err)
	}
}

// The database refuses a name that belay.yaml could not have, from a program of another make.
func TestFormOfNames(t *testing.T) {
	owner := pgtest.Options(t, "k")
	o := pgtest.Login(t, owner, "kernel")
	for name, good := range map[string]bool{
		"a": true, "a-b.c_9": true, strings.Repeat("k", 63): true,
		"": false, "A": false, "a b": false, "-a": false, "a-": false, "a\nb": false, "a\n": false, "ä": false, "a;--": false,
		strings.Repeat("k", 64): false,
	} {
		err := try(t, o.DSN, o.Schema, "SELECT hold('"+name+"', gen_random_uuid(), '', '', '1s', '1s', '')")
		if good != (err == nil) || !good && !strings.Contains(err.Error(), "(SQLSTATE BL011)") {
			t.Errorf("%q: %v", name, err)
		}
		if good != postgres.ValidName(name) {
			t.Errorf("%q: this program has another opinion", name)
		}
	}
}
