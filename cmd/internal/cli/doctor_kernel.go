package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// diagnosis is what doctor says, row by row.
type diagnosis []finding

func (f *diagnosis) ok(check, text string) {
	*f = append(*f, finding{Check: check, Status: "ok", Text: text})
}

func (f *diagnosis) warn(check, text, advice string) {
	*f = append(*f, finding{Check: check, Status: "warn", Text: text, Advice: advice})
}

func (f *diagnosis) fail(check, text, advice string) {
	*f = append(*f, finding{Check: check, Status: "fail", Text: text, Advice: advice})
}

// kernelSource is the kernel that doctor looks at: the daemon's, or that of this process.
type kernelSource interface {
	eventReader
	Status(ctx context.Context) (wire.Status, error)
	Hooks(ctx context.Context) ([]wire.Hook, error)
}

// examineKernel looks at what decides. Where kernels share a store and a daemon runs, the daemon is asked: it has the
// kernel's name, and a second process would be refused.
func (a *App) examineKernel(ctx context.Context, dir string, shared bool) (out diagnosis) {
	if shared {
		c, err := a.daemon()
		switch {
		case err != nil: // examineDaemon has said it
			return out
		case c != nil:
			defer c.Close()
			out = a.examineDecider(ctx, c, dir)
			if unsound, ok := examineAside(ctx, c); !ok {
				out = append(out, unsound)
			}
			return append(out, a.examineMarkBeside(ctx, dir)...)
		}
	}
	host, err := belay.Open(ctx, dir, belay.Options{Logger: a.logger(), Compiler: a.Compiler, Signatures: sigstore.New})
	if err != nil {
		out.fail("kernel", err.Error(), "Every action is blocked.")
		return out
	}
	defer host.Close()
	out = a.examineDecider(ctx, localRecords{host, a.logDir}, dir)
	if text := host.ClockWarning(ctx); text != "" {
		out.warn("clock", text,
			"Set the clock right and keep it so, with a time server. docs/OPERATIONS.md says what goes by which clock.")
	}
	if unsound, ok := examineQueue(ctx, host); !ok {
		out = append(out, unsound)
	}
	if _, f, err := a.readConfigFile(); err == nil {
		if m := examineMark(statelog.Of(host.Log()).HighWater(ctx), f); m != nil {
			out = append(out, *m)
		}
	}
	return out
}

// examineMarkBeside looks at the high-water mark beside the daemon.
func (a *App) examineMarkBeside(ctx context.Context, dir string) (out diagnosis) {
	log, err := a.openLog(ctx, dir)
	if err != nil {
		return out // examinePostgres has said it
	}
	defer log.Close()
	if _, f, err := a.readConfigFile(); err == nil {
		if m := examineMark(log.HighWater(ctx), f); m != nil {
			out = append(out, *m)
		}
	}
	return out
}

// examineDecider looks at a kernel as it says itself how it stands.
func (a *App) examineDecider(ctx context.Context, src kernelSource, dir string) (out diagnosis) {
	st, err := src.Status(ctx)
	var hooks []wire.Hook
	if err == nil {
		hooks, err = src.Hooks(ctx)
	}
	if err != nil {
		out.fail("kernel", err.Error(), askAdvice(err))
		return out
	}
	for n := range st.Sinks {
		out = append(out, examineSink(&st.Sinks[n], st.LastSeq)...)
	}
	for _, pr := range st.Problems {
		out.fail("kernel", pr, "")
	}
	if st.Engine == "compiler" {
		out.ok("engine", "compiler, "+runtime.GOARCH)
	} else if st.Daemon == nil { // else examineDaemon has said it
		out.warn("engine", "interpreter: about 40 times slower", engineAdvice())
	}
	if st.Compile == wire.CompileApart {
		out.ok("compile", "in a process of its own, with limits of time and memory")
	} else {
		out.warn("compile", "in belay's own process: only an estimate bounds what a hook takes to compile",
			"The system does not say which file this program is, or the program that embeds belay names no compiler.")
	}
	ready := 0
	for _, b := range hooks {
		switch {
		case b.Disabled:
		case b.Problem != "":
			out.fail("hook", b.Name+": "+b.Problem, "Its phases are blocked until it is mended, removed or disabled.")
		default:
			ready++
		}
	}
	out.ok("hooks", fmt.Sprintf("%d ready", ready))
	for n := range st.Latches {
		l := &st.Latches[n]
		text := fmt.Sprintf("%s, kind %s: %s", holds(l), l.Cause, oneLine(l.Reason, 100))
		out.warn("latch", text, wire.Session{Runtime: l.Runtime, Session: l.Session}.ClearCommand())
	}
	if st.Unsigned.Count > 0 {
		out.warn("revisions", unsignedRevisions(st.Unsigned), unsignedAdvice)
	}
	for _, c := range callTroubles(&st) {
		out.fail("calls", c.text, c.advice)
	}
	if st.Unheld > 0 {
		out.warn("payloads", unheld(st.Unheld), unheldAdvice)
	}
	out = append(out, a.examineSessions(ctx, src, dir, st.Gone)...)
	return append(out, a.examineProtection()...)
}

// askAdvice says what to do where a kernel does not say how it stands.
func askAdvice(err error) string {
	if errors.Is(err, client.ErrToken) {
		return "The daemon tells it to those who have the token of the role admin."
	}
	return ""
}

// examineProtection says what of belay.yaml leaves to agents what only people should do.
func (a *App) examineProtection() (out diagnosis) {
	_, f, err := a.readConfigFile()
	if err != nil {
		return out
	}
	if r := f.Recordings; r != nil && r.UnsafePlaintext {
		out = append(out, finding{Check: "recordings", Status: "warn", Red: true,
			Text:   "UNSAFE: full inputs, secrets included, are kept in plain text in " + r.Dir,
			Advice: "`belay record keygen FILE` makes a key; give what it prints as recipients instead of unsafe_plaintext."})
	}
	if protected, text, advice := protection(f); protected {
		out.ok("approvals", text)
	} else {
		out = append(out, finding{Check: "approvals", Status: "warn", Text: text, Advice: advice, Red: true})
	}
	return append(out, examineVerbs(f))
}
