package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) leaseVerifyCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the leases that there are with the record",
		Long: `Leases in the database are not signed: a program that can write there can lend itself
something, or set back a use. Actions are blocked then, and the event log shows why. verify looks
for the event that lent each lease, with the same terms, and counts the logged uses. It sees
whether a lease that was taken back is still active. belay events verify says whether the log
itself is complete. Exits 0 when everything fits and 5 when something does not.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.leaseVerify(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// leaseReport is what the comparison found.
type leaseReport struct {
	Leases    int            `json:"leases"`
	Unchecked int            `json:"unchecked"` // lent in events that are compacted
	Wrong     []leaseProblem `json:"wrong"`
}

type leaseProblem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (a *App) leaseVerify(ctx context.Context, asJSON bool) error {
	report, err := a.compareLeases(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	if asJSON {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		for _, p := range report.Wrong {
			fmt.Fprintf(a.Out, "lease verify: WRONG: %s: %s\n", safe(p.ID), p.Text)
		}
		if len(report.Wrong) == 0 {
			fmt.Fprintln(a.Out, "lease verify: ok")
		}
		fmt.Fprintf(a.Out, "%d leases, %d of them lent in events that are compacted and cannot be compared\n", report.Leases,
			report.Unchecked)
	}
	if len(report.Wrong) > 0 {
		return exitWith(ExitDifferences)
	}
	return nil
}

func (a *App) compareLeases(ctx context.Context) (leaseReport, error) {
	report := leaseReport{Wrong: []leaseProblem{}}
	src, err := a.openEvents(ctx)
	if err != nil {
		return report, err
	}
	defer src.Close()
	// Others go on meanwhile: a lease lies between the record before and the record after.
	before := newLeaseRecord()
	if err := before.read(ctx, src); err != nil {
		return report, err
	}
	l, err := a.lookAtLeases(ctx)
	if err != nil {
		return report, err
	}
	defer l.Close()
	var list []leases.View
	for {
		q := client.LeaseQuery{Limit: leases.MaxLimit}
		if len(list) > 0 {
			q.After = list[len(list)-1].ID
		}
		page, err := l.Leases(ctx, q)
		if err != nil {
			return report, err
		}
		list = append(list, page...)
		if len(page) < leases.MaxLimit {
			break
		}
	}
	after := before.clone()
	if err := after.read(ctx, src); err != nil {
		return report, err
	}
	gone, _, err := src.Compacted(ctx)
	if err != nil {
		return report, err
	}
	report.Leases = len(list)
	for i := range list {
		v := &list[i]
		if _, known := after.minted[v.ID]; !known && gone > 0 {
			report.Unchecked++
			continue
		}
		if text := disagreement(v, before, after); text != "" {
			report.Wrong = append(report.Wrong, leaseProblem{v.ID, text})
		}
	}
	return report, nil
}

// leaseRecord is what the event log says about leases up to an event.
type leaseRecord struct {
	last    int64
	minted  map[string]leaseEntry
	ends    map[string][]leases.Lease // as lent and as renewed, by id
	claims  map[string]int64          // of the lease itself; those of its children are counted by used
	revoked map[string]leaseEntry     // the newest, by id or prefix
}

// leaseEntry is one event and the lease as it was then.
type leaseEntry struct {
	seq      int64
	redacted bool // the event holds the lease redacted
	person   bool
	lease    leases.Lease
}

func newLeaseRecord() *leaseRecord {
	return &leaseRecord{minted: map[string]leaseEntry{}, ends: map[string][]leases.Lease{}, claims: map[string]int64{},
		revoked: map[string]leaseEntry{}}
}

func (r *leaseRecord) clone() *leaseRecord {
	return &leaseRecord{last: r.last, minted: maps.Clone(r.minted), ends: maps.Clone(r.ends), claims: maps.Clone(r.claims),
		revoked: maps.Clone(r.revoked)}
}

// read goes on where it stopped.
func (r *leaseRecord) read(ctx context.Context, src events) error {
	const page = 1000
	for {
		list, err := src.Events(ctx, wire.Query{Type: phases.EventLease, After: r.last, Limit: page})
		if err != nil {
			return err
		}
		for i := range list {
			if err := r.add(&list[i]); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

func (r *leaseRecord) add(event *phases.Event) error {
	r.last = event.Seq
	if event.Output == nil {
		return nil // compacted
	}
	var doc struct {
		ID    string       `json:"id"`
		Lease leases.Lease `json:"lease"`
	}
	if err := json.Unmarshal(event.Output, &doc); err != nil {
		return fmt.Errorf("event %d: %w", event.Seq, err)
	}
	entry := leaseEntry{seq: event.Seq, redacted: len(event.Masked) > 0, person: event.DecidedBy == leases.ByPerson,
		lease: doc.Lease}
	switch event.Decision {
	case "minted":
		r.minted[doc.ID] = entry
		r.ends[doc.ID], r.claims[doc.ID] = []leases.Lease{doc.Lease}, 0 // an id can be lent again after the lease was dropped
	case "renewed":
		r.ends[doc.ID] = append(slices.Clone(r.ends[doc.ID]), doc.Lease)
	case "claimed":
		r.claims[doc.ID]++
	case "revoked":
		r.revoked[doc.ID] = entry
	}
	return nil
}

// used counts the uses of a lease: its own and those of every lease below it.
func (r *leaseRecord) used(id string) int64 {
	n := int64(0)
	for claimed, times := range r.claims {
		for at, up := claimed, 0; at != "" && up <= leases.MaxDepth+1; at, up = r.minted[at].lease.Parent, up+1 {
			if at == id {
				n += times
			}
		}
	}
	return n
}

// taken reports whether the lease was taken back: by its own id, or by a person with
// everything at or below an id.
func (r *leaseRecord) taken(id string) bool {
	since := r.minted[id].seq
	for at, e := range r.revoked {
		if e.seq > since && (at == id || e.person && leases.Below(at, id)) {
			return true
		}
	}
	return false
}

// disagreement says what about a lease is not as the record has it, or "".
func disagreement(view *leases.View, before, after *leaseRecord) string {
	m, known := after.minted[view.ID]
	if !known {
		return "no event says that it was ever lent"
	}
	lent := &m.lease
	same := view.Capability == lent.Capability && view.Holder == lent.Holder && view.Parent == lent.Parent &&
		view.NotBefore.Equal(lent.NotBefore) &&
		view.Scope.Contains(lent.Scope) && lent.Scope.Contains(view.Scope)
	if !same && !m.redacted {
		return "its terms are not those that it was lent with"
	}
	if !slices.ContainsFunc(after.ends[view.ID], func(l leases.Lease) bool { return l.ExpiresAt.Equal(view.ExpiresAt) }) {
		return "no event says that it lasts that long"
	}
	used := lent.MaxUses - view.UsesLeft
	if least, most := before.used(view.ID), after.used(view.ID); used < least || used > most {
		return fmt.Sprintf("it says that %d uses were taken, the record says %d", used, most)
	}
	if view.State == leases.Active && before.taken(view.ID) {
		return "it was taken back and is active"
	}
	return ""
}
