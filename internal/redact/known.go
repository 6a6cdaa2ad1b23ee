package redact

import (
	"encoding/base64"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// MinKnown is the length from which a secret that was redacted in one place is
// redacted everywhere in its record, in bytes. It is that of Config.Exact.
const MinKnown = MinExact

const (
	maxPart      = 16        // bytes of a secret that are looked up at once
	maxKnown     = 64 << 10  // bytes of one secret: beyond it, pieces alone know it
	knownBudget  = 2 << 20   // bytes of everything that is looked up
	formsBudget  = 256 << 10 // of that, bytes of encoded forms
	minDifferent = 3         // bytes: a secret of fewer different ones would redact rules and blanks
)

// known finds secrets that were redacted somewhere else in the record, wherever
// they stand, in either case, and in the encodings that decoding a text would not
// open, since what stands around them need not be encoded.
//
// A secret is looked up by parts of at most maxPart bytes, so that a byte of a text
// costs at most one look-up for each length, whatever the number of secrets. The
// zero value knows none.
type known struct {
	secrets []string
	kinds   []string
	have    map[string]bool
	parts   map[string]part // by the part in lower case
	lengths []uint32        // of the parts that begin with some four bytes: a bit for each length
	size    int             // bytes of all parts
	forms   int             // bytes of encoded forms
}

// part is a piece of a secret, or of an encoding of it.
type part struct {
	secret int32
	offset int32 // in the secret; -1: in an encoding
}

// learn adds a secret, unless it is too short or too common to be looked for.
func (k *known) learn(kind, secret string) {
	if len(secret) > maxKnown || k.have[secret] || exempt(secret) || k.size+len(secret) > knownBudget || k.isAll(secret) {
		return
	}
	if k.parts == nil {
		k.have, k.parts, k.lengths = map[string]bool{}, map[string]part{}, make([]uint32, 1<<headBits)
	}
	k.have[secret] = true
	n := int32(len(k.secrets))
	k.secrets, k.kinds = append(k.secrets, secret), append(k.kinds, kind)
	k.addParts(secret, func(at int) part { return part{n, int32(at)} })
	for _, f := range encodings(secret) {
		if k.forms += len(f); k.forms > formsBudget {
			return
		}
		k.addParts(f, func(int) part { return part{n, -1} })
	}
}

// addParts adds the parts of a text, of which the last ends where it ends.
func (k *known) addParts(text string, of func(at int) part) {
	low := lower(text)
	for at := 0; at < len(low); at += maxPart {
		at = max(0, min(at, len(low)-maxPart))
		k.add(low[at:min(len(low), at+maxPart)], of(at))
	}
}

func (k *known) add(text string, p part) {
	if _, ok := k.parts[text]; ok || len(text) < MinKnown || different(text) < minDifferent {
		return
	}
	k.size += len(text)
	k.parts[text] = p
	k.lengths[headHash(text)] |= 1 << len(text)
}

// isAll reports a text that is made of known secrets alone.
func (k *known) isAll(s string) bool {
	at := 0
	k.find(s, func(_ string, from, to int, _ string) {
		if from <= at {
			at = max(at, to)
		}
	})
	return at == len(s) && at > 0
}

// find reports where known secrets stand in s, in order of their beginning.
func (k *known) find(s string, add func(kind string, from, to int, secret string)) {
	if len(k.parts) == 0 {
		return
	}
	low := lower(s)
	for i := 0; i+MinKnown <= len(low); i++ {
		set := k.lengths[headHash(low[i:])]
		for set != 0 {
			n := 31 - bits.LeadingZeros32(set) // the longest first
			set &^= 1 << n
			if i+n > len(low) {
				continue
			}
			p, ok := k.parts[low[i:i+n]]
			if !ok {
				continue
			}
			from, to := i, i+n
			secret, kind := k.secrets[p.secret], k.kinds[p.secret]
			switch {
			case p.offset < 0: // the bits at its ends are the secret's, too
				if from > 0 && baseByte[low[from-1]] {
					from--
				}
				for to < len(low) && (baseByte[low[to]] && to == i+n || low[to] == '=' && to <= i+n+2) {
					to++
				}
			case p.offset == 0:
				for m := n; m < len(secret) && to < len(low) && lowerByteOf(secret[m]) == low[to]; m++ {
					to++
				}
				if to-from < len(secret) {
					secret, kind = "", "fragment"
				}
			default:
				secret, kind = "", "fragment"
			}
			if secret == s[from:to] {
				secret = ""
			}
			add(kind, from, to, secret)
			i += max(0, to-from-maxPart) // what begins in the rest of it is looked at
			break
		}
	}
}

// number returns the kind of a number that is a known secret by itself.
func (k *known) number(raw string) (kind string, ok bool) {
	if !k.have[raw] {
		return "", false
	}
	return k.kinds[k.parts[raw[:min(len(raw), maxPart)]].secret], true
}

// encodings returns what a secret looks like inside of a text that is encoded as a
// whole: hexadecimal digits, and base64 with nought, one or two bytes before it.
func encodings(s string) []string {
	out := []string{hex.EncodeToString([]byte(s))}
	if strings.Contains(s, " ") {
		out = append(out, strings.ReplaceAll(s, " ", "+")) // as in a form; what else is escaped there is opened
	}
	for shift := range 3 {
		enc := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + s))
		enc = enc[(shift*8+5)/6 : (shift+len(s))*8/6] // the characters that are the secret's alone
		out = append(out, enc)
		if url := strings.NewReplacer("+", "-", "/", "_").Replace(enc); url != enc {
			out = append(out, url)
		}
	}
	return out
}

