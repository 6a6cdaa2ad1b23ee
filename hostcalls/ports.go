package hostcalls

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/phases"
)

// StateReader reads the state of one hook, as it stood before this turn.
// Implementations are bound to one namespace; in observe mode that is a shadow.
// Any error ends the turn with kind store.
type StateReader interface {
	// Get returns the value of a key and its version; version 0 means that
	// there is none. The value is not changed by the caller.
	Get(ctx context.Context, key string) (value []byte, version int64, err error)
	// Usage returns the number of keys, and the bytes of all keys and values.
	Usage(ctx context.Context) (keys, bytes int, err error)
}

// StateRead is one key that a turn has looked at. The commit checks that it
// still has the version.
type StateRead struct {
	Key     string
	Version int64 // 0: there was none
}

// StateWrite is one key that a turn wants to change, from the version that the
// turn saw.
type StateWrite struct {
	Key     string
	Value   []byte
	Delete  bool
	Version int64 // 0: there was none
}

// ToolRunner runs a tool through its own chain of hooks for request_tool_call.
// The reply is JSON. An Errno as error, or a Refusal, is answered to the guest; a
// *phases.Fault of kind store or audit ends the turn as it is, any other error with
// kind hostcall.
type ToolRunner interface {
	RunTool(ctx context.Context, actor phases.Actor, request jsontext.Value) (reply jsontext.Value, err error)
}

// LeaseLedger answers the lease calls. Errors as for ToolRunner.
type LeaseLedger interface {
	Request(ctx context.Context, actor phases.Actor, request jsontext.Value) (jsontext.Value, error)
	Check(ctx context.Context, actor phases.Actor, request jsontext.Value) (jsontext.Value, error)
	Mint(ctx context.Context, actor phases.Actor, request jsontext.Value) (jsontext.Value, error)
	Revoke(ctx context.Context, actor phases.Actor, request jsontext.Value) (jsontext.Value, error)
}

// HTTPDoer sends the request of http_request. Errors as for ToolRunner.
type HTTPDoer interface {
	DoHTTP(ctx context.Context, actor phases.Actor, request jsontext.Value) (reply jsontext.Value, err error)
}

// Error makes an Errno an error, for the ports.
func (e Errno) Error() string { return "hostcall: " + e.String() }

// Refusal is an Errno with a JSON document that explains it: a guest that was
// answered the Errno finds the document in the reply buffer.
type Refusal struct {
	Errno Errno
	Reply jsontext.Value
}

func (r *Refusal) Error() string { return r.Errno.Error() }

// Unwrap returns the Errno.
func (r *Refusal) Unwrap() error { return r.Errno }

// FileSystem is what path_resolve may learn of the host's files: the targets of
// symbolic links, nothing else. For a hook it is asked only about paths inside the
// invocation's file scopes, and directories on the way to them. A replay answers from
// a recording. Safe for concurrent use.
type FileSystem interface {
	// Readlink returns the target of the link at an absolute path. The error is
	// errors.Is(err, fs.ErrNotExist) when nothing is there, and ErrNotLink when
	// it is no link; anything else counts as "cannot tell".
	Readlink(ctx context.Context, path string) (target string, err error)
}

// ErrNotLink says that there is something at a path, and that it is no symbolic link.
var ErrNotLink = links.ErrNotLink

// Wish is a call that an observed hook made and that was answered with
// Unavailable instead of being carried out.
type Wish struct {
	Call    string
	Request jsontext.Value
}
