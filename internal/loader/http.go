package loader

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/httpcall"
	"github.com/belay-hooks/belay/kernel"
)

// httpCaller answers http_request for one binding.
type httpCaller struct{ c *httpcall.Client }

// newHTTPCaller returns nil for a binding that may not send anything.
func newHTTPCaller(spec any) (kernel.HTTPCaller, error) {
	s, _ := spec.(*httpcall.Spec)
	if s == nil {
		return nil, nil
	}
	p, err := httpcall.NewPolicy(*s)
	if err != nil {
		return nil, err
	}
	return httpCaller{httpcall.New(p, httpcall.Options{})}, nil
}

// Prepare implements kernel.HTTPCaller.
func (h httpCaller) Prepare(request jsontext.Value) (kernel.HTTPCall, error) {
	call, err := h.c.Prepare(request)
	if err != nil {
		return kernel.HTTPCall{}, err
	}
	return kernel.HTTPCall{Record: call.Record, Send: func(ctx context.Context) (kernel.HTTPResult, error) {
		r, err := call.Send(ctx)
		return kernel.HTTPResult{Reply: r.Reply, Summary: r.Summary, Outcome: r.Outcome, Reason: r.Reason}, err
	}}, nil
}

// unsentHTTP answers as a host without HTTP does.
type unsentHTTP struct{}

// Prepare implements kernel.HTTPCaller.
func (unsentHTTP) Prepare(jsontext.Value) (kernel.HTTPCall, error) {
	return kernel.HTTPCall{}, hostcalls.Absent
}