// exempt reports a secret that is not looked for elsewhere although it was
// redacted in one place: too short, a rule, or a common word.
func exempt(s string) bool {
	return len(s) < MinKnown || different(s) < minDifferent || commonWord(s)
}

// different counts the different bytes of a text, up to minDifferent.
func different(s string) (n int) {
	var seen [minDifferent]byte
	for i := 0; i < len(s) && n < minDifferent; i++ {
		if !slices.Contains(seen[:n], s[i]) {
			seen[n] = s[i]
			n++
		}
	}
	return n
}

func lowerByteOf(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 32
	}
	return c
}

// lower is a text with the letters of ASCII in lower case: the places stay the same.
func lower(s string) string {
	i := 0
	for i < len(s) && !(s[i] >= 'A' && s[i] <= 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	return string(lowerInto(b, s))
}

// lowerInto writes a text in lower case to where there is room for it.
func lowerInto(room []byte, s string) []byte {
	for i := range len(s) {
		room[i] = lowerByteOf(s[i])
	}
	return room[:len(s)]
}

// unquoted returns a text as a shell would join it: without quotes and backslashes.
// Where there is none of these, the view is empty.
func unquoted(s string) view {
	if !strings.ContainsAny(s, "'\"`\\") {
		return view{}
	}
	v := viewing{s: s}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"', '`':
			v.drop(i, i+1)
		case '\\':
			n := 1
			if i+1 < len(s) && s[i+1] == '\n' {
				n++
			}
			v.drop(i, i+n)
			i += n - 1
		}
	}
	return v.view()
}

// inside returns what a redacted text says when it is an encoding of a text, or
// nothing: base64 or hexadecimal digits around characters that can be read.
func inside(s string) string {
	s = strings.TrimRight(strings.Map(standardBase64, s), "=")
	if len(s) < 8 {
		return ""
	}
	if raw, err := hex.DecodeString(s); err == nil && readable(raw) {
		return string(raw)
	}
	if raw, err := base64.RawStdEncoding.DecodeString(s); err == nil && readable(raw) {
		return string(raw)
	}
	return ""
}

func readable(raw []byte) bool {
	if len(raw) < MinKnown || !utf8.Valid(raw) {
		return false
	}
	for _, c := range raw {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
