package alone

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ErrMore: what is configured needs more than this package links, and belay has to decide.
var ErrMore = errors.New("belay has to decide: signatures or telemetry are configured")

// Host is an open state directory that decides one event.
type Host struct {
	host *belay.Belay // nil once it is closed
}

// Open opens the state directory to decide in this process. Its errors are ErrMore and those of
// belay.Open; with any of them belay is to decide, and to say what is wrong.
func Open(ctx context.Context, dir string) (hookcmd.Decider, error) {
	if needsMore(dir, os.Environ()) {
		return nil, ErrMore
	}
	level := slog.LevelWarn
	if os.Getenv("BELAY_DEBUG") != "" {
		level = slog.LevelDebug
	}
	host, err := belay.Open(ctx, dir, belay.Options{Compiler: OwnCompiler(),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))})
	if err != nil {
		return nil, err
	}
	return &Host{host}, nil
}

// needsMore reports whether there is a trust policy, which may name signers, or a word to
// telemetry. A trust policy that comes later blocks what it does not trust by digest alone: the
// verifier of a Belay without Options.Signatures says no.
func needsMore(dir string, environ []string) bool {
	if _, err := os.Lstat(filepath.Join(dir, tiers.PolicyFile)); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, variable := range environ {
		if strings.HasPrefix(variable, "OTEL_") {
			return true
		}
	}
	return false
}

// Ask decides the payload, and closes the state directory: the event is logged, and all that
// belongs to it done, before the runtime gets its answer. The error is always nil.
func (h *Host) Ask(ctx context.Context, runtime string, payload []byte, o adapters.Options) (hookcmd.Answered, error) {
	defer h.Close()
	o.User = os.Getenv("USER")
	return answered(dispatch.Runtime(ctx, h.host, hookcmd.Named(runtime), payload, o)), nil
}

// Refuse implements hookcmd.Refuser, and closes the state directory.
func (h *Host) Refuse(ctx context.Context, ad adapters.Adapter, payload []byte, o adapters.Options,
	f *phases.Fault) hookcmd.Answered {
	defer h.Close()
	return answered(dispatch.RefuseRuntime(ctx, h.host, ad, payload, o, f))
}

// answered passes on what may be shown: a reason may quote the payload, and others store standard error.
func answered(a dispatch.Answered) hookcmd.Answered {
	a.Answer.Stderr = redact.Label(a.Answer.Stderr)
	for i, n := range a.Answer.Notes {
		a.Answer.Notes[i] = redact.Label(n)
	}
	if f := phases.FaultOf(a.Err); f != nil && f.Cause != nil {
		a.Err = phases.NewFault(f.Kind, f.Text, errors.New(redact.Label(f.Cause.Error())))
	}
	return hookcmd.Answered{Answer: a.Answer, Verdicts: a.Verdicts, Err: a.Err}
}

// Close closes the state directory, if Ask has not.
func (h *Host) Close() {
	if h.host != nil {
		_ = h.host.Close()
		h.host = nil
	}
}

var (
	_ hookcmd.Decider = (*Host)(nil)
	_ hookcmd.Refuser = (*Host)(nil)
)
