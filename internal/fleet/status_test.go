package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

// told is a kernel that runs and says this of itself.
func told(t *testing.T, name string, size int64, r fleet.SelfReport) postgres.KernelRow {
	t.Helper()
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return postgres.KernelRow{Name: name, Host: "h", Held: true, Heard: time.Second, Size: size, Report: body}
}

// Those in trouble come first, and each is flagged that is not like the others.
func TestLook(t *testing.T) {
	good := fleet.SelfReport{Version: "v1.2.0", Policy: "sha256:aa", Size: 10,
		Agents: []fleet.AgentsOfOne{{Runtime: "codex", Count: 1}, {Runtime: "cursor", Count: 2}}}
	with := func(change func(*fleet.SelfReport)) fleet.SelfReport {
		r := good
		change(&r)
		return r
	}
	o := &organisation{rows: []postgres.KernelRow{
		told(t, "a", 10, good),
		told(t, "b", 10, with(func(r *fleet.SelfReport) { r.Version = "v1.1.9" })),
		told(t, "c", 10, with(func(r *fleet.SelfReport) { r.Policy = "sha256:bb" })),
		told(t, "d", 10, with(func(r *fleet.SelfReport) { r.Blocks = "the store cannot write" })),
		told(t, "e", 10, with(func(r *fleet.SelfReport) { r.Local, r.Size = true, 2000 })),
		told(t, "f", 10, good), // and not heard of, below
		told(t, "g", 10, with(func(r *fleet.SelfReport) { r.Version, r.Policy = "v9.0.0", "sha256:cc" })),
		told(t, "h", 10, good), // and what it says is garbled, below
		told(t, "i", 10, good), // and says nothing, below
		told(t, "j", 10, with(func(r *fleet.SelfReport) { r.Size = 700 })),
		told(t, "A", 10, good),
	}}
	o.row("f").Heard = time.Hour
	o.row("g").Held = false
	o.row("h").Report = []byte(`{"version":"v1.2.0","version":"v1.2.0"}`)
	o.row("i").Report = nil
	all, err := fleet.Look(t.Context(), o, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, k := range all.Kernels {
		fmt.Fprintf(&got, "%s %s lag=%d outdated=%v deviates=%v agents=%d %s\n", k.Name, k.State, k.Lag, k.Outdated, k.Deviates,
			len(k.Agents), strings.Join(k.Why, "; "))
	}
	const want = `#0 garbled lag=0 outdated=false deviates=false agents=0 it has no name that a kernel can have
h garbled lag=0 outdated=false deviates=false agents=0 what it says of itself cannot be read: `
	if !strings.HasPrefix(got.String(), want) || all.Red != 4 || all.Yellow != 4 {
		t.Errorf("%d red, %d yellow\n%s", all.Red, all.Yellow, got.String())
	}
	const rest = `
f silent lag=0 outdated=false deviates=false agents=0 it has not ended as it should, and is not heard of
d blocks lag=0 outdated=false deviates=false agents=2 every action is blocked: the store cannot write
e lags lag=1990 outdated=false deviates=false agents=2 1990 events are not in the database yet
b differs lag=0 outdated=true deviates=false agents=2 another kernel has belay v1.2.0
c differs lag=0 outdated=false deviates=true agents=2 5 of 6 kernels decide by another policy
i mute lag=0 outdated=false deviates=false agents=0 it says nothing of itself
a ok lag=0 outdated=false deviates=false agents=2 ` + `
j ok lag=690 outdated=false deviates=false agents=2 ` + `
g stopped lag=0 outdated=false deviates=false agents=0 ` + `
`
	if !strings.HasSuffix(got.String(), rest) {
		t.Error(got.String())
	}
}

// A report is bounded when it is told, and read strictly: another kernel has written it.
func TestSelfReports(t *testing.T) {
	long := fleet.SelfReport{Blocks: strings.Repeat("x\n", 5000), Version: "v1", Policy: "p"}
	for n := range 500 {
		long.Agents = append(long.Agents, fleet.AgentsOfOne{Runtime: fmt.Sprint("r", n), Count: n})
	}
	b, err := long.Encode()
	if err != nil || len(b) > postgres.MaxReport {
		t.Fatal(len(b), err)
	}
	r, err := fleet.DecodeSelfReport(b)
	if err != nil || len(r.Agents) != 32 || r.Agents[0].Runtime != "r499" || len(r.Blocks) > 310 {
		t.Errorf("%+v, %v", r, err)
	}
	const good = `{"version":"v1","policy":"p","size":1,"agents":[{"runtime":"r","count":1}]}`
	if _, err := fleet.DecodeSelfReport([]byte(good)); err != nil {
		t.Error(err)
	}
	for old, bad := range map[string]string{
		`"size":1`:      `"size":-1`,
		`"count":1`:     `"count":-1`,
		`"policy":"p"`:  `"policy":"\u001b[2J"`,
		`"runtime":"r"`: `"runtime":"a\nb"`,
		`"version":`:    `"verzion":`,
		`"v1",`:         `"v1","version":"v2",`,
		`:"v1"`:         `:1`,
		`"p"`:           "\"\xff\"",
	} {
		if r, err := fleet.DecodeSelfReport([]byte(strings.Replace(good, old, bad, 1))); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// Kernels that cannot tell their policy are compared with none: they make no other kernel look as if it differed.
func TestUnknownPoliciesCountForNothing(t *testing.T) {
	r := fleet.SelfReport{Version: "v1.2.0", Policy: fleet.UnknownPolicy}
	known := r
	known.Policy = "sha256:aa"
	all, err := fleet.Look(t.Context(), &organisation{rows: []postgres.KernelRow{
		told(t, "a", 1, r), told(t, "b", 1, known), told(t, "c", 1, r)}}, time.Minute)
	if err != nil || all.Yellow != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}
