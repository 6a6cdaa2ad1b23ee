package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Source is the database of an organisation.
type Source interface {
	Schema() string
	Time(ctx context.Context) (time.Time, error)
	Kernels(ctx context.Context) ([]postgres.KernelRow, error)
	Unowned(ctx context.Context) ([]int32, error)
	Shared(ctx context.Context) (postgres.Shared, error)
	Denials(ctx context.Context) ([]postgres.Denial, error)
	Log(kernel int32) Log
}

// Log is the log of one kernel.
type Log interface {
	kernel.Log
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// Known is what the caller knows from elsewhere than the database.
type Known struct {
	Keys   map[string]string // verifiers by the name of the kernel, from an operator
	Expect []string          // kernels that have to be there and to be heard of
	Memory *Memory           // of the last run; nil: there is none
	Silent time.Duration     // a kernel that is not heard of for longer is silent
}

// State is how a kernel stands. The first is the worst.
type State string

// The states, the worst first.
const (
	Forged     State = "forged"      // events, heads or rows that the kernel has not made
	Forked     State = "forked"      // another history than a head says that the kernel signed, or that was seen before
	RolledBack State = "rolled back" // shorter than such a head
	Missing    State = "missing"     // it was there, or is expected, and is not
	Unproven   State = "unproven"    // no key is known to verify its heads with
	Silent     State = "silent"      // not heard of
	Stopped    State = "stopped"     // not heard of since it ended as it should
	Sound      State = "ok"
)

func states() []State {
	return []State{Forged, Forked, RolledBack, Missing, Unproven, Silent, Stopped, Sound}
}

// Bad reports whether a person has to look.
func (s State) Bad() bool { return s != Sound && s != Stopped }

// Finding is one thing that is wrong.
type Finding struct {
	State State  `json:"state"`
	Text  string `json:"text"`
}

// KeyOfDatabase is Kernel.KeyFrom where nothing outside of the database knows the key. It proves nothing against the
// owner of the database.
const KeyOfDatabase = "database"

// Kernel is what was found out about one kernel.
type Kernel struct {
	Name     string           `json:"kernel"`
	Host     string           `json:"host,omitzero"`
	State    State            `json:"state"`             // the worst of the findings
	Findings []Finding        `json:"findings,omitzero"` // the worst first
	Heard    float64          `json:"heard"`             // seconds since it was heard of; -1: not known
	Key      string           `json:"key,omitzero"`      // that its heads were verified with
	KeyFrom  string           `json:"key_from,omitzero"` // keys, memory, or KeyOfDatabase
	New      bool             `json:"new,omitzero"`      // the memory does not have it
	Log      *eventlog.Report `json:"log,omitzero"`      // nil: it was not read
}

// Organisation is what was found out about what all kernels share.
type Organisation struct {
	Version int64  `json:"version"`          // how many changes there were
	Kernel  string `json:"kernel,omitzero"`  // in whose log the newest is recorded
	Event   int64  `json:"event,omitzero"`   // of that log
	Wrong   string `json:"wrong,omitzero"`   // why the rows are not what is recorded
	Went    string `json:"went,omitzero"`    // why it is no sequel of what was there before
	Explain string `json:"explain,omitzero"` // the recovery that explains that it went back
	// events that deny something for all kernels, where others are not told
	Denials []string `json:"denials,omitzero"`
}

// Report is the outcome of a verification.
type Report struct {
	Schema  string       `json:"schema"`
	OK      bool         `json:"ok"`
	Kernels []Kernel     `json:"kernels"` // the worst first, then by name
	Shared  Organisation `json:"shared"`
	// the last run that the memory knows; zero: it is the first
	Since time.Time `json:"since,omitzero"`
}

// Verify reads the logs of all kernels, and says what is wrong with each. It returns what is to be remembered for the
// next time: of a kernel that is not sound that is what was remembered before. With an error nothing is known.
func Verify(ctx context.Context, src Source, known Known) (Report, *Memory, error) {
	v := verification{src: src, known: known, signers: map[string]string{},
		report: Report{Schema: src.Schema(), Kernels: []Kernel{}}}
	if v.known.Memory == nil {
		v.known.Memory = &Memory{}
	}
	if err := v.run(ctx); err != nil {
		return Report{}, nil, err
	}
	return v.report, v.next, nil
}

type verification struct {
	src       Source
	known     Known
	now       time.Time
	report    Report
	next      *Memory
	signers   map[string]string // names of kernels by key
	recovered bool              // a log records a recovery that the memory does not have
}

func (v *verification) run(ctx context.Context) (err error) {
	m := v.known.Memory
	if m.Schema != "" && m.Schema != v.src.Schema() {
		return fmt.Errorf("the memory is of the schema %q, and this is %q: give each a file of its own", m.Schema,
			v.src.Schema())
	}
	if v.now, err = v.src.Time(ctx); err != nil {
		return err
	}
	v.next = &Memory{Schema: v.src.Schema(), At: v.now.UTC().Truncate(time.Second)}
	v.report.Since = m.At
	rows, err := v.src.Kernels(ctx)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := v.kernel(ctx, &rows[i]); err != nil {
			return fmt.Errorf("kernel %s: %w", phases.SafeLine(rows[i].Name, 80), err)
		}
	}
	v.missing(rows)
	unowned, err := v.src.Unowned(ctx)
	if err != nil {
		return err
	}
	for _, id := range unowned {
		k := &Kernel{Name: fmt.Sprintf("#%d", id), Heard: -1}
		k.add(Missing, "events or hashes of kernel number %d are there, and the row of the kernel is not", id)
		v.done(k)
	}
	if err := v.shared(ctx, rows); err != nil {
		return err
	}
	if err := v.denials(ctx, rows); err != nil {
		return err
	}
	v.close()
	return nil
}

