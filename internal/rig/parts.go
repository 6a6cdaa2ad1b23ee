package rig

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// clock stands still at the time of the Case. No boot is known beside it.
type clock struct{ rig *Rig }

// Now implements kernel.Clock.
func (c clock) Now() time.Time {
	c.rig.mu.Lock()
	defer c.rig.mu.Unlock()
	return c.rig.now
}

// Boot implements kernel.BootClock.
func (clock) Boot() (string, time.Duration) { return "", 0 }

// recorder holds the recording of the Case at hand.
type recorder struct{ rig *Rig }

// Wants implements kernel.Recorder.
func (r recorder) Wants(*phases.Invocation) bool {
	r.rig.mu.Lock()
	defer r.rig.mu.Unlock()
	return r.rig.record
}

// Recorded implements kernel.Recorder.
func (r recorder) Recorded(rec *kernel.Recording) {
	r.rig.mu.Lock()
	defer r.rig.mu.Unlock()
	r.rig.recorded = rec
}

// wrappingLoader puts a hook in front of each that is loaded.
type wrappingLoader struct {
	inner kernel.Loader
	wrap  func(kernel.BindingSpec, *kernel.Loaded) kernel.Hook
}

// Load implements kernel.Loader.
func (l wrappingLoader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	loaded, err := l.inner.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	out := *loaded // a module is loaded once for many rigs
	out.Hook = l.wrap(spec, loaded)
	return &out, nil
}

// LoaderFunc is a kernel.Loader.
type LoaderFunc func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error)

// Load implements kernel.Loader.
func (f LoaderFunc) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	return f(ctx, spec)
}

// Plain is a kernel.Redactor that redacts nothing.
type Plain struct{}

// JSON implements kernel.Redactor.
func (Plain) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }

// Text implements kernel.Redactor.
func (Plain) Text(s string) (string, error) { return s, nil }
