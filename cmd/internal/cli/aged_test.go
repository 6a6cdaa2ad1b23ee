package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/uuid/v5"

	host "github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// agedEvents is `aged N`: it adds so many events of a month ago to the log, an hour apart.
func agedEvents() {
	n := 0
	_, err := fmt.Sscan(os.Args[1], &n)
	must(err)
	dir := os.Getenv("BELAY_HOME")
	var s kernel.Store
	f, _, err := config.Load(dir)
	must(err)
	if p := f.Central(); p != nil && !p.Settings().Local {
		s, err = postgres.Open(context.Background(), statelog.PostgresOptions(p, ""))
	} else {
		s, err = sqlite.Open(context.Background(), filepath.Join(dir, "belay.db"), sqlite.Options{})
	}
	must(err)
	for i := range n {
		at := time.Now().Add(time.Duration(i-30*24) * time.Hour)
		id, err := uuid.NewV7AtTime(at)
		must(err)
		e := phases.Event{ID: id.String(), Type: phases.EventVerdict, Time: at, Phase: phases.PreTool, Decision: "allow"}
		_, err = s.Commit(context.Background(), kernel.Batch{Now: at, Events: []phases.Event{e}})
		must(err)
	}
	must(s.Close())
}

// retain does what the daemon does by events.retention from time to time, and prints how many events it compacted.
func retain() {
	ctx := context.Background()
	b, err := host.Open(ctx, os.Getenv("BELAY_HOME"), host.Options{NoHooks: true})
	must(err)
	r, err := statelog.Of(b.Log()).RetainNow(ctx)
	must(errors.Join(err, b.Close()))
	fmt.Printf("retain: %d events, up to number %d\n", r.Events, r.Through)
}
