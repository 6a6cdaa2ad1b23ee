package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// ErrTampered is, beside ErrUnavailable, the class of errors of a store whose rows that
// restrict (latches, answered questions, leases, counters) are not those that the log
// records. Nothing is decided on them, and nothing is written, until they are again.
var ErrTampered = errors.New("rows that restrict were changed outside of belay")

// MaxTamperedRows is how many rows a Tampered names.
const MaxTamperedRows = 20

// Tampered says which rows are not those that the log records. It is ErrTampered and
// ErrUnavailable for errors.Is.
type Tampered struct {
	Seq    int64    // the newest event, which records them; 0 when it is not known
	Tables []string // those that differ, as far as that is known
	Rows   []string // the rows known to differ, at most MaxTamperedRows; keys are quoted
}

// Add names a row.
func (t *Tampered) Add(table, key, what string) {
	if !slices.Contains(t.Tables, table) {
		t.Tables = append(t.Tables, table)
	}
	if len(t.Rows) < MaxTamperedRows {
		if key != "" {
			table += " " + key
		}
		t.Rows = append(t.Rows, table+" "+what)
	}
}

// Unwrap implements errors.Is.
func (t *Tampered) Unwrap() []error { return []error{ErrTampered, ErrUnavailable} }

// Error names event, tables and rows.
func (t *Tampered) Error() string {
	text := t.Text()
	if t.Seq != 0 {
		text += fmt.Sprintf("; event %d records others", t.Seq)
	}
	if len(t.Rows) > 0 {
		text += ": " + strings.Join(t.Rows, ", ")
	}
	return text
}

// Text names the tables only, so that it can be shown to an agent.
func (t *Tampered) Text() string {
	if len(t.Tables) == 0 {
		return ErrTampered.Error()
	}
	return ErrTampered.Error() + " (" + strings.Join(t.Tables, ", ") + ")"
}

// DecisionAdopted is the decision of the notice with which a log from before it recorded what restricts
// begins to.
const DecisionAdopted = "adopted"

// Adoption is the output of that notice.
type Adoption struct {
	After int64 `json:"after"` // the newest event, and the last that records nothing
}

// DecisionLatched is the decision of an event that latches a session.
const DecisionLatched = "latched"

// adoptRows says in the log that the rows of a store from before events recorded what restricts
// are taken as they are. Any other batch would adopt them as well, without saying so.
func (k *Kernel) adoptRows(ctx context.Context) {
	newest, err := k.options.Store.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err == nil && (len(newest) == 0 || newest[0].Restrictions != "") {
		return
	}
	if err == nil {
		now := k.options.Clock.Now()
		var out []byte
		if len(newest) > 0 {
			out, err = json.Marshal(&Adoption{After: newest[0].Seq})
		}
		_, err2 := k.options.Store.Commit(ctx, Batch{Now: now, Calm: k.CalmTime(), Events: []phases.Event{{
			ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: k.Revision(),
			Decision: DecisionAdopted,
			Output:   out,
			Reason:   "what restricts (latches, answered questions, leases, counters) is taken as it is; from here on the log records it",
		}}})
		err = errors.Join(err, err2)
	}
	if err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "what restricts could not be adopted", slog.Any("error", err))
	}
}
