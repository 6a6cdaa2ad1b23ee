package server

import (
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/client"
)

// checkPeer says why a request is refused by the look of it, or "". A web page can
// make a browser send requests to a loopback address, under a name of its own
// choosing too; it can neither leave out Origin and Sec-Fetch-Site nor forge Host.
// There is no page of belay's own, so that no origin is a good one.
func (s *Server) checkPeer(r *http.Request) string {
	p := peerOf(r.Context())
	switch {
	case p.unix && !s.serves(p.uid):
		return "this socket serves one user, and the caller is another"
	case !p.unix && !slices.Contains(s.hosts, strings.ToLower(r.Host)):
		return "the request is for another host"
	case s.o.TLSOnly && p.plain():
		return "this address takes TLS only: give https"
	case len(r.Header.Values("Origin")) > 0:
		return "requests from web pages are not served"
	}
	for _, v := range r.Header.Values("Sec-Fetch-Site") {
		if v != "none" {
			return "requests from web pages are not served"
		}
	}
	return ""
}

// notePlain counts a request with a valid token that came without TLS: its caller could not
// know who answers. The first one is told to the log.
func (s *Server) notePlain(r *http.Request) {
	if peerOf(r.Context()).plain() && s.plain.Add(1) == 1 {
		s.log.LogAttrs(r.Context(), slog.LevelWarn,
			"a caller has sent its token without TLS: a program that takes this port while no daemon runs gets it; docs/SERVE.md says what to use instead",
			slog.String("path", r.URL.Path))
	}
}

// rolesOf says what the caller may do. The owner's uid on the socket is good for
// invoke only: agents have it as well. ok is false when a token was sent and is
// not a valid one; it never counts as none.
func (s *Server) rolesOf(r *http.Request) (roles []client.Role, ok bool) {
	if p := peerOf(r.Context()); p.unix {
		roles = append(roles, client.RoleInvoke)
		if s.isTenant(p.uid) {
			roles = append(roles, roleOwn)
		}
	}
	sent := r.Header.Values("Authorization")
	switch len(sent) {
	case 0:
		return roles, true
	case 1:
	default:
		return nil, false
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	role, ok := s.tokens.Load().roleOf(token)
	if !ok {
		return nil, false
	}
	return append(roles, role), true
}

// notJSON says why the body is not taken for JSON, or "". A form or a plain text,
// which web pages can send without asking, is never read.
func notJSON(r *http.Request) string {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "compressed bodies are not taken"
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return "the body must be application/json"
	}
	if c, given := params["charset"]; given && !strings.EqualFold(c, "utf-8") {
		return "the body must be in UTF-8"
	}
	return ""
}
