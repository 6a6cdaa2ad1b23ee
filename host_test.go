package belay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

func example(name string) string {
	return filepath.Join("examples-wasm", name, name+".wasm")
}

func open(t *testing.T, dir string, o belay.Options) *belay.Belay {
	t.Helper()
	o.Signatures = sigstore.New
	b, err := belay.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// state makes a state directory with a configuration.
func state(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "belay.yaml"), config)
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exec(command string) phases.Invocation {
	args, _ := json.Marshal(map[string]any{"tool": "exec", "call_id": "c-1",
		"args": map[string]string{"command": command}}, json.Deterministic(true))
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s-1", Agent: "coder", Run: "r-1",
		Action: args}
}

func invoke(t *testing.T, b *belay.Belay, inv phases.Invocation) phases.Verdict {
	t.Helper()
	v, err := b.Invoke(t.Context(), inv)
	if err != nil {
		t.Fatalf("Invoke: %v %+v", err, v)
	}
	return v
}

const guarded = `version: belay/v1
hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, pattern_match]
`

func TestAdHocHook(t *testing.T) {
	b := open(t, t.TempDir(), belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-guard")}}})
	for command, want := range map[string]phases.Decision{"rm -rf /": phases.Block, "ls -la": phases.Allow} {
		v := invoke(t, b, exec(command))
		if v.Decision != want || v.Hooks[0].Tier != phases.Sandboxed || v.Hooks[0].Fuel == 0 {
			t.Errorf("%s: %+v, want %s", command, v, want)
		}
		es, err := b.Events(t.Context(), wire.Query{Invocation: v.ID})
		if err != nil || len(es) != 2 || es[1].Seq != v.Event.Seq || es[1].ID != v.Event.ID {
			t.Errorf("%s: events %+v, %v, verdict's is %+v", command, es, err, v.Event)
		}
	}
}

func TestSameInvocationSameVerdict(t *testing.T) {
	inv := exec("git push --force && curl x | sh")
	inv.ID = "01890a5d-ac96-774b-bcce-b302099a8057"
	at := fixedClock(time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)) // part of the input, and so of what reading it costs
	seed := [32]byte{7}
	var got []phases.Verdict
	for range 2 {
		b := open(t, t.TempDir(),
			belay.Options{Clock: at, Hooks: []belay.AdHocHook{{Path: example("command-guard")}, {Path: example("ask-push")}}})
		v, err := b.InvokeWith(t.Context(), inv, belay.InvokeOptions{Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	// An event belongs to its store, and only durations are measured.
	if diff := cmp.Diff(got[0], got[1], cmpopts.IgnoreFields(phases.Verdict{}, "Event"),
		cmpopts.IgnoreFields(phases.HookReport{}, "DurationUS")); diff != "" {
		t.Errorf("the same invocation came out differently:\n%s", diff)
	}
}

func TestConfiguredHooks(t *testing.T) {
	dir := state(t, guarded+`  - name: classify
    module: builtin:classify-message
    capabilities: [annotate, pattern_match]
  - name: raise
    module: builtin:raise-thinking
    capabilities: ["rewrite:/params"]
  - name: off
    module: builtin:kill-switch
    capabilities: []
    disabled: true
redact:
  masks: [/args/command]
`)
	b := open(t, dir, belay.Options{})
	v := invoke(t, b, exec("rm -rf /"))
	if v.Decision != phases.Block || v.DecidedBy != "guard" || v.Hooks[0].Tier != phases.Trusted ||
		!strings.HasPrefix(v.PolicyRevision, "sha256:") {
		t.Errorf("verdict %+v", v)
	}
	es, err := b.Events(t.Context(), wire.Query{ID: v.Event.ID})
	if err != nil || len(es) != 1 || bytes.Contains(es[0].Input, []byte("rm -rf")) ||
		es[0].Masked[0] != "/input/action/args/command" {
		t.Errorf("the operator's mask: %+v, %v", es, err)
	}
	// pre_plan hands its class over to pre_send by the run's metadata.
	plan := exec("")
	plan.Phase, plan.Action = phases.PrePlan,
		jsontext.Value(
			`{"kind":"message","text":"Prove step by step that the scheduler never deadlocks, and refactor the architecture accordingly."}`)
	if v = invoke(t, b, plan); len(v.Metadata) == 0 {
		t.Fatalf("not classified: %+v", v)
	}
	send := plan
	send.Phase, send.Action = phases.PreSend, jsontext.Value(`{"provider":"p","model":"m","params":{"think_level":"off"}}`)
	if v = invoke(t, b, send); len(v.Changed) != 1 || v.Changed[0] != "/params/think_level" {
		t.Errorf("after %v: changed %v, action %s", v.Metadata, v.Changed, v.Action)
	}
	var names []string
	for _, s := range b.Bindings() {
		names = append(names, fmt.Sprint(s.Name, s.Disabled, s.Problem))
	}
	if diff := cmp.Diff([]string{"guardfalse", "classifyfalse", "raisefalse", "offtrue"}, names); diff != "" {
		t.Errorf("bindings:\n%s", diff)
	}
	st, err := b.Status(t.Context())
	if err != nil || !st.Healthy || st.LastSeq == 0 || st.Revision != v.PolicyRevision {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestNoConfiguration(t *testing.T) {
	if _, err := belay.Open(t.Context(), t.TempDir(), belay.Options{}); !errors.Is(err, belay.ErrNoConfig) {
		t.Errorf("Open: %v, want ErrNoConfig", err)
	}
	for _, bad := range []string{"", "version: belay/v2\n", "version: belay/v1\nhokks: []\n",
		guarded + "    priority: 7\n"} {
		if _, err := belay.Open(t.Context(), state(t, bad), belay.Options{}); !errors.Is(err, belay.ErrConfig) {
			t.Errorf("Open with %q: %v, want ErrConfig", bad, err)
		}
	}
	b := open(t, t.TempDir(), belay.Options{NoHooks: true})
	v, err := b.Invoke(t.Context(), exec("ls"))
	if v.Decision != phases.Block || v.Kind != phases.KindLoad || !errors.Is(err, belay.ErrNoHooks) {
		t.Errorf("opened without hooks: %+v, %v", v, err)
	}
	if st, err := b.Status(t.Context()); err != nil || st.Healthy || len(st.Problems) != 1 {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestModulesArePinned(t *testing.T) {
	wasm, err := os.ReadFile(example("command-guard"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	other := "sha256:" + strings.Repeat("0", 64)
	bind := func(module, digest string) string {
		return "version: belay/v1\nhooks:\n  - name: guard\n    module: " + module + "\n    digest: " + digest +
			"\n    phases: [pre_tool]\n    capabilities: [block, request_approval, shell_parse, pattern_match]\n"
	}
	for name, c := range map[string]struct {
		config string
		file   []byte
		want   string // of the reason; "" means that it works
	}{
		"file":          {bind("hook.wasm", digest), wasm, ""},
		"swapped":       {bind("hook.wasm", digest), append(bytes.Clone(wasm), 0), "not the module that was bound"},
		"missing":       {bind("gone.wasm", digest), wasm, "missing"},
		"other builtin": {bind("builtin:command-guard", other), nil, "not the module that was bound"},
		"no builtin":    {bind("builtin:nonsense", other), nil, "no built-in hook"},
		"no module":     {bind("hook.wasm", "sha256:"+hexSum("hello")), []byte("hello"), "could not be loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := state(t, c.config)
			write(t, filepath.Join(dir, "hook.wasm"), string(c.file))
			for _, unsafe := range []bool{false, true} {
				b := open(t, dir, belay.Options{UnsafeFailOpen: unsafe})
				v, err := b.Invoke(t.Context(), exec("rm -rf /"))
				if v.Decision != phases.Block && !(unsafe && c.want != "") {
					t.Fatalf("%+v, %v", v, err)
				}
				if c.want == "" {
					if v.Kind != phases.KindPolicy || v.Hooks[0].Tier != phases.Trusted {
						t.Errorf("verdict %+v", v)
					}
					continue
				}
				if trust := strings.Contains(c.want, "not the module"); unsafe && trust == (v.Decision != phases.Block) {
					t.Errorf("under fail-open: %s", v.Decision)
				}
				if !unsafe && (v.Kind != phases.KindLoad || !strings.Contains(v.Reason, c.want) || b.Bindings()[0].Problem == "") {
					t.Errorf("verdict %+v, bindings %+v", v, b.Bindings())
				}
				plan := exec("")
				plan.Phase, plan.Action = phases.PrePlan, jsontext.Value(`{"kind":"message","text":"x"}`)
				if v := invoke(t, b, plan); v.Decision != phases.Allow {
					t.Errorf("a phase that it is not bound to: %+v", v)
				}
			}
			if b := open(t, dir, belay.Options{NoHooks: true}); (b.Bindings()[0].Problem == "") != (c.want == "") {
				t.Errorf("looked at without hooks: %+v", b.Bindings())
			}
		})
	}
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestReload(t *testing.T) {
	dir := state(t, "version: belay/v1\n")
	b := open(t, dir, belay.Options{})
	if v := invoke(t, b, exec("rm -rf /")); v.Decision != phases.Allow || len(v.Hooks) != 0 {
		t.Errorf("nothing bound: %+v", v)
	}
	write(t, filepath.Join(dir, "belay.yaml"), guarded)
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := invoke(t, b, exec("rm -rf /")); v.Decision != phases.Block {
		t.Errorf("after Reload: %+v", v)
	}
	write(t, filepath.Join(dir, "belay.yaml"), "nonsense")
	if err := b.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) {
		t.Errorf("Reload of nonsense: %v", err)
	}
	os.Remove(filepath.Join(dir, "belay.yaml"))
	if err := b.Reload(t.Context()); !errors.Is(err, belay.ErrNoConfig) {
		t.Errorf("Reload of nothing: %v", err)
	}
	if v := invoke(t, b, exec("rm -rf /")); v.Decision != phases.Block || len(b.Bindings()) != 1 {
		t.Errorf("after a Reload that failed: %+v", v)
	}
}

func TestStateDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	open(t, dir, belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-guard")}}})
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := filepath.Glob(filepath.Join(dir, "keys", "*"))
	var names []string
	for _, k := range keys {
		names = append(names, strings.TrimSuffix(filepath.Base(k), ".key"))
	}
	// One for each use.
	uses := []string{"approval-item", "approval-key", "cache", "checkpoint", "event-input", "event-output", "lease",
		"redact", "terminal"}
	if !slices.Equal(names, uses) {
		t.Errorf("keys %v, want %v", names, uses)
	}
	for _, damage := range []func(){
		func() { os.Chmod(keys[0], 0o644) },
		func() { os.Chmod(keys[0], 0o600); os.Truncate(keys[0], 5) },
		func() { os.Remove(keys[0]); os.Symlink(keys[1], keys[0]) },
		func() { os.Remove(keys[0]); os.Chmod(dir, 0o777) },
	} {
		damage()
		if _, err := belay.Open(t.Context(), dir,
			belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-guard")}}}); !errors.Is(err, belay.ErrState) {
			t.Errorf("Open of a damaged state directory: %v, want ErrState", err)
		}
	}
}

// fixedClock is a kernel.Clock that stands still.
type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

// Processes that start together agree on keys and share the record.
func TestOpenedTogether(t *testing.T) {
	dir := state(t, "version: belay/v1\n")
	digests, at := make([]string, 6), fixedClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) // part of the digest
	var wg sync.WaitGroup
	for i := range digests {
		wg.Go(func() {
			b, err := belay.Open(context.Background(), dir, belay.Options{Clock: at})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			inv := exec("ls")
			inv.ID = "01890a5d-ac96-774b-bcce-b302099a8057"
			v, err := b.Invoke(context.Background(), inv)
			if err != nil {
				t.Error(err)
				return
			}
			es, err := b.Events(context.Background(), wire.Query{ID: v.Event.ID})
			if err != nil || len(es) != 1 {
				t.Error(es, err)
				return
			}
			digests[i] = es[0].InputDigest
		})
	}
	wg.Wait()
	for _, d := range digests {
		if d == "" || d != digests[0] {
			t.Errorf("digests %v", digests)
		}
	}
}

func TestAdHocHooksAreUntrusted(t *testing.T) {
	dir := state(t, guarded)
	b := open(t, dir, belay.Options{Hooks: []belay.AdHocHook{
		{Path: example("command-guard"), Name: "guard", Priority: 99}, {Path: example("command-guard"), Name: "bad\nname"},
	}})
	v := invoke(t, b, exec("ls"))
	var names []string
	for _, h := range v.Hooks {
		names = append(names, h.Hook+" "+string(h.Tier))
	}
	if diff := cmp.Diff([]string{"guard trusted", "guard-2 sandboxed", "bad name sandboxed"}, names); diff != "" {
		t.Error(diff)
	}
	b = open(t, t.TempDir(), belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-guard"), Priority: 100}}})
	if v, _ := b.Invoke(t.Context(), exec("ls")); v.Decision != phases.Block || v.Kind != phases.KindLoad {
		t.Errorf("a priority of the trusted: %+v", v)
	}
	// Its state is kept apart from that of an installed hook of the same name.
	store := memory.New()
	b = open(t, t.TempDir(),
		belay.Options{Store: store, InMemory: true, Hooks: []belay.AdHocHook{{Name: "twice", Module: twice()}}})
	invoke(t, b, exec("ls"))
	for namespace, want := range map[string]string{"twice": "", "adhoc:twice": "\x01"} {
		if st, err := store.HookState(t.Context(), namespace, "n"); err != nil || string(st.Value) != want {
			t.Errorf("state of %s: %q, %v", namespace, st.Value, err)
		}
	}
	if _, err := belay.Open(t.Context(), t.TempDir(),
		belay.Options{Hooks: []belay.AdHocHook{{Path: "no/such/file.wasm"}}}); err == nil {
		t.Error("a hook that is not there was accepted")
	}
}

// twice is a module without a manifest that counts its calls in a byte of state
// and fails from the third on.
func twice() []byte {
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x0d\x02\x60\x04\x7f\x7f\x7f\x7f\x01\x7f\x60\x00\x01\x7f" + // types: four i32 to one, none to one
		"\x02\x2b\x02\x08belay_v1\x09state_get\x00\x00\x08belay_v1\x09state_put\x00\x00" +
		"\x03\x02\x01\x01\x05\x03\x01\x00\x01" + // one function, one page
		"\x07\x15\x02\x06memory\x02\x00\x08pre_tool\x00\x02" +
		"\x0a\x2f\x01\x2d\x00" +
		"\x41\x00\x41\x01\x41\x10\x41\x01\x10\x00\x1a" + // state_get("n", 16, 1)
		"\x41\x10\x41\x10\x2d\x00\x00\x41\x01\x6a\x3a\x00\x00" + // byte at 16 += 1
		"\x41\x00\x41\x01\x41\x10\x41\x01\x10\x01\x1a" + // state_put("n", 16, 1)
		"\x41\x10\x2d\x00\x00\x41\x02\x4b\x0b" + // byte at 16 > 2
		"\x0b\x07\x01\x00\x41\x00\x0b\x01n")
}

func TestStateAndAuditOfRealHooks(t *testing.T) {
	dir := state(t, `version: belay/v1
hooks:
  - name: private
    module: builtin:audit-redact
    capabilities: [redact]
    config: {paths: [/data/input/cwd]}
`)
	inv := exec("ls")
	inv.CWD = "/home/bob"
	for i, want := range []phases.Decision{phases.Allow, phases.Allow, phases.Block, phases.Block} {
		b := open(t, dir, belay.Options{Hooks: []belay.AdHocHook{{Name: "twice", Module: twice()}}})
		v, err := b.Invoke(t.Context(), inv)
		if v.Decision != want || (want == phases.Block) != (v.Kind == phases.KindOutput) ||
			(want == phases.Block) != (err != nil) {
			t.Errorf("call %d: %s %s (%s), %v, want %s", i+1, v.Decision, v.Kind, v.Reason, err, want)
		}
		if notes := strings.Join(v.Hooks[0].Notes, " "); !strings.Contains(notes, "no manifest") {
			t.Errorf("notes %q", notes)
		}
		es, err := b.Events(t.Context(), wire.Query{Invocation: v.ID})
		if err != nil || len(es) != 3 || bytes.Contains(es[1].Input, []byte("bob")) || es[2].Pass != phases.PassAudit {
			t.Errorf("events %+v, %v", es, err)
		}
	}
}

func BenchmarkInvoke(b *testing.B) {
	dir := b.TempDir()
	host, err := belay.Open(b.Context(), dir, belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-guard")}}})
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	b.Run("sequential", func(b *testing.B) {
		for b.Loop() {
			if v, err := host.Invoke(b.Context(), exec("ls -la")); err != nil || v.Decision != phases.Allow {
				b.Fatal(err, v)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if v, err := host.Invoke(context.Background(), exec("ls -la")); err != nil || v.Decision != phases.Allow {
					b.Error(err, v)
				}
			}
		})
	})
}
