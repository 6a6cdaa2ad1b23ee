package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Info is a module file's own account of itself with its tier and capabilities. Nothing
// was run to find it.
type Info struct {
	Digest       string             `json:"digest"` // sha256:<hex> of the file
	Size         int                `json:"size"`   // bytes
	Tier         phases.Tier        `json:"tier"`
	Why          string             `json:"why"`            // why this tier
	Trust        *tiers.Decision    `json:"trust,omitzero"` // with InspectIn: rule by rule, signature by signature
	Manifest     *tiers.Manifest    `json:"manifest"`
	Derived      bool               `json:"derived"` // there was no manifest: it was read off the module
	Phases       []phases.Phase     `json:"phases"`
	Imports      []string           `json:"imports"` // from belay_v1
	Others       []string           `json:"others"`  // from elsewhere
	Capabilities []CapabilityStatus `json:"capabilities"`
	EstimateMS   float64            `json:"compile_estimate_ms"`
	EstimateMiB  float64            `json:"compile_estimate_mib"`
	MemoryMin    int64              `json:"memory_min"` // bytes
	Functions    int                `json:"functions"`
	Problems     []string           `json:"problems"`       // why it would be refused
	Rules        *rules.Listed      `json:"rules,omitzero"` // that were compiled into it
}

// CapabilityStatus says whether a hook gets one capability that it asks for.
type CapabilityStatus struct {
	Name    string   `json:"name"`
	Reason  string   `json:"reason"` // the author's
	Granted []string `json:"granted"`
	Why     string   `json:"why"` // the host's
}

// Inspect looks at a module file as the host does: its exports, imports and manifest,
// whether they agree, its tier, and the capabilities that it would hold if the operator
// allowed those in allowed (nil: all that the manifest declares). It never compiles or runs
// the module. The error is one of sandbox parsing; Problems lists every other reason to
// refuse the file. Safe for concurrent use.
func Inspect(ctx context.Context, file []byte, allowed []string) (Info, error) {
	return inspect(file, allowed, nil)
}

// InspectIn is Inspect with the trust policy in dir: the evidence decides the tier, and
// Problems has the reasons to refuse a hook of that tier.
func InspectIn(ctx context.Context, dir trust.Dir, file []byte, evidence []tiers.Evidence,
	allowed []string) (Info, error) {
	return inspect(file, allowed, func() (tiers.Decision, error) { return dir.Open(nil).Decision(file, evidence) })
}

func inspect(file []byte, allowed []string, decide func() (tiers.Decision, error)) (Info, error) {
	engine, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		return Info{}, err
	}
	defer engine.Close()
	mod, err := engine.Inspect(file)
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Digest: mod.Digest, Size: mod.Size, Tier: phases.Sandboxed, Why: "unsigned",
		Phases: mod.Phases, Imports: orEmpty(mod.Imports), Others: orEmpty(mod.Others),
		EstimateMS: float64(mod.EstimateNS) / 1e6, EstimateMiB: float64(mod.EstimateBytes) / (1 << 20),
		MemoryMin: mod.MemoryMin, Functions: mod.Functions,
		Capabilities: []CapabilityStatus{}, Problems: []string{}, Rules: rules.ReadListed(file),
	}
	hooks, err := builtin.Load()
	if err != nil {
		return Info{}, err
	}
	if hooks.Trusted(mod.Digest) {
		info.Tier, info.Why = phases.Trusted, "its digest is compiled into this binary"
	}
	var manifestErr error
	if mod.Manifest != nil {
		info.Manifest, manifestErr = tiers.DecodeManifest(mod.Manifest)
	}
	if decide != nil {
		info.judge(decide)
	}
	if mod.Manifest == nil {
		info.Manifest, info.Derived = derive(&mod), true
		info.Problems = append(info.Problems, "it has no manifest, so that it can be tried but not installed")
	} else {
		if manifestErr != nil {
			info.Problems = append(info.Problems, manifestErr.Error())
			return info, nil
		}
		if err := engine.Check(file,
			sandbox.LoadOptions{Class: sandbox.Installed, MemoryCap: memoryCap(&mod, info.Manifest, 0),
				Declared: declaredBy(info.Manifest)}); err != nil {
			info.Problems = append(info.Problems, err.Error())
		}
	}
	grants, err := grantsFor(info.Manifest, allowed, info.Tier)
	if err != nil {
		return info, err
	}
	for i, g := range grants {
		c := CapabilityStatus{Name: g.Capability.String(), Reason: info.Manifest.Capabilities[i].Reason, Granted: []string{},
			Why: g.Why}
		for _, h := range g.Granted {
			c.Granted = append(c.Granted, h.String())
		}
		if info.Manifest.CanDoWithout(g.Capability.Name) {
			c.Why += "; optional"
		}
		info.Capabilities = append(info.Capabilities, c)
	}
	// of which judge speaks
	lacks := slices.DeleteFunc(tiers.Lacks(info.Manifest, info.Imports, grants), func(l tiers.Lack) bool { return l.Tier })
	if len(lacks) > 0 {
		info.Problems = append(info.Problems,
			notGranted(lacks, "grant it with --allow, or list it under `optional` in its manifest").Error())
	}
	return info, nil
}

// judge takes over the decision about the file, and lists why the file is refused.
func (info *Info) judge(decide func() (tiers.Decision, error)) {
	d, err := decide()
	if err != nil {
		info.Why = err.Error()
		info.Problems = append(info.Problems, err.Error())
		return
	}
	info.Tier, info.Why, info.Trust = d.Tier, d.Why, &d
	if d.Code != "" {
		info.Why = string(d.Code) + ": " + d.Why
	}
	if d.Code == tiers.Revoked {
		info.Problems = append(info.Problems, d.Why+"; a revoked hook does not run in any tier")
	}
	if power := floorImport(info.Imports, info.Manifest); power != "" && d.Tier != phases.Trusted {
		info.Problems = append(info.Problems,
			notTrusted("it imports "+power+", which only trusted hooks may hold", d.Tier, d.Err()).Error()+
				". Have it signed by a signer whom trust.yaml trusts (`belay trust add-key`, `belay hook sign`), or build it without that import")
	}
}

// grantsFor cuts the capabilities of the manifest to those that the operator allows and the
// tier may hold; allowed nil allows all of them.
func grantsFor(m *tiers.Manifest, allowed []string, tier phases.Tier) ([]tiers.Grant, error) {
	if allowed == nil {
		for _, w := range m.Capabilities {
			allowed = append(allowed, w.Name)
		}
	}
	caps := make([]tiers.Capability, 0, len(allowed))
	for _, s := range allowed {
		c, err := tiers.ParseCapability(s)
		if err != nil {
			return nil, err
		}
		if _, known := hostcalls.Lookup(c.Name); !known {
			// A slip of the pen would otherwise be a power that the hook silently lacks.
			return nil, &tiers.Error{Class: tiers.ErrCapability,
				Text: unknownCapability(c.Name)}
		}
		caps = append(caps, c)
	}
	return tiers.Effective(m, caps, tier), nil
}

// unknownCapability says which capability may have been meant.
func unknownCapability(name string) string {
	var names []string
	for _, call := range hostcalls.Table() {
		names = append(names, call.Name)
	}
	text := fmt.Sprintf("%q is not a capability", name)
	if question := near.Question(name, names); question != "" {
		return text + "; " + question
	}
	return text + ": no hostcall is named so"
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
