package hostcalls

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func patternRequest(t *testing.T, req patternQuery) string {
	t.Helper()
	raw, err := json.Marshal(req)
	if err != nil || len(raw) > MaxRequest {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	return string(raw)
}

// What an expression costs is known before it is read: a class of a few bytes
// can take a millisecond, and a call has room for ten thousand.
func TestPatternClassesAreBounded(t *testing.T) {
	u := newTurn(t, nil)
	many := func(p string, n int) []string {
		var out []string
		for range n {
			out = append(out, p)
		}
		return out
	}
	for _, req := range []patternQuery{
		{Patterns: many("["+strings.Repeat(`\pL`, 240)+"]", 50)},
		{Patterns: many("["+strings.Repeat(`\PL`, 240)+"]", 50)},
		{Patterns: many("["+strings.Repeat("B-\U0001E942", 60)+"]", 60), IgnoreCase: true},
		{Patterns: many("(?i)["+strings.Repeat(`B-\x{1E942}`, 60)+"]", 60)},
		{Patterns: many("(?si)["+strings.Repeat("B-\U0001E942", 60)+"]", 60)},
		{Patterns: many(`a[\\-\x{1E942}!-\x{01E942}`+strings.Repeat("B-\U0001E942", 60)+"]", 8), IgnoreCase: true},
	} {
		req.Kind, req.Texts = "re2", []string{"a"}
		u.code(TooLarge, "pattern_match", patternRequest(t, req))
	}
	for _, req := range []patternQuery{
		{Patterns: []string{`^[а-яё]+$`, `(?i)[a-z0-9_.-]+`, `[\p{Greek}\pL]+`}, IgnoreCase: true},
		{Patterns: many("["+strings.Repeat("B-\U0001E942", 60)+"]", 60)}, // without folding a range is one entry
	} {
		req.Kind, req.Texts = "re2", []string{"ПРИВЕТ"}
		if r := u.do("pattern_match", patternRequest(t, req)); r.Code <= 0 {
			t.Errorf("%q: %d", req.Patterns, r.Code)
		}
	}
	dear := u.do("pattern_match",
		patternRequest(t, patternQuery{Kind: "re2", Patterns: []string{"[" + strings.Repeat(`\pL`, 100) + "]"}}))
	if dear.Fuel < 100*classTable {
		t.Errorf("100 Unicode classes cost %d", dear.Fuel)
	}
}

// A deadline is seen between two expressions and between two matches.
func TestPatternMatchObeysContext(t *testing.T) {
	u := newTurn(t, nil)
	call, _ := Lookup("pattern_match")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, req := range []patternQuery{
		{Kind: "re2", Patterns: []string{"a", "b"}},
		{Kind: "glob", Patterns: []string{"a"}, Texts: []string{"a"}},
	} {
		if _, err := u.Do(ctx, &call, &Args{In: [2][]byte{[]byte(patternRequest(t, req))}}); err == nil {
			t.Errorf("%+v: no error", req)
		}
	}
}

// endsAfter is a context that ends when it has been looked at so many times.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A deadline that passes while patterns are read, or matched, ends the call there.
func TestPatternMatchEndsInTheMiddle(t *testing.T) {
	u := newTurn(t, nil)
	call, _ := Lookup("pattern_match")
	req := patternRequest(t, patternQuery{Kind: "re2", Patterns: []string{"a", "b"}, Texts: []string{"a", "b"}})
	for looks := range 6 { // two patterns, then each of them with each text
		if r, err := u.Do(&endsAfter{context.Background(), looks}, &call, &Args{In: [2][]byte{[]byte(req)}}); err == nil {
			t.Errorf("after %d looks: %+v", looks, r)
		}
	}
	if _, err := u.Do(&endsAfter{context.Background(), 6}, &call, &Args{In: [2][]byte{[]byte(req)}}); err != nil {
		t.Errorf("in time: %v", err)
	}
}

// Alternatives in alternatives look cheap and multiply when they are written out. They
// answer all the same, and in steps that the call has room for.
func TestNestedAlternativesAnswer(t *testing.T) {
	u := newTurn(t, nil)
	req := patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("{{x},a,aa}", 30)},
		Texts: []string{strings.Repeat("a", 45) + "!", strings.Repeat("a", 45), strings.Repeat("a", 29)}}
	r := u.do("pattern_match", patternRequest(t, req))
	if reply := decodeReply[patternReply](u); r.Code <= 0 || len(reply.Matches) != 1 || reply.Matches[0].Text != 1 {
		t.Fatalf("%d %+v", r.Code, reply)
	}
	steps := 5 * (len(req.Patterns[0]) + 1) * (46 + 45 + 29)
	if cheap := int64(4 * 4 * (20 + 47 + 46 + 30)); r.Fuel <= cheap || r.Fuel > 4*int64(steps)+cheap+
		4*8*int64(len(req.Patterns[0])) {
		t.Errorf("%d fuel", r.Fuel)
	}
	// All the texts and patterns that fit, each at its highest cost.
	req = patternQuery{Kind: "glob"}
	for range 30 {
		req.Patterns = append(req.Patterns, strings.Repeat("{{x},a,aa}", 100)+"*")
		req.Texts = append(req.Texts, strings.Repeat("a", 1<<10))
	}
	if r := u.do("pattern_match", patternRequest(t, req)); r.Code != int64(TooLarge) || r.Fuel != 4*maxPatternWork {
		t.Errorf("more work than a call has room for: %d, %d fuel", r.Code, r.Fuel)
	}
}

// A deadline that passes in the middle of one match ends the call.
func TestOneMatchObeysContext(t *testing.T) {
	u := newTurn(t, nil)
	call, _ := Lookup("pattern_match")
	req := patternRequest(t,
		patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("{{x},a,aa}", 100) + "*"},
			Texts: []string{strings.Repeat("a", 1<<10)}})
	for looks := range 4 { // of the pattern, of the pair, then of every 4096 steps
		if _, err := u.Do(&endsAfter{context.Background(), looks}, &call, &Args{In: [2][]byte{[]byte(req)}}); err == nil {
			t.Errorf("after %d looks: no error", looks)
		}
	}
}
