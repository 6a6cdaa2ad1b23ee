package redact

import (
	"slices"
	"strings"
)

// detector looks through one text.
type detector struct {
	names map[string]bool
	exact *exactSet
	depth int

	patterns *patterns
	halt     *halt // nil: nothing stops it

	record    *Record // secrets known from elsewhere; nil: none
	knownOnly bool    // looks only for secrets known from elsewhere

	harmless *harmless // texts without findings; nil: none are remembered
	ungated  bool      // for tests: each detector looks at each text, in all places
	rooms    *rooms    // nil until one is needed
}

// askEvery is how many bytes the dearest look goes over before it asks again whether to stop.
const askEvery = 4 << 10

// halt stops a detector and those of inner layers.
type halt struct {
	ask  func() bool
	said bool
}

// stopped asks whether to give up. Once it has said so, nothing goes on.
func (h *halt) stopped() bool {
	if h == nil || h.ask == nil {
		return false
	}
	h.said = h.said || h.ask()
	return h.said
}

// maxLayers is how many layers of encoding are opened.
const maxLayers = 3

func (d *detector) find(s string) []Finding {
	if len(s) < 6 || len(s) > MaxText {
		return nil
	}
	first := d.first(s)
	if !d.record.knows() {
		return d.merge(s, first)
	}
	// A second pass, for secrets known from elsewhere. The first comes first:
	// where both find a place, its kind says more.
	second := detector{depth: d.depth, record: d.record, knownOnly: true, halt: d.halt, rooms: d.rooms}
	return d.merge(s, append(slices.Clip(first), second.again(s)...))
}

// first is what a text shows of itself, whatever is known from elsewhere.
func (d *detector) first(s string) []Finding {
	if d.knownOnly || d.exact == nil && d.patterns == nil && !d.ungated && instant(s) {
		return nil
	}
	record := d.record
	if record == nil {
		return d.afresh(s)
	}
	found, ok := record.looked[s]
	if !ok {
		d.record = nil
		found = d.afresh(s)
		d.record = record
		record.remember(s, found)
	}
	return found
}

// afresh looks unless the text is known to be harmless.
func (d *detector) afresh(s string) []Finding {
	mark, ok := d.harmless.mark(s)
	if ok = ok && d.depth == 0; ok && d.harmless.has(mark) {
		return nil
	}
	found := d.again(s)
	if ok && len(found) == 0 && !d.halt.stopped() {
		d.harmless.add(mark)
	}
	return found
}

// again looks, unless nothing in the text is what a detector looks for.
func (d *detector) again(s string) []Finding {
	room := d.room()
	defer d.leave(room)
	room.take(d, s)
	if !d.knownOnly && d.idle(&room.census) {
		return nil
	}
	d.look(s, room)
	return slices.Clone(room.found)
}

// look returns the findings in the text as it stands, without the characters
// that hide them, and inside of encodings; unsorted and overlapping. They are in the room.
func (d *detector) look(s string, room *room) {
	c, layers := &room.census, d.depth < maxLayers
	d.plain(s, room)
	if c.wraps() || d.ungated {
		d.unwrap(s, room, layers)
	}
	if d.knownOnly {
		v := unquoted(s)
		room.view = &v
		d.record.find(v.text, room.tell)
		room.view = nil
	}
	if layers && (c.dumps() || d.ungated) {
		d.dumped(s, room.add)
	}
	if layers && (c.opens() || d.ungated) {
		d.encoded(s, c.runs, room.add)
	}
}

// unwrap looks at the text without the characters that hide findings.
func (d *detector) unwrap(s string, outer *room, layers bool) {
	room := d.room()
	defer d.leave(room)
	room.bare = unwrapped(s, room.bare.cuts)
	bare := &room.bare
	if bare.text == "" {
		return
	}
	room.take(d, bare.text)
	room.view = bare
	d.plain(bare.text, room)
	if layers && (room.census.opens() || d.ungated) {
		room.whole = true
		d.encoded(bare.text, room.census.runs, room.add)
	}
	outer.found = append(outer.found, room.found...)
}

// plain looks for secrets as they stand.
func (d *detector) plain(s string, room *room) {
	if d.knownOnly {
		d.record.find(s, room.tell)
		return
	}
	if d.exact != nil {
		d.exact.find(s, room.add)
	}
	for n, may := range d.glances(&room.census) {
		if d.halt.stopped() {
			return
		}
		if may || d.ungated {
			finders[n](d, s, &room.census, room.add)
		}
	}
}

