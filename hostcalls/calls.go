package hostcalls

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// port is the shape of every call that an embedder's port carries out.
type port func(ctx context.Context, actor phases.Actor, request jsontext.Value) (jsontext.Value, error)

// ask hands a request to its port. Without one, or in an observing turn, the
// call is not available; then the observed wish is kept for the record.
func (s *Session) ask(ctx context.Context, name string, port port, a *Args) (Result, error) {
	request := jsontext.Value(a.In[0])
	if !request.IsValid() || request.Kind() != '{' {
		return Result{Code: int64(Invalid)}, nil
	}
	if s.cfg.Observe {
		s.wishes = append(s.wishes, Wish{Call: name, Request: request})
		return Result{Code: int64(Unavailable)}, nil
	}
	if port == nil {
		return Result{Code: int64(Unavailable)}, nil
	}
	ctx, spent := withMeter(ctx, a.Fuel)
	reply, err := port(ctx, s.cfg.Actor, request)
	res, err := s.portResult(name, reply, err)
	res.Fuel += spent()
	return res, err
}

func toolCall(ctx context.Context, s *Session, a *Args) (Result, error) {
	var p port
	if s.cfg.Tools != nil {
		p = s.cfg.Tools.RunTool
	}
	return s.ask(ctx, "request_tool_call", p, a)
}

// lease asks the ledger, if there is one.
func (s *Session) lease(ctx context.Context, name string, method func(LeaseLedger) port, a *Args) (Result, error) {
	var p port
	if s.cfg.Leases != nil {
		p = method(s.cfg.Leases)
	}
	return s.ask(ctx, name, p, a)
}

func leaseRequest(ctx context.Context, s *Session, a *Args) (Result, error) {
	return s.lease(ctx, "request_lease", func(l LeaseLedger) port { return l.Request }, a)
}

func leaseCheck(ctx context.Context, s *Session, a *Args) (Result, error) {
	return s.lease(ctx, "check_lease", func(l LeaseLedger) port { return l.Check }, a)
}

func leaseMint(ctx context.Context, s *Session, a *Args) (Result, error) {
	return s.lease(ctx, "mint_lease", func(l LeaseLedger) port { return l.Mint }, a)
}

func leaseRevoke(ctx context.Context, s *Session, a *Args) (Result, error) {
	return s.lease(ctx, "revoke_lease", func(l LeaseLedger) port { return l.Revoke }, a)
}

func httpRequest(ctx context.Context, s *Session, a *Args) (Result, error) {
	var p port
	if s.cfg.HTTP != nil {
		p = s.cfg.HTTP.DoHTTP
	}
	return s.ask(ctx, "http_request", p, a)
}
