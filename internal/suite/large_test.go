package suite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

const token = "ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B"

// lines is a text of ordinary output.
func lines(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%06d an ordinary line of output\n", i)
	}
	return b.String()[:size-1] + "\n"
}

// deep puts a text below sixty members, whose path is longer than one that a hook may name.
func deep(text string) (v any) {
	v = text
	for range 60 {
		v = map[string]any{"a member with a name of forty characters": v}
	}
	return v
}

// The built-in hooks for results deal with long ones: no secret gets through, and nothing is lost in silence.
func TestLongResults(t *testing.T) {
	set, e := builtinHooks(t)
	many := make([]string, 100)
	for i := range many {
		many[i] = "key " + token + " " + lines(4<<10)
	}
	// Tens of thousands of short texts, as a sheet or a log of records has them.
	short, cells, secrets := make([]string, 50_000), make([]map[string]string, 15_000), make([]string, 5_000)
	for i := range short {
		short[i] = fmt.Sprintf("cell %07d", i)
	}
	for i := range cells {
		cells[i] = map[string]string{"name": fmt.Sprintf("row %05d", i), "password": "", "state": "is open"}
	}
	for i := range secrets {
		secrets[i] = fmt.Sprintf("%s%05d", token, i)
	}
	cells[7_000]["password"] = "Tr0ub4dor-and-3"
	withOne := slices.Clone(short)
	withOne[40_000] = token
	for _, c := range []struct {
		name, hook string
		result     any
		config     string
		want       suite.Want
	}{
		{"50,000 short texts", "redact-secret", short, "", suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"one of 50,000", "redact-secret", withOne, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/40000"}}},
		{"one that its name gives away", "redact-secret", cells, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/7000/password"}}},
		{"one that lies deep", "redact-secret", deep(token), "", suite.Want{Decision: phases.Allow}},
		{"a long text that lies deep", "result-capsule", deep(lines(20 << 10)), "",
			suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"a long text beside 50,000 short ones", "result-capsule", []any{short, lines(20 << 10)}, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/1"}}},
		{"strings that do not end", "strip-ansi", strings.Repeat("\x1b]0;", 40_000), "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"a sequence beside 12,000 short texts", "strip-ansi", []any{short[:12_000], "\x1b[31mred\x1b[0m"}, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/1"}}},
		{"50,000 short texts without a sequence", "strip-ansi", short, "",
			suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"5,000 secrets", "redact-secret", secrets, "", suite.Want{Decision: phases.Allow}},
		{"no secret", "redact-secret", lines(900 << 10), "", suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"one in the middle of 600 KiB", "redact-secret", lines(300<<10) + token + lines(300<<10), "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"one on the edge of what the host looks at", "redact-secret",
			map[string]string{"stdout": lines(250<<10-20) + token + "\n" + lines(1<<10)},
			"",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/stdout"}}},
		{"one in 600 KiB that is not to be shortened", "redact-secret", lines(600<<10) + token, `{"too_long": "block"}`,
			suite.Want{Decision: phases.Block}},
		{"a hundred in 400 KiB", "redact-secret", map[string]any{"parts": [][]string{many[:50], many[50:]}}, "",
			suite.Want{Decision: phases.Allow}},
		{"sequences in 300 KiB", "strip-ansi", "\x1b[31m" + lines(300<<10), "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"sequences in 600 KiB of letters of two bytes", "strip-ansi", "\x1b[31m" + strings.Repeat("\u00e9\n", 200<<10), "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"sequences in 300 KiB with colours that stay", "strip-ansi", strings.Repeat("\x1b[31mred\x1b[0m\x1b[K", 16<<10),
			`{"keep_colors": true}`, suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"sequences in a part of 300 KiB", "strip-ansi",
			map[string]string{"stderr": "x", "stdout": "\x1b[31m" + lines(300<<10)}, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/stdout"}}},
		{"sequences in a part that is all escapes", "strip-ansi",
			map[string]string{"stdout": "\x1b[31m" + strings.Repeat("\x01\U0001F600\"", 70<<10)},
			"", suite.Want{Decision: phases.Allow, Changed: []string{"/result/stdout"}}},
		{"sequences in many parts", "strip-ansi", append(many, "\x1b[31m"), "", suite.Want{Decision: phases.Allow}},
		{"sequences beside 50,000 short texts", "strip-ansi", append(short, "\x1b[31m"), "",
			suite.Want{Decision: phases.Block, Kind: phases.KindOutput}},
		{"sequences in 250 KiB of line ends", "strip-ansi", "\x1b[31m" + strings.Repeat("\n", 250<<10), "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result"}}},
		{"sequences in 300 KiB that stay", "strip-ansi", "\x1b[31m" + lines(300<<10), `{"too_long": "keep"}`,
			suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"sequences in 300 KiB that must not pass", "strip-ansi", "\x1b[31m" + lines(300<<10), `{"too_long": "block"}`,
			suite.Want{Decision: phases.Block, Kind: phases.KindOutput}},
		{"300 KiB without sequences", "strip-ansi", lines(300 << 10), `{"too_long": "block"}`,
			suite.Want{Decision: phases.Allow, Changed: []string{}}},
		{"200 KiB with sequences", "strip-ansi", map[string]string{"stdout": "\x1b[31m" + lines(200<<10)}, "",
			suite.Want{Decision: phases.Allow, Changed: []string{"/result/stdout"}}},
		{"600 KiB are put aside in parts", "result-capsule", lines(600 << 10), "", suite.Want{Decision: phases.Allow,
			Changed: []string{"/result"}, Artifacts: []string{"result.txt", "result.2.txt", "result.3.txt"}}},
		{"what does not fit stays", "result-capsule", lines(990 << 10), "", suite.Want{Decision: phases.Allow,
			Changed: []string{}, Artifacts: []string{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			action, err := json.Marshal(map[string]any{"tool": "exec", "args": map[string]any{}, "result": c.result})
			if err != nil {
				t.Fatal(err)
			}
			h, err := set.Get(c.hook)
			if err != nil {
				t.Fatal(err)
			}
			var config jsontext.Value
			if c.config != "" {
				config = jsontext.Value(c.config)
			}
			s := &suite.Suite{Hook: "builtin:" + c.hook, Cases: []suite.Case{{Name: c.name, Want: c.want,
				Config: config, Input: suite.Input{Phase: phases.PostTool, Action: action}}}}
			res, err := e.Hook(h.Name, h.Module).RunSuite(t.Context(), s, suite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Cases {
				if r.Status() != "pass" {
					t.Errorf("%v %.2000v", r.Err, r.Differences)
				}
				checkLong(t, c.hook, c.result, &r)
				after := string(r.Verdict.Action)
				if c.hook == "strip-ansi" && c.config == "" && strings.Contains(after, `\u001b`) {
					t.Error("there is still a sequence")
				}
			}
		})
	}
}

// checkLong looks at what became of a long result: the token is gone, and a capsule's parts are the whole of it.
func checkLong(t *testing.T, hook string, result any, r *suite.CaseResult) {
	t.Helper()
	v := &r.Verdict
	if v.Decision != phases.Allow {
		return
	}
	if hook == "redact-secret" && strings.Contains(string(v.Action), token) {
		t.Error("the token is still there")
	}
	if text, ok := result.(string); ok && len(v.Artifacts) > 0 {
		var parts strings.Builder
		for _, a := range v.Artifacts {
			parts.WriteString(a.Text)
		}
		if parts.String() != text {
			t.Errorf("%d of %d bytes are put aside", parts.Len(), len(text))
		}
	}
}
