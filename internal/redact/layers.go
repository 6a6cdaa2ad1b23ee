package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// view is a text with something taken out or decoded, and where each of its
// bytes came from.
type view struct {
	text string
	from []int32 // from[i] is where byte i of text begins in the original
	to   []int32 // to[i] is where it ends
}

// place maps a range of the view to the original.
func (v *view) place(from, to int) (int, int) {
	return int(v.from[from]), int(v.to[to-1])
}

// unwrapped returns the text without what splits or hides a secret: invisible
// characters, line continuations, joined string literals, escapes of JSON and of
// URLs. Where there is nothing of the kind, the view is empty.
func unwrapped(s string) view {
	lists := adjoiners(s)
	if !wrapped(s, lists) {
		return view{}
	}
	v := view{from: make([]int32, 0, len(s)), to: make([]int32, 0, len(s))}
	var b strings.Builder
	b.Grow(len(s))
	emit := func(t string, from, to int) {
		for range len(t) {
			v.from = append(v.from, int32(from))
			v.to = append(v.to, int32(to))
		}
		b.WriteString(t)
	}
	for i := 0; i < len(s); {
		if n := joint(s, i, lists); n > 0 {
			i += n
			continue
		}
		c := s[i]
		switch {
		case c == '\\' && i+5 < len(s) && s[i+1] == 'u':
			if r, ok := hex4(s[i+2 : i+6]); ok {
				if !hidden(r) && r != 0x1b {
					emit(string(r), i, i+6)
				}
				if i += 6; r == 0x1b {
					i += terminalCode(s, i)
				}
				continue
			}
			emit(s[i:i+1], i, i+1)
			i++
		case c == '\\' && i+3 < len(s) && s[i+1] == 'x':
			if b, err := hex.DecodeString(s[i+2 : i+4]); err == nil && b[0] < 0x80 {
				if b[0] != 0x1b {
					emit(string(rune(b[0])), i, i+4)
				}
				if i += 4; b[0] == 0x1b {
					i += terminalCode(s, i)
				}
				continue
			}
			emit(s[i:i+1], i, i+1)
			i++
		case c == '\\' && terminalEscape(s, i) > 0:
			i += terminalEscape(s, i)
		case c == '\\' && i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '1':
			if b, ok := octal(s, i+1); ok {
				emit(string(rune(b)), i, i+4)
				i += 4
				continue
			}
			i++
		case c == 0x1b:
			i++
			i += terminalCode(s, i)
		case c == '&' && i+3 < len(s) && s[i+1] == '#':
			if r, n := entity(s, i); n > 0 {
				if !hidden(r) {
					emit(string(r), i, i+n)
				}
				i += n
				continue
			}
			emit("&", i, i+1)
			i++
		case c == '\\' && i+1 < len(s):
			n := 1
			for i+n < len(s) && s[i+n] == '\\' {
				n++
			}
			if i+n >= len(s) {
				i += n
				continue
			}
			t := s[i+n]
			if t == 'u' && i+n+4 < len(s) { // escaped once more: JSON in JSON
				if r, ok := hex4(s[i+n+1 : i+n+5]); ok {
					if !hidden(r) {
						emit(string(r), i, i+n+5)
					}
					i += n + 5
					continue
				}
			}
			switch t {
			case 'n', 'r', 't':
				emit("\n", i, i+n+1)
			case '\n', '\r': // a continued line, which may be indented
				for i+n+1 < len(s) && strings.IndexByte("\n \t", s[i+n+1]) >= 0 {
					n++
				}
			case '"', '\'', '/':
				emit(string(t), i, i+n+1)
			default:
				i += n
				continue
			}
			i += n + 1
		case c == '=' && softBreak(s, i) > 0:
			i += softBreak(s, i)
		case c == '%' && i+2 < len(s):
			if d, err := hex.DecodeString(s[i+1 : i+3]); err == nil &&
				(d[0] >= 0x20 && d[0] < 0x7f || d[0] == '\n' || d[0] == '\r' || d[0] == '\t') {
				emit(string(rune(d[0])), i, i+3)
				i += 3
				continue
			}
			emit("%", i, i+1)
			i++
		case c < utf8.RuneSelf:
			emit(s[i:i+1], i, i+1)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !hidden(r) {
				if r >= 0xff01 && r <= 0xff5e { // full-width forms
					emit(string(r-0xfee0), i, i+n)
				} else {
					emit(s[i:i+n], i, i+n)
				}
			}
			i += n
		}
	}
	if v.text = b.String(); v.text == s {
		return view{}
	}
	return v
}

