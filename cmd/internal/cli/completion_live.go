package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of what completion looks up: a person waits with a finger on a key.
const (
	liveTime   = time.Second
	maxOffered = 50  // of those that begin with the word
	maxRecent  = 500 // events in which sessions, agents, tools and invocations are looked for
	shortList  = 20  // events that are offered by their numbers
)

// asListed has the shell leave the values in their order.
const asListed = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// kept is where ids are looked up: the daemon, or the state directory as it lies there.
type kept interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	Latches(ctx context.Context) ([]wire.Latch, error)
	Approvals(ctx context.Context, q client.ApprovalQuery) ([]approvals.Item, error)
	Leases(ctx context.Context, q client.LeaseQuery) ([]leases.View, error)
	Close() error
}

// openKept opens it for reading alone: no directory is made and none is brought up to date. A daemon
// that is there and does not answer is not bypassed.
func (a *App) openKept(ctx context.Context) (kept, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	if err := statedir.Exists(dir); err != nil {
		return nil, err
	}
	c, err := a.daemon()
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c, nil
	}
	log, err := statelog.OpenReadOnly(ctx, dir)
	if err != nil {
		return nil, err
	}
	return keptHere{log}, nil
}

// keptHere is a state directory that no daemon serves.
type keptHere struct{ log *statelog.ReadOnly }

func (k keptHere) Close() error { return k.log.Close() }

func (k keptHere) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return k.log.Events(ctx, q)
}

func (k keptHere) Latches(ctx context.Context) ([]wire.Latch, error) {
	list, err := k.log.Latches(ctx)
	return kernel.LatchesOnWire(list), err
}

func (k keptHere) Approvals(ctx context.Context, q client.ApprovalQuery) ([]approvals.Item, error) {
	return k.log.Approvals(ctx, approvals.Query{Kind: q.Kind, State: q.State, Limit: q.Limit})
}

func (k keptHere) Leases(ctx context.Context, q client.LeaseQuery) ([]leases.View, error) {
	list, err := k.log.Leases(ctx, leases.Query{Prefix: q.Prefix, AsStored: true, Limit: q.Limit})
	out := make([]leases.View, 0, len(list))
	for i := range list {
		out = append(out, leases.View{ID: list[i].ID, Capability: list[i].Capability, ExpiresAt: list[i].ExpiresAt})
	}
	return out, err
}

// live completes values that look finds and that begin with the word, in the order of look. Where they cannot be had
// there are none: a shell has no place for an error.
func (a *App) live(cmd *cobra.Command, word string,
	look func(ctx context.Context, k kept) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := within(cmd.Context(), liveTime, func(ctx context.Context) (list []cobra.Completion, err error) {
		k, err := a.openKept(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, k.Close()) }()
		return look(ctx, k)
	})
	list = slices.DeleteFunc(distinct(list), func(c string) bool { return !strings.HasPrefix(c, word) })
	return list[:min(len(list), maxOffered)], asListed
}

// within returns what look finds in that time, or nothing. A look that does not end is left behind: the process is
// over soon.
func within(ctx context.Context, patience time.Duration,
	look func(ctx context.Context) ([]cobra.Completion, error)) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make(chan []cobra.Completion, 1)
	go func() {
		list, err := look(ctx)
		if err != nil {
			list = nil
		}
		found <- list
	}()
	select {
	case list := <-found:
		return list
	case <-ctx.Done():
		return nil
	}
}

// offered is a word that a shell may put in, with a note beside it. What a caller has chosen may hold a
// secret or a character that a terminal obeys: such a word is not offered.
func offered(word, note string) cobra.Completion {
	if word == "" || safe(word) != word || strings.ContainsAny(word, "\t\n") || redact.Label(word) != word {
		return ""
	}
	if note = oneLine(redact.Label(note), 80); note == "" {
		return word
	}
	return cobra.CompletionWithDesc(word, note)
}

