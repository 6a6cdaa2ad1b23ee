package toolrun

import (
	"bytes"
	"os"
	"strings"

	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/files"
)

// Own returns what holds in this process, of that version of the program.
func Own(version string) Report {
	r := Report{Version: version, UID: os.Geteuid()}
	r.Landlock, _ = confine.Version() // 0: then no server starts
	status, err := files.Start("/proc/self/status", 16<<10)
	if err != nil {
		return r
	}
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch value = strings.TrimSpace(value); name {
		case "NoNewPrivs":
			r.NoNewPrivs = value == "1"
		case "Seccomp":
			r.Filtered = value == "2"
		case "CapBnd":
			r.Powerless = value != "" && strings.Trim(value, "0") == ""
		}
	}
	return r
}
