package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// decideAtTerminal has a person at a terminal decide about an ask, while no reviewer has a key. The
// answer is read from the terminal of the process, never from its input: an agent's shell has none.
// The decision is signed with a key of the state directory, which counts until a reviewer is registered.
func (a *App) decideAtTerminal(dir string, item *approvals.Item, verdict approvals.Verdict, reason string,
	holds time.Duration) (approvals.Decision, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return approvals.Decision{}, failure(
			"no reviewer can decide yet: none has a key; and there is no terminal to ask at",
			"A person decides at a terminal, or makes a key with `belay reviewer init`.")
	}
	defer tty.Close()
	fmt.Fprintf(tty, "No reviewer has a key (`belay reviewer init` makes one): you decide at this terminal.\n"+
		"Type yes to %s exactly this, once: ", verdict)
	answer, err := bufio.NewReader(io.LimitReader(tty, 256)).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return approvals.Decision{}, failure("the answer was not yes", "Nothing was decided.")
	}
	name := "unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	d, err := approvals.Draft(item, verdict, name, reason, time.Now(), holds)
	if err != nil {
		return d, failureBy(err, "Nothing was decided.")
	}
	key, err := keyring.Terminal(dir)
	if err != nil {
		return d, failureBy(err, "Nothing was decided.")
	}
	if err := approvals.Sign(item, &d, key); err != nil {
		return d, failureBy(err, "Nothing was decided.")
	}
	return d, nil
}
