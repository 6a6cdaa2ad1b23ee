package wire

import "github.com/belay-hooks/belay/phases"

// Problem is the envelope of every answer that is not a success.
type Problem struct {
	Error ProblemBody `json:"error"`
	// Event is the record of the refusal, when there is one.
	Event *phases.EventRef `json:"event,omitzero"`
}

// FramedProblem is a Problem on the framed socket, which has no status line.
type FramedProblem struct {
	Status int `json:"status"` // of HTTP
	Problem
}

// ProblemBody says what went wrong. Message is safe to show.
type ProblemBody struct {
	Code     string          `json:"code"` // stable; see Code* constants
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitzero"`
	Pointer  string          `json:"pointer,omitzero"`  // JSON Pointer into the request's body
	Decision phases.Decision `json:"decision,omitzero"` // block, where an action was asked about

	Trouble string `json:"trouble,omitzero"` // rolled_back or tampered: asking again is no use until `belay recover`
}

// Codes of problems. They are few and stable.
const (
	CodeInvocation = "invalid_invocation" // 400
	CodeRequest    = "invalid_request"    // 400
	CodeToken      = "unauthenticated"    // 401
	CodeRole       = "wrong_role"         // 403
	CodeForbidden  = "forbidden"          // 403: by the look of the connection
	CodeNotFound   = "not_found"          // 404
	CodeMethod     = "method_not_allowed" // 405
	CodeConfig     = "invalid_config"     // 409
	CodeConflict   = "conflict"           // 409: decided already, run out, or about something else
	CodeSignature  = "not_signed"         // 403: not by a reviewer
	CodeLog        = "log"                // 409: the event log cannot be compacted as it is
	CodeQuota      = "quota"              // 429: too many undecided questions
	CodeTooLarge   = "too_large"          // 413
	CodeMediaType  = "media_type"         // 415
	CodeInternal   = "internal"           // 500
	CodeOverloaded = "overloaded"         // 503
	CodeStore      = "store"              // 503
)
