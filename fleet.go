package belay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/every"
	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/fleet/member"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/internal/statelog"
)

// sharedDenials returns what follows the denials of all kernels; nil where the store has none, or trust.yaml decides
// nothing.
func sharedDenials(storage *statelog.Storage, dir string, o *Options, log *slog.Logger) *member.Denials {
	if o.DryRun || o.InMemory || o.Verifier != nil {
		return nil
	}
	return member.Of(storage.Engine(), dir, log)
}

// followDenials keeps up with what all kernels deny, until the returned function is called.
func (b *Belay) followDenials(d *member.Denials) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pending := false
		d.Follow(ctx, b.kernel, b.redact.Line, func() {
			if b.conf.trust.Refresh() {
				pending = true
			}
			if !pending {
				return
			}
			err := b.useTrust(ctx)
			if pending = err != nil; pending && ctx.Err() == nil { // it is tried again at the next look
				b.log.LogAttrs(ctx, slog.LevelError, "what all kernels deny could not be taken into use",
					slog.Any("error", err))
			}
		})
	}()
	return func() { cancel(); <-done }
}

// Changed returns a channel that is closed when another kernel, or this one, has changed what the kernels of a store
// share: an approval that was decided, a lease. It may be closed without a change, and a notice may be late: look by
// yourself, too. It is nil where no other kernel shares the store.
func (b *Belay) Changed() <-chan struct{} {
	if s, ok := b.storage.Engine().(interface{ Changed() <-chan struct{} }); ok {
		return s.Changed()
	}
	return nil
}

// StoreAway returns a channel that is closed when the store of kernels that share one cannot be reached, also if that
// is so now. It is nil where that is not known.
func (b *Belay) StoreAway() <-chan struct{} {
	if s, ok := b.storage.Engine().(interface{ Unreachable() <-chan struct{} }); ok {
		return s.Unreachable()
	}
	return nil
}

// ShareDenials tells other kernels at once what was denied here for all of them. A host that was opened with hooks does
// so by itself within a second. The error is kernel.ErrUnavailable, or of class tiers.PolicyUnusable.
func (b *Belay) ShareDenials(ctx context.Context) error {
	d := sharedDenials(b.storage, b.dir, &b.o, b.log)
	if d == nil {
		return fmt.Errorf("%w: the store is shared with no other kernel", ErrState)
	}
	return d.Share(ctx, b.kernel, b.redact.Line)
}

// reportEvery is how often a kernel that shares its store says anew how it is.
const reportEvery = 2 * time.Second

// reporter is a store that tells others what its kernel says of itself.
type reporter interface{ SetReport(body []byte) }

// reports tells how this kernel is, while it shares its store with others, until the returned function is called.
func (b *Belay) reports() (stop func()) {
	to, ok := b.storage.Engine().(reporter)
	if !ok || b.o.NoHooks || b.o.DryRun {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var policy policyDigest
		every.Do(ctx, reportEvery/20, reportEvery, func(ctx context.Context) bool {
			body, err := b.selfReport(ctx, &policy).Encode()
			if err != nil {
				b.log.LogAttrs(ctx, slog.LevelError, "what this kernel says of itself could not be told", slog.Any("error", err))
				return true
			}
			to.SetReport(body)
			return true
		})
	}()
	return func() { cancel(); <-done }
}

// selfReport says how this kernel is. It asks no database over a network: it has to be told when that is slow, too.
func (b *Belay) selfReport(ctx context.Context, policy *policyDigest) fleet.SelfReport {
	b.conf.mu.Lock()
	bad, digest := b.conf.now.bad, policy.of(b.conf)
	local := false
	if s := b.conf.now.file.Central(); s != nil {
		local = s.Events == config.EventsLocal
	}
	b.conf.mu.Unlock()
	r := fleet.SelfReport{Version: b.o.Version, Policy: digest, Local: local, Warnings: len(b.LeftBehind())}
	r.Size, r.Newest = b.storage.Activity().Newest()
	r.Newest = r.Newest.UTC()
	if local { // events of before this process may wait, too
		if n, err := b.storage.Store.LogSize(ctx); err == nil {
			r.Size = max(r.Size, n)
		}
	}
	for runtime, n := range b.storage.Activity().Agents(time.Now()) {
		r.Agents = append(r.Agents, fleet.AgentsOfOne{Runtime: b.redact.Line(runtime), Count: n})
	}
	if h := b.kernel.Health(); !h.OK {
		r.Blocks = cmp.Or(h.Reason, "it is not healthy")
	} else if bad != nil {
		r.Blocks = bad.Error()
	}
	r.Blocks = b.redact.Line(r.Blocks)
	if b.o.Verifier == nil && b.conf.trust.Problem() != "" {
		r.Warnings++
	}
	return r
}

// policyDigest is the digest of what decides, as it was found last.
type policyDigest struct{ revision, digest string }

// of returns the digest of what is in force. Preconditions: c.mu is held.
func (p *policyDigest) of(c *configuration) string {
	rev := c.revision()
	if rev == p.revision {
		return p.digest
	}
	var policy any
	if t := c.trust.InUse(); t != nil && c.o.Verifier == nil {
		policy = t
	}
	now, err := revision.Of(rev, c.now.file, policy)
	for _, f := range c.now.rules {
		now.Files[f.File] = cmp.Or(f.Digest, "unreadable")
	}
	digest := fleet.UnknownPolicy
	if err == nil {
		if d, err := now.Policy(); err == nil {
			digest = d
		}
	}
	p.revision, p.digest = rev, digest
	return digest
}
