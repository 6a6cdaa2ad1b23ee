package cli

import (
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/tiers"
)

// examineTrust reads trust.yaml, also where only hooks are bound that come with belay: a deny list that cannot be read
// holds for none, and the next hook from outside would block its phases.
func examineTrust(dir string) finding {
	p, err := trustDir(dir).Policy()
	switch {
	case err != nil:
		f := finding{Check: "trust", Status: "fail", Text: err.Error(), Advice: trustAdvice}
		if text := new(tiers.Error); errors.As(err, &text) && text.Cause != nil {
			f.Text += " (" + text.Cause.Error() + ")"
		}
		return f
	case p.Digest() == tiers.NoPolicy().Digest():
		return finding{Check: "trust", Status: "ok", Text: "no " + tiers.PolicyFile + ": hooks that come with belay are trusted, and no other"}
	}
	return finding{Check: "trust", Status: "ok", Text: fmt.Sprintf("%s, %s", p.Digest(), plural(len(p.Rules), "rule"))}
}
