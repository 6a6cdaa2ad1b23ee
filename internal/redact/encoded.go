package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
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

// encodedIn is encoded for the bodies that begin at s[i:] in one run. It returns where to go on, and where the last
// body of several lines ended.
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
	begin := beginOf(body)
	asHex, asBase := isHex && maybeText(begin.hex()), maybeText(begin.base())
	if !asHex && !asBase {
		return false
	}
	if strings.ContainsAny(body, "-_\n\r \t") {
		body = strings.Map(standardBase64, body)
	}
	if asHex {
		if raw, err := hex.DecodeString(body); err == nil && d.holds(raw) {
			return true
		}
	}
	if !asBase {
		return false
	}
	if len(body)%4 == 1 {
		body = body[:len(body)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(body)
	return err == nil && d.holds(raw)
}

// begin is how a body begins, without white space. Most bodies are no text, which the first characters show.
type begin struct {
	chars [32]byte
	n     int
}

func beginOf(body string) (b begin) {
	for i := 0; i < len(body) && b.n < len(b.chars); i++ {
		if c := body[i]; baseByte[c] {
			b.chars[b.n] = c
			b.n++
		}
	}
	return b
}

// head is how the decoded bytes of a body begin, and how many there are.
type head struct {
	bytes [24]byte
	n     int
}

// hex decodes hexadecimal digits.
func (b *begin) hex() (h head) {
	for i := 0; i+1 < b.n; i += 2 {
		h.bytes[h.n] = hexValue[b.chars[i]]<<4 | hexValue[b.chars[i+1]]
		h.n++
	}
	return h
}

// base decodes base64, of either alphabet.
func (b *begin) base() (h head) {
	for i := 0; i+3 < b.n; i += 4 {
		v := uint32(baseValue[b.chars[i]])<<18 | uint32(baseValue[b.chars[i+1]])<<12 | uint32(baseValue[b.chars[i+2]])<<6 |
			uint32(baseValue[b.chars[i+3]])
		h.bytes[h.n], h.bytes[h.n+1], h.bytes[h.n+2] = byte(v>>16), byte(v>>8), byte(v)
		h.n += 3
	}
	return h
}

// baseValue is what a character of base64 stands for, in either alphabet; read only.
var baseValue = func() (t [256]uint8) {
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = uint8(i)
	}
	t['-'], t['_'] = t['+'], t['/']
	return t
}()

// maybeText reports whether decoded bytes that begin so may be text.
func maybeText(h head) bool {
	for i := 0; i < h.n; {
		c := h.bytes[i]
		if unreadable(c) {
			return false
		}
		if c < utf8.RuneSelf {
			i++
			continue
		}
		if !utf8.FullRune(h.bytes[i:h.n]) {
			return true
		}
		r, n := utf8.DecodeRune(h.bytes[i:h.n])
		if r == utf8.RuneError && n == 1 {
			return false
		}
		i += n
	}
	return true
}

// unreadable reports a byte that no text has.
func unreadable(c byte) bool { return c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f }

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

// nextRun returns the next run of least or more bytes of a class that begins at s[at:]; it ends at 0 when there is
// none. Each such run has one at every leastth place, so that most of a text is stepped over.
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
	if slices.ContainsFunc(raw, unreadable) {
		return false
	}
	inner := *d
	inner.depth++
	if inner.knownOnly {
		return len(inner.again(string(raw))) > 0
	}
	return len(inner.find(string(raw))) > 0
}
