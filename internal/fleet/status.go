package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/phases"
)

// Condition is how a kernel is, as far as it says itself.
type Condition string

// The conditions, in the order of interest.
const (
	Garbled Condition = "garbled" // what it says cannot be read
	Quiet   Condition = "silent"  // not heard of, and it has not ended as it should
	Blocks  Condition = "blocks"  // every action is blocked
	Lags    Condition = "lags"    // events of its local log are not in the database yet
	Differs Condition = "differs" // another version or policy than the others
	Mute    Condition = "mute"    // it says nothing of itself: a program that embeds belay, or an older one
	Well    Condition = "ok"
	Ended   Condition = "stopped" // it ended as it should
)

func conditions() []Condition {
	return []Condition{Garbled, Quiet, Blocks, Lags, Differs, Mute, Well, Ended}
}

// Red reports whether a person has to look.
func (c Condition) Red() bool { return slices.Contains([]Condition{Garbled, Quiet, Blocks}, c) }

// Yellow reports whether a person should look.
func (c Condition) Yellow() bool { return slices.Contains([]Condition{Lags, Differs, Mute}, c) }

// Member is one kernel, as it says itself.
type Member struct {
	Name     string        `json:"kernel"`
	Host     string        `json:"host"`
	State    Condition     `json:"state"`
	Why      []string      `json:"why,omitzero"`
	Version  string        `json:"version"`
	Outdated bool          `json:"outdated,omitzero"` // another kernel has a newer version
	Policy   string        `json:"policy,omitzero"`
	Deviates bool          `json:"deviates,omitzero"` // most kernels have another policy
	Local    bool          `json:"local,omitzero"`    // events are in a local log first
	Events   int64         `json:"events"`            // in the database
	Newest   time.Time     `json:"newest,omitzero"`   // the time of the last of these
	Lag      int64         `json:"lag"`               // events that are not there yet
	Agents   []AgentsOfOne `json:"agents"`
	Warnings int           `json:"warnings,omitzero"`
	Heard    float64       `json:"heard"` // seconds since it was heard of; -1: not known
}

// Overview is all kernels, red ones first.
type Overview struct {
	Schema  string   `json:"schema"`
	Kernels []Member `json:"kernels"`
	Red     int      `json:"red"`
	Yellow  int      `json:"yellow"`
}

// lagAllowed is how many events a kernel may be behind before it is said to lag: they are on their way.
const lagAllowed = 1000

// Look reads how all kernels are.
func Look(ctx context.Context, src Source, silent time.Duration) (Overview, error) {
	rows, err := src.Kernels(ctx)
	if err != nil {
		return Overview{}, err
	}
	out := Overview{Schema: src.Schema(), Kernels: []Member{}}
	for i := range rows {
		out.Kernels = append(out.Kernels, member(&rows[i], silent))
	}
	compare(out.Kernels)
	rank := func(c Condition) int { return slices.Index(conditions(), c) }
	for i := range out.Kernels {
		k := &out.Kernels[i]
		switch {
		case k.State.Red():
			out.Red++
		case k.State.Yellow():
			out.Yellow++
		}
	}
	slices.SortStableFunc(out.Kernels, func(a, b Member) int {
		return cmp.Or(rank(a.State)-rank(b.State), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// worse makes a condition the member's, unless that is worse already.
func (m *Member) worse(c Condition, format string, args ...any) {
	m.Why = append(m.Why, fmt.Sprintf(format, args...))
	if slices.Index(conditions(), c) < slices.Index(conditions(), m.State) {
		m.State = c
	}
}

func member(row *postgres.KernelRow, silent time.Duration) Member {
	m := Member{Name: phases.SafeLine(row.Name, 80), Host: phases.SafeLine(row.Host, 80), State: Well, Events: row.Size,
		Version: phases.SafeLine(row.Version, 80), Newest: row.Last, Heard: row.Heard.Seconds(), Agents: []AgentsOfOne{}}
	if row.Heard < 0 {
		m.Heard = -1
	}
	if !postgres.ValidName(row.Name) {
		m.Name = fmt.Sprintf("#%d", row.ID)
		m.worse(Garbled, "it has no name that a kernel can have")
		return m
	}
	switch { // what one that is gone said last is of no worth
	case !row.Held && row.Heard >= 0:
		m.State = Ended
		return m
	case row.Heard < 0 || row.Heard > silent:
		m.worse(Quiet, "it has not ended as it should, and is not heard of")
		return m
	case row.Report == nil:
		m.worse(Mute, "it says nothing of itself")
		return m
	}
	r, err := DecodeSelfReport(row.Report)
	if err != nil {
		m.worse(Garbled, "what it says of itself cannot be read: %s", phases.SafeLine(err.Error(), 200))
		return m
	}
	m.Version, m.Policy, m.Local, m.Warnings = cmp.Or(r.Version, m.Version), r.Policy, r.Local, r.Warnings
	m.Agents = append(m.Agents, r.Agents...)
	if m.Lag = max(0, r.Size-row.Size); m.Lag > lagAllowed {
		m.worse(Lags, "%d events are not in the database yet", m.Lag)
	}
	if r.Blocks != "" {
		m.worse(Blocks, "every action is blocked: %s", r.Blocks)
	}
	return m
}

// compare marks those whose version or policy is not that of the others. A kernel that is not heard of, or says
// nothing, is not among them.
func compare(all []Member) {
	newest, policies, most := "", map[string]int{}, ""
	for i := range all {
		k := &all[i]
		if k.Policy == "" {
			continue
		}
		if semver.IsValid(k.Version) && (newest == "" || semver.Compare(k.Version, newest) > 0) {
			newest = k.Version
		}
		if k.Policy == UnknownPolicy {
			continue
		}
		policies[k.Policy]++
		if n := policies[k.Policy]; n > policies[most] || n == policies[most] && k.Policy < most {
			most = k.Policy
		}
	}
	for i := range all {
		k := &all[i]
		if k.Policy == "" {
			continue
		}
		if k.Outdated = newest != "" && (!semver.IsValid(k.Version) || semver.Compare(k.Version, newest) < 0); k.Outdated {
			k.worse(Differs, "another kernel has belay %s", newest)
		}
		if k.Deviates = k.Policy != most && k.Policy != UnknownPolicy; k.Deviates {
			k.worse(Differs, "%d of %d kernels decide by another policy", policies[most], total(policies))
		}
	}
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
