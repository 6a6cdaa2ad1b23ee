package cli

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// versionPatience bounds how long doctor waits for a client to say its version.
const versionPatience = 5 * time.Second

var versionWord = regexp.MustCompile(`\b\d+\.\d+\.\d+\b`)

// examineWiring looks whether the runtimes of this machine ask belay: whether an event has no
// entry, whether something shadows the entries, and which client was tested.
func (a *App) examineWiring(ctx context.Context, dir string) []finding {
	return a.examineWiringBy(ctx, func(name string, place connect.Place) []connect.Finding {
		return connect.Examine(name, place, dir, connect.Writer{}.Read)
	})
}

func (a *App) examineWiringBy(ctx context.Context, look func(string, connect.Place) []connect.Finding) (out []finding) {
	found, err := a.findRuntimes()
	if err != nil {
		return []finding{{Check: "runtimes", Status: "warn", Text: err.Error()}}
	}
	place, err := a.connectPlace(connectOptions{})
	if err != nil {
		return []finding{{Check: "runtimes", Status: "warn", Text: err.Error()}}
	}
	for _, f := range found {
		for _, n := range look(f.Runtime, place) {
			out = append(out, finding{Check: f.Runtime, Status: string(n.Severity), Text: n.Text, Advice: n.Advice,
				Red: n.Severity == connect.Fail})
		}
		if f.Program != "" {
			out = append(out, a.examineVersion(ctx, f))
		}
	}
	return out
}

// examineVersion compares the client that is installed with those that were tested.
func (a *App) examineVersion(ctx context.Context, f foundRuntime) finding {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	tested := connect.Tested(f.Runtime)
	if len(tested) == 0 { // nothing to compare, and nothing is started for it
		return finding{Check: f.Runtime, Status: "warn", Text: "belay was never run with this client",
			Advice: "docs/runtimes/" + f.Runtime + ".md says what is not known."}
	}
	cmd := exec.CommandContext(ctx, f.Program, "--version")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	version := versionWord.FindString(string(said[:min(len(said), 1000)]))
	switch {
	case err != nil || version == "":
		return finding{Check: f.Runtime, Status: "warn", Text: f.Program + " does not say its version",
			Advice: "Tested: " + strings.Join(tested, ", ") + "."}
	case !slices.Contains(tested, version):
		return finding{Check: f.Runtime, Status: "warn",
			Text:   fmt.Sprintf("version %s is installed; belay was tested with %s", version, strings.Join(tested, ", ")),
			Advice: "A newer client may have events and tools that belay does not know."}
	}
	return finding{Check: f.Runtime, Status: "ok", Text: "version " + version + ", which was tested"}
}

// unstartedText says what a session without a start means.
func unstartedText(u unstarted) string {
	return fmt.Sprintf("session %s of %s was seen since %s, and its start never reached belay", safe(u.Session.Session),
		u.Runtime, u.First.Local().Format(time.DateTime))
}

const unstartedAdvice = "It began where belay's hook was not registered, not trusted or switched off: other events of it may be missing, too. `belay doctor` looks at the settings; start the session again."