// distinct are the words of a list, each once, without empty ones.
func distinct(list []cobra.Completion) []cobra.Completion {
	seen := map[string]bool{"": true}
	var out []cobra.Completion
	for _, c := range list {
		if word, _, _ := strings.Cut(c, "\t"); !seen[word] {
			seen[word] = true
			out = append(out, c)
		}
	}
	return out
}

// eventValues completes what of gives of the newest events, the newest first; --runtime narrows them.
func (a *App) eventValues(of func(*phases.Event) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		runtime := flagText(cmd, "runtime")
		return a.live(cmd, word, func(ctx context.Context, k kept) ([]cobra.Completion, error) {
			q := wire.Query{Type: phases.EventVerdict, Runtime: runtime, Newest: true, Limit: maxRecent}
			events, err := k.Events(ctx, q)
			var out []cobra.Completion
			for i := len(events) - 1; i >= 0; i-- {
				e := &events[i]
				out = append(out, offered(of(e), e.Runtime+" "+e.Time.Local().Format(time.DateTime)))
			}
			return out, err
		})
	}
}

// toolNames completes the tools of the newest events, then the words that every runtime's tools have.
func (a *App) toolNames(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, directive := a.eventValues(func(e *phases.Event) string { return e.Tool })(cmd, args, word)
	for _, tool := range phases.KnownTools() {
		list = append(list, offered(tool, ""))
	}
	return distinct(list), directive
}

// eventNumbers completes the newest events by their numbers.
func (a *App) eventNumbers(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(cmd, word, func(ctx context.Context, k kept) ([]cobra.Completion, error) {
		events, err := k.Events(ctx, wire.Query{Except: phases.EventHook, Newest: true, Limit: shortList})
		var out []cobra.Completion
		for i := len(events) - 1; i >= 0; i-- {
			e := &events[i]
			note := strings.Join(strings.Fields(fmt.Sprint(e.Type, " ", e.Phase, " ", e.Tool, " ", e.Decision)), " ")
			out = append(out, offered(fmt.Sprint(e.Seq), note))
		}
		return out, err
	})
}

// approvalIDs completes the approvals of a state, "" for any, by their ids.
func (a *App) approvalIDs(state approvals.State) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.live(cmd, word, func(ctx context.Context, k kept) ([]cobra.Completion, error) {
			items, err := k.Approvals(ctx, client.ApprovalQuery{State: state, Limit: maxOffered})
			var out []cobra.Completion
			for i := range items {
				it := &items[i]
				note := fmt.Sprintf("%s of %s, asked %s", it.Kind, it.By.Runtime, it.Created.Local().Format(time.DateTime))
				out = append(out, offered(it.ID, note))
			}
			return out, err
		})
	}
}

func (a *App) leaseIDs(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(cmd, word, func(ctx context.Context, k kept) ([]cobra.Completion, error) {
		list, err := k.Leases(ctx, client.LeaseQuery{Limit: maxOffered})
		var out []cobra.Completion
		for i := range list {
			note := list[i].Capability + " until " + list[i].ExpiresAt.Local().Format(time.DateTime)
			out = append(out, offered(list[i].ID, note))
		}
		return out, err
	})
}

// latchedRuntimes completes the runtimes that have a latch.
func (a *App) latchedRuntimes(cmd *cobra.Command, _ []string,
	word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.latchValues(cmd, word, func(l *wire.Latch) string { return l.Runtime })
}

// latchedSessions completes the latched sessions of the runtime before.
func (a *App) latchedSessions(cmd *cobra.Command, args []string,
	word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.latchValues(cmd, word, func(l *wire.Latch) string {
		if l.Runtime != args[0] {
			return ""
		}
		return l.Session
	})
}

func (a *App) latchValues(cmd *cobra.Command, word string,
	of func(*wire.Latch) string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(cmd, word, func(ctx context.Context, k kept) ([]cobra.Completion, error) {
		latches, err := k.Latches(ctx)
		var out []cobra.Completion
		for i := range latches {
			out = append(out, offered(of(&latches[i]), "latched since "+latches[i].Since.Local().Format(time.DateTime)))
		}
		return out, err
	})
}
