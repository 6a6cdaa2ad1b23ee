package front

import (
	"errors"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// Why a caller is refused, for programs.
const (
	CodePeer        = "peer"        // the system does not say who asks
	CodeNoUID       = "no_uid"      // the caller has no uid on this machine
	CodeUnsound     = "unsound"     // system.yaml cannot be believed
	CodeNotAllowed  = "not_allowed" // users.allow does not list the user
	CodeSpace       = "space"       // the user's state has no space, or cannot be looked at
	CodeUsers       = "users"       // users.max have a state directory
	CodeConnections = "connections" // limits.connections of the user are taken
	CodeServer      = "server"      // the user's server cannot be opened
	CodeStopping    = "stopping"    // the daemon ends
)

// Codes returns all of them.
func Codes() []string {
	return []string{CodePeer, CodeNoUID, CodeUnsound, CodeNotAllowed, CodeSpace, CodeUsers, CodeConnections, CodeServer,
		CodeStopping}
}

// Refusal is a caller that was refused.
type Refusal struct {
	UID    int    // -1: the system does not say
	Socket string // the name of the socket's file
	Code   string // one of Codes
	Why    string // what the caller is told
}

// reason is an error with its code.
type reason struct{ code, text string }

func (r *reason) Error() string { return r.text }

func because(code, text string) error { return &reason{code, text} }

func refusalOf(uid int, framed bool, why error) Refusal {
	r := Refusal{UID: uid, Socket: daemonapi.SocketName, Code: CodeServer, Why: why.Error()}
	if framed {
		r.Socket = daemonapi.FrameSocketName
	}
	if e := (*reason)(nil); errors.As(why, &e) {
		r.Code = e.code
	}
	return r
}
