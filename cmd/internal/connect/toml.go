package connect

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/belay-hooks/belay/internal/jsonedit"
)

// mark says of a table, on the line above it, or of a line, at its end, that belay wrote it. Codex
// itself writes its configuration anew and keeps comments with what they stand at.
const mark = "# belay connect"

// maxTOML bounds a configuration, in bytes.
const maxTOML = jsonedit.MaxSize

// readTOML reads a document for comparing. Errors are jsonedit.ErrInvalid.
func readTOML(src []byte) (map[string]any, error) {
	bad := func(reason string) error { return &jsonedit.Error{Reason: reason, Err: jsonedit.ErrInvalid} }
	if len(src) > maxTOML {
		return nil, bad(fmt.Sprintf("the document has %d bytes, the limit is %d", len(src), maxTOML))
	}
	if !utf8.Valid(src) || bytes.HasPrefix(src, []byte("\ufeff")) {
		return nil, bad("the document is not UTF-8 without a byte order mark")
	}
	var out map[string]any
	if err := toml.Unmarshal(src, &out); err != nil {
		e := &jsonedit.Error{Reason: "it is not TOML: " + err.Error(), Err: jsonedit.ErrInvalid}
		if at := new(toml.DecodeError); asDecode(err, &at) {
			e.Line, _ = at.Position()
		}
		return nil, e
	}
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

func asDecode(err error, to **toml.DecodeError) bool {
	e, ok := err.(*toml.DecodeError) //nolint:errorlint // the library's own, not wrapped
	if ok {
		*to = e
	}
	return ok
}

// own is text of belay's in a document: a marked table with its members, or a marked line.
type own struct{ start, end int }

// members that belay writes in its tables.
var ownMembers = []string{"trusted_hash", "enabled", "type", "command", "timeout", "hooks", "unified_exec_tty"}

// ownText finds what belay wrote, with the blank line before each table.
func ownText(src []byte) (out []own) {
	lines := linesOf(src)
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if l.text != mark {
			if rest, ok := strings.CutSuffix(l.text, " "+mark); ok && !strings.Contains(rest, "#") {
				o := own{l.start, l.end}
				if i == 1 && lines[0].text == "" {
					o.start = 0
				}
				out = append(out, o)
			}
			continue
		}
		o := own{l.start, l.end}
		if i > 0 && lines[i-1].text == "" && (len(out) == 0 || out[len(out)-1].end <= lines[i-1].start) {
			o.start = lines[i-1].start
		}
		j := i + 1
		for j < len(lines) && isOwnHeader(lines[j].text) {
			o.end = lines[j].end
			j++
		}
		for j < len(lines) && isOwnMember(lines[j].text) {
			o.end = lines[j].end
			j++
		}
		out = append(out, o)
		i = j - 1
	}
	return out
}

func isOwnHeader(l string) bool {
	return strings.HasPrefix(l, "[hooks.state.") || strings.HasPrefix(l, "[[hooks.") || l == "[features]"
}

func isOwnMember(l string) bool {
	name, _, ok := strings.Cut(l, "=")
	return ok && slices.Contains(ownMembers, strings.TrimSpace(name))
}

type line struct {
	text       string // without the break
	start, end int    // with it
}

func linesOf(src []byte) (out []line) {
	at := 0
	for l := range bytes.Lines(src) {
		out = append(out, line{strings.TrimRight(string(l), "\r\n"), at, at + len(l)})
		at += len(l)
	}
	return out
}

// withoutOwn takes belay's text out. nil means that belay made the document, and nothing else is
// in it now.
func withoutOwn(src []byte) []byte {
	texts := ownText(src)
	if len(texts) == 0 {
		return src
	}
	made := texts[0].start == 0 && !bytes.HasPrefix(src, []byte("\n"))
	out := []byte{}
	at := 0
	for _, o := range texts {
		out = append(out, src[at:o.start]...)
		at = o.end
	}
	out = append(out, src[at:]...)
	if texts[len(texts)-1].end == len(src) && !bytes.HasSuffix(src, []byte("\n")) {
		out = bytes.TrimSuffix(out, []byte("\n")) // the break was belay's
	}
	if made && len(out) == 0 {
		return nil
	}
	return out
}

// withTables adds tables at the end, each with its mark.
func withTables(src []byte, tables []string) []byte {
	if len(tables) == 0 {
		return src
	}
	var b bytes.Buffer
	b.Write(src)
	broken := len(src) == 0 || bytes.HasSuffix(src, []byte("\n"))
	if !broken {
		b.WriteString("\n")
	}
	for i, t := range tables {
		if src != nil || i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(mark + "\n" + t + "\n")
	}
	if !broken {
		return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	return b.Bytes()
}

// dig returns what the path leads to, or nil.
func dig(doc map[string]any, path ...string) any {
	var v any = doc
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// pruned is a copy without empty tables and lists, for comparing.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Collect(maps.Keys(v)) {
			if p := pruned(v[k]); p != nil {
				out[k] = p
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

func sameTOML(a, b map[string]any) bool { return reflect.DeepEqual(pruned(a), pruned(b)) }
