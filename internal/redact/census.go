package redact

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// census is what a first pass over a text tells: which bytes it has, where runs of characters stand that are long
// enough for a token, and where a name that may be telling ends. Nearly all detectors look there alone, so that most
// bytes of a text are looked at once.
type census struct {
	seen     [256]bool
	size     int
	runs     []span  // of at least leastRun characters of tokenByte, in order
	names    []int32 // separators behind what may be a telling name, in order
	literals literals
	pairs    []int32 // colons that may stand within a bot's token or a line of a password file, in order
}

// leastRun is the least length of a run that a census notes; a test holds it against what is looked for in runs.
const leastRun = 12

// tokenByte are the characters of which tokens are made, of whatever form; read only.
var tokenByte = func() (t [256]bool) {
	for c := range t {
		t[c] = inClass(byte(c), "w_-.~:=+/")
	}
	for _, f := range issuers() {
		for c := range t {
			t[c] = t[c] || inClass(byte(c), f.chars) || strings.IndexByte(f.prefix, byte(c)) >= 0
		}
	}
	return t
}()

// Of lanes: bits of a byte.
const (
	isSeparator = 1 << 0
	isGap       = 1 << 8 // it ends a run
)

// lanes tells of eight bytes at once: shifted by their places, they add up to a mask of the separators, and one of the
// gaps; read only.
var lanes = func() (t [256]uint32) {
	for c := range t {
		if separator[c] {
			t[c] |= isSeparator
		}
		if !tokenByte[c] {
			t[c] |= isGap
		}
	}
	return t
}()

// take goes over a text. With all, each separator is noted, whatever stands before it.
func (c *census) take(s string, all bool) {
	c.seen, c.size = [256]bool{}, len(s)
	c.runs, c.names, c.pairs = c.runs[:0], c.names[:0], c.pairs[:0]
	if c.names == nil {
		c.names = make([]int32, 0, 8+len(s)/32)
	}
	from := 0 // of the run that is open
	for at := 0; at < len(s); at += 64 {
		var separators, gaps uint64
		if len(s)-at >= 64 {
			block := s[at : at+64]
			for k := 0; k < 64; k += 8 {
				b := block[k : k+8]
				m := lanes[b[0]] | lanes[b[1]]<<1 | lanes[b[2]]<<2 | lanes[b[3]]<<3 |
					lanes[b[4]]<<4 | lanes[b[5]]<<5 | lanes[b[6]]<<6 | lanes[b[7]]<<7
				separators |= uint64(m&0xff) << k
				gaps |= uint64(m>>8) << k
				c.seen[b[0]], c.seen[b[1]], c.seen[b[2]], c.seen[b[3]] = true, true, true, true
				c.seen[b[4]], c.seen[b[5]], c.seen[b[6]], c.seen[b[7]] = true, true, true, true
			}
		} else {
			gaps = ^uint64(0) << (len(s) - at)
			for k := range len(s) - at {
				b := s[at+k]
				m := lanes[b]
				separators |= uint64(m&isSeparator) << k
				gaps |= uint64(m/isGap) << k
				c.seen[b] = true
			}
		}
		if gaps != 0 {
			from = c.run(at, from, gaps)
		}
		for ; separators != 0; separators &= separators - 1 {
			i := at + bits.TrailingZeros64(separators)
			if s[i] == ' ' && (i < 3 || nameTails.has(s[i-3:i])) || s[i] != ' ' && c.separates(s, i) || all {
				c.names = append(c.names, int32(i))
			}
		}
	}
	if len(s)-from >= leastRun && len(s)%64 == 0 {
		c.runs = append(c.runs, span{from, len(s)})
	}
}

// open has everything looked at.
func (c *census) open(s string) {
	c.literals = 0
	for n, text := range literalList {
		if strings.Contains(s, text) {
			c.literals |= 1 << n
		}
	}
	c.runs, c.pairs = append(c.runs[:0], span{0, len(s)}), c.pairs[:0]
	for i := range len(s) {
		if s[i] == ':' {
			c.pairs = append(c.pairs, int32(i))
		}
	}
}

// run notes the runs that end in the block at s[at:]; from is where the open one begins. It returns where the run
// begins that the block leaves open.
func (c *census) run(at, from int, gaps uint64) int {
	last := at + bits.TrailingZeros64(gaps)
	if last-from >= leastRun {
		c.runs = append(c.runs, span{from, last})
	}
	long := ^gaps // of each run in the block, the characters with leastRun-1 more behind them
	long &= long >> 1
	long &= long >> 2
	long &= long >> 4
	long &= long >> (leastRun - 8)
	if long>>(last-at) != 0 {
		for rest := gaps & (gaps - 1); rest != 0; rest &= rest - 1 {
			next := at + bits.TrailingZeros64(rest)
			if next-last > leastRun {
				c.runs = append(c.runs, span{last + 1, next})
			}
			last = next
		}
	}
	return at + 64 - bits.LeadingZeros64(gaps)
}

