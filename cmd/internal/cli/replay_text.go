package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/report"
	"github.com/belay-hooks/belay/phases"
)

// shownItems is how many invocations of a kind are listed on a terminal.
const shownItems = 20

// screen is how many columns a listing takes at most: what fits on any terminal. The
// reports hold everything.
const screen = 80

// printReport shows a report to a person.
func (a *App) printReport(r *report.Report) {
	p := a.palette()
	left := shownItems
	for _, f := range r.Flips {
		fmt.Fprintf(a.Out, "%s → %s  %s\n", p.decision(string(f.From)), p.decision(string(f.To)),
			plural(f.Count, "invocation"))
		a.printItems(f.Items, &left, f.Count)
	}
	if n := r.Summary.Rewrites; n > 0 {
		fmt.Fprintf(a.Out, "another final action  %s\n", plural(n, "invocation"))
		a.printItems(r.Rewrites, &left, n)
	}
	if n := r.Summary.Others; n > 0 {
		fmt.Fprintf(a.Out, "other differences  %s\n", plural(n, "invocation"))
		a.printItems(r.Others, &left, n)
	}
	a.printBudgets(r)
	summary := r.Summary
	if summary.Unknown > 0 {
		fmt.Fprintf(a.Out, "%s asked for something that the recording has no answer to.\n",
			plural(summary.Unknown, "invocation"))
	}
	for _, rec := range r.Recordings {
		if rec.Cut {
			fmt.Fprintf(a.Out,
				"%s ended before its source did: what came after that, or was lost on the way, is not among them.\n",
				oneLine(rec.Digest, 24))
		}
		if rec.Dropped > 0 {
			fmt.Fprintf(a.Out, "%s of %s could not be recorded and are not among them.\n", plural(rec.Dropped, "invocation"),
				oneLine(rec.Digest, 24))
		}
	}
	fmt.Fprintf(a.Out, "%s, %s: %s (%s, %s, %s)\n", plural(summary.Invocations, "invocation"),
		plural(summary.Turns, "turn"),
		plural(summary.Different, "difference"), plural(summary.Flips, "decision"), plural(summary.Rewrites, "action"),
		plural(summary.Others, "other"))
}

func (a *App) printItems(items []report.Item, left *int, total int) {
	p := a.palette()
	shown := 0
	for _, item := range items {
		if *left == 0 {
			break
		}
		*left--
		shown++
		what := fmt.Sprintf("%s %d", oneLine(string(item.Phase)+" "+item.Tool, 32), item.Number)
		fmt.Fprintf(a.Out, "  %s  %s\n", p.faint(what), oneLine(item.About, screen-4-utf8.RuneCountInString(what)))
		if item.Base.Decision != item.Now.Decision {
			fmt.Fprintf(a.Out, "    was: %s\n    is:  %s\n", oneLine(sideText(item.Base), screen-9),
				oneLine(sideText(item.Now), screen-9))
			continue
		}
		for n, change := range item.Changes {
			if n == 3 {
				fmt.Fprintf(a.Out, "    … and %d more\n", len(item.Changes)-n)
				break
			}
			if change.What == replay.WhatRewrite {
				a.printRewrites(change)
				continue
			}
			if was, is, ok := figuresOf(change); ok {
				fmt.Fprintf(a.Out, "    %s\n",
					oneLine(fmt.Sprintf("%s %s: %s → %s", change.What, change.Where, count(was), count(is)), screen-4))
				continue
			}
			fmt.Fprintf(a.Out, "    %s\n      was: %s\n      is:  %s\n", oneLine(change.What+" "+change.Where, screen-4),
				oneLine(change.Was, screen-11), oneLine(change.Is, screen-11))
		}
	}
	if more := total - shown; more > 0 {
		fmt.Fprintf(a.Out, "  … and %d more; --report FILE.html lists them\n", more)
	}
}

// figuresOf reads a change of a figure.
func figuresOf(c report.Change) (was, is int64, ok bool) {
	if c.What != replay.WhatFuel && c.What != replay.WhatMemory {
		return 0, 0, false
	}
	was, err := strconv.ParseInt(c.Was, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	is, err = strconv.ParseInt(c.Is, 10, 64)
	return was, is, err == nil
}

// printRewrites shows the members of the action that differ.
func (a *App) printRewrites(c report.Change) {
	value := func(doc, ptr string) string {
		if v, ok := phases.Get(jsontext.Value(doc), ptr); ok {
			return plainValue(v)
		}
		return "nothing"
	}
	for n, ptr := range strings.Fields(c.Where) {
		if n == 4 {
			fmt.Fprintln(a.Out, "    …")
			return
		}
		was, is := c.Was, c.Is
		if jsontext.Value(was).IsValid() && jsontext.Value(is).IsValid() { // longer ones are cut
			was, is = value(was, ptr), value(is, ptr)
		}
		fmt.Fprintf(a.Out, "    rewrite %s\n      was: %s\n      is:  %s\n", oneLine(ptr, screen-12), oneLine(was, screen-11),
			oneLine(is, screen-11))
	}
}

// printBudgets shows what hooks cost, where that has changed.
func (a *App) printBudgets(r *report.Report) {
	table := newTable("HOOK", "TURNS", "FUEL", "NOW", "CHANGE", "MEMORY", "NOW").alignRight(1, 2, 3, 4, 5, 6)
	for _, b := range r.Budgets {
		for _, row := range b.Rows() {
			if row.Moved() {
				table.row(oneLine(row.Hook, 32), count(int64(row.Turns)), count(row.Fuel.Base), count(row.Fuel.Now),
					changeText(row), bytesText(row.Memory.Base), bytesText(row.Memory.Now))
			}
		}
	}
	if len(table.rows) > 0 {
		table.print(a.Out, a.palette())
	}
}

// changeText says by how much the fuel of a hook has changed, or which side alone has the turns.
func changeText(row report.Row) string {
	d, ok := row.Fuel.Delta()
	switch {
	case row.Only != "":
		return row.Only
	case !ok:
		return "new"
	case d == 0 && row.Fuel.Base != row.Fuel.Now:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%+.1f %%", float64(d)/10)
}

// shadow reads from the record what observing hooks would have done, and calls each
// for one after the other: a record can be long. The digest names the events that
// this was read from.
func (a *App) shadow(ctx context.Context, f eventFilter, each func(*replay.Result)) (digest string, err error) {
	f.all = true
	query, err := f.query(time.Now())
	if err != nil {
		return "", err
	}
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return "", err
	}
	defer src.Close()
	sum := sha256.New()
	// The turns of an invocation stand before its verdict, in the same commit; those
	// of audit hooks behind it.
	turns := map[string][]phases.Event{}
	err = eachEvent(ctx, src, query, func(event *phases.Event) error {
		switch {
		case event.Type == phases.EventHook && event.Mode == phases.Observe && event.Pass == phases.PassObserve:
			if len(turns) >= 10_000 {
				clear(turns) // verdicts that never came: the record begins in the middle of them
			}
			turns[event.Invocation] = append(turns[event.Invocation], *event)
		case event.Type == phases.EventVerdict:
			if list := turns[event.Invocation]; list != nil {
				fmt.Fprintf(sum, "%s\n", event.ID)
				for _, r := range replay.Shadow(event, list) {
					each(r)
				}
				delete(turns, event.Invocation)
			}
		}
		return nil
	})
	if err != nil {
		return "", recordsFailure(err)
	}
	return phases.SumDigest(sum.Sum(nil)), nil
}
