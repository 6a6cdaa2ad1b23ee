package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// route is one thing that can be asked for.
type route struct {
	method, path string
	roles        []client.Role // any of them; nil: every caller that got this far
	body         bool          // takes a JSON document
	query        []string      // the parameters that it takes
	list         bool          // its answer can be large
	handle       http.HandlerFunc
	// answers: it refuses parameters by itself, with what its caller reads as a block.
	answers bool
}

// table returns all routes. What stands here is what openapi.json documents.
func (s *Server) table() []route {
	invoke := []client.Role{client.RoleInvoke}
	read := []client.Role{client.RoleReview, client.RoleAdmin}
	look := append(slices.Clone(read), roleOwn)
	review := []client.Role{client.RoleReview, roleOwn} // with a reviewer's signature
	admin := []client.Role{client.RoleAdmin}
	signed := append(slices.Clone(admin), roleOwn) // a tenant only with a reviewer's signature
	layer := append(slices.Clone(admin), roleOwn)  // which only restricts
	all := []client.Role{client.RoleInvoke, client.RoleReview, client.RoleAdmin}
	return []route{
		{method: "GET", path: "/healthz", handle: s.healthz},
		{method: "GET", path: "/v1/openapi.json", handle: s.openAPI},
		{method: "POST", path: "/v1/invoke", roles: invoke, body: true, handle: s.invoke, answers: true},
		{method: "POST", path: "/adapters/{runtime}", roles: invoke, body: true, query: []string{"event"}, handle: s.adapter,
			answers: true},
		{method: "GET", path: "/v1/hooks", roles: look, handle: s.hooks},
		{method: "GET", path: "/v1/events", roles: look, query: eventParams(), handle: s.events, list: true},
		{method: "POST", path: "/v1/events/compact", roles: admin, body: true, handle: s.compact},
		{method: "POST", path: "/v1/events/reconcile", roles: read, body: true, handle: s.reconcile},
		{method: "GET", path: "/v1/recording", roles: admin, query: []string{"seconds", "count", "destination"},
			handle: s.recording},
		{method: "GET", path: "/v1/status", roles: look, handle: s.status},
		{method: "GET", path: "/v1/latches", roles: look, handle: s.latches},
		{method: "POST", path: "/v1/latches/clear", roles: signed, body: true, handle: s.clearLatch},
		{method: "POST", path: "/v1/config/accept", roles: admin, body: true, handle: s.acceptConfig},
		{method: "GET", path: "/v1/config/effective", roles: look, handle: s.effectiveConfig},
		{method: "POST", path: "/v1/config/user", roles: layer, body: true, handle: s.userConfig},
		{method: "POST", path: "/v1/proposals", roles: invoke, body: true, handle: s.propose},
		{method: "GET", path: "/v1/approvals", roles: look, query: approvalParams(), handle: s.approvals, list: true},
		{method: "GET", path: "/v1/approvals/{id}", roles: all, query: []string{"wait"}, handle: s.approval},
		{method: "POST", path: "/v1/approvals/{id}/decide", roles: review, body: true, handle: s.decide},
		{method: "GET", path: "/v1/leases", roles: look, query: leaseParams(), handle: s.leases, list: true},
		{method: "POST", path: "/v1/leases", roles: read, body: true, handle: s.mintLease},
		{method: "POST", path: "/v1/leases/revoke", roles: read, body: true, handle: s.revokeLease},
		{method: "POST", path: "/v1/leases/check", roles: invoke, body: true, handle: s.checkLease},
		{method: "POST", path: "/v1/reload", roles: admin, handle: s.reload},
	}
}

