package suite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// A text is judged by itself, whatever stands beside it: what begins in one and would go on in the next is no secret,
// and a neighbour hides none.
func TestRedactSecretJudgesEachTextByItself(t *testing.T) {
	set, e := builtinHooks(t)
	h, err := set.Get("redact-secret")
	if err != nil {
		t.Fatal(err)
	}
	hook := e.Hook(h.Name, h.Module)
	redacted := func(texts []string) []string {
		action, err := json.Marshal(map[string]any{"tool": "exec", "args": map[string]any{}, "result": texts})
		if err != nil {
			t.Fatal(err)
		}
		res, err := hook.Run(t.Context(), &suite.Case{Name: "one", Input: suite.Input{Phase: phases.PostTool,
			Action: action}})
		if err != nil {
			t.Fatal(err)
		}
		result, ok := phases.Get(res.Verdict.Action, "/result")
		var out []string
		if !ok || json.Unmarshal(result, &out) != nil || len(out) != len(texts) {
			t.Fatalf("%s %s: %.300s", res.Verdict.Decision, res.Verdict.Reason, res.Verdict.Action)
		}
		return out
	}
	const body = "MIIEpAIBAAKCAQEAx7Rk2Qz9LmVb4TnWf8cYp3Hd6Js1GuEo5KiXaNvBqMwZtD0S"
	texts := []string{
		token, token[:20], token[20:], "key " + token + " and", token + "\\", "\"" + token[:20] + "\"",
		"\"" + token[20:] + "\"",
		"-----BEGIN RSA PRIVATE KEY-----", body, body + "\n" + body, "-----END RSA PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\n" + body + "\n-----END RSA PRIVATE KEY-----",
		"Private-Lines: 1", "Private-Lines: 1\n" + body + "\nPrivate-MAC: 1a", "Private-MAC: 1a2b",
		"password:", "password: |", "  Tr0ub4dor33", "password=", "Tr0ub4dor33", "password: \"", "Tr0ub4dor33\"",
		"password = [",
		"\"Tr0ub4dor33\"]", "password=Tr0ub4dor33", "--password", "the password is", "the password is Tr0ub4dor33",
		"name,api_key", "ci,Zk3vQ9xWb7TnRf2LpYc8", "name,api_key\nci,Zk3vQ9xWb7TnRf2LpYc8",
		"kind: Secret\ndata:", "  a: aGVsbG8gd29ybGQ=", "kind: Secret\ndata:\n  a: aGVsbG8gd29ybGQ=",
		`{"kind":"Secret"`, `"data":{"a":"troubador"}}`, `{"kind":"Secret","data":{"a":"troubador"}}`,
		"name: DB_PASSWORD", "value: troubador1", "name: DB_PASSWORD\nvalue: troubador1", "AKIAAHS2TNQ3ASBS63W2",
		"Io6UWASX1t3YzDThtvL6w1bFxtuFDJyR4OIKJ8ap", "Z2hwX1hrMmI5UXpUNHdBcUN3", "RXJHdDEyMzk1Njc4SWpLbE1u", "T3A5MA==",
		"chpasswd <<EOF", "root:Tr0ub4dor33", "\x1e", "\n\x1e\n", token + "\n\x1e\n" + token, "ordinary",
		strings.Repeat("ordinary ", 60),
	}
	for i := range texts { // short ones are not looked at
		if len(texts[i]) < 6 {
			texts[i] += " of it"
		}
	}
	alone := make([]string, len(texts))
	changed := 0
	for i, text := range texts {
		alone[i] = redacted([]string{text})[0]
		if alone[i] != text {
			changed++
		}
	}
	if changed < 10 || changed > len(texts)-20 {
		t.Errorf("%d of %d texts hold a secret", changed, len(texts))
	}
	for _, turn := range []int{0, 7, 23} {
		var list, want []string
		for n := range 40 { // more findings than one look lists, and neighbours of every kind
			for i := range texts {
				k := (i*(n+turn+1) + n) % len(texts)
				list, want = append(list, texts[k]), append(want, alone[k])
			}
			list, want = append(list, strings.Repeat("filler ", n)), append(want, strings.Repeat("filler ", n))
		}
		if got := redacted(list); !slices.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%d, text %d %q behind %q: %q, alone %q", turn, i, list[i], list[max(0, i-1)], got[i], want[i])
					break
				}
			}
		}
	}
}
