package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Where the store remembers the last logged sentence about retention. No hook can
// have a namespace with a colon in it.
const (
	noticeNamespace = "belay:keeping"
	noticeKey       = "policy"
)

// announceTries is how often an announcement starts again because another process has
// changed what the record says.
const announceTries = 3

// Announce logs once that retention began, changed or ended, also when many
// processes find out one after the other. A store that cannot be written does
// not prevent opening; the next process logs it. r is the policy of belay.yaml;
// nil: nothing is retained.
func (s *Switch) Announce(ctx context.Context, store kernel.Store, r *config.Recordings, revision string) {
	if s.o.Records || s.o.Off {
		return
	}
	for range announceTries {
		err := announce(ctx, store, r, revision)
		if err == nil {
			return
		}
		if !errors.Is(err, kernel.ErrConflict) {
			s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "it could not be recorded whether full inputs are kept",
				slog.Any("error", err))
			return
		}
	}
}

func announce(ctx context.Context, store kernel.Store, r *config.Recordings, revision string) error {
	said, err := store.HookState(ctx, noticeNamespace, noticeKey)
	if err != nil {
		return err
	}
	is := describe(r)
	if is == string(said.Value) {
		return nil
	}
	text := "keeping of full inputs ended; it was: " + string(said.Value)
	if r != nil && said.Value == nil {
		text = "keeping of full inputs began: " + is
	} else if r != nil {
		text = "keeping of full inputs changed: " + is
	}
	now := time.Now()
	_, err = store.Commit(ctx, kernel.Batch{
		Now: now, StateReads: []kernel.StateRead{{Namespace: noticeNamespace, Key: noticeKey, Version: said.Version}},
		StateWrites: []kernel.StateWrite{{Namespace: noticeNamespace, Key: noticeKey, Value: []byte(is), Delete: r == nil}},
		Events: []phases.Event{{ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: phases.EventNotice, Time: now,
			PolicyRevision: revision,
			Reason:         phases.SafeText(text, phases.MaxReasonBytes)}},
	})
	return err
}

// describe says in a line which inputs are retained for whom; "" for none.
func describe(r *config.Recordings) string {
	if r == nil {
		return ""
	}
	who := "sealed for " + strings.Join(r.Recipients, ", ")
	if r.UnsafePlaintext {
		who = "UNSAFE: in plain text"
	}
	of := "all phases"
	if len(r.Phases) > 0 {
		names := make([]string, len(r.Phases))
		for i, p := range r.Phases {
			names[i] = string(p)
		}
		of = strings.Join(names, ", ")
	}
	if r.Tools != "" {
		of += ", tools " + r.Tools
	}
	lost := "what cannot be kept is counted"
	if r.OnError == config.OnErrorBlock {
		lost = "what cannot be kept is blocked"
	}
	return fmt.Sprintf("in %s, %s; %s; %s", r.Dir, who, of, lost)
}