// handler puts the checks in front of the routes: first what the connection and
// the request look like, then who asks, then the body.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes {
		mux.HandleFunc(r.method+" "+r.path, s.guarded(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.problem(w, r, http.StatusMethodNotAllowed,
				wire.ProblemBody{Code: wire.CodeMethod, Message: "this is asked for with " + strings.Join(allowed, " or ")})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, http.StatusNotFound,
			wire.ProblemBody{Code: wire.CodeNotFound, Message: "there is nothing here",
				Hint: "GET /v1/openapi.json lists what there is."})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recovered(w, r)
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Now().Add(headerTime + s.o.Body + decideTime + writeTime))
		// The system waits for the rest of a body before it sends an answer.
		// The deadline bounds how long a refused request holds its connection.
		if r.ContentLength != 0 {
			_ = rc.SetReadDeadline(time.Now().Add(min(refuseTime, s.o.Body)))
		}
		// Every local user can connect to the loopback address. A connection
		// closes unless it has shown a token, so that no user can take all of
		// them.
		if !peerOf(r.Context()).unix {
			header.Set("Connection", "close")
		}
		if why := s.checkPeer(r); why != "" {
			s.log.LogAttrs(r.Context(), slog.LevelWarn, "request refused", slog.String("why", why), slog.String("host", r.Host),
				slog.String("origin", r.Header.Get("Origin")), slog.Int("uid", peerOf(r.Context()).uid))
			s.problem(w, r, http.StatusForbidden, wire.ProblemBody{Code: wire.CodeForbidden, Message: why})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// recovered answers for a handler that failed: with an error, never with a verdict.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "internal error", slog.String("path", r.URL.Path),
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	s.problem(w, r, http.StatusInternalServerError,
		wire.ProblemBody{Code: wire.CodeInternal, Message: "belay failed", Decision: phases.Block})
}

// guarded passes callers that have one of the route's roles and send its
// parameters and body.
func (s *Server) guarded(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if route.roles != nil {
			roles, ok := s.rolesOf(r)
			if !ok || len(roles) == 0 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="belay"`)
				s.log.LogAttrs(r.Context(), slog.LevelWarn, "request without a valid token", slog.String("path", route.path),
					slog.Bool("unix", peerOf(r.Context()).unix))
				s.problem(w, r, http.StatusUnauthorized,
					wire.ProblemBody{Code: wire.CodeToken, Message: "this takes a valid token: " + oneOf(route.roles),
						Hint: "Send it as `Authorization: Bearer TOKEN`. The state directory keeps tokens in keys/ROLE.token."})
				return
			}
			if !slices.ContainsFunc(roles, func(have client.Role) bool { return slices.Contains(route.roles, have) }) {
				s.log.LogAttrs(r.Context(), slog.LevelWarn, "request with the wrong role", slog.String("path", route.path))
				s.problem(w, r, http.StatusForbidden,
					wire.ProblemBody{Code: wire.CodeRole, Message: "this takes the role " + oneOf(route.roles)})
				return
			}
			s.notePlain(r)
			w.Header().Del("Connection")
		}
		if !route.body && r.ContentLength != 0 {
			s.problem(w, r, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest, Message: "no body is taken here"})
			return
		}
		if route.body {
			if why := notJSON(r); why != "" {
				s.problem(w, r, http.StatusUnsupportedMediaType, wire.ProblemBody{Code: wire.CodeMediaType, Message: why})
				return
			}
		}
		r, errand := s.beginErrand(r, route.list)
		defer errand.end()
		if !route.body && errand.take(r.Context()) != nil {
			return // the caller has gone
		}
		p := parameters(r.URL.RawQuery, route.query)
		if p.err != nil && !route.answers {
			s.invalidRequest(w, r, p.err)
			return
		}
		route.handle(w, withParams(r, p))
	}
}

func oneOf(roles []client.Role) string {
	var s []string
	for _, r := range roles {
		if r != roleOwn { // no token carries it
			s = append(s, string(r))
		}
	}
	return strings.Join(s, " or ")
}

// write sends a document. Its encoding cannot fail for values of this package;
// if it did, the caller must not take a part of it for an answer.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "an answer could not be written down", slog.Any("error", err))
		status, b = http.StatusInternalServerError,
			[]byte(`{"error":{"code":"internal","message":"the answer could not be written down"}}`)
	}
	if err := s.holdAnswer(w, r, len(b)); err != nil {
		status, b = http.StatusServiceUnavailable,
			[]byte(`{"error":{"code":"overloaded","message":"answers that are not read take all places"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// holdAnswer gives back the turn of a request whose answer is made, and waits for a place for that: it stays in memory
// until its caller reads it.
func (s *Server) holdAnswer(w http.ResponseWriter, r *http.Request, n int) error {
	e := errandOf(r.Context())
	if e == nil {
		return nil
	}
	if n <= smallBytes {
		e.isRead() // the socket takes it
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTime)
	defer cancel()
	err := e.hold(ctx, int64(n))
	e.leave()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // others of the user wait for its place
	return err
}

func (s *Server) problem(w http.ResponseWriter, r *http.Request, status int, p wire.ProblemBody) {
	s.tries.answered(r, status, &p)
	s.write(w, r, status, wire.Problem{Error: p})
}