// separates reports whether what stands before a separator other than a blank may be a telling name, and notes
// the colons among them that others look at.
func (c *census) separates(s string, i int) bool {
	if i == 0 {
		return false
	}
	switch s[i] {
	case '>':
		return true // the name may stand at the begin of an element
	case '(':
		return word[s[i-1]]
	case ',':
		if s[i-1] != '"' && s[i-1] != '\'' {
			return false
		}
	case '|':
		if s[i-1] != ' ' && s[i-1] != '`' {
			return false
		}
	case ':':
		if i+1 < len(s) && (s[i+1] == 'A' || s[i+1] == '*' || digit(s[i+1])) && (word[s[i-1]] || s[i-1] == '*') {
			c.pairs = append(c.pairs, int32(i))
		}
	}
	end := i
	if !nameByte[s[i-1]] {
		end = nameEnd(s, i)
	}
	return end < 3 || nameTails.has(s[end-3:end])
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// trim drops lists that a text of many places has made long.
func (c *census) trim() {
	if cap(c.runs) > maxKept {
		c.runs = nil
	}
	if cap(c.names) > maxKept {
		c.names = nil
	}
	if cap(c.pairs) > maxKept {
		c.pairs = nil
	}
}

// has reports whether the byte is there.
func (c *census) has(b byte) bool { return c.seen[b] }

// any reports whether one of the bytes is there.
func (c *census) any(list string) bool {
	for i := 0; i < len(list); i++ {
		if c.has(list[i]) {
			return true
		}
	}
	return false
}

// all reports whether all of the bytes are there.
func (c *census) all(list string) bool {
	for i := 0; i < len(list); i++ {
		if !c.has(list[i]) {
			return false
		}
	}
	return true
}

// wraps reports whether there is anything that unwrapped takes out or decodes.
func (c *census) wraps() bool {
	return c.any("\\%&=\"'`\x1b") || [128]bool(c.seen[utf8.RuneSelf:]) != [128]bool{}
}

// opens reports whether there is a run that encoded opens.
func (c *census) opens() bool { return len(c.runs) > 0 }

// dumps reports whether there are bytes that dumped reads.
func (c *census) dumps() bool { return c.size >= minDump && c.any(" :-,") }

// finders are the detectors in the order in which they look; read only.
var finders = [...]func(d *detector, s string, c *census, add func(kind string, from, to int)){
	func(d *detector, s string, _ *census, add func(string, int, int)) { d.patterns.find(s, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findTokens(s, c.runs, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findShapes(s, c, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findTelling(s, c.runs, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findProse(s, c.names, add) },
	func(_ *detector, s string, _ *census, add func(string, int, int)) { findPiped(s, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findPEM(s, c, add) },
	func(_ *detector, s string, _ *census, add func(string, int, int)) { findPuTTY(s, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findJWT(s, c.runs, add) },
	func(_ *detector, s string, _ *census, add func(string, int, int)) { findURLs(s, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findFlags(s, c, add) },
	func(d *detector, s string, c *census, add func(string, int, int)) { d.findNamed(s, c.names, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { kubernetes(s, c, add) },
	func(_ *detector, s string, _ *census, add func(string, int, int)) { findBeside(s, add) },
	func(d *detector, s string, _ *census, add func(string, int, int)) { d.findTables(s, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findFiles(s, c, add) },
	func(_ *detector, s string, c *census, add func(string, int, int)) { findShown(s, c, add) },
}

// glances says of each of finders whether it can find anything in a text of which the census is known. A text that one
// is kept from has no finding: a test runs each detector on the texts that its gate rejects.
func (d *detector) glances(c *census) [len(finders)]bool {
	runs, names, has := len(c.runs) > 0, len(c.names) > 0, c.literals
	return [...]bool{
		d.patterns != nil,
		runs,                              // tokens
		runs || len(c.pairs) > 0,          // shapes
		runs && c.any("_-"),               // telling
		names,                             // prose
		c.any("|<"),                       // piped
		has&literalsPEM != 0,              // PEM
		has&literalPuTTY != 0,             // PuTTY
		runs && c.all("eyJ."),             // JWT
		c.all(":/@"),                      // URLs
		c.programs(),                      // flags
		names,                             // named
		has&(secretYAML|secretJSON) != 0,  // Kubernetes
		c.all("AI"),                       // beside
		c.has('\n') && c.any("\t;,"),      // tables
		has&literalFiles != 0 || c.chap(), // files
		has&literalsShown != 0,            // shown
	}
}

// idle reports whether no detector can find anything.
func (d *detector) idle(c *census) bool {
	if d.ungated || d.exact != nil || c.wraps() || c.opens() || c.dumps() {
		return false
	}
	for _, may := range d.glances(c) {
		if may {
			return false
		}
	}
	return true
}
