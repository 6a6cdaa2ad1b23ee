package connect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hook is the command that a runtime starts for each of its events.
type Hook struct {
	Program string // absolute path of belay-hook
	State   string // absolute path of the state directory; "" with Daemon and with Machine
	Daemon  string // directory by which a daemon of another user is asked (belay-hook --connect)
	Machine bool   // the machine is in system mode: belay-hook finds its daemon by itself, and no flag leads it away
	// SkillShell leaves Claude Code running the commands that stand in files of slash commands and skills.
	SkillShell bool
}

// Check refuses paths that are not absolute, or that a runtime's settings could not carry.
func (h Hook) Check() error {
	for _, p := range []struct{ what, path string }{
		{"belay-hook", h.Program}, {"the state directory", h.State}, {"the daemon's directory", h.Daemon}} {
		if p.path == "" && p.what != "belay-hook" {
			continue
		}
		if !filepath.IsAbs(p.path) || filepath.Clean(p.path) != p.path || !plain(p.path) {
			return &Error{Path: p.path, Reason: "the path of " + p.what + " has to be absolute, clean, and printable",
				Err: ErrUsage}
		}
	}
	asked := 0
	for _, on := range []bool{h.State != "", h.Daemon != "", h.Machine} {
		if on {
			asked++
		}
	}
	if asked != 1 {
		return &Error{Reason: "one of a state directory, a daemon's directory and the machine's daemon is needed",
			Err: ErrUsage}
	}
	return nil
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// args are the arguments for an event.
func (h Hook) args(runtime, event string) []string {
	args := []string{"--runtime", runtime, "--for", event}
	switch {
	case h.Machine:
		return args
	case h.Daemon != "":
		return append(args, "--connect", h.Daemon)
	}
	return append(args, "--state", h.State)
}

// invocation is what an entry starts, as far as it is belay's.
type invocation struct {
	program, event, state, daemon string
}

// ownCommand reports whether the words start belay for the runtime, and what they say.
func ownCommand(words []string, runtime string) (inv invocation, own bool) {
	if len(words) == 0 {
		return inv, false
	}
	switch words[0][strings.LastIndexAny(words[0], `/\`)+1:] {
	case "belay-hook", "belay-hook.exe":
	case "belay", "belay.exe":
		if !slices.Contains(words, "eval") {
			return inv, false
		}
	default:
		return inv, false
	}
	inv.program = words[0]
	is := ""
	to := map[string]*string{"--runtime": &is, "--for": &inv.event, "--state": &inv.state, "--connect": &inv.daemon}
	for i, w := range words[1:] {
		name, value, joined := strings.Cut(w, "=")
		p := to[name]
		switch {
		case p == nil:
		case joined:
			*p = value
		case i+2 < len(words):
			*p = words[i+2]
		}
	}
	return inv, is == runtime
}

// split cuts a command line into words as a shell does, as far as quotes go. Anything that a shell
// would expand or run stays in the words as it is.
func split(line string) []string {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	flush := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case unicode.IsSpace(r):
			flush()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	flush()
	return words
}

// shellLine writes the words as one line that every POSIX shell, and fish, reads as these words.
// A word that cannot be quoted so is an ErrUsage.
func shellLine(words []string) (string, error) {
	out := make([]string, 0, len(words))
	for _, w := range words {
		switch {
		case w != "" && !strings.ContainsFunc(w, needsQuotes):
			out = append(out, w)
		case strings.ContainsAny(w, `'\`) || !plain(w):
			return "", &Error{Path: w, Reason: "the path cannot be quoted safely for a shell",
				Advice: "Use a path without quotes, backslashes and control characters.", Err: ErrUsage}
		default:
			out = append(out, "'"+w+"'")
		}
	}
	return strings.Join(out, " "), nil
}

func needsQuotes(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@", r))
}

// text encodes a value on one line, with a blank after colons and commas.
func text(v any) (jsontext.Value, error) {
	out, err := json.Marshal(v, json.Deterministic(true), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return out, nil
}
