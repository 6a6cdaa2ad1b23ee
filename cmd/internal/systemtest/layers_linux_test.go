package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// layer is alice's own file: it asks before git pushes.
const layer = `version: belay/v1
hooks:
  - name: user-push
    module: builtin:command-guard
    phases: [pre_tool]
    capabilities: [block, request_approval, shell_parse, pattern_match]
    config: {rules: {push: ask}}
`

// layerTries have alice restrict what her agent may do, and try to have more by the same way.
func layerTries() []try {
	const pushes, floor = "git push origin main", "a user's layer only restricts"
	hand := func(s *stage, who int, file string) (string, int) {
		out, errs, code := s.as(who, file, "/usr/local/bin/belay", "config", "user", "-")
		return out + errs, code
	}
	var tries []try
	for _, c := range []struct{ what, file, says string }{
		{"hands in a layer with a hook that rewrites", strings.Replace(layer, "[block,", "['rewrite:/args',", 1), "user.yaml:6: "},
		{"hands in a layer that counts decisions without a signature", layer + "approvals: {unsigned: true}\n", "user.yaml:8: "},
		{"hands in a layer that names a reviewer of her own", layer + "reviewers: [{name: alice, key: x}]\n", "user.yaml:8: "},
		{"hands in a layer that takes the name of root's hook", strings.Replace(layer, "user-push", "command-guard", 1),
			"begins with user-"},
		{"hands in a layer with options that its hook does not take", strings.Replace(layer, "push: ask", "push: allow", 1), "user-push"},
	} {
		tries = append(tries, try{who: alice, what: c.what, holds: floor, quiet: byCommand, do: func(s *stage) outcome {
			saw, code := hand(s, alice, c.file)
			return outcome{held: code == 1 && strings.Contains(saw, c.says), happened: fmt.Sprintf("exit %d", code), saw: saw}
		}})
	}
	return append(
		tries,
		try{
			who:   alice,
			what:  "hands such a layer to the socket, without the command",
			holds: floor,
			route: "POST /v1/config/user",
			do: func(s *stage) outcome {
				// The command looks at the file first; the daemon does so by itself.
				body, err := json.Marshal(map[string]string{"file": layer + "tools: {results: raw}\n"})
				s.must(err)
				status, saw := s.http(alice, "POST", "/v1/config/user", string(body))
				return outcome{
					held:     status >= 400 && strings.Contains(saw, "user.yaml:8: "),
					happened: fmt.Sprintf("status %d", status),
					saw:      saw,
				}
			},
		},
		try{
			who:   alice,
			what:  "hands in a layer that asks before pushes",
			holds: "it restricts, and is in force",
			do: func(s *stage) outcome {
				saw, code := hand(s, alice, layer)
				return outcome{held: code == 0 && strings.Contains(saw, "in force"), happened: "taken", saw: saw}
			},
		},
		try{who: alice, what: "pushes", holds: "waits for a person, by the layer's hook", do: func(s *stage) outcome {
			d, r := s.verdict(alice, nil, "s-l", pushes)
			return outcome{held: d == "deny" && strings.Contains(r, "waiting for approval") && strings.Contains(r, "user-push"),
				happened: "waiting for approval", saw: d + r}
		}},
		try{who: bob, what: "pushes", holds: "alice's layer holds for alice alone", do: func(s *stage) outcome {
			d, r := s.verdict(bob, nil, "s-l", pushes)
			return outcome{held: d != "ask" && d != "deny", happened: said(d, r), saw: d + r}
		}},
		try{
			who:   alice,
			what:  "looks at the layers",
			holds: "each hook stands there with its own",
			quiet: looks,
			do: func(s *stage) outcome {
				out, code := s.belay(alice, "config", "effective")
				return outcome{
					held:     code == 0 && strings.Contains(out, "organisation") && strings.Contains(out, "user-push      user"),
					happened: "told",
					saw:      out,
				}
			},
		},
		try{
			who:   0,
			what:  "binds a hook under the name of alice's",
			holds: "root's never waits for a user's",
			do: func(s *stage) outcome {
				path := s.path("etc/belay/belay.yaml")
				before, err := os.ReadFile(path)
				s.must(err)
				hook := strings.Replace(layer[strings.Index(layer, "  - name"):], "push: ask", "push: block", 1)
				s.must(os.WriteFile(path, []byte(strings.Replace(string(before), "hooks:\n", "hooks:\n"+hook, 1)), 0o644))
				defer func() { s.must(os.WriteFile(path, before, 0o644)) }()
				var d, r string
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					if d, r = s.verdict(alice, nil, "s-l", pushes); !strings.Contains(r, "waiting for") {
						break
					}
				}
				out, _ := s.belay(alice, "config", "effective")
				return outcome{held: d == "deny" && strings.Contains(r, "user-push") && !strings.Contains(r, "waiting for") &&
					strings.Contains(out, "is bound already"), happened: "root's is in force, alice is told", saw: d + r + out}
			},
		},
		try{who: alice, what: "removes the layer, and destroys then", holds: "root's configuration is the floor",
			do: func(s *stage) outcome {
				if out, code := s.belay(alice, "config", "user", "--remove"); code != 0 {
					return outcome{happened: "it stays", saw: out}
				}
				return decidedByGuard(s.verdict(alice, nil, "s-l", destroys))
			}},
	)
}
