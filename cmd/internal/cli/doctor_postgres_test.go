package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Each thing that is not as it should be with the database that kernels share is a row of its own, which says what to
// do.
func TestRowsOfADatabase(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	good := func() *postgres.Facts {
		return &postgres.Facts{Where: "db.example/belay", Server: "15.14", FSync: "on", FullPages: "on", Commit: "on",
			Have: 4,
			Want: 4, Rights: postgres.Rights{Role: "build"}, Clock: 20 * time.Millisecond, Max: 103, InUse: 10, Reserved: 3,
			Readers: 4, Holder: &postgres.Holder{Held: true, Host: "h", Version: "v", Heard: time.Second}, Synchronous: "one",
			Replicas: []postgres.Replica{{Name: "one", State: "streaming", Sync: "sync"}},
			TLS:      &postgres.TLSFacts{Version: "TLS 1.3", Names: []string{"db.example"}, Until: now.AddDate(1, 0, 0)}}
	}
	for name, c := range map[string]struct {
		change func(*postgres.Facts)
		want   string // status, check and a part of the text; "" means that all is well
		advice string
	}{
		"all is well":        {func(*postgres.Facts) {}, "", ""},
		"away":               {func(f *postgres.Facts) { *f = postgres.Facts{Problem: errors.New("refused")} }, "fail postgres: it cannot be reached: refused", "SCALING"},
		"a replica":          {func(f *postgres.Facts) { f.Standby = true }, "fail store settings: the server is a replica", "primary"},
		"no fsync":           {func(f *postgres.Facts) { f.FSync = "off" }, "fail store settings: fsync=off", "power cut"},
		"no TLS":             {func(f *postgres.Facts) { f.TLS = nil }, "warn store tls: off", "verify-full"},
		"a certificate ends": {func(f *postgres.Facts) { f.TLS.Until = now.AddDate(0, 0, 9) }, "warn store tls: TLS 1.3; the certificate of db.example ends 2031-01-10", "new certificate"},
		"clocks differ":      {func(f *postgres.Facts) { f.Clock = -3 * time.Second }, "warn store clock: the server's clock is 3s", "NTP"},
		"clocks differ much": {func(f *postgres.Facts) { f.Clock = time.Hour }, "fail store clock: the server's clock is 1h0m0s", "NTP"},
		"full":               {func(f *postgres.Facts) { f.InUse = 80 }, "warn store pool: this kernel takes up to 6 connections; the server has 80 of 100", "max_connections"},
		"no replica":         {func(f *postgres.Facts) { f.Replicas = nil }, "warn store replicas: none", "replica"},
		"asynchronous":       {func(f *postgres.Facts) { f.Synchronous, f.Replicas[0].Sync = "", "async" }, "warn store replicas: one (async, 0s behind); a commit waits for none", "synchronous_standby_names"},
		"behind":             {func(f *postgres.Facts) { f.Replicas[0].Lag = time.Minute }, "warn store replicas: one (sync, 1m0s behind)", "failover"},
		"catching up":        {func(f *postgres.Facts) { f.Replicas[0].State, f.Replicas[0].Lag = "catchup", postgres.Never }, "warn store replicas: one (sync, catchup)", "failover"},
		"hidden":             {func(f *postgres.Facts) { f.Replicas[0] = postgres.Replica{Lag: postgres.Never} }, "warn store replicas: 1 replica; this role may not see", "GRANT pg_read_all_stats TO build;"},
		"an old schema":      {func(f *postgres.Facts) { f.Have, f.Problem = 3, errors.New("has version 3") }, "fail store schema: has version 3", "belay migrate"},
		"too much": {func(f *postgres.Facts) {
			f.Rights.Much, f.Rights.Mend = []string{"UPDATE on table events"}, []string{"REVOKE it;"}
		}, "fail store rights: build can do too much: UPDATE on table events", "REVOKE it;"},
		"too little":           {func(f *postgres.Facts) { f.Rights.Less = []string{"SELECT on table events"} }, "fail store rights: build can do too little: SELECT on table events", "owner"},
		"a name without times": {func(f *postgres.Facts) { f.Holder.Heard = postgres.Never }, "warn store name: build-7: held by a process on h, heard of at no time", "clock"},
	} {
		f := good()
		c.change(f)
		rows := databaseRows{facts: f, kernel: "build-7", now: now}
		found := false
		for _, r := range rows.all() {
			text := r.Status + " " + r.Check + ": " + r.Text
			switch {
			case c.want != "" && strings.HasPrefix(text, c.want):
				found = strings.Contains(r.Advice, c.advice)
			case r.Status != "ok":
				t.Errorf("%s: %s", name, text)
			}
		}
		if c.want != "" && !found {
			t.Errorf("%s: %+v", name, rows.out)
		}
	}
}