// merge sorts findings, cuts placeholders out of them, so that redacting twice
// changes nothing, and joins those that overlap.
func (d *detector) merge(s string, found []Finding) []Finding {
	if len(found) == 0 {
		return nil
	}
	found = besides(s, found)
	slices.SortStableFunc(found, func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out []Finding
	for _, f := range found {
		if n := len(out); n > 0 && f.Start < out[n-1].End {
			last := &out[n-1]
			switch {
			case f.Start == last.Start && f.End == last.End && last.secret == "" && f.secret != "":
				last.Kind, last.secret = f.Kind, f.secret // the same place, read without its escapes
			case f.End > last.End:
				last.End, last.secret = f.End, ""
			}
			continue
		}
		out = append(out, f)
	}
	return out
}

// kubernetes finds the data of a Secret written as YAML: every value below data
// or stringData.
func kubernetes(s string, c *census, add func(kind string, from, to int)) {
	if c.literals&secretJSON != 0 {
		kubernetesJSON(s, add)
	}
	if c.literals&secretYAML == 0 {
		return
	}
	inData, indent := false, 0
	at := 0
	for _, line := range strings.SplitAfter(s, "\n") {
		body := strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(body, " ")
		in := len(body) - len(trimmed)
		switch {
		case trimmed == "data:" || trimmed == "stringData:":
			inData, indent = true, in
		case inData && trimmed != "" && in <= indent:
			inData = false
		case inData:
			if name, v, ok := strings.Cut(trimmed, ": "); ok {
				from := at + in + len(name) + 2
				if credible(v, strong, true) {
					add("kubernetes-secret", from, from+len(v))
				}
			}
		}
		at += len(line)
	}
}

// Read only.
var (
	secretYAML = literalOf("kind: Secret")
	secretJSON = literalOf(`"Secret"`)
)

// kubernetesJSON is the same for Secrets written as JSON inside of a text.
func kubernetesJSON(s string, add func(kind string, from, to int)) {
	const secret = `"Secret"`
	for at, done := 0, 0; ; {
		i := strings.Index(s[at:], secret)
		if i < 0 {
			return
		}
		i += at
		at = i + len(secret)
		if !strings.HasSuffix(strings.TrimRight(s[max(0, i-64):i], ": \t"), `"kind"`) {
			continue
		}
		to := len(s)
		if n := strings.Index(s[at:], secret); n >= 0 {
			to = at + n
		}
		from, to := objectAround(s, done, at, to)
		done = at
		for _, member := range [...]string{`"data"`, `"stringData"`} {
			if n := strings.LastIndex(s[from:at], member); n >= 0 {
				kubernetesData(s, from+n+len(member), at, add)
			}
			if n := strings.Index(s[at:to], member); n >= 0 {
				kubernetesData(s, at+n+len(member), to, add)
			}
		}
	}
}

// objectAround returns where the object of JSON begins and ends in s[from:to] that s[at] stands in. Where its begin or
// its end is not there, it is from, or to.
func objectAround(s string, from, at, to int) (begin, end int) {
	var open []int
	for i := from; i < at; i++ {
		switch s[i] {
		case '"':
			i = quotedEnd(s, i)
		case '{':
			open = append(open, i)
		case '}':
			open = open[:max(0, len(open)-1)]
		}
	}
	if len(open) > 0 {
		from = open[len(open)-1]
	}
	depth := 1
	for i := at; i < to; i++ {
		switch s[i] {
		case '"':
			i = quotedEnd(s, i)
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return from, i
			}
		}
	}
	return from, to
}

// kubernetesData finds the values of the object that begins behind s[at:]: "name": "value", …
func kubernetesData(s string, at, limit int, add func(kind string, from, to int)) {
	end := strings.IndexByte(s[at:limit], '}')
	if end < 0 {
		end = limit - at
	}
	end += at
	for at < end {
		colon := strings.IndexByte(s[at:end], ':')
		if colon < 0 {
			break
		}
		at += colon + 1
		for at < end && (s[at] == ' ' || s[at] == '{') {
			at++
		}
		if at >= end || s[at] != '"' {
			continue
		}
		from := at + 1
		n := strings.IndexByte(s[from:end], '"')
		if n < 0 {
			break
		}
		if credible(s[from:from+n], strong, true) && s[from+n:min(len(s), from+n+2)] != `":` {
			add("kubernetes-secret", from, from+n)
		}
		at = from + n + 1
		if at < len(s) && s[at] == ':' {
			at = from + n
		}
	}
}
