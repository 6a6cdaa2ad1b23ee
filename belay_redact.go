package belay

import (
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/kernel"
)

// redactor is the detector with the operator's masks. Reload swaps it.
type redactor struct {
	current atomic.Pointer[redact.Redactor]
}

func newRedactor(keys *keyring, f *config.File) (*redactor, error) {
	c := redact.Config{Key: keys.redact, KeyNames: f.Redact.Keys}
	for _, m := range f.Redact.Masks {
		c.Masks = append(c.Masks, "/action"+m) // records hold the action as a member
	}
	inner, err := redact.New(c)
	if err != nil {
		return nil, err
	}
	r := new(redactor)
	r.current.Store(inner)
	return r, nil
}

func (r *redactor) take(from *redactor) { r.current.Store(from.current.Load()) }

// JSON implements kernel.Redactor.
func (r *redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return r.current.Load().JSON(raw)
}

// Text implements kernel.Redactor.
func (r *redactor) Text(s string) (string, error) {
	covered, _ := r.current.Load().Text(s)
	return covered, nil
}

var _ kernel.Redactor = (*redactor)(nil)
