package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// view is a text with something taken out or decoded, and where it came from.
type view struct {
	text string
	cuts []cut // in order; the first begins where the text does
}

// cut is where a part of a view came from: a run of bytes of the original that stand there as they are, or what bytes
// s[from:to] of it read as. A part ends where the next one begins.
type cut struct {
	at       int32 // where it begins in the view
	from, to int32 // to is 0 when it is a run
}

// of returns the part in which byte i of the view stands.
func (v *view) of(i int) cut {
	n := sort.Search(len(v.cuts), func(k int) bool { return int(v.cuts[k].at) > i })
	return v.cuts[n-1]
}

// place maps a range of the view to the original.
func (v *view) place(from, to int) (int, int) {
	a, b := v.of(from), v.of(to-1)
	begin, end := int(a.from), int(b.to)
	if a.to == 0 {
		begin += from - int(a.at)
	}
	if b.to == 0 {
		end = int(b.from) + to - int(b.at)
	}
	return begin, end
}

// viewing makes a view of a text from its beginning to its end. What is left as it is costs nothing until something is
// not.
type viewing struct {
	s    string
	done int // s[:done] is in the view
	text strings.Builder
	cuts []cut
}

// keep takes over the text up to s[i], as it is.
func (v *viewing) keep(i int) {
	if i == v.done {
		return
	}
	v.write(v.s[v.done:i], v.done, 0)
	v.done = i
}

// write adds a part.
func (v *viewing) write(text string, from, to int) {
	if v.text.Len() == 0 {
		v.text.Grow(len(v.s) - from)
	}
	v.cuts = append(v.cuts, cut{at: int32(v.text.Len()), from: int32(from), to: int32(to)})
	v.text.WriteString(text)
}

// read has s[from:to] read as a text.
func (v *viewing) read(text string, from, to int) {
	v.drop(from, to)
	if text != "" {
		v.write(text, from, to)
	}
}

// drop leaves out s[from:to].
func (v *viewing) drop(from, to int) {
	v.keep(from)
	v.done = to
}

// view is what has become of the text; it is empty when that is nothing else.
func (v *viewing) view() view {
	if v.done == 0 {
		return view{cuts: v.cuts}
	}
	v.keep(len(v.s))
	return view{v.text.String(), v.cuts}
}

// shownAs is a character as it is shown: without it, when it is invisible, and full-width forms as others.
func shownAs(r rune) string {
	if hidden(r) {
		return ""
	}
	return string(r)
}

// unwrapped returns the text without what splits or hides a secret: invisible
// characters, line continuations, joined string literals, escapes of JSON and of
// URLs. Where there is nothing of the kind, the view is empty. Its parts are in room, if there is enough.
func unwrapped(s string, room []cut) view {
	lists := adjoiners(s)
	v := viewing{s: s, cuts: room[:0]}
	for i := 0; i < len(s); {
		c := s[i]
		if !wrapping[c] {
			i++
			continue
		}
		if n := joint(s, i, lists); n > 0 {
			v.drop(i, i+n)
			i += n
			continue
		}
		switch {
		case c == '\\':
			i = v.escape(i)
		case c == 0x1b:
			n := 1 + terminalCode(s, i+1)
			v.drop(i, i+n)
			i += n
		case c == '&' && i+3 < len(s) && s[i+1] == '#':
			if r, n := entity(s, i); n > 0 {
				v.read(shownAs(r), i, i+n)
				i += n
				continue
			}
			i++
		case c == '=' && softBreak(s, i) > 0:
			n := softBreak(s, i)
			v.drop(i, i+n)
			i += n
		case c == '%' && i+2 < len(s):
			if d, ok := hex2(s[i+1 : i+3]); ok && (d >= 0x20 && d < 0x7f || d == '\n' || d == '\r' || d == '\t') {
				v.read(string(rune(d)), i, i+3)
				i += 3
				continue
			}
			i++
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case hidden(r):
				v.drop(i, i+n)
			case r >= 0xff01 && r <= 0xff5e: // full-width forms
				v.read(string(r-0xfee0), i, i+n)
			}
			i += n
		}
	}
	return v.view()
}

// wrapping are the bytes at which something may have to be taken out or decoded; read only.
var wrapping = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= utf8.RuneSelf || strings.IndexByte("\\%&=\"'`\x1b", byte(c)) >= 0
	}
	return t
}()

// escape reads what begins with the backslash s[i]. It returns where to go on.
func (v *viewing) escape(i int) int {
	s := v.s
	switch {
	case i+5 < len(s) && s[i+1] == 'u':
		r, ok := hex4(s[i+2 : i+6])
		if !ok {
			return i + 1
		}
		if r == 0x1b {
			n := 6 + terminalCode(s, i+6)
			v.drop(i, i+n)
			return i + n
		}
		v.read(shownAs(r), i, i+6)
		return i + 6
	case i+3 < len(s) && s[i+1] == 'x':
		b, ok := hex2(s[i+2 : i+4])
		if !ok || b >= utf8.RuneSelf {
			return i + 1
		}
		if b == 0x1b {
			n := 4 + terminalCode(s, i+4)
			v.drop(i, i+n)
			return i + n
		}
		v.read(string(rune(b)), i, i+4)
		return i + 4
	case terminalEscape(s, i) > 0:
		n := terminalEscape(s, i)
		v.drop(i, i+n)
		return i + n
	case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '1':
		if b, ok := octal(s, i+1); ok {
			v.read(string(rune(b)), i, i+4)
			return i + 4
		}
		v.drop(i, i+1)
		return i + 1
	case i+1 < len(s):
		return v.escapes(i)
	}
	return i + 1
}

// escapes reads backslashes from s[i] on and what they stand before.
func (v *viewing) escapes(i int) int {
	s, n := v.s, 1
	for i+n < len(s) && s[i+n] == '\\' {
		n++
	}
	if i+n >= len(s) {
		v.drop(i, i+n)
		return i + n
	}
	t := s[i+n]
	if t == 'u' && i+n+4 < len(s) { // escaped once more: JSON in JSON
		if r, ok := hex4(s[i+n+1 : i+n+5]); ok {
			v.read(shownAs(r), i, i+n+5)
			return i + n + 5
		}
	}
	switch t {
	case 'n', 'r', 't':
		v.read("\n", i, i+n+1)
	case '\n', '\r': // a continued line, which may be indented
		for i+n+1 < len(s) && strings.IndexByte("\n \t", s[i+n+1]) >= 0 {
			n++
		}
		v.drop(i, i+n+1)
	case '"', '\'', '/':
		v.read(s[i+n:i+n+1], i, i+n+1)
	default:
		v.drop(i, i+n)
		return i + n
	}
	return i + n + 1
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
	if q != '"' && q != '\'' && q != '`' || i == 0 || !literalByte[s[i-1]] {
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
		literalByte[s[k+1]] {
		return k + 1 - i
	}
	return 0
}

// hex2 and hex4 read so many hexadecimal digits.
func hex2(s string) (byte, bool) {
	a, b := hexValue[s[0]], hexValue[s[1]]
	return a<<4 | b, a|b < 0x80
}

func hex4(s string) (rune, bool) {
	a, ok := hex2(s[:2])
	b, more := hex2(s[2:])
	return rune(a)<<8 | rune(b), ok && more
}

// hexValue is the value of a hexadecimal digit, and 0x80 for any other byte; read only.
var hexValue = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case digit(b):
			t[c] = b - '0'
		case hexByte[b]:
			t[c] = b | 32 - 'a' + 10
		default:
			t[c] = 0x80
		}
	}
	return t
}()

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
