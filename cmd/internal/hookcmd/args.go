package hookcmd

import "strings"

// arguments are the ones that belay-hook understands, which are those of
// `belay eval` that a runtime's configuration holds.
type arguments struct {
	runtime, event, state string
	connect               string
}

// parse reads the command line. plain is false when there is anything on it that
// is for `belay eval` to understand, or to refuse.
func parse(args []string) (a arguments, plain bool) {
	plain = true
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		var to *string
		switch name {
		case "--runtime":
			to = &a.runtime
		case "--for":
			to = &a.event
		case "--state":
			to = &a.state
		case "--connect":
			to = &a.connect
		default:
			plain = false
			continue
		}
		if !joined {
			if len(args) == 0 {
				return a, false
			}
			value, args = args[0], args[1:]
		}
		*to = value
	}
	return a, plain && a.runtime != "" && (a.connect == "" || a.state == "")
}
