package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/phases"
)

// SelfReport is what a kernel says of itself, for people. It proves nothing.
type SelfReport struct {
	Version  string        `json:"version"`           // of belay
	Policy   string        `json:"policy"`            // digest of what decides: the same on machines that decide alike
	Local    bool          `json:"local,omitzero"`    // events are in a local log first
	Size     int64         `json:"size"`              // events of the log, as the kernel has it
	Newest   time.Time     `json:"newest,omitzero"`   // time of the last event of this process
	Agents   []AgentsOfOne `json:"agents"`            // who asked lately, by runtime
	Blocks   string        `json:"blocks,omitzero"`   // why every action is blocked; "": it is not
	Warnings int           `json:"warnings,omitzero"` // what a person should know of; `belay doctor` there has the list
}

// UnknownPolicy is the policy of a kernel that could not tell its digest. It is compared with none.
const UnknownPolicy = "unknown"

// AgentsOfOne counts the agents of one runtime.
type AgentsOfOne struct {
	Runtime string `json:"runtime"`
	Count   int    `json:"count"`
}

// Bounds of a SelfReport.
const (
	maxReportAgents = 32
	maxReportText   = 300
)

// Encode returns the report as it is told. What is too long is cut short.
func (r SelfReport) Encode() ([]byte, error) {
	text := func(s *string) { *s = phases.SafeLine(*s, maxReportText) }
	text(&r.Version)
	text(&r.Policy)
	text(&r.Blocks)
	r.Agents = slices.Clone(r.Agents)
	slices.SortFunc(r.Agents, func(a, b AgentsOfOne) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Runtime, b.Runtime))
	})
	r.Agents = append([]AgentsOfOne{}, r.Agents[:min(len(r.Agents), maxReportAgents)]...)
	for i := range r.Agents {
		r.Agents[i].Runtime = phases.SafeLine(r.Agents[i].Runtime, phases.MaxIDBytes)
	}
	b, err := json.Marshal(&r, json.Deterministic(true))
	if err == nil && len(b) > postgres.MaxReport {
		err = errors.New("the report is too long")
	}
	return b, err
}

// DecodeSelfReport reads what another kernel has told.
func DecodeSelfReport(b []byte) (r SelfReport, err error) {
	if err := json.Unmarshal(b, &r, json.RejectUnknownMembers(true)); err != nil {
		return SelfReport{}, err
	}
	for _, t := range []struct{ at, text string }{{"/version", r.Version}, {"/policy", r.Policy}, {"/blocks", r.Blocks}} {
		if t.text != phases.SafeLine(t.text, maxReportText) {
			return SelfReport{}, fmt.Errorf("%s: it is no line of at most %d bytes", t.at, maxReportText)
		}
	}
	if r.Size < 0 || r.Warnings < 0 || len(r.Agents) > maxReportAgents {
		return SelfReport{}, errors.New("a number in it cannot be")
	}
	for i, a := range r.Agents {
		if a.Count < 0 || a.Runtime != phases.SafeLine(a.Runtime, phases.MaxIDBytes) {
			return SelfReport{}, fmt.Errorf("/agents/%d: its name or its number cannot be", i)
		}
	}
	return r, nil
}
