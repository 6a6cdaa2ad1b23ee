package confine

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// Process is what the kernel says of a process, by the names of proc_pid_status(5).
type Process map[string]string

// ProcessOf returns nil where no such process runs, or the system does not say.
func ProcessOf(pid int) Process {
	src, err := files.Start("/proc/"+strconv.Itoa(pid)+"/status", 16<<10)
	if err != nil {
		return nil
	}
	out := Process{}
	for line := range bytes.Lines(src) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			out[string(name)] = string(bytes.TrimSpace(value))
		}
	}
	return out
}

// NoNewPrivs reports whether no program that it starts has more rights than it.
func (p Process) NoNewPrivs() bool { return p["NoNewPrivs"] == "1" }

// Filtered reports whether a filter holds its system calls.
func (p Process) Filtered() bool { return p["Seccomp"] == "2" }

// Powerless reports whether it can have no capability.
func (p Process) Powerless() bool {
	set := p["CapBnd"]
	return set != "" && strings.Trim(set, "0") == ""
}
