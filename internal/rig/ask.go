package rig

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// Calls that something outside of the kernel carries out.
const (
	CallTool         = "request_tool_call"
	CallHTTP         = "http_request"
	CallRequestLease = "request_lease"
	CallCheckLease   = "check_lease"
	CallMintLease    = "mint_lease"
	CallRevokeLease  = "revoke_lease"
)

// Ask answers these calls, by name. It implements hostcalls.ToolRunner, HTTPDoer and
// LeaseLedger.
type Ask func(ctx context.Context, call string, by phases.Actor, request jsontext.Value) (jsontext.Value, error)

// RunTool implements hostcalls.ToolRunner.
func (a Ask) RunTool(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallTool, by, request)
}

// DoHTTP implements hostcalls.HTTPDoer.
func (a Ask) DoHTTP(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallHTTP, by, request)
}

// Request implements hostcalls.LeaseLedger.
func (a Ask) Request(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallRequestLease, by, request)
}

// Check implements hostcalls.LeaseLedger.
func (a Ask) Check(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallCheckLease, by, request)
}

// Mint implements hostcalls.LeaseLedger.
func (a Ask) Mint(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallMintLease, by, request)
}

// Revoke implements hostcalls.LeaseLedger.
func (a Ask) Revoke(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return a(ctx, CallRevokeLease, by, request)
}

// AskLedger returns an Ask for the lease calls that a ledger answers.
func AskLedger(l hostcalls.LeaseLedger) Ask {
	return func(ctx context.Context, call string, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
		switch call {
		case CallRequestLease:
			return l.Request(ctx, by, request)
		case CallCheckLease:
			return l.Check(ctx, by, request)
		case CallMintLease:
			return l.Mint(ctx, by, request)
		case CallRevokeLease:
			return l.Revoke(ctx, by, request)
		}
		return nil, hostcalls.Unavailable
	}
}

var (
	_ hostcalls.ToolRunner  = Ask(nil)
	_ hostcalls.HTTPDoer    = Ask(nil)
	_ hostcalls.LeaseLedger = Ask(nil)
)
