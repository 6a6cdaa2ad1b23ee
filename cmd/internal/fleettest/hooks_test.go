package fleettest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/phases"
)

const hookName = "no-helpers"

// signHook makes a hook that belay does not know, and signs it once. Each kernel trusts the key and binds the file.
func (s *stage) signHook() {
	s.t.Helper()
	module, err := os.ReadFile("../../../examples-wasm/refuse-deep-spawn/refuse-deep-spawn.wasm")
	s.must(err)
	s.hook = filepath.Join(s.root, hookName+".wasm")
	// A section more makes it another file than belay's own, which the program itself vouches for.
	s.must(os.WriteFile(s.hook, append(module, "\x00\x05\x04mine"...), 0o600))
	config := s.file("no-helpers.json", `{"max_depth":0}`)
	s.a.runs("trust", "init")
	s.a.runs("trust", "generate-key", "release")
	s.a.runs("hook", "sign", "--key", "release.key", s.hook)
	for _, k := range s.members() {
		if k != s.a {
			k.runs("trust", "init")
		}
		k.runs("trust", "add-key", "release.pub", "--hook", "*")
		k.runs("hook", "install", s.hook, "--name", hookName, "--config", config, "--trusted", "--priority", "150")
	}
}

func hookTries() []try {
	return []try{
		{"all", "have an agent start a helper", "the hook, trusted by one signature on all", func(s *stage) outcome {
			return all("block on all three", s.each(func(k *member) outcome {
				hooks, err := k.client.Hooks(s.ctx())
				if err != nil {
					return outcome{happened: "no answer", saw: err.Error()}
				}
				for i := range hooks {
					if hooks[i].Name == hookName && (hooks[i].Tier != phases.Trusted || hooks[i].Problem != "") {
						return outcome{happened: "not trusted", saw: hooks[i].Problem}
					}
				}
				v := k.ask(spawnsHelper("s-hook"))
				o := decided(v, phases.Block, "")
				o.held = o.held && v.DecidedBy == hookName && v.Kind == phases.KindPolicy
				return o
			})...)
		}},
	}
}

// revokeTries come last: what cannot be loaded blocks the phases of its binding from then on.
func revokeTries() []try {
	return []try{
		{"a", "revokes the hook with belay trust deny --fleet", "a denial is the organisation's", func(s *stage) outcome {
			out, code := s.a.belay("trust", "deny", "--fleet", "--file", s.hook, "--why", "it stands in the way")
			return outcome{held: code == 0 && strings.Contains(out, "Revoked on all kernels"),
				happened: short(out, 34), saw: fmt.Sprintf("exit %d: %s", code, out)}
		}},
		{"all", "have an agent start a helper again", "2 s, by notice or by polling", func(s *stage) outcome {
			return slowest("blocked as revoked", s.each(func(k *member) outcome {
				return within(2*time.Second, func() outcome { return revoked(k.ask(spawnsHelper("s-hook"))) })
			}))
		}},
	}
}

// revoked holds when a hook did not run because it is on a deny list.
func revoked(v phases.Verdict) outcome {
	o := decided(v, phases.Block, "deny list")
	o.held = o.held && v.Kind == phases.KindLoad
	return o
}

// slowest is all, and tells how long the slowest took.
func slowest(happened string, list []outcome) outcome {
	last := ""
	for _, o := range list {
		if _, after, ok := strings.Cut(o.happened, " after "); ok {
			last = max(last, after)
		}
	}
	return all(happened+" after "+last, list...)
}
