package connect

import (
	"slices"
)

// Machine is system mode, as far as wiring goes: every entry starts root's belay-hook, which finds the machine's daemon
// by itself.
type Machine struct {
	// Program is belay-hook as root installed it.
	Program string
	// AllowState: a state directory that an entry names counts, for system.yaml says so.
	AllowState bool
}

// ExamineMachine is Examine on a machine in system mode. What it advises is root's to do, but where a runtime has no
// managed settings.
func ExamineMachine(name string, place Place, m Machine, read Reader) []Finding {
	l := &look{runtime: name, machine: &m}
	l.gatherAll(place, read)
	l.danger(place, read)
	seen := map[string]bool{}
	for _, r := range l.entries {
		if r.level == Managed && !seen[r.path] && place.Root == "" {
			seen[r.path] = true
			l.found = append(l.found, notRoots(r.path)...)
		}
	}
	return l.conclude()
}

// entry checks whom an entry asks.
func (m *Machine) entry(r *registered) {
	inv := r.inv
	switch {
	case inv.daemon != "":
		r.wrong, r.void = append(r.wrong, "it asks another daemon, by "+inv.daemon+", and not the machine's"), true
	case inv.state != "" && m.AllowState:
		r.wrong, r.void = append(r.wrong, "it asks a state directory of its own, "+inv.state+
			", which system.yaml lets count"), true
	case inv.state != "":
		r.wrong = append(r.wrong, "it names the state directory "+inv.state+", which does not count on this machine")
	}
	if inv.program != m.Program {
		r.wrong = append(r.wrong, "it starts "+inv.program+", and root's program is "+m.Program)
	}
}

// command is what root connects the runtime with; "" without a machine in system mode.
func (m *Machine) command(runtime string) string {
	switch {
	case m == nil:
		return ""
	case slices.Contains(Levels(runtime), Managed):
		return "Root: `sudo belay system connect " + runtime + "`."
	}
	return "It has no managed settings: `belay connect " + runtime + "` connects it for one user."
}

// unasked is the finding that a runtime asks belay about nothing.
func (m *Machine) unasked(runtime string) Finding {
	if slices.Contains(Levels(runtime), Managed) {
		return Finding{Fail, "it does not ask belay", m.command(runtime)}
	}
	return Finding{Warn, "it does not ask belay", m.command(runtime)}
}

// below says that the entries stand only where their user can take them out.
func (m *Machine) below(runtime string) []Finding {
	if !slices.Contains(Levels(runtime), Managed) {
		return []Finding{{Warn, "an agent of this user can take belay's entries out: the runtime has no managed settings",
			"docs/AGENTS.md says what stays open."}}
	}
	return []Finding{{Fail, "no managed settings wire it: an agent of this user can take belay's entries out",
		m.command(runtime)}}
}
