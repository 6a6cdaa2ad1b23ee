package adapters_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
)

// refusedPrompt is the reason for a prompt that a hook changed, of a runtime that cannot carry that.
func refusedPrompt(t interface{ Fatalf(string, ...any) }, before, after string) string {
	action := func(text string) jsontext.Value {
		b, err := json.Marshal(map[string]string{"kind": "message", "text": text})
		if err != nil {
			t.Fatalf("%v", err)
		}
		return b
	}
	v := allowed(phases.PrePlan, string(action(after)))
	effect := []phases.Effect{{Kind: phases.EffectRewrite, Path: "/text"}}
	v.Hooks = []phases.HookReport{{Hook: "redact-secret", Effects: effect}, {Hook: "other"},
		{Hook: "watcher", Mode: phases.Observe, Effects: effect}}
	o, err := table.Weigh(event("mute", phases.PrePlan, string(action(before))), []phases.Verdict{v})
	if err != nil || o.Decision != phases.Block {
		t.Fatalf("%+v %v", o, err)
	}
	return o.Reason
}

// The refusal of a prompt says which hook writes what into which line, and nothing of what stood there.
func TestRefusedPromptSaysWhatAndWhere(t *testing.T) {
	const head = "belay: a hook changed the prompt, which Toy cannot carry here: redact-secret "
	const tail = "; change that in the prompt and send it again"
	for name, c := range map[string]struct{ before, after, want string }{
		"a word":    {"deploy with S3CRET9 now", "deploy with [token removed] now", "puts “[token removed]” into line 1"},
		"a value":   {"a\n\nkey=S3CRET9, ok", "a\n\nkey=[token removed], ok", "puts “[token removed]” into line 3"},
		"all of it": {"S3CRET9", "[token removed]", "puts “[token removed]” into line 1"},
		"several lines": {"see\n-- begin\nS3CRET9 x y\nS3CRET8\n-- end\nS3CRET7 it", "see\n-- begin\n[key removed]\n-- end\n[pin removed] it",
			"puts “[key removed]” into line 3, puts “[pin removed]” into line 6"},
		"many": {"S3C1 a S3C2 b S3C3 c S3C4 d S3C5", "X a X b X c X d X",
			"puts “X” into line 1, puts “X” into line 1, puts “X” into line 1, 2 more"},
		"nothing in place": {"a\nb S3CRET9 c", "a\nb c", "takes something out of line 2"},
		"at the end":       {"a\nb S3CRET9", "a\nb [x]", "puts “[x]” into line 2"},
		"characters":       {"pass=ä3CRET9ä!", "pass=ö!", "puts “ö” into line 1"},
		"control sequence": {"S3CRET9", "\x1b[31mred\u202e", "puts “"},
	} {
		got := refusedPrompt(t, c.before, c.after)
		if !strings.HasPrefix(got, head+c.want) || !strings.HasSuffix(got, tail) || strings.Contains(got, "S3C") ||
			strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Whatever a hook makes of a prompt, the refusal is short and holds no word that only the prompt had.
func TestRefusedPromptShowsNothingOfThePrompt(t *testing.T) {
	word := rapid.StringMatching(`(a|b|cc|key=|\n| |ä){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		var before, after strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "words") {
			w := word.Draw(t, "word")
			before.WriteString(w)
			after.WriteString(w)
			if rapid.Bool().Draw(t, "secret") {
				before.WriteString("QZQZ" + word.Draw(t, "hidden") + "QZ")
				after.WriteString(rapid.SampledFrom([]string{"", "[x removed]", "-"}).Draw(t, "note"))
			}
		}
		if before.String() == after.String() {
			return
		}
		if got := refusedPrompt(t, before.String(), after.String()); strings.Contains(got, "QZ") || len(got) > 800 {
			t.Fatalf("%q → %q: %s", before.String(), after.String(), got)
		}
	})
}

// A long prompt of one word, and one of nothing but secrets, take no longer than their length.
func TestRefusedLongPrompt(t *testing.T) {
	for _, before := range []string{strings.Repeat("a ", 200_000), strings.Repeat("S3CRET9 x\n", 50_000)} {
		after := strings.ReplaceAll(strings.Replace(before, "a ", "b ", 9), "S3CRET9", "[token removed]")
		if got := refusedPrompt(t, before, after); len(got) > 800 || !strings.Contains(got, "line 1") {
			t.Errorf("%s", got)
		}
	}
}
