package redact

import "unicode/utf8"

// census is what a first pass over a text tells: which bytes it has, and whether it has a run of characters of base64
// that is long enough to be opened. Most detectors look for something that few texts have, so that most of them need not
// look.
type census struct {
	bytes [4]uint64 // a bit for each byte that is there
	size  int
	run   bool
}

func censusOf(s string) census {
	// Without branches, since letters and other characters take turns in an unforeseeable way.
	var low, letters uint64
	var top byte
	for i := 0; i < len(s); i++ {
		b := s[i]
		bit, upper := uint64(1)<<(b&63), -(uint64(b) >> 6 & 1)
		low |= bit &^ upper
		letters |= bit & upper
		top |= b
	}
	c := census{size: len(s), run: hasRun(s)}
	if top < utf8.RuneSelf {
		c.bytes[0], c.bytes[1] = low, letters
		return c
	}
	for i := 0; i < len(s); i++ {
		c.bytes[s[i]>>6] |= 1 << (s[i] & 63)
	}
	return c
}

// hasRun reports whether minBody characters of base64 stand side by side. Each such run has one at every minBodyth
// place, so that most of a text is stepped over.
func hasRun(s string) bool {
	for at := minBody - 1; at < len(s); {
		from := at + 1 // of the run that ends at s[at]
		for from > 0 && baseByte[s[from-1]] {
			from--
			if at-from == minBody-1 {
				return true
			}
		}
		at = from + minBody - 1
	}
	return false
}

// has reports whether the byte is there.
func (c *census) has(b byte) bool { return c.bytes[b>>6]>>(b&63)&1 != 0 }

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
	return c.any("\\%&=\"'`\x1b") || c.bytes[2]|c.bytes[3] != 0
}

// opens reports whether there is a run that encoded opens.
func (c *census) opens() bool { return c.run }

// dumps reports whether there are bytes that dumped reads.
func (c *census) dumps() bool { return c.size >= minDump && c.any(" :-,") }

// shortestToken is the least length of a token that an issuer's form describes, with its prefix; read only.
var shortestToken = func() int {
	least := MaxText
	for _, t := range issuers() {
		least = min(least, len(t.prefix)+t.min)
	}
	return least
}()

// finders are the detectors in the order in which they look; read only.
var finders = [...]func(d *detector, s string, add func(kind string, from, to int)){
	func(d *detector, s string, add func(string, int, int)) { d.patterns.find(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findTokens(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findShapes(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findTelling(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findProse(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findPiped(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findPEM(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findPuTTY(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findJWT(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findURLs(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findFlags(s, add) },
	(*detector).findNamed,
	(*detector).kubernetes,
	func(_ *detector, s string, add func(string, int, int)) { findBeside(s, add) },
	(*detector).findTables,
	func(_ *detector, s string, add func(string, int, int)) { findFiles(s, add) },
	func(_ *detector, s string, add func(string, int, int)) { findShown(s, add) },
}

// glances says of each of finders whether it can find anything in a text of which the census is known. A text that one
// is kept from has no finding: a test runs each detector on the texts that its gate rejects.
func (d *detector) glances(c *census) [len(finders)]bool {
	return [...]bool{
		d.patterns != nil,
		c.size >= shortestToken,                     // tokens
		c.has(':') || c.size >= 33 && c.any("~-._"), // shapes
		c.size >= 22 && c.any("_-"),                 // telling
		c.has(' '),                                  // prose
		c.any("|<"),                                 // piped
		c.all("BEGIN Y") || c.all("BEGIN V"),        // PEM
		c.all("P-:"),                                // PuTTY
		c.all("eyJ."),                               // JWT
		c.all(":/@"),                                // URLs
		c.has(' ') || c.all(":-"),                   // flags
		c.any("=: >,|("),                            // named
		c.has('S'),                                  // Kubernetes
		c.all("AI"),                                 // beside
		c.has('\n'),                                 // tables
		c.any("\n\t*W") || c.all("=\"") || c.all("@("), // files
		c.all(" e") && c.any("\n$U") || c.all("alis "), // shown
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
