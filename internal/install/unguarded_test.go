package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// guardVersion is the module of command-guard as a hook from outside, in a version of its own.
func guardVersion(t *testing.T, version, also string) []byte {
	t.Helper()
	module, err := os.ReadFile(filepath.Join("..", "..", "examples-wasm", "command-guard", "command-guard.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := `{"abi":1,"name":"test/guard","version":"` + version + `","phases":["pre_tool"],"capabilities":[
{"name":"block"},{"name":"request_approval"},{"name":"shell_parse"},{"name":"pattern_match"}` + also + `],
"config_schema":{"type":"object","properties":{"commands":{"type":"array"}}}}`
	out, err := hookbuild.Pack(module, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// While upgrades, rollbacks and upgrades that fail go on, callers ask all the time: in one host that takes each change
// into use, as a daemon does, and in processes that open the directory anew. Each answer is a block by one of the two
// versions, and none comes without the hook.
func TestUpgradeLeavesNothingUnguarded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(config.Empty), 0o600); err != nil {
		t.Fatal(err)
	}
	policy := trust.Dir{Path: dir, Signatures: sigstore.New}
	first, second := guardVersion(t, "1.0.0", ""), guardVersion(t, "1.1.0", "")
	if _, _, err := install.Hook(t.Context(), policy, install.Request{Name: "guard", File: first}); err != nil {
		t.Fatal(err)
	}
	open := func() *belay.Belay {
		host, err := belay.Open(t.Context(), dir, belay.Options{InMemory: true, Signatures: sigstore.New})
		if err != nil {
			t.Error(err)
			return nil
		}
		return host
	}
	var done atomic.Bool
	var seen sync.Map // version -> *atomic.Int64
	ask := func(host *belay.Belay) {
		v, err := host.Invoke(context.WithoutCancel(t.Context()), phases.Invocation{Phase: phases.PreTool, Session: "s",
			Action: []byte(`{"tool":"exec","args":{"command":"rm -rf /"}}`)})
		if err != nil || v.Decision != phases.Block || v.DecidedBy != "guard" || len(v.Hooks) != 1 ||
			v.Hooks[0].Decision != phases.HookBlock {
			t.Errorf("an action went by: %v, %s by %q, hooks %+v", err, v.Decision, v.DecidedBy, v.Hooks)
			done.Store(true)
			return
		}
		n, _ := seen.LoadOrStore(v.Hooks[0].Version, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
	}
	daemon := open()
	defer daemon.Close()
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for !done.Load() {
				ask(daemon)
			}
		})
	}
	callers.Go(func() {
		for !done.Load() {
			if host := open(); host != nil {
				ask(host)
				host.Close()
			}
		}
	})
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for n := 0; n < rounds && !done.Load(); n++ {
		upgradeRound(t, policy, n, second, daemon)
	}
	done.Store(true)
	callers.Wait()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if n, ok := seen.Load(version); !ok {
			t.Errorf("no caller was answered by version %s", version)
		} else {
			t.Logf("version %s answered %d calls", version, n.(*atomic.Int64).Load())
		}
	}
}

// upgradeRound upgrades, fails to upgrade in every way, and rolls back; the host takes each state into use.
func upgradeRound(t *testing.T, dir trust.Dir, n int, second []byte, host *belay.Belay) {
	t.Helper()
	apply := func(u *install.Upgrade, err error) error {
		if err == nil {
			_, err = u.Apply(t.Context(), dir)
		}
		return errors.Join(err, host.Reload(t.Context()))
	}
	if err := apply(install.PlanUpgrade(t.Context(), dir, install.UpgradeRequest{Name: "guard",
		File: second})); err != nil {
		t.Fatal(err)
	}
	bad := map[string]install.UpgradeRequest{
		"no module": {File: []byte("no module")},
		"asks more": {File: guardVersion(t, fmt.Sprintf("2.0.%d", n), `,{"name":"state_put"}`),
			Allow: []string{"no_such"}},
		"another hook": {Module: "builtin:strip-ansi"},
		"older":        {File: guardVersion(t, "0.9.0", "")},
	}
	for name, r := range bad {
		r.Name = "guard"
		if err := apply(install.PlanUpgrade(t.Context(), dir, r)); err == nil {
			t.Errorf("%s: the upgrade was made", name)
		}
	}
	// A plan that another change has overtaken changes nothing.
	late, err := install.PlanUpgrade(t.Context(), dir,
		install.UpgradeRequest{Name: "guard", File: guardVersion(t, "1.2.0", "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(install.PlanRollback(t.Context(), dir, "guard", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Apply(t.Context(), dir); !errors.Is(err, install.ErrChangedMeanwhile) {
		t.Errorf("a late plan: %v", err)
	}
	src, err := config.ReadFile(dir.Path)
	if err != nil || strings.Count(string(src), "name: guard") != 1 {
		t.Errorf("%v\n%s", err, src)
	}
}
