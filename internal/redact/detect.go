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

	pieces *pieces
}

// maxLayers is how many layers of encoding are opened.
const maxLayers = 3

func (d *detector) find(s string) []Finding {
	if len(s) < 6 || len(s) > MaxText {
		return nil
	}
	var found []Finding
	d.plain(s, func(kind string, from, to int) { found = append(found, Finding{Kind: kind, Start: from, End: to}) })
	if v, ok := unwrapped(s); ok {
		d.plain(v.text, func(kind string, from, to int) {
			a, b := v.place(from, to)
			found = append(found, Finding{kind, a, b, v.text[from:to]})
		})
		if d.depth < maxLayers {
			d.encoded(v.text, func(kind string, from, to int) {
				from, to = v.place(from, to)
				found = append(found, Finding{Kind: kind, Start: from, End: to})
			})
		}
	}
	if d.depth < maxLayers {
		d.dumped(s, func(kind string, from, to int) { found = append(found, Finding{Kind: kind, Start: from, End: to}) })
		d.encoded(s, func(kind string, from, to int) { found = append(found, Finding{Kind: kind, Start: from, End: to}) })
	}
	return d.merge(s, found)
}

// plain looks for secrets as they stand.
func (d *detector) plain(s string, add func(kind string, from, to int)) {
	if d.exact != nil {
		d.exact.find(s, add)
	}
	findTokens(s, add)
	findShapes(s, add)
	findTelling(s, add)
	findProse(s, add)
	findPiped(s, add)
	findPEM(s, add)
	findPuTTY(s, add)
	findJWT(s, add)
	findURLs(s, add)
	findFlags(s, add)
	d.findNamed(s, add)
	d.kubernetes(s, add)
	d.pieces.find(s, add) // last: where another kind fits as well, it says more
}

// merge sorts findings, takes out of them what is a placeholder, so that redacting
// twice changes nothing, and joins those that overlap.
func (d *detector) merge(s string, found []Finding) []Finding {
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

// kubernetes covers the data of a Secret written as YAML: every value below data
// or stringData.
func (d *detector) kubernetes(s string, add func(kind string, from, to int)) {
	if !strings.Contains(s, "kind: Secret") {
		kubernetesJSON(s, add)
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
			if name, v, ok := strings.Cut(trimmed, ": "); ok && len(v) >= 4 {
				from := at + in + len(name) + 2
				if credible(v, strong, true) {
					add("kubernetes-secret", from, from+len(v))
				}
			}
		}
		at += len(line)
	}
}

// kubernetesJSON is the same for a Secret written as JSON inside of a text.
func kubernetesJSON(s string, add func(kind string, from, to int)) {
	i := strings.Index(s, `"Secret"`)
	if i < 0 || !strings.HasSuffix(strings.TrimRight(s[:i], ": \t"), `"kind"`) {
		return
	}
	for _, member := range []string{`"data"`, `"stringData"`} {
		at := strings.Index(s, member)
		if at < 0 {
			continue
		}
		at += len(member)
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			end = len(s) - at
		}
		end += at
		for at < end { // "name": "value", …
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
}
