package statelog

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// rowsOf returns what a recovery says of the repaired rows; nil when none are.
func rowsOf(r *marked.Repair) *marked.Repair {
	if r == nil {
		return nil
	}
	out := *r
	if out.Recorded == "" {
		out.Recorded = "none"
	}
	return &out
}

// whyRecovered says why the database is not used; "" when it is.
func whyRecovered(s marked.Stand, rows *marked.Repair) string {
	var why []string
	if s.Wrong != nil {
		why = append(why, highwater.Reason(s.Wrong))
	}
	if rows != nil {
		why = append(why, fmt.Sprintf("%s (%s)", kernel.ErrTampered, strings.Join(rows.Tables, ", ")))
	}
	return strings.Join(why, "; ")
}

// markFor is the head that the log lost, as the statement of a recovery says
// it: that of the mark. Where only rows were repaired, or a copy of it went back, it has lost none.
func markFor(r *Recovery, s marked.Stand) string {
	if s.Wrong == nil || s.Forwarded {
		return s.Next.String()
	}
	return r.Mark
}

// adviser reads what the log says, for rows that are to be repaired.
func (l *Live) adviser(ctx context.Context) func() (marked.Advice, error) {
	return func() (marked.Advice, error) {
		said, compactions, err := l.standing(ctx)
		if err != nil {
			return marked.Advice{}, err
		}
		out := marked.Advice{Latches: said.Latches, Compacted: said.Compacted, Compactions: compactions, Newest: said.Newest,
			Doubts: said.Doubts}
		for _, d := range said.Denied {
			if l.kernel.CalmTime().Sub(d.At) < queue.MaxTimeout {
				out.Denied = append(out.Denied, d.Approval)
			}
		}
		who := l.authority()
		out.Sound = func(it *approvals.Item) (bool, error) {
			if it.Decision != nil && !queue.Over(it, l.kernel.Now()) && who.Verify(it, it.Decision) != nil {
				return false, nil
			}
			return l.kernel.SoundApproval(ctx, it)
		}
		return out, nil
	}
}

// standing reads what the log says, or what those of all kernels say that share the rows.
func (l *Live) standing(ctx context.Context) (eventlog.Standing, map[string]marked.Compaction, error) {
	all, ok := l.storage.Engine().(interface {
		Logs(ctx context.Context) ([]postgres.LogOfKernel, error)
	})
	if !ok {
		said, err := eventlog.ReadStanding(ctx, l.store, l.Key())
		return said, nil, err
	}
	kernels, err := all.Logs(ctx)
	if err != nil {
		return eventlog.Standing{}, nil, err
	}
	var logs []eventlog.LogOf
	for i := range kernels {
		k := &kernels[i]
		of := eventlog.LogOf{Name: k.Name, Verifier: k.Key, Log: k.Log, Apart: apart(k.Report)}
		if own := l.storage.file.Central(); own != nil && own.Kernel == k.Name {
			of.Verifier, of.Apart = l.Key(), false // which is known from elsewhere than the database
		}
		logs = append(logs, of)
	}
	said, err := eventlog.ReadStandings(ctx, logs)
	out := map[string]marked.Compaction{}
	for _, l := range logs {
		out[l.Name] = marked.Compaction{Compacted: said.Compactions[l.Name], Apart: l.Apart}
	}
	return said, out, err
}

// apart reports whether a kernel says of itself that its log is in a store of its own: its latches are there, too. One
// that says nothing counts as sharing them: then a session may stay latched that is not.
func apart(report []byte) bool {
	var said struct {
		Local bool `json:"local"`
	}
	return json.Unmarshal(report, &said) == nil && said.Local
}