func (k *Kernel) add(s State, format string, args ...any) {
	k.Findings = append(k.Findings, Finding{s, fmt.Sprintf(format, args...)})
}

// doubtful reports whether the log is not to be remembered as it is.
func (k *Kernel) doubtful() bool {
	return slices.ContainsFunc(k.Findings, func(f Finding) bool { return f.State != Silent && f.State != Stopped })
}

func (v *verification) done(k *Kernel) { v.report.Kernels = append(v.report.Kernels, *k) }

// close sorts what was found.
func (v *verification) close() {
	rank := func(s State) int { return slices.Index(states(), s) }
	s := &v.report.Shared
	v.report.OK = s.Wrong == "" && s.Went == "" && len(s.Denials) == 0
	for i := range v.report.Kernels {
		k := &v.report.Kernels[i]
		if k.doubtful() { // which may have been found after its log was remembered
			v.next.Kernels = slices.DeleteFunc(v.next.Kernels, func(m RememberedKernel) bool { return m.Name == k.Name })
			v.keep(v.known.Memory.kernel(k.Name))
		}
		slices.SortStableFunc(k.Findings, func(a, b Finding) int { return rank(a.State) - rank(b.State) })
		if k.State = Sound; len(k.Findings) > 0 {
			k.State = k.Findings[0].State
		}
		v.report.OK = v.report.OK && !k.State.Bad()
	}
	slices.SortStableFunc(v.report.Kernels, func(a, b Kernel) int {
		return cmp.Or(rank(a.State)-rank(b.State), strings.Compare(a.Name, b.Name))
	})
}

// kernel verifies one kernel.
func (v *verification) kernel(ctx context.Context, row *postgres.KernelRow) error {
	k := &Kernel{Name: phases.SafeLine(row.Name, 80), Host: phases.SafeLine(row.Host, 80), Heard: row.Heard.Seconds()}
	if row.Heard < 0 {
		k.Heard = -1
	}
	defer func() { v.done(k) }()
	if !postgres.ValidName(row.Name) {
		k.Name = fmt.Sprintf("#%d", row.ID)
		k.add(Forged, "%q is no name of a kernel; the role %s made it", phases.SafeLine(row.Name, 80),
			phases.SafeLine(row.Owner, 80))
		return nil
	}
	was := v.known.Memory.kernel(row.Name)
	k.New = was == nil && !v.known.Memory.At.IsZero()
	v.heard(k, row)
	v.key(k, row, was)
	if k.Key == "" {
		k.add(Unproven, "no key is known: give it in the file of --keys; `belay events key` prints it on %s",
			cmp.Or(k.Host, "the kernel's machine"))
		v.keep(was)
		return nil
	}
	log := v.src.Log(row.ID)
	notes, err := log.Checkpoints(ctx)
	if err != nil {
		return err
	}
	r, err := eventlog.Verify(ctx, log, evidence(k.Key, was))
	if err != nil {
		return err
	}
	k.Log = &r
	v.judge(k, was)
	if k.doubtful() {
		v.keep(was)
		return nil
	}
	return v.remember(ctx, k, log, notes)
}

// judge says what the outcome of reading a log means.
func (v *verification) judge(k *Kernel, was *RememberedKernel) {
	for _, r := range k.Log.Recovered {
		v.recovered = v.recovered || was == nil || !slices.Contains(was.Recovered, r.Event)
	}
	if k.Log.Wrong == nil {
		return
	}
	state := Forged
	switch k.Log.Wrong.Class {
	case eventlog.OtherHead:
		state = Forked
	case eventlog.CutShort:
		state = RolledBack
	case eventlog.NotRecorded, eventlog.NotSigned:
	}
	k.add(state, "%s", k.Log.Wrong.Text)
}

