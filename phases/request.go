package phases

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Request is an invocation with what its caller says about itself, in the form that
// `belay eval` and POST /v1/invoke take. Its wire form is that of the invocation, with
// the members holds_scopes and parent_scopes beside the others.
type Request struct {
	Invocation Invocation

	// HoldsScopes: the caller itself holds the action to the verdict's scopes.
	HoldsScopes bool

	// ParentScopes is what the parent of a spawned agent may touch, or nil.
	ParentScopes *Scopes
}

type wireRequest struct {
	wireInvocation
	HoldsScopes  bool    `json:"holds_scopes,omitzero"`
	ParentScopes *Scopes `json:"parent_scopes,omitzero"`
}

// DecodeRequest decodes one request under the default limits, as strictly as
// DecodeInvocation does. Every error is a *DecodeError with the place of the fault.
func DecodeRequest(b []byte) (Request, error) {
	var w wireRequest
	if err := decodeWire(b, limits{}, &w); err != nil {
		return Request{}, err
	}
	inv, err := w.invocation(b)
	if err != nil {
		return Request{}, err
	}
	if w.ParentScopes != nil {
		if err := checkParentScopes(*w.ParentScopes); err != nil {
			return Request{}, newDecodeErrorAt(b, err.Pointer, err.Reason)
		}
	}
	return Request{Invocation: inv, HoldsScopes: w.HoldsScopes, ParentScopes: w.ParentScopes}, nil
}

// EncodeRequest writes the wire form, which DecodeRequest reads back to an equal
// request. The error is a *DecodeError: the request is not valid.
func EncodeRequest(r Request) ([]byte, error) {
	b, err := EncodeInvocation(r.Invocation)
	if err != nil {
		return nil, err
	}
	if r.ParentScopes != nil {
		if err := checkParentScopes(*r.ParentScopes); err != nil {
			return nil, err
		}
		scopes, err := json.Marshal(r.ParentScopes)
		if err != nil {
			return nil, &DecodeError{Pointer: parentScopes, Offset: -1, Reason: "not valid"}
		}
		if b, err = Set(b, parentScopes, scopes); err != nil {
			return nil, &DecodeError{Pointer: parentScopes, Offset: -1, Reason: "not valid"}
		}
	}
	if r.HoldsScopes {
		return withHeldScopes(b)
	}
	return b, nil
}

// withHeldScopes returns a request in the wire form that says that its caller holds
// the scopes. The error is a *DecodeError: b is no object.
func withHeldScopes(b []byte) ([]byte, error) {
	if err := checkJSON(b, limits{}); err != nil {
		return nil, err
	}
	if kindOf(b) != '{' {
		return nil, newDecodeError(b, "", -1, "has the wrong type")
	}
	out, err := Set(jsontext.Value(b), holdsScopes, jsontext.Value("true"))
	if err != nil {
		return nil, newDecodeError(b, holdsScopes, -1, "not valid")
	}
	return out, nil
}

const (
	holdsScopes  = "/holds_scopes"
	parentScopes = "/parent_scopes"
)

func checkParentScopes(s Scopes) *DecodeError {
	err := s.Validate()
	if err == nil {
		return nil
	}
	var e *scopeError
	if errors.As(err, &e) {
		return &DecodeError{Pointer: parentScopes + e.pointer, Offset: -1, Reason: e.reason}
	}
	return &DecodeError{Pointer: parentScopes, Offset: -1, Reason: "not valid"}
}
