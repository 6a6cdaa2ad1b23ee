package config_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// byHand is a configuration as a person keeps it: nothing in it is written the way a
// program would.
const byHand = `# ours; ask anna before you change it

version:   "belay/v1"   # the only one

limits: {chain_ms: 2000 }


hooks:      # in this order
    # guards
    -   name:  guard      # first
        module: 'builtin:command-guard'
        capabilities: [ block,request_approval,
              shell_parse ,   pattern_match ]   # all it asks for
        # config: {unknown: block}

    - {name: push,   module: "builtin:ask-push", capabilities: [request_approval, block, shell_parse]} # asks

    # texts
    -
        name: ansi
        module: builtin:strip-ansi
        capabilities:
        -    "rewrite:/result"
        disabled:   false   # for now
# the end of the hooks

reviewers: []   # none yet
#eof`

const trustByHand = `# whom we trust
version: belay/v1
deny:
    # stolen in May
    keys:   [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ]   # anna's

    digests:
    -   sha256:` + "0000000000000000000000000000000000000000000000000000000000000000" + `  # worm
# rules: none yet
`

// Random edits, one after the other: each line that a person wrote is there after each
// of them, in order and byte for byte, but the lines of the entry that is edited.
func TestEditsLeaveWhatAPersonWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		src := []byte(strings.ReplaceAll(byHand, "\n", eol))
		bound := []string{"guard", "push", "ansi"}
		reviewers := 0
		for i := range rapid.IntRange(1, 8).Draw(t, "edits") {
			var out []byte
			var err error
			touched := "" // the entry that may change
			switch do := rapid.SampledFrom([]string{"install", "disable", "enable", "remove", "grant", "reviewer",
				"observe", "enforce"}).Draw(t,
				"edit"); {
			case do == "install":
				name := fmt.Sprintf("new-%d", i)
				out, err = config.AddBinding(src,
					config.Binding{Name: name, Module: "builtin:command-guard", Capabilities: []string{"block", "rewrite:/a"},
						Config: []byte(`{"a":["x # y",{"b":null}],"text":"one\ntwo\n"}`)})
				bound = append(bound, name)
			case do == "reviewer":
				key := make([]byte, 32)
				key[0] = byte(i + 1)
				out, err = config.AddReviewer(src,
					config.Reviewer{Name: fmt.Sprintf("r-%d", i), Key: "ed25519:" + base64.StdEncoding.EncodeToString(key)})
				reviewers++
			case len(bound) == 0:
				continue
			default:
				touched = rapid.SampledFrom(bound).Draw(t, "name")
				switch do {
				case "disable", "enable":
					out, err = config.SetDisabled(src, touched, do == "disable")
				case "observe", "enforce":
					out, err = config.SetMode(src, touched, phases.Mode(do))
				case "grant":
					out, err = config.AddCapabilities(src, touched, "log", "time_now")
				case "remove":
					out, err = config.RemoveBinding(src, touched)
					bound = slices.DeleteFunc(bound, func(n string) bool { return n == touched })
				}
			}
			if err != nil {
				t.Fatalf("%v, in\n%s", err, src)
			}
			stays(t, src, out, touched, eol)
			f, err := config.Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, h := range f.Hooks {
				names = append(names, h.Name)
			}
			if !slices.Equal(names, bound) || len(f.Reviewers) != reviewers {
				t.Fatalf("bound are %v, want %v, in\n%s", names, bound, out)
			}
			src = out
		}
	})
}

// stays checks that every line of src that is not of the entry touched is in out.
func stays(t *rapid.T, src, out []byte, touched, eol string) {
	have := strings.Split(string(out), eol)
	at := 0
	in := false // the entry that is edited
	col := 4    // of its dash
	for _, l := range strings.Split(string(src), eol) {
		trimmed := strings.TrimSpace(l)
		indent := len(l) - len(strings.TrimLeft(l, " "))
		starts := strings.HasPrefix(trimmed, "-") && (indent == 4 || indent == 2) // 2 where belay began the list anew
		if starts && (touched == "ansi" || strings.Contains(l, "name:")) {
			col = indent
			in = touched != "" && (strings.Contains(l, " "+touched) || strings.Contains(l, ":"+touched) || trimmed == "-")
		} else if l != "" && indent <= col {
			in = false
		}
		list := strings.HasPrefix(l, "hooks:") || strings.HasPrefix(l, "reviewers:") // " []" comes and goes
		if in || trimmed == "-" || list {
			continue
		}
		for at < len(have) && have[at] != l {
			at++
		}
		if at == len(have) {
			t.Fatalf("the line %q is gone from\n%s\nwhich was made into\n%s", l, src, out)
		}
		at++
	}
	for _, comment := range []string{"# in this order", "# none yet", "# ours; ask anna before you change it", "#eof"} {
		if !strings.Contains(string(out), comment) {
			t.Fatalf("the comment %q is gone from\n%s", comment, out)
		}
	}
}

func TestTrustEditsLeaveWhatAPersonWrote(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		src := strings.ReplaceAll(trustByHand, "\n", eol)
		out, err := config.AddDeny([]byte(src),
			tiers.Deny{Digests: []string{"sha256:" + strings.Repeat("1", 64)}, Keys: []string{"BBBB"},
				Identities: []tiers.DeniedIdentity{{Issuer: "https://i", Subject: tiers.Subject{Equal: "s"}}}})
		if err == nil {
			out, err = config.AddTrustRule(out,
				tiers.Rule{Name: "r",
					AllOf: []tiers.Slot{{Name: "a", PublicKey: &tiers.PublicKey{PEM: "-----BEGIN\nx\n-----END\n"}}}})
		}
		if err == nil {
			out, err = config.SetTrustedRoot(out, "/r.json")
		}
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(`# whom we trust
version: belay/v1
deny:
    # stolen in May
    keys:   [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "BBBB" ]   # anna's

    digests:
    -   sha256:0000000000000000000000000000000000000000000000000000000000000000  # worm
    - sha256:1111111111111111111111111111111111111111111111111111111111111111
    identities:
      - issuer: https://i
        subject:
          equal: s
# rules: none yet
rules:
  - name: r
    allOf:
    - name: a
      publicKey:
        pem: |
          -----BEGIN
          x
          -----END
trustedRoot: "/r.json"
`, "\n", eol)
		if string(out) != want {
			t.Errorf("%q", out)
		}
		again, err := config.AddDeny(out, tiers.Deny{Keys: []string{"BBBB"}})
		if err != nil || string(again) != string(out) {
			t.Errorf("what is denied already is added again: %v\n%s", err, again)
		}
	}
}

// What cannot be edited alone is refused, and says so.
func TestEditByHand(t *testing.T) {
	src := []byte(
		"version: belay/v1\nhooks:\n  - name: x\n    module: builtin:x\n    capabilities: []\n    disabled: >-\n      x\n")
	if _, err := config.SetDisabled(src, "x", true); !errors.Is(err, config.ErrConfig) {
		t.Errorf("%v", err)
	}
	src = []byte("version: belay/v1\nhooks:\n - name: x\n   module: builtin:x\n   capabilities: []\n # \u2028\n")
	if _, err := config.SetDisabled(src, "x", true); !errors.Is(err, config.ErrConfig) ||
		!strings.Contains(err.Error(), "edit by hand") {
		t.Errorf("%v", err)
	}
}
