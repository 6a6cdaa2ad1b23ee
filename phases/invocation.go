package phases

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Invocation is one call of the kernel for one phase. DecodeInvocation and
// EncodeInvocation are its wire form; Validate is for one that was built in Go.
//
// Action is the phase's payload as the caller's own bytes: a hook that asks for
// a raw value gets the source bytes, and a rewrite touches only the value that it names.
// It has been checked against the phase's typed form (see DecodeAction).
//
// Time is a claim on the way in: the caller's time, or zero. The
// kernel keeps the claim as ReportedTime and sets Time to its own clock, so that
// no caller moves the time that hooks decide by.
type Invocation struct {
	ID          string // UUIDv7; the kernel makes one when it is empty
	Phase       Phase
	Runtime     string // the agent runtime's name, such as "claude-code"; ≤ 64 bytes
	Session     string // ≤ 256 bytes
	Agent       string // ≤ 256 bytes
	Run         string // one user turn; metadata lives as long as the run; ≤ 256 bytes
	User        string // ≤ 256 bytes
	CWD         string // absolute path of the agent's working directory, or empty
	Action      jsontext.Value
	Scopes      Scopes
	Metadata    map[string]jsontext.Value // what the caller sends; hooks read it as /metadata/caller/*
	Time        time.Time                 // see below
	Traceparent string                    // W3C trace context, or empty

	// ReportedTime is the time that the caller gave; zero when it gave none. It is no
	// member of the wire form, where the same is "time".
	ReportedTime time.Time
}

// RunKey names the bag of metadata that is carried along a run.
type RunKey struct {
	Runtime, Session, Run string
}

// RunKey returns the key of the run that the invocation belongs to.
func (inv *Invocation) RunKey() RunKey {
	return RunKey{Runtime: inv.Runtime, Session: inv.Session, Run: inv.Run}
}

// Entry is one metadata value with the hook that wrote it: a hook of a lower
// tier cannot overwrite what a higher one has written.
type Entry struct {
	Value jsontext.Value `json:"value"`
	Hook  string         `json:"hook"`
	Tier  Tier           `json:"tier"`
}

// Metadata is the bag carried along a run: ≤ 64 keys, ≤ 64 KiB. What hooks wrote that are kept apart stands in it
// under ApartPrefix, with the same bounds once more.
type Metadata map[string]Entry

// Phase names the moment in an agent's life at which a hook is asked.
type Phase string

// The eight phases, in the order in which a turn usually passes through them.
const (
	PrePlan         Phase = "pre_plan"         // a message arrived, nothing is planned yet
	PreSend         Phase = "pre_send"         // a request is about to go to the model
	PostReceive     Phase = "post_receive"     // the model answered
	PreTool         Phase = "pre_tool"         // a tool is about to run
	PostTool        Phase = "post_tool"        // a tool has run
	StateTransition Phase = "state_transition" // a stage, session, configuration… is about to change
	Spawn           Phase = "spawn"            // a child agent is about to start
	Audit           Phase = "audit"            // the record is about to be stored
)

// Phases returns all phases in canonical order. The slice is the caller's.
func Phases() []Phase {
	return []Phase{PrePlan, PreSend, PostReceive, PreTool, PostTool, StateTransition, Spawn, Audit}
}

// Valid reports whether p is one of the eight phases.
func (p Phase) Valid() bool { return slices.Contains(Phases(), p) }

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
	var request wireRequest
	if err := decodeWire(b, limits{}, &request); err != nil {
		return Request{}, err
	}
	inv, err := request.invocation(b)
	if err != nil {
		return Request{}, err
	}
	if request.ParentScopes != nil {
		if err := checkParentScopes(*request.ParentScopes); err != nil {
			return Request{}, newDecodeErrorAt(b, err.Pointer, err.Reason)
		}
	}
	return Request{Invocation: inv, HoldsScopes: request.HoldsScopes, ParentScopes: request.ParentScopes}, nil
}

// EncodeRequest writes the wire form, which DecodeRequest reads back to an equal
// request. The error is a *DecodeError: the request is not valid.
func EncodeRequest(request Request) ([]byte, error) {
	data, err := EncodeInvocation(request.Invocation)
	if err != nil {
		return nil, err
	}
	if request.ParentScopes != nil {
		if err := checkParentScopes(*request.ParentScopes); err != nil {
			return nil, err
		}
		scopes, err := json.Marshal(request.ParentScopes)
		if err != nil {
			return nil, &DecodeError{Pointer: parentScopes, Offset: -1, Reason: "not valid"}
		}
		if data, err = Set(data, parentScopes, scopes); err != nil {
			return nil, &DecodeError{Pointer: parentScopes, Offset: -1, Reason: "not valid"}
		}
	}
	if request.HoldsScopes {
		return withHeldScopes(data)
	}
	return data, nil
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
