package loader

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// moduleHook runs turns in the sandbox.
type moduleHook struct {
	module   *sandbox.Module
	initSeed [32]byte
	sessions sync.Pool // of *hostcalls.Session that no turn uses
}

// initSeed seeds the random bytes that a module draws before its phase begins. It is the
// same for every invocation, so that all of them can use one image of the memory.
func initSeed(sum [sha256.Size]byte) [32]byte {
	return sha256.Sum256(append([]byte("belay init"), sum[:]...))
}

// Run implements kernel.Hook.
func (h *moduleHook) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	s, _ := h.sessions.Get().(*hostcalls.Session)
	if s == nil {
		s = new(hostcalls.Session)
	}
	t.Session.InitSeed = h.initSeed
	if err := s.Renew(&t.Session); err != nil {
		return kernel.Outcome{}, err
	}
	rep, err := h.module.Run(ctx,
		sandbox.RunRequest{Phase: t.Session.Phase, Session: s, Fuel: t.Fuel, Slice: t.Slice, Timeout: t.Timeout,
			Ceiling: t.Ceiling})
	out := kernel.Outcome{
		StateReads: s.StateReads(), Wishes: s.Wishes(), Logs: s.Logs(), LogsDropped: s.LogsDropped(), Notes: s.Notes(),
		FailText: s.FailText(), Fuel: rep.Fuel, MemoryPeak: rep.MemoryPeak, Hostcalls: rep.Hostcalls, Duration: rep.Duration,
		Waited: rep.Waited,
	}
	if err == nil {
		out.Effects, out.StateWrites = s.Effects(), s.StateWrites()
	}
	*s = hostcalls.Session{} // what it refers to is not kept for the next turn; after a panic it is not used again
	h.sessions.Put(s)
	if err == nil {
		return out, nil
	}
	if f := phases.FaultOf(err); f != nil && f.Cause != nil {
		out.Detail = f.Cause.Error()
	}
	return out, err
}

// HostFiles answers path_resolve from the host's own files. It is a kernel.FileSystem.
type HostFiles struct{}

// Readlink implements kernel.FileSystem.
func (HostFiles) Readlink(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return links.Readlink(path)
}

var (
	_ kernel.Hook       = (*moduleHook)(nil)
	_ kernel.FileSystem = HostFiles{}
)