// wrapped reports whether there is anything to take out or decode.
func wrapped(s string, lists adjoins) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' || c == '%' || c >= utf8.RuneSelf || c == 0x1b || c == '&' && i+1 < len(s) && s[i+1] == '#':
			return true
		case c == '=' && softBreak(s, i) > 0:
			return true
		case (c == '"' || c == '\'' || c == '`') && joint(s, i, lists) > 0:
			return true
		}
	}
	return false
}

// softBreak returns the length of a soft line break of quoted-printable text.
func softBreak(s string, i int) int {
	n := 1
	if i+n < len(s) && s[i+n] == '\r' {
		n++
	}
	if i == 0 || !inClass(s[i-1], "w-_+/") || i+n+1 >= len(s) || s[i+n] != '\n' || !inClass(s[i+n+1], "w-_+/") {
		return 0
	}
	return n + 1
}

// joint returns the length of what joins two string literals at i: " + ", ' . ',
// adjacent literals, with blanks and line ends, or the comma of a list that is joined; or a continued line.
func joint(s string, i int, lists adjoins) int {
	q := s[i]
	if q != '"' && q != '\'' && q != '`' {
		return 0
	}
	k := i + 1
	skip := func() {
		for k < len(s) && k-i < 200 && strings.IndexByte(" \t\r\n\\", s[k]) >= 0 {
			k++
		}
	}
	skip()
	op := false
	switch {
	case strings.HasPrefix(s[k:], "||"), strings.HasPrefix(s[k:], "++"), strings.HasPrefix(s[k:], ".."):
		op = true
		k += 2
	case k < len(s) && (strings.IndexByte("+.&~", s[k]) >= 0 || s[k] == ',' && lists.near(s, i)):
		op = true
		k++
	case k == i+1:
		// 'a''b'
		if k < len(s) && (s[k] == '"' || s[k] == '\'') && i > 0 && inClass(s[i-1], "w") && k+1 < len(s) &&
			inClass(s[k+1], "w") {
			return 2
		}
		return 0
	}
	skip()
	if k < len(s) && (s[k] == '"' || s[k] == '\'' || s[k] == '`') && (op || s[k] == q) && k+1 < len(s) &&
		inClass(s[k+1], "w-_+/=.") && i > 0 && inClass(s[i-1], "w-_+/=.") {
		return k + 1 - i
	}
	return 0
}

func hex4(s string) (rune, bool) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return 0, false
	}
	return rune(b[0])<<8 | rune(b[1]), true
}

func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u034f' || r == '\u180e' || r >= '\ufe00' &&
		r <= '\ufe0f' || r == '\u115f' || r == '\u3164'
}

const (
	minBody = 16       // characters of a body that is opened
	minDump = 12*3 - 1 // characters of bytes that are written one by one
)

// encoded opens runs of base64 and hexadecimal digits and looks inside. A run in
// which there is a secret is one as a whole.
func (d *detector) encoded(s string, runs []span, add func(kind string, from, to int)) {
	joined := 0 // where the last body of several lines ended
	i := 0
	for _, r := range runs {
		if r.to-r.from >= minBody {
			i, joined = d.encodedIn(s, r, max(i, r.from), joined, add)
		}
	}
}

// encodedIn is encoded for the bodies that begin at s[i:] in one run. It returns where to go on, and where the last body
// of several lines ended.
func (d *detector) encodedIn(s string, r span, i, joined int, add func(kind string, from, to int)) (int, int) {
	for i < r.to {
		if !baseByte[s[i]] {
			i++
			continue
		}
		if s[i] == '0' && i+1 < len(s) && s[i+1] == 'x' {
			i += 2
			continue
		}
		from, to := i, i
		isHex := true
		for to < len(s) && baseByte[s[to]] {
			isHex = isHex && hexByte[s[to]]
			to++
		}
		i = padded(s, to)
		// A body of full lines goes on with the next line. Where nothing is in it, each line is looked at by itself.
		whole := to
		if width := to - from; i == to && from >= joined && width >= minBody && width <= 128 {
			whole = wrappedBody(s, to, width)
			joined = padded(s, whole)
		}
		if strings.HasSuffix(s[:from], "base64,") && mediaURL(s, from) {
			i = padded(s, whole)
			continue
		}
		for _, end := range slices.Compact([]int{whole, to}) {
			if d.opened(s[from:end], isHex) {
				i = padded(s, end)
				add("encoded", from, i)
				break
			}
		}
	}
	return i, joined
}

