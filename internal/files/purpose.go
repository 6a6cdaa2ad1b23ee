package files

// Purpose is what a file is read for. A caller that tells a daemon about its own files decides by it which ones it
// tells. The numbers stand on the wire.
type Purpose byte

// Purposes. The zero value is none.
const (
	Script     Purpose = 1 + iota // a command of the call runs or applies it
	Settings                      // a runtime's settings
	Skill                         // a skill, command or subagent of a runtime, or what managed settings say of them
	Transcript                    // a runtime's log of a session
)

// Known reports whether p is a purpose.
func (p Purpose) Known() bool { return Script <= p && p <= Transcript }
