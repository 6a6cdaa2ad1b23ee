package loader

import (
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/tiers"
)

// Config turns belay.yaml of the state directory dir into the kernel's configuration of a revision. policy is the
// trust policy in use, or nil: settings-guard protects the files that it names.
func Config(f *config.File, dir string, policy *tiers.Policy, revision string) *kernel.Config {
	cfg := &kernel.Config{Revision: revision, Ceiling: f.Scopes,
		ChainBudget:    time.Duration(f.Limits.ChainMS) * time.Millisecond,
		RawToolResults: f.Tools.Results == "raw", Approvals: f.Approvals.Settings(), Reviewers: f.Authorities()}
	cfg.Default, cfg.UnknownTools, cfg.KnownTools = f.Default, f.UnknownTools, f.KnownTools
	cfg.OpenShells = f.OpenShells
	leaseConfig(cfg, f)
	named := namedFiles(f, dir, policy)
	for _, c := range f.Enabled() {
		tellNamed(&c, named)
		spec := Spec(c)
		spec.Place = func(pointer string) string { return f.ConfigPlace(c.Name, pointer) }
		cfg.Bindings = append(cfg.Bindings, spec)
	}
	for _, r := range f.Require {
		cfg.Require = append(cfg.Require, kernel.Require{Phases: r.Phases, Tools: r.Tools, Hooks: r.Hooks})
	}
	return cfg
}

// leaseConfig sets which actions take a lease, and which leases hooks get.
func leaseConfig(cfg *kernel.Config, f *config.File) {
	cfg.LatchChangedCalls = f.LatchChangedCalls
	cfg.LatchReconcile = f.LatchReconcile
	for _, r := range f.RequireLease {
		cfg.RequireLease = append(cfg.RequireLease,
			kernel.RequireLease{Phases: r.Phases, Tools: r.Tools, Capability: r.Capability})
	}
	for i := range f.LeaseRules {
		r := &f.LeaseRules[i]
		cfg.LeaseRules = append(cfg.LeaseRules, kernel.LeaseRule{
			Capability: r.Capability, Scope: r.Scope, MaxTTL: r.TTL(), MaxUses: r.MaxUses, Agents: r.Agents,
			Decision: kernel.LeaseDecision(r.Decision),
		})
	}
	cfg.MaxLeaseTTL = f.Leases.TTL()
}

// Spec turns a binding of belay.yaml into the kernel's.
func Spec(c config.Binding) kernel.BindingSpec {
	return kernel.BindingSpec{
		Name: c.Name, Module: c.Module, Digest: c.Digest, Phases: c.Phases, Priority: c.Priority, Tier: c.Tier,
		Match:  c.Match,
		Config: c.Config, Allowed: c.Capabilities, Budget: c.Budget, Mode: c.Mode, HTTP: c.HTTP, Redacts: c.Redacts,
		Queued: c.Via == "queue", KeepsDefault: c.KeepsDefault, Apart: c.Apart,
	}
}
