package toolrun

import (
	"os"

	"github.com/belay-hooks/belay/internal/confine"
)

// Own returns what holds in this process, of that version of the program.
func Own(version string) Report {
	landlock, _ := confine.Version() // 0: then no server starts, and its start says why
	process := confine.ProcessOf(os.Getpid())
	return Report{Version: version, UID: os.Geteuid(), Landlock: landlock, NoNewPrivs: process.NoNewPrivs(),
		Filtered: process.Filtered(), Powerless: process.Powerless()}
}
