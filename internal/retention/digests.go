package retention

import (
	"crypto/subtle"
	"errors"
	"io/fs"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// Digests finds out whether originals belong to events: events hold keyed digests of
// originals, and the keys are the state directory's. It is safe for concurrent use.
type Digests struct{ keys audit.Keys }

// OpenDigests reads the keys of a state directory. None are made: without the keys
// that the digests were made with nothing can be found out. The error is of
// class belay.ErrState.
func OpenDigests(dir string) (*Digests, error) {
	d := &Digests{keys: audit.Keys{}}
	for _, u := range []audit.Use{audit.UseInput, audit.UseOutput} {
		k, err := statedir.ReadKey(statedir.Key(statedir.Keys(dir), u))
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("the key that digests in events were made with is missing")
		}
		if err != nil {
			return nil, statedir.Unusable("keys", err)
		}
		d.keys[u] = k
	}
	return d, nil
}

// Input reports whether a verdict's event is about this invocation, with the metadata that
// its run carried.
func (d *Digests) Input(e *phases.Event, inv phases.Invocation, carried phases.Metadata) bool {
	doc, err := audit.InputDocument(&audit.Invocation{Invocation: inv, Carried: carried})
	return err == nil && d.is(e.InputDigest, audit.UseInput, doc)
}

// Output reports whether a verdict's event says that this came out. wrote is the
// metadata that the hooks wrote, with secrets redacted.
func (d *Digests) Output(e *phases.Event, v *phases.Verdict, wrote phases.Metadata) bool {
	doc, err := audit.OutputDocument(v, wrote)
	return err == nil && d.is(e.OutputDigest, audit.UseOutput, doc)
}

// Effects reports whether a turn's event says that the hook asked for this.
func (d *Digests) Effects(e *phases.Event, list []phases.Effect) bool {
	if len(list) == 0 || phases.HookDecision(e.Decision) == phases.HookError { // none of a turn that failed counts
		return e.OutputDigest == ""
	}
	doc, err := audit.EffectsDocument(phases.CleanEffects(list))
	return err == nil && d.is(e.OutputDigest, audit.UseOutput, doc)
}

func (d *Digests) is(want string, u audit.Use, doc []byte) bool {
	got := d.keys.Digest(u, doc)
	return got != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
