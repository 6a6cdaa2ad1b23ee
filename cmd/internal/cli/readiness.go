package cli

import (
	"cmp"
	"strings"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// notReady lists why belay is not ready, the gravest reason first; it is empty while belay is ready. A hook that does
// not run blocks its phases: that is fail-closed, and not what the operator configured.
func notReady(st *wire.Status, hooks []wire.Hook) []string {
	var out []string
	if !st.Healthy {
		out = append(out, "every action is blocked")
	}
	if n := len(st.Latches); n > 0 {
		out = append(out, plural(n, "session")+" latched")
	}
	if st.Healthy && len(st.Problems) > 0 {
		out = append(out, "NOT AS CONFIGURED: belay decides by the configuration before the last change")
	}
	if st.Daemon != nil && st.Daemon.Machine != nil && st.Daemon.Machine.Log != "" {
		out = append(out, "the machine's log cannot be written, and refused callers are only counted")
	}
	if st.TrustProblem != "" {
		out = append(out, "trust.yaml cannot be used")
	}
	if st.ToolProblem != "" {
		out = append(out, "no tool of an MCP server runs: "+st.ToolProblem)
	}
	switch blocked := blockedHooks(hooks); {
	case len(blocked) == 0:
	case len(blocked) > 1:
		names := make([]string, len(blocked))
		for i := range blocked {
			names[i] = blocked[i].Name
		}
		out = append(out, "the hooks "+strings.Join(names, ", ")+" cannot run")
	case blocked[0].Mode == phases.Observe:
		out = append(out, "the hook "+blocked[0].Name+", which observes, cannot run")
	default:
		out = append(out, "the hook "+blocked[0].Name+" cannot run, and blocks its phases")
	}
	return out
}

// blockedHooks are those of the bound hooks that cannot run. They block their phases, unless they observe.
func blockedHooks(hooks []wire.Hook) []wire.Hook {
	var out []wire.Hook
	for _, h := range hooks {
		if h.Problem != "" && !h.Disabled {
			h.Problem = withoutPrefix(h)
			out = append(out, h)
		}
	}
	return out
}

// withoutPrefix is the problem of a hook that the line names already.
func withoutPrefix(h wire.Hook) string {
	text := strings.TrimPrefix(h.Problem, "the hook "+h.Name+" could not be loaded: ")
	return cmp.Or(text, h.Problem)
}

const trustAdvice = "Mend the file; `belay trust list` reads it anew. Until then hooks from outside of belay block their phases, " +
	"and in a belay that starts with it so do the built-in ones."

// readiness is the exit status of `belay status`, in either form: 1 while it is NOT READY.
func readiness(reasons []string) error {
	if len(reasons) > 0 {
		return exitWith(ExitError)
	}
	return nil
}

// blocks is a hook that does not run, as `belay status --json` names it.
type blocks struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

func blocksOf(hooks []wire.Hook) []blocks {
	var out []blocks
	for _, h := range blockedHooks(hooks) {
		out = append(out, blocks{h.Name, h.Problem})
	}
	return out
}
