package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// params are the parameters of one request, read in one way for every route. A
// parameter that the table does not name, that comes twice, is empty, is longer
// than phases.MaxIDBytes or cannot be unescaped is refused: a filter that is
// not understood would show too much. err is the first fault; the readers below
// add to it, and return the zero value for an absent parameter. The readable
// parameters are set even then: they may name the form of the refusal.
type params struct {
	values map[string]string
	err    error
}

// parameters reads a query string of which the names are taken.
func parameters(raw string, names []string) *params {
	p := &params{}
	values, err := url.ParseQuery(raw)
	if err != nil {
		p.err = errors.New("the parameters cannot be read")
	}
	p.values = make(map[string]string, len(values))
	for name, v := range values {
		p.values[name] = v[0]
		switch {
		case !slices.Contains(names, name):
			p.refuse(name, "is not known here")
		case len(v) != 1:
			p.refuse(name, "is given more than once")
		case v[0] == "":
			p.refuse(name, "is empty")
		case len(v[0]) > phases.MaxIDBytes:
			p.refuse(name, fmt.Sprintf("is longer than %d bytes", phases.MaxIDBytes))
		}
	}
	return p
}

func (p *params) refuse(name, why string) {
	if p.err == nil {
		p.err = fmt.Errorf("the parameter %q %s", phases.SafeLine(name, 64), why)
	}
}

func (p *params) has(name string) bool { return p.values[name] != "" }

func (p *params) text(name string) string { return p.values[name] }

// number reads a whole number in decimal digits, without a sign.
func (p *params) number(name string, least, most uint64) uint64 {
	v := p.values[name]
	if v == "" {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil || n < least || n > most {
		p.refuse(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
		return 0
	}
	return n
}

// sequence reads the number of an event.
func (p *params) sequence(name string) int64 { return int64(p.number(name, 0, math.MaxInt64)) }

func (p *params) boolean(name string) bool {
	switch p.values[name] {
	case "true", "1":
		return true
	case "", "false", "0":
		return false
	}
	p.refuse(name, "must be true or false")
	return false
}

func (p *params) instant(name string) time.Time {
	v := p.values[name]
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		p.refuse(name, "must be a time in RFC 3339")
		return time.Time{}
	}
	return t
}

func (p *params) duration(name string, most time.Duration) time.Duration {
	v := p.values[name]
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > most {
		p.refuse(name, "must be a duration such as 30s, up to "+most.String())
		return 0
	}
	return d
}

// choice reads one of the words that there are.
func choice[T ~string](p *params, name string, of []T) T {
	v := T(p.values[name])
	if v != "" && !slices.Contains(of, v) {
		p.refuse(name, fmt.Sprintf("must be one of %q", of))
		return ""
	}
	return v
}

type paramsKey struct{}

// withParams hands the parameters to the handler.
func withParams(r *http.Request, p *params) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), paramsKey{}, p))
}

// given returns what the route was asked with.
func given(r *http.Request) *params {
	if p, ok := r.Context().Value(paramsKey{}).(*params); ok {
		return p
	}
	return &params{err: errors.New("the parameters were not read")}
}

// invalidRequest answers a request with a parameter that is not known or not valid.
func (s *Server) invalidRequest(w http.ResponseWriter, r *http.Request, err error) {
	s.problem(w, r, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest, Message: err.Error()})
}

// sendList answers with the part of a list that q asks for, which was read from
// the parameters of the request.
func sendList[Q, T any](server *Server, w http.ResponseWriter, r *http.Request, name string, q Q,
	from func(context.Context, Q) ([]T, error)) {
	if err := given(r).err; err != nil {
		server.invalidRequest(w, r, err)
		return
	}
	l, err := from(r.Context(), q)
	if err != nil {
		server.unavailable(w, r, err)
		return
	}
	if l == nil {
		l = []T{}
	}
	server.write(w, r, http.StatusOK, map[string][]T{name: l})
}
