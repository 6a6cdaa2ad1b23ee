package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// cef writes one line an event:
//
//	CEF:0|belay|belay|VERSION|SIGNATURE|NAME|SEVERITY|key=value key=value…
//
// after "Implementing ArcSight Common Event Format", version 0. Payloads are not
// part of it: externalId and cn1 lead to the event. Bounds keep a line below what
// collectors cut.
func (w *Writer) cef(events []phases.Event) ([]byte, error) {
	var b strings.Builder
	for i := range events {
		w.cefLine(&b, &events[i])
	}
	return []byte(b.String()), nil
}

func (w *Writer) cefLine(b *strings.Builder, e *phases.Event) {
	signature, name := string(e.Type), string(e.Type)
	if e.Decision != "" {
		signature += ":" + e.Decision
		name = strings.TrimSpace(string(e.Phase) + " " + e.Decision)
	}
	fmt.Fprintf(b, "CEF:0|belay|belay|%s|%s|%s|%d|", cefHeader(w.version), cefHeader(signature), cefHeader(name),
		severityOf(e).cef)
	first := true
	add := func(key, value string) {
		if value == "" {
			return
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(key + "=" + cefValue(value))
	}
	labelled := func(key, label, value string) {
		if value != "" {
			add(key+"Label", label)
			add(key, value)
		}
	}
	add("rt", strconv.FormatInt(e.Time.UnixMilli(), 10))
	add("externalId", e.ID)
	labelled("cn1", "seq", strconv.FormatInt(e.Seq, 10))
	add("cat", string(e.Phase))
	add("act", e.Decision)
	add("outcome", string(e.Enforced))
	add("reason", string(e.Kind))
	add("suser", e.User)
	add("sproc", e.Runtime)
	labelled("cs1", "hook", firstOf(e.Binding, e.DecidedBy))
	labelled("cs2", "session", e.Session)
	labelled("cs3", "agent", e.Agent)
	labelled("cs4", "tool", e.Tool)
	labelled("cs5", "invocation", e.Invocation)
	labelled("cs6", "policy", e.PolicyRevision)
	what, id := subject(e)
	labelled("flexString1", what, id)
	add("fileHash", e.HookDigest)
	if e.Fuel > 0 {
		labelled("cn2", "fuel", strconv.FormatInt(e.Fuel, 10))
	}
	if e.DurationUS > 0 {
		labelled("cn3", "microseconds", strconv.FormatInt(e.DurationUS, 10))
	}
	add("msg", cut(e.Reason, 1023)) // the dictionary's length of msg
	b.WriteByte('\n')
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// cut keeps at most n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// cefHeader escapes a member of the header: backslash and bar; it has one line.
func cefHeader(s string) string {
	return cefEscape(s, func(r rune) string {
		switch r {
		case '|':
			return `\|`
		case '\n', '\r', '\t':
			return " "
		}
		return ""
	})
}

// cefValue escapes a value of the extension: backslash and equals sign, and line
// breaks as \n and \r.
func cefValue(s string) string {
	return cefEscape(s, func(r rune) string {
		switch r {
		case '=':
			return `\=`
		case '\n':
			return `\n`
		case '\r':
			return `\r`
		}
		return ""
	})
}

// cefEscape writes everything that is hidden as \uXXXX, which CEF does not know:
// its backslash is escaped like any other.
func cefEscape(s string, special func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		switch esc := special(r); {
		case esc != "":
			b.WriteString(esc)
		case r == '\\':
			b.WriteString(`\\`)
		case hidden(r):
			fmt.Fprintf(&b, `\\u%04x`, r)
		default:
			b.WriteRune(r) // of bytes that are no UTF-8, U+FFFD is left
		}
	}
	return b.String()
}
