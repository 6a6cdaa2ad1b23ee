// Command biglog fills a database with events like those of a busy agent, through the store's
// own writer, to look at queries, verification and size at 10^5 or 10^6 events:
//
//	go run ./internal/store/sqlite/biglog -events 1000000 DIR/belay.db
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func main() {
	events := flag.Int64("events", 100_000, "how many events")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: biglog [-events N] FILE")
		os.Exit(2)
	}
	start := time.Now()
	if err := fill(context.Background(), flag.Arg(0), *events); err != nil {
		fmt.Fprintln(os.Stderr, "biglog:", err)
		os.Exit(1)
	}
	fmt.Printf("%d events in %v\n", *events, time.Since(start).Round(time.Millisecond))
}

const (
	perBatch   = 32 // invocations
	perTurn    = 4  // events of an invocation: three hooks and the verdict
	perSession = 60 // invocations
)

func fill(ctx context.Context, path string, events int64) error {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	var next atomic.Int64
	errs := make([]error, 4)
	var wg sync.WaitGroup
	batches := (events + perBatch*perTurn - 1) / (perBatch * perTurn)
	for i := range errs {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < batches && errs[i] == nil; n = next.Add(1) - 1 {
				_, errs[i] = s.Commit(ctx, batch(n))
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, s.Close())...)
}

// batch returns batch n; the same for each run.
func batch(n int64) kernel.Batch {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := kernel.Batch{Now: time.Unix(1_780_000_000, 0).UTC().Add(time.Duration(n*perBatch) * 5 * time.Second)}
	for i := range int64(perBatch) {
		b.Events = append(b.Events, invocation(r, n*perBatch+i, b.Now.Add(time.Duration(i)*5*time.Second))...)
	}
	return b
}

var (
	tools = []string{"exec", "exec", "exec", "read", "read", "edit", "write", "grep", "web_fetch",
		"mcp__tracker__list"}
	commands = []string{"git status --short && git diff --stat", "go test ./internal/... -run TestQueue -count=1",
		"ls -la src/components | head -40", "npm run build -- --mode production", "rg -n 'func (s \\*Store)' --type go"}
	hooks = []struct{ name, version string }{{"command-guard", "2.0.0"}, {"path-guard", "1.0.0"},
		{"settings-guard", "1.1.1"}}
)

func digest(r *rand.Rand, prefix string) string {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return prefix + hex.EncodeToString(b)
}

// id returns a UUIDv7 of the time.
func id(r *rand.Rand, at time.Time) string {
	var u uuid.UUID
	for i := range u {
		u[i] = byte(r.Uint32())
	}
	ms := at.UnixMilli()
	for i := range 6 {
		u[i] = byte(ms >> (8 * (5 - i)))
	}
	u.SetVersion(uuid.V7)
	u.SetVariant(uuid.VariantRFC9562)
	return u.String()
}

// invocation returns the events of invocation n.
func invocation(r *rand.Rand, n int64, at time.Time) []phases.Event {
	at = at.Add(time.Duration(r.IntN(1_000_000_000)))
	of := rand.New(rand.NewPCG(2, uint64(n/perSession)))
	session, revision := id(of, at), digest(rand.New(rand.NewPCG(3, 0)), "sha256:")
	tool := tools[r.IntN(len(tools))]
	base := phases.Event{Type: phases.EventHook, Time: at, Invocation: id(r, at), Phase: phases.PreTool,
		Runtime: []string{"claude-code", "codex"}[of.IntN(2)], Session: session,
		Agent: []string{"main", "main", "explore"}[r.IntN(3)], Run: fmt.Sprint("r-", n/6), User: "dev", Tool: tool,
		PolicyRevision: revision}
	if n%2 == 1 {
		base.Phase = phases.PostTool
	}
	decision, kind, by := "allow", phases.Kind(""), ""
	switch {
	case n%97 == 0:
		decision, kind, by = "block", phases.KindPolicy, "command-guard"
	case n%1009 == 0:
		decision, kind, by = "block", phases.KindDeadline, "path-guard"
	case n%401 == 0:
		decision, kind, by = "ask", phases.KindPolicy, "path-guard"
	}
	var out []phases.Event
	input := digest(r, "hmac-sha256:")
	for i, h := range hooks {
		e := base
		e.ID, e.Binding, e.HookVersion = id(r, at), h.name, h.version
		e.HookDigest = digest(rand.New(rand.NewPCG(4, uint64(i))), "sha256:")
		e.Tier, e.Signer, e.Mode, e.Pass = phases.Trusted, "builtin", phases.Enforce, phases.PassValidate
		e.Decision, e.InputDigest = "none", input
		if by == h.name {
			e.Decision, e.Kind, e.Reason = decision, kind, "rm would delete what is outside of the project"
		}
		e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = 200_000+int64(r.IntN(300_000)), 131_072, 3+r.IntN(20),
			200+int64(r.IntN(900))
		out = append(out, e)
	}
	v := base
	v.ID, v.Type, v.Enforced, v.Decision, v.Kind, v.DecidedBy = id(r, at), phases.EventVerdict, phases.EnforcedDirect,
		decision, kind, by
	if by != "" {
		v.Reason = "rm would delete what is outside of the project"
	}
	scopes := `{"fs_read":["/home/dev/project/**"],"fs_write":["/home/dev/project/**"],` +
		`"net":["proxy.example:443"],"tools":["*"]}`
	v.Input = jsontext.Value(fmt.Sprintf(`{"action":{"tool":%q,"call_id":"toolu_%s","args":{"command":%q,`+
		`"description":"step %d of the plan"}},"cwd":"/home/dev/project","scopes":%s,"time":%q}`,
		tool, id(r, at)[14:], commands[r.IntN(len(commands))], n, scopes, at.Format(time.RFC3339Nano)))
	v.Output = jsontext.Value(`{"scopes":` + scopes + `,"contexts":[],"artifacts":[]}`)
	v.InputDigest, v.OutputDigest = digest(r, "hmac-sha256:"), digest(r, "hmac-sha256:")
	v.Changed = []string{}
	v.Fuel, v.MemoryPeak, v.Hostcalls, v.DurationUS, v.Seed = 1_254_750, 262_144, 39, 1754, digest(r, "")
	return append(out, v)
}
