package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/sandbox"
)

// examineDaemon looks whether a daemon answers, and where its credentials lie. One that
// hangs may hold what the other checks would wait for.
func (a *App) examineDaemon(ctx context.Context, dir string, ok func(check, text string), warn,
	fail func(check, text, advice string)) (hangs bool) {
	c, err := client.Dial(dir)
	switch {
	case errors.Is(err, client.ErrNotRunning):
		ok("daemon", "not running: commands work on the state directory themselves")
	case err != nil:
		fail("daemon", err.Error(),
			"Commands never bypass a running daemon. Stop it, or find out what is wrong with it.")
	default:
		defer c.Close()
		if err := alive(ctx, c); err != nil {
			e := new(exitError)
			errors.As(err, &e)
			fail("daemon", e.text, e.hint)
			return true
		}
		h, err := c.Health(ctx)
		switch {
		case err != nil:
			fail("daemon", err.Error(), "Every action is blocked.")
		case !h.OK:
			fail("daemon", "it cannot write its records"+troubles(h), "Every action is blocked.")
		default:
			ok("daemon", "answers")
		}
		if err == nil {
			examineAge(h, warn)
		}
		if st, err := c.Status(ctx); err == nil { // it takes a token; without one nothing is said
			examineConnections(st.Daemon, ok, warn)
			examinePlain(st, warn)
			examineLeft(st, fail)
			if st.Engine != "compiler" {
				warn("engine", "the daemon runs hooks on the interpreter: about 40 times slower", engineAdvice())
			}
		}
	}
	for _, r := range client.Roles() {
		_, err := client.ReadToken(dir, r)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			fail("token", err.Error(), "")
		case r == client.RoleAdmin:
			warn("token", fmt.Sprintf("agents of this user can read the token of the role %s", r),
				"Move "+daemonapi.TokenPath(dir, r)+" out of their reach; docs/SERVE.md says how to give it then.")
		}
	}
	return false
}

// engineAdvice says how hooks come to run on the compiler.
func engineAdvice() string {
	if sandbox.HasCompiler() {
		return "Memory may not be made executable here. Allow it: systemd's MemoryDenyWriteExecute=, SELinux or a hardened kernel forbid it."
	}
	return "The compiler exists for amd64 and arm64."
}

// examineLeft tells of hooks of the daemon that never came to an end.
func examineLeft(st wire.Status, fail func(check, text, advice string)) {
	if len(st.LeftBehind) > 0 {
		fail("hook", "the daemon's hooks ignored their deadline and still run: "+strings.Join(st.LeftBehind, ", "),
			"They block until that has ended. Start the daemon again; its log and docs/OPERATIONS.md say more.")
	}
}

// examinePlain tells of callers that send tokens without knowing who gets them.
func examinePlain(st wire.Status, warn func(check, text, advice string)) {
	if st.Daemon == nil || st.Daemon.Plain == 0 {
		return
	}
	warn("plain HTTP", plural(int(st.Daemon.Plain), "request")+
		" came without TLS since the daemon began: those callers do not know who answers",
		"docs/SERVE.md says what to use instead; `belay serve --tls-only` refuses them.")
}

// troubles says which records, and why.
func troubles(h wire.Health) string {
	var out []string
	for _, k := range h.Sinks {
		if !k.OK && k.Durable {
			out = append(out, k.Kind+" "+strings.ReplaceAll(k.Trouble, "_", " "))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}
