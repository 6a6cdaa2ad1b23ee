package phases

import "github.com/go-json-experiment/json/jsontext"

// plainExec reports that judge has nothing to say of a call of exec: of its arguments, which hold no objects or arrays,
// one alone is what a tool runs, and it stands where a command is looked for anyway. That is so of most calls. False
// says nothing: judge reads the arguments then.
func (inv *Invocation) plainExec(tool string) bool {
	if tool != "exec" {
		return false
	}
	args, ok := Get(inv.Action, "/args")
	if !ok || kindOf(args) != '{' || inv.takesCode() {
		return false
	}
	commands, plain := 0, true
	walk(args, skipSpace(args, 0), func(m member) bool {
		name, value := args[m.name.start+1:m.name.end-1], args[m.value.start:m.value.end]
		switch string(name) {
		case "command", "cmd":
			commands++
			plain = value[0] == '"' && !blank(value)
		default:
			plain = value[0] != '{' && value[0] != '[' && namesNoCommand(name)
		}
		return plain
	})
	return plain && commands == 1
}

// namesNoCommand reports that findCommands takes no argument of that raw name for something that is run. False says
// nothing.
func namesNoCommand(name jsontext.Value) bool {
	const longest = 24 // of a name that is folded here
	var folded [longest]byte
	n := 0
	for _, c := range name {
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '\\' || c >= 0x80:
			return false
		}
		if n == longest {
			return true // none that is run is so long
		}
		folded[n] = c
		n++
	}
	return runOf(string(folded[:n])) == runNothing
}
