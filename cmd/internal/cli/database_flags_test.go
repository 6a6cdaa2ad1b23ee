package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// A flag counts before belay.yaml, and a database without TLS needs no root certificate.
func TestDatabaseFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	here := func(name string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := config.Postgres{DSNFile: "/etc/belay/dsn", Schema: "team", TLS: "verify-full", RootCert: "/etc/belay/ca"}
	for _, c := range []struct {
		flags databaseFlags
		named config.Postgres
		want  postgres.Options
	}{
		{databaseFlags{}, config.Postgres{}, postgres.Options{Schema: "belay"}},
		{databaseFlags{}, named, postgres.Options{DSNFile: "/etc/belay/dsn", Schema: "team", TLS: postgres.VerifyFull,
			RootCert: "/etc/belay/ca"}},
		{databaseFlags{dsnFile: "mine", schema: "other", tls: "verify-ca", rootCert: "ca"}, named, postgres.Options{
			DSNFile: here("mine"), Schema: "other", TLS: postgres.VerifyCA, RootCert: here("ca")}},
		{databaseFlags{tls: "off"}, named, postgres.Options{DSNFile: "/etc/belay/dsn", Schema: "team", TLS: postgres.Off}},
	} {
		got, err := c.flags.options(&c.named)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("flags %+v over %+v: %+v, %v; want %+v", c.flags, c.named, got, err, c.want)
		}
	}
}

func TestWhyUnavailable(t *testing.T) {
	for _, c := range []struct {
		err   error
		why   string
		class bool
	}{
		{fmt.Errorf("open: %w: no server answers", kernel.ErrUnavailable), "no server answers", true},
		{kernel.ErrUnavailable, kernel.ErrUnavailable.Error(), false}, // it gives no reason
		{errors.New("a file: " + kernel.ErrUnavailable.Error() + ": so it says"),
			"a file: " + kernel.ErrUnavailable.Error() + ": so it says", false},
	} {
		if why, class := whyUnavailable(c.err); why != c.why || class != c.class {
			t.Errorf("%v: %q, %v; want %q, %v", c.err, why, class, c.why, c.class)
		}
	}
}
