package belay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// configuration is what operators wrote, as it is in force, and what the kernel makes of it.
type configuration struct {
	dir       string
	o         *Options
	trust     *trust.Verifier
	loader    *loader.Loader
	adhoc     []loader.Ready
	revisions *revision.Log // logs which configuration is in force

	mu  sync.Mutex // guards what Reload changes
	now written

	unused string // why the last Reload changed nothing, as it is logged; "": it did
}

// written is what belay.yaml says.
type written struct {
	file *config.File
	rev  string
	bad  error // why belay.yaml cannot be used; only with NoHooks

	rules []wire.RulesFile // in force
}

// readConfig reads belay.yaml.
func readConfig(dir string, o *Options) (written, error) {
	var now written
	now.file, now.rev, now.bad = config.Load(dir)
	if errors.Is(now.bad, ErrNoConfig) && len(o.Hooks) > 0 {
		now.bad = nil
	}
	if o.NoHooks {
		return now, nil
	}
	return now, now.bad
}

// readAdHoc reads the modules of the hooks that were given at Open, beside those of the file.
func readAdHoc(hooks []AdHocHook, f *config.File) ([]loader.Ready, error) {
	given, taken := []loader.Given{}, []string{}
	for _, h := range hooks {
		given = append(given, loader.Given(h))
	}
	for _, h := range f.Hooks {
		taken = append(taken, h.Name)
	}
	return loader.ReadGiven(given, taken)
}

// kernelConfig turns belay.yaml and the hooks given at Open into what the kernel runs.
// Preconditions: c is not shared yet, or c.mu is held.
func (c *configuration) kernelConfig() *kernel.Config {
	cfg := loader.Config(c.now.file, c.dir, c.trust.InUse(), c.revision())
	if c.o.NoHooks {
		cfg = &kernel.Config{Revision: cfg.Revision, Approvals: cfg.Approvals, Reviewers: cfg.Reviewers, Judges: c.mayJudge,
			LatchReconcile: cfg.LatchReconcile}
	}
	cfg.Announce = c.announcer()
	cfg.NoTools = c.o.Tools == nil && len(c.now.file.MCP.Servers) == 0
	if !c.o.NoHooks {
		for _, a := range c.adhoc {
			cfg.Bindings = append(cfg.Bindings, a.Spec)
		}
	}
	return cfg
}

// inForce is what the log knows of the configuration. Preconditions: as of kernelConfig.
func (c *configuration) inForce() statelog.Configuration {
	return statelog.Configuration{File: c.now.file, Revision: c.revision(), Unusable: c.now.bad}
}

// revision names everything that an operator wrote and that decides: the text of
// belay.yaml and, each after a +, the trust policy, where there is one and it is used, and
// the rules files, as loader.RulesRevision says. Preconditions: as of kernelConfig.
func (c *configuration) revision() string {
	rev := c.now.rev
	if c.o.Verifier == nil {
		if r := c.trust.Revision(); r != "" {
			rev += "+" + r
		}
	}
	return rev + loader.RulesRevision(c.now.rules)
}

// announcer has the log say what the configuration in use changes. Preconditions: as of
// kernelConfig.
func (c *configuration) announcer() kernel.Announcer {
	if c.now.bad != nil || c.o.InMemory || c.o.DryRun {
		return nil
	}
	var policy any
	if p := c.trust.InUse(); p != nil && c.o.Verifier == nil {
		policy = p
	}
	now, err := revision.Of(c.revision(), c.now.file, policy)
	for _, f := range c.now.rules {
		now.Files[f.File] = cmp.Or(f.Digest, "unreadable")
	}
	if err != nil {
		return func(context.Context) (*kernel.Announcement, error) { return nil, err }
	}
	return c.revisions.Announce(now)
}

// logUnused records once why a configuration is not taken into use: hosts try again and again. What the store could not
// take is in the error that Reload returns. Preconditions: c.mu is held.
func (c *configuration) logUnused(ctx context.Context, k *kernel.Kernel, why error) {
	if c.o.NoHooks || c.o.InMemory || c.o.DryRun || !errors.Is(why, ErrConfig) || why.Error() == c.unused {
		return
	}
	if k.NotUsed(ctx, why.Error()) == nil {
		c.unused = why.Error()
	}
}

// mayJudge reports whether an enforcing hook of belay.yaml may be asked in the phase, for
// a host that was opened without hooks. What cannot be told counts as one.
func (c *configuration) mayJudge(p phases.Phase) bool {
	if p == phases.Audit { // where nothing is decided
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.now.file
	if c.now.bad != nil || f == nil || len(c.adhoc)+len(f.Require)+len(f.RequireLease) > 0 ||
		!f.Scopes.Contains(phases.Scopes{}) {
		return true
	}
	for _, h := range c.examined() {
		if h.Mode != phases.Observe && (h.Problem != "" || len(h.Phases) == 0 || slices.Contains(h.Phases, p)) {
			return true
		}
	}
	return false
}

// examined looks at every binding without compiling it. Preconditions: c.mu is held.
func (c *configuration) examined() []wire.Hook {
	hooks, err := c.loader.Examine(context.Background(), c.now.file.Enabled())
	if err != nil {
		return []wire.Hook{{Name: "?", Problem: err.Error()}}
	}
	return hooks
}

// reviewersKnown refuses a person's verb while belay.yaml cannot be used and may
// register a reviewer. The error is ErrConfig.
func (c *configuration) reviewersKnown() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return config.ReviewersKnown(c.dir, c.now.bad)
}
