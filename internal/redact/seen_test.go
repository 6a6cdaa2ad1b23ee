package redact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestLayersOfATextThatWasSeenInside: a text that stood inside of another, where fewer layers are left to open, is
// opened in full where it stands by itself.
func TestLayersOfATextThatWasSeenInside(t *testing.T) {
	r, rec := newTestRedactor(t, Config{}), NewRecord()
	text := "login with ghp_" + "zQ8kX3vN7pLm2RtY9wBc4HfJ6sDg1KaEuVxZ"
	for range maxLayers {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	outer := base64.StdEncoding.EncodeToString([]byte(text))
	if _, masked, err := rec.JSON(r, jsontext.Value(`{"outer":"`+outer+`","inner":"`+text+`"}`)); err != nil ||
		len(masked) != 1 || masked[0] != "/inner" {
		t.Errorf("covered %q, %v", masked, err)
	}
}

// TestNamesThatNest: values that hold each other are read until they add up to eight times the text and 64 KiB; from
// there on the text is redacted completely.
func TestNamesThatNest(t *testing.T) {
	// cookies go on behind a blank
	for name, behind := range map[string]string{"token=": "", "cookie=": " " + strings.Repeat("x", 40)} {
		unread := func(fill int) (found bool, values, bound int) {
			const times = 16
			text := strings.Repeat(name, times) + strings.Repeat("x", fill) + behind
			for n := 1; n <= times; n++ {
				values += len(text) - n*len(name)
			}
			for _, f := range Find(text) {
				found = found || f.Kind == "unread"
			}
			return found, values, 8*len(text) + 64<<10
		}
		fill := 0
		for _, values, bound := unread(fill); values < bound; _, values, bound = unread(fill) {
			fill += 1 + (bound-values)/16
		}
		for _, fill := range []int{fill - 1, fill, fill + 1} {
			if found, values, bound := unread(fill); found != (values > bound) {
				t.Errorf("%s %d bytes of values where %d may be read: unread %v", name, values, bound, found)
			}
		}
	}
}

// TestVaried: a piece of a secret is known again by twelve bytes, five of which differ and eight of which are
// letters or digits.
func TestVaried(t *testing.T) {
	for w, want := range map[string]bool{
		"abcdeabcdeab": true, "abcdabcdabcd": false, "aaaaaaaabcde": true, "aaaaaaaaabcd": false,
		"abcdefgh----": true, "abcdefg-----": false, "0123aaaa////": true, "------------": false,
	} {
		if got := varied([pieceWindow]byte([]byte(w))); got != want {
			t.Errorf("%s: %v", w, got)
		}
	}
}
