package adapters

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// Bounds of what a refusal tells of a changed prompt.
const (
	maxPuts     = 3   // places
	maxPutBytes = 80  // of what stands at one of them
	maxSkipped  = 512 // words of the prompt in place of which one text may stand
)

// putInto tells which hook puts what into which lines of the person's prompt, for a runtime that cannot carry the
// change: the person takes it out by hand. It shows what the hook writes and nothing of what stood there, which may be
// a secret. It is "" for everything but a changed prompt.
func putInto(inv *phases.Invocation, v *phases.Verdict) string {
	before, ok := phases.GetString(inv.Action, "/text")
	after, still := phases.GetString(v.Action, "/text")
	if inv.Phase != phases.PrePlan || !ok || !still || before == after {
		return ""
	}
	var places []string
	puts := replaced(before, after)
	for i, p := range puts {
		if i == maxPuts {
			places = append(places, fmt.Sprintf("%d more", len(puts)-i))
			break
		}
		places = append(places, p.String())
	}
	if len(places) == 0 {
		return ""
	}
	return ": " + writers(v, "/text") + " " + strings.Join(places, ", ") + "; change that in the prompt and send it again"
}

// writers names the hooks that changed what is at the pointer.
func writers(v *phases.Verdict, ptr string) string {
	var names []string
	for i := range v.Hooks {
		h := &v.Hooks[i]
		name := strings.TrimSpace(phases.SafeLine(h.Hook, 128))
		if h.Mode == phases.Observe || name == "" || slices.Contains(names, name) {
			continue
		}
		if slices.ContainsFunc(h.Effects, func(e phases.Effect) bool {
			return e.Kind == phases.EffectRewrite && phases.Covers(e.Path, ptr)
		}) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "it"
	}
	return strings.Join(names, ", ")
}

// put is a text that stands in place of another.
type put struct {
	text string
	line int // of the text before, from 1
}

// String says what stands where.
func (p put) String() string {
	text := strings.TrimSpace(phases.SafeLine(p.text, maxPutBytes))
	if text == "" {
		return fmt.Sprintf("takes something out of line %d", p.line)
	}
	return fmt.Sprintf("puts “%s” into line %d", text, p.line)
}

// replaced compares two texts word by word, in linear time, and returns what of the second is new. Where they differ
// much it returns more than is needed, and never a word that only the first has.
func replaced(before, after string) (out []put) {
	a, b := words(before), words(after)
	head := 0
	for head < len(a) && head < len(b) && a[head].of(before) == b[head].of(after) {
		head++
	}
	for len(a) > head && len(b) > head && a[len(a)-1].of(before) == b[len(b)-1].of(after) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	at := map[string][]int{} // where each word stands in a
	for i := head; i < len(a); i++ {
		w := a[i].of(before)
		at[w] = append(at[w], i)
	}
	line, counted := 1, 0
	differ := func(a1, a2, b1, b2 int) {
		if a1 == a2 && b1 == b2 {
			return
		}
		was, from := span(a, a1, a2, before)
		is, _ := span(b, b1, b2, after)
		same := commonHead(was, is)
		line += strings.Count(before[counted:from+same], "\n")
		counted = from + same
		was, is = was[same:], is[same:]
		is = is[:len(is)-commonTail(was, is)]
		out = append(out, put{is, line})
	}
	i, fresh := head, head // next word of a, first word of b without a match
	for k := head; k < len(b); k++ {
		list := at[b[k].of(after)]
		n := sort.SearchInts(list, i)
		if n == len(list) || list[n]-i > maxSkipped {
			continue
		}
		differ(i, list[n], fresh, k)
		i, fresh = list[n]+1, k+1
	}
	differ(i, len(a), fresh, len(b))
	return out
}

// wordAt is a word of a text, between blanks.
type wordAt struct{ from, to int }

func (w wordAt) of(s string) string { return s[w.from:w.to] }

func words(s string) (out []wordAt) {
	from := -1
	for i, r := range s {
		switch blank := unicode.IsSpace(r); {
		case blank && from >= 0:
			out, from = append(out, wordAt{from, i}), -1
		case !blank && from < 0:
			from = i
		}
	}
	if from >= 0 {
		out = append(out, wordAt{from, len(s)})
	}
	return out
}

// span returns the text of the words from i to j, and where it begins.
func span(list []wordAt, i, j int, s string) (text string, from int) {
	if i < len(list) {
		from = list[i].from
	} else {
		from = len(s)
	}
	if i == j {
		return "", from
	}
	return s[from:list[j-1].to], from
}

// commonHead returns how many bytes both texts begin with, in whole characters.
func commonHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// commonTail returns how many bytes both texts end with, in whole characters.
func commonTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(b[len(b)-n]) {
		n--
	}
	return n
}
