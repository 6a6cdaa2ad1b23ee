package redact

// census is what a first pass over a text tells: which bytes it has, and how long its longest run of characters of
// base64 is. Most detectors look for something that few texts have, so that most of them need not look.
type census struct {
	bytes [4]uint64 // a bit for each byte that is there
	size  int
	run   int // of baseByte
}

func censusOf(s string) census {
	c := census{size: len(s)}
	run := 0
	for i := 0; i < len(s); i++ {
		b := s[i]
		c.bytes[b>>6] |= 1 << (b & 63)
		if baseByte[b] {
			run++
			continue
		}
		c.run, run = max(c.run, run), 0
	}
	c.run = max(c.run, run)
	return c
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
func (c *census) opens() bool { return c.run >= minBody }

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

// glance is a detector and whether it can find anything in a text of which the census is known. A text that it
// rejects has no finding: a test runs each detector on the texts that its gate rejects.
type glance struct {
	may  bool
	find func(s string, add func(kind string, from, to int))
}

// glances are the detectors in the order in which they look.
func (d *detector) glances(c *census) [16]glance {
	return [...]glance{
		{d.patterns != nil, d.patterns.find},
		{c.size >= shortestToken, findTokens},
		{c.has(':') || c.size >= 33 && c.any("~-._"), findShapes},
		{c.size >= 22 && c.any("_-"), findTelling},
		{c.has(' '), findProse},
		{c.any("|<"), findPiped},
		{c.all("BEGIN Y") || c.all("BEGIN V"), findPEM},
		{c.all("P-:"), findPuTTY},
		{c.all("eyJ."), findJWT},
		{c.all(":/@"), findURLs},
		{c.has(' ') || c.all(":-"), findFlags},
		{c.any("=: >,|("), d.findNamed},
		{c.has('S'), d.kubernetes},
		{c.all("AI"), findBeside},
		{c.has('\n'), d.findTables},
		{c.any("\n\t*W") || c.all("=\"") || c.all("@("), findFiles},
	}
}

// idle reports whether no detector can find anything.
func (d *detector) idle(c *census) bool {
	if d.ungated || d.exact != nil || c.wraps() || c.opens() || c.dumps() {
		return false
	}
	for _, g := range d.glances(c) {
		if g.may {
			return false
		}
	}
	return true
}
