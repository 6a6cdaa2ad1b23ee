package redact

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// token is a form of secret that begins with a fixed text.
type token struct {
	kind   string
	prefix string
	chars  string // classes of what follows: see inClass
	min    int    // least length of what follows
	max    int    // greatest; 0: no limit
	inner  bool   // may stand inside of a word
	mixed  bool   // what follows has upper case, lower case and digits: the prefix alone says little
	class  uint8  // the number of chars
}

// Classes of characters: w letters and digits, h hexadecimal, u upper case and
// digits, d digits, - _ . / + = : ~ % themselves.
func inClass(c byte, classes string) bool {
	for i := 0; i < len(classes); i++ {
		switch classes[i] {
		case 'w':
			if c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' {
				return true
			}
		case 'h':
			if c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'f' {
				return true
			}
		case 'u':
			if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
				return true
			}
		case 'd':
			if c >= '0' && c <= '9' {
				return true
			}
		default:
			if c == classes[i] {
				return true
			}
		}
	}
	return false
}

// byHead finds the forms by the first two bytes of their prefix; read only.
var byHead = heads()

// headTable has a number for each two bytes, so that it fits the processor's cache;
// 0 is the empty list.
type headTable struct {
	number [1 << 16]uint8
	forms  [][]token
}

func heads() *headTable {
	t := &headTable{forms: make([][]token, 1, 128)}
	var classes []string
	for _, f := range issuers() {
		f.class = uint8(slices.Index(classes, f.chars))
		if f.class == math.MaxUint8 {
			f.class = uint8(len(classes))
			classes = append(classes, f.chars)
		}
		if len(classes) > maxClasses {
			panic("redact: more different classes than there is room for")
		}
		n := &t.number[int(f.prefix[0])<<8|int(f.prefix[1])]
		if *n == 0 {
			if len(t.forms) > math.MaxUint8 {
				panic("redact: more different prefixes than the table has numbers")
			}
			*n = uint8(len(t.forms))
			t.forms = append(t.forms, nil)
		}
		t.forms[*n] = append(t.forms[*n], f)
	}
	return t
}

// findTokens looks for every form in one pass over the runs: two bytes choose the few forms
// that may begin there.
func findTokens(s string, runs []span, add func(kind string, from, to int)) {
	if len(runs) == 0 {
		return
	}
	var last lastRuns
	done := 0
	for _, r := range runs {
		for i, end := r.from, min(r.to, len(s)-8); i < end; i++ {
			n := byHead.number[int(s[i])<<8|int(s[i+1])]
			if n == 0 {
				continue
			}
			forms := byHead.forms[n]
			begins := i < done || begins(s, i)
			for k := range forms {
				t := &forms[k]
				if i+len(t.prefix) <= done { // a part of the token before; one that only begins in it adjoins it
					continue
				}
				if !strings.HasPrefix(s[i:], t.prefix) || !begins && !t.inner && !t.joined(s, i) {
					continue
				}
				if from, to := t.match(s, i, &last); to > 0 {
					add(t.kind, from, to)
					done = max(done, to)
				}
			}
		}
	}
}

// begins reports that a word may begin at s[i].
func begins(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	if !word[c] && c != '_' && (c != '-' || s[i] == '.' || i < 2 || !word[s[i-2]]) {
		return true
	}
	return afterEscape(s, i)
}

// joined reports that the form stands behind a - or _ at s[i-1], where parts of names do, and that no name does: its
// prefix ends as a prefix, and a generator made what follows.
func (t *token) joined(s string, i int) bool {
	if len(t.prefix) < 4 || word[s[i-1]] {
		return false
	}
	from := i + len(t.prefix)
	to := from
	for to < len(s) && to-from < 64 && inClass(s[to], t.chars) {
		to++
	}
	body := s[from:to]
	if c := t.prefix[len(t.prefix)-1]; len(body) < 16 || t.chars != "u" && c != '_' && c != '-' {
		return false
	}
	if strings.ContainsFunc(body, unicode.IsUpper) && strings.ContainsFunc(body, unicode.IsLower) {
		return mixed(body) && randomish(body) || !identifier(body)
	}
	// One case: hashes stand behind names such as cache-key-, but not behind the prefixes of these forms.
	return (t.chars == "u" || t.chars == "h" && len(t.prefix) > 4) && randomish(body)
}