// padded returns where the padding of a body ends that ends at to.
func padded(s string, to int) int {
	for n := 0; n < 2 && to < len(s) && s[to] == '='; n++ {
		to++
	}
	return to
}

// opened reports whether there is a secret in a body of base64 or hexadecimal digits.
func (d *detector) opened(body string, isHex bool) bool {
	if len(body) < minBody || len(body) > 256<<10 {
		return false
	}
	if strings.ContainsAny(body, "-_\n\r \t") {
		body = strings.Map(standardBase64, body)
	}
	if isHex {
		if raw, err := hex.DecodeString(body); err == nil && d.holds(raw) {
			return true
		}
	}
	if len(body)%4 == 1 {
		body = body[:len(body)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(body)
	return err == nil && d.holds(raw)
}

// standardBase64 maps the URL-safe alphabet to the other one and drops line ends.
func standardBase64(r rune) rune {
	switch r {
	case '-':
		return '+'
	case '_':
		return '/'
	case '\n', '\r', ' ', '\t':
		return -1
	}
	return r
}

// wrappedBody returns where a body ends whose first line ends at s[at:]: lines of
// the same width follow, the last of which may be shorter.
func wrappedBody(s string, at, width int) int {
	for at < len(s) {
		next := at
		for next < len(s) && (s[next] == '\r' || s[next] == ' ') {
			next++
		}
		if next >= len(s) || s[next] != '\n' {
			return at
		}
		for next++; next < len(s) && (s[next] == ' ' || s[next] == '\t'); next++ {
		}
		n := 0
		for next+n < len(s) && n <= width && baseByte[s[next+n]] {
			n++
		}
		if n == 0 || n > width {
			return at
		}
		if at = next + n; n < width {
			return at
		}
	}
	return at
}

// dumped opens bytes written as pairs of hexadecimal digits with one character
// between: 67 68 70, 67:68:70.
func (d *detector) dumped(s string, add func(kind string, from, to int)) {
	if d.ungated {
		d.dumpedIn(s, span{0, len(s)}, add)
		return
	}
	for at := 0; ; {
		r := nextRun(s, at, &dumpByte, minDump)
		if r.to == 0 {
			return
		}
		d.dumpedIn(s, r, add)
		at = r.to
	}
}

// dumpedIn is dumped in one run of the characters that it reads.
func (d *detector) dumpedIn(s string, r span, add func(kind string, from, to int)) {
	for i := r.from; i+5 < r.to; i++ {
		sep := s[i+2]
		if (sep != ' ' && sep != ':' && sep != '-' && sep != ',') || !hexByte[s[i]] || !hexByte[s[i+1]] || i > 0 &&
			word[s[i-1]] {
			continue
		}
		to := i + 2
		for to+2 < len(s) && s[to] == sep && inClass(s[to+1], "h") && inClass(s[to+2], "h") {
			to += 3
		}
		if to-i >= minDump && (to == len(s) || !word[s[to]]) {
			if raw, err := hex.DecodeString(strings.ReplaceAll(s[i:to], string(sep), "")); err == nil && d.holds(raw) {
				add("encoded", i, to)
			}
		}
		i = to
	}
}

// nextRun returns the next run of least or more bytes of a class that begins at s[at:]; it ends at 0 when there is none.
// Each such run has one at every leastth place, so that most of a text is stepped over.
func nextRun(s string, at int, class *[256]bool, least int) span {
	for i := at + least - 1; i < len(s); {
		from := i + 1 // of the run that ends at s[i]
		for from > at && class[s[from-1]] {
			from--
		}
		if i-from < least-1 {
			i = from + least - 1
			continue
		}
		to := i + 1
		for to < len(s) && class[s[to]] {
			to++
		}
		return span{from, to}
	}
	return span{}
}

// mediaURL reports an inline image or font.
func mediaURL(s string, at int) bool {
	head := s[max(0, at-64):at]
	i := strings.LastIndex(head, "data:")
	return i >= 0 &&
		(strings.HasPrefix(head[i+5:], "image/") || strings.HasPrefix(head[i+5:], "font/") ||
			strings.HasPrefix(head[i+5:], "audio/") || strings.HasPrefix(head[i+5:], "video/"))
}

// holds reports whether decoded bytes are text with a secret in it.
func (d *detector) holds(raw []byte) bool {
	if len(raw) < 12 || d.halt.stopped() || !utf8.Valid(raw) {
		return false
	}
	for _, c := range raw {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	inner := *d
	inner.depth++
	if inner.knownOnly {
		return len(inner.again(string(raw))) > 0
	}
	return len(inner.find(string(raw))) > 0
}