// heard looks at when the kernel was heard of.
func (v *verification) heard(k *Kernel, row *postgres.KernelRow) {
	if row.Heard >= 0 && row.Heard <= v.known.Silent {
		return
	}
	since := "its row does not say when it was last heard of"
	if row.Heard >= 0 {
		since = fmt.Sprintf("not heard of for %s", row.Heard.Round(time.Second))
	}
	switch {
	case slices.Contains(v.known.Expect, row.Name):
		k.add(Silent, "%s, and it is expected", since)
	case row.Held || row.Heard < 0:
		k.add(Silent, "%s, and it has not ended as it should", since)
	default:
		k.add(Stopped, "%s; it ended as it should", since)
	}
}

// key finds the key to verify the kernel's heads with: an operator's word comes first, then what was known before.
func (v *verification) key(k *Kernel, row *postgres.KernelRow, was *RememberedKernel) {
	given, known := v.known.Keys[row.Name]
	switch {
	case known:
		k.Key, k.KeyFrom = given, "keys"
	case was != nil:
		k.Key, k.KeyFrom = was.Key, "memory"
	case row.Key != "":
		k.Key, k.KeyFrom = row.Key, KeyOfDatabase
	}
	if row.Key != "" && row.Key != k.Key {
		k.add(Forged, "the database says that another key signs its heads than the one that is known (%s)", k.KeyFrom)
	}
	if k.Key != "" && eventlog.CheckVerifier(k.Key) != nil { // only the database is not checked yet
		k.Key, k.KeyFrom = "", ""
	}
	if other, ok := v.signers[k.Key]; ok && k.Key != "" { // their heads could stand for each other
		k.add(Forged, "it signs with the key of kernel %s: each needs a state directory of its own", other)
	}
	v.signers[k.Key] = k.Name
}

// evidence is what is known of a log from outside.
func evidence(key string, was *RememberedKernel) eventlog.Evidence {
	ev := eventlog.Evidence{Verifier: key}
	if was == nil {
		return ev
	}
	ev.Known = []eventlog.Checkpoint{{Size: was.Size, Root: was.root, Time: was.At}}
	if _, err := eventlog.Open([]byte(was.Head), key); err == nil { // else an operator has given another key
		ev.Outside = [][]byte{[]byte(was.Head)}
	}
	return ev
}

// missing names kernels that should be there.
func (v *verification) missing(rows []postgres.KernelRow) {
	there := map[string]bool{}
	for i := range rows {
		there[rows[i].Name] = true
	}
	name := func(name, text string) *Kernel {
		k := &Kernel{Name: name, Heard: -1}
		k.add(Missing, "%s", text)
		there[name] = true
		return k
	}
	for i := range v.known.Memory.Kernels {
		m := &v.known.Memory.Kernels[i]
		if !there[m.Name] {
			v.done(name(m.Name, fmt.Sprintf("it was there on %s with %d events, and is gone; "+
				"if that is meant, remove its entry from the memory", m.At.UTC().Format(time.RFC3339), m.Size)))
			v.keep(m)
		}
	}
	for _, n := range v.known.Expect {
		if !there[n] {
			v.done(name(n, "it is expected, and has not written yet"))
		}
	}
}

// shared looks at what the kernels share.
func (v *verification) shared(ctx context.Context, rows []postgres.KernelRow) error {
	s, err := v.src.Shared(ctx)
	if err != nil {
		return err
	}
	out := &v.report.Shared
	*out = Organisation{Version: s.Version, Event: s.Event, Wrong: s.Wrong}
	for i := range rows {
		if rows[i].ID == s.Kernel {
			out.Kernel = phases.SafeLine(rows[i].Name, 80)
		}
	}
	switch was := &v.known.Memory.Shared; {
	case s.Version < was.Version:
		out.Went = fmt.Sprintf("%d changes were made to what restricts, and %d are left", was.Version, s.Version)
	case s.Version == was.Version && was.Root != "" && s.Root != was.Root:
		out.Went = fmt.Sprintf("after %d changes other rows restrict than when that was seen before", s.Version)
	}
	if out.Went != "" && v.recovered {
		out.Explain, out.Went = out.Went+", which a recovery explains", ""
	}
	v.next.Shared = RememberedShared{Version: s.Version, Root: s.Root}
	if out.Went != "" || out.Wrong != "" {
		v.next.Shared = v.known.Memory.Shared
	}
	return nil
}