// run is a run of characters of one class.
type run struct {
	from, to int // from is the last start in it
	dull     int // a start whose next bytes are dull; 0: none known
}

// maxClasses is how many classes of what follows a prefix there may be.
const maxClasses = 32

// lastRuns are the runs looked at last, by class: many starts in one run cost no more than one.
type lastRuns [maxClasses]run

func (t *token) match(s string, from int, last *lastRuns) (int, int) {
	start := from + len(t.prefix)
	if t.min >= 56 && from >= 16 && (s[from-1] == '/' || s[from-1] == '+') &&
		!strings.ContainsAny(s[from-16:from], ".:-\n ") {
		return 0, 0 // inside of a run of base64
	}
	to, in, known := start, run{}, &last[t.class]
	if known.from <= start && known.to > start {
		to, in = known.to, *known
	}
	for to < len(s) && inClass(s[to], t.chars) {
		to++
	}
	in.from, in.to = start, to
	*known = in
	if to-start < t.min || t.max > 0 && to-start > t.max {
		return 0, 0
	}
	if strings.IndexByte(t.chars, '.') >= 0 || strings.IndexByte(t.chars, '-') >= 0 {
		to = start + len(strings.TrimRight(s[start:to], ".-"))
	}
	for t.inner && from > 0 && word[s[from-1]] {
		from--
	}
	if t.max == 0 && in.dull > 0 && start < in.dull+256 {
		return 0, 0 // starts that lie close together in one run see nearly the same text
	}
	head := s[start:min(to, start+512)]
	if dull(head) {
		if in.dull = start; t.max == 0 {
			*known = in
		}
		return 0, 0
	}
	if t.mixed && (!mixed(head) || len(head) >= 20 && !randomish(head)) && identifier(head) {
		return 0, 0
	}
	return from, to
}

// mixed reports upper case, lower case and digits.
func mixed(s string) bool {
	var upper, lower, digit bool
	for i := 0; i < len(s); i++ {
		c := s[i]
		upper = upper || c >= 'A' && c <= 'Z'
		lower = lower || c >= 'a' && c <= 'z'
		digit = digit || c >= '0' && c <= '9'
	}
	return upper && lower && digit
}

// table is a class of inClass that is asked for often; read only.
func table(classes string) (t [256]bool) {
	for c := range t {
		t[c] = inClass(byte(c), classes)
	}
	return t
}

// Read only.
var (
	word     = table("w")
	nameByte = table("w_-.")
	baseByte = table("w+/-_")
	hexByte  = table("h")
	dumpByte = table("h :-,")

	literalByte = table("w-_+/=.") // beside the quote of a literal that is joined to another
)

// randomish reports digits among letters in the way of a generated text: not one
// number behind or before a word.
func randomish(s string) bool {
	changes, digit, upper, lower := 0, 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		d := c >= '0' && c <= '9'
		if d {
			digit++
		} else if c >= 'a' && c <= 'z' {
			lower++
		} else if c >= 'A' && c <= 'Z' {
			upper++
		}
		if i > 0 && d != (s[i-1] >= '0' && s[i-1] <= '9') {
			changes++
		}
	}
	return digit >= 2 && lower+upper >= 2 && changes >= 3
}

// afterEscape reports that what stands before i is the letter of an escape such as \n.
func afterEscape(s string, i int) bool {
	return i > 1 && s[i-2] == '\\' && strings.IndexByte("ntrbf", s[i-1]) >= 0
}

// dull reports text that no generator makes: one or two different characters, an
// alphabet, a marked example.
func dull(s string) bool {
	if len(s) == 0 {
		return true
	}
	var seen [256]bool
	kinds := 0
	for i := 0; i < len(s); i++ {
		if c := s[i] | 32; !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	low := strings.ToLower(s)
	return kinds < 4 || len(s) >= 16 && kinds < 6 || strings.Contains(low, "example") || strings.Contains(low, "xxxxxx") ||
		strings.Contains(low, "your_") || strings.Contains(low, "your-") || strings.Contains(low, "placeholder") ||
		strings.Contains(low, "abcdefghij") || strings.Contains(low, "1234567890abcdef")
}
