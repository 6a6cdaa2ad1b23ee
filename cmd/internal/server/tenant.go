package server

import (
	"context"
	"net"
	"net/http"
	"os"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/peercred"
)

// Tenant is a user of system mode. The server has a state directory for this user alone; what another user asks
// never comes here.
type Tenant struct {
	UID  int
	Home string // what ~ stands for; "": not known
	// HTTP and Frames give connections that the user opened at the machine's sockets. The server closes both at its end.
	HTTP, Frames net.Listener
	// Share is the user's part of the turns of all users; nil: there are no others.
	Share *Share
	// Problem says why the configuration in force is not the one that it should be, or ""; nil: never.
	Problem func() string
	// SetLayer takes the user's own layer of the configuration, nil for none, and writes what follows from it. With an
	// error nothing is changed. Undo puts back what was before.
	SetLayer func(ctx context.Context, file []byte) (undo func() error, err error)
	// LayerProblem says why the user's own layer is not in force, or ""; nil: never.
	LayerProblem func() string
	// Machine says how the daemon's process stands; nil: that is not known.
	Machine func() wire.Machine
}

// roleOwn may look at what the directory holds, all of which is the caller's own, and bring a reviewer's signature. No
// token carries it.
const roleOwn client.Role = "own"

// serves reports whether the uid at the other end of a socket is one that may ask here: the user who runs the daemon
// and, in system mode, the tenant. Root opens each directory's own socket anyway.
func (s *Server) serves(uid int) bool {
	if uid == os.Geteuid() {
		return true
	}
	return s.o.Tenant != nil && (uid == s.o.Tenant.UID || uid == 0)
}

// isTenant reports whether the uid is that of the tenant, who has no token and needs none to look.
func (s *Server) isTenant(uid int) bool {
	return s.o.Tenant != nil && uid == s.o.Tenant.UID && uid != os.Geteuid()
}

// lacksSignature answers a tenant's request that has to bring a reviewer's signature and does not, and reports whether
// it did. The kernel takes an order without one where no reviewer is registered. A tenant's never counts: the agent
// asks under the same uid. Whether a signature is one that counts, the kernel decides.
func (s *Server) lacksSignature(w http.ResponseWriter, r *http.Request, signed bool) bool {
	if signed || !s.isTenant(peerOf(r.Context()).uid) {
		return false
	}
	p := wire.ProblemBody{Code: wire.CodeSignature,
		Message: "in system mode this takes the signature of a reviewer whom /etc/belay/system.yaml names for " +
			peercred.Credential(peerOf(r.Context()).uid),
		Hint: "`belay reviewer sign` writes a statement; `reviewers` in /etc/belay/system.yaml names who may sign."}
	s.tries.add(r, &p)
	s.problem(w, r, http.StatusForbidden, p)
	return true
}
