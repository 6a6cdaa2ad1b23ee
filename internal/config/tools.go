package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/internal/httpcall"
	"github.com/belay-hooks/belay/phases"
)

// MCP declares the servers whose tools hooks can call with request_tool_call.
type MCP struct {
	Servers map[string]MCPServer `json:"servers,omitzero"` // by the name in mcp:NAME:TOOL
}

// MCPServer is one server: it has a command or a URL.
type MCPServer struct {
	Command   []string          `json:"command,omitzero"` // the program's absolute path and its arguments
	Env       []string          `json:"env,omitzero"`     // names of the variables that it gets; it gets no others
	CWD       string            `json:"cwd,omitzero"`     // absolute; default /
	URL       string            `json:"url,omitzero"`     // https, or http on this machine
	Headers   map[string]string `json:"headers,omitzero"` // with a URL: name to env:VARIABLE
	Tools     []string          `json:"tools"`            // that can be called; "*" for all
	TimeoutMS int64             `json:"timeout_ms,omitzero"`
	MaxBytes  int64             `json:"max_result_bytes,omitzero"`
	Reach     phases.Scopes     `json:"reach,omitzero"` // what its tools can touch at most; default: everything
	Pins      map[string]string `json:"pins,omitzero"`  // tool to the digest that its definition must have
}

// Tools says how hooks see the results of tools that they call.
type Tools struct {
	Results string `json:"results,omitzero"` // redacted (default), or raw
}

const (
	maxServers      = 64
	maxToolTimeout  = 25_000
	maxResultBytes  = 512 << 10
	maxServerValues = 256 // tools, variables, arguments and headers of a server, each
)

var (
	// no double underscore, no colon: both separate names
	serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9]+([-_]?[a-z0-9]+)*\z`) })
	serverTool = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9_./-]{1,128}\z`) })

	definitionDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`) })

	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`) })
	headerName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9-]*\z`) })
)

func (m *MCP) validate(c checker, at string) error {
	if len(m.Servers) > maxServers {
		return c.errorf(at+"/servers", "at most %d", maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		s := m.Servers[name]
		if err := s.validate(c, name, phases.Join(at+"/servers", name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *MCPServer) validate(c checker, name, at string) error {
	if len(name) > 64 || !serverName().MatchString(name) {
		return c.errorf(at, "a server's name is lower-case letters and digits with single - or _ between, at most 64 bytes")
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return c.errorf(at, "has a command or a url")
	case s.URL != "" && (s.Env != nil || s.CWD != ""):
		return c.errorf(at, "env and cwd belong to a command")
	case s.URL == "" && s.Headers != nil:
		return c.errorf(at+"/headers", "belong to a url")
	case s.URL == "" && !filepath.IsAbs(s.Command[0]):
		return c.errorf(at+"/command/0", "must be an absolute path: nothing is looked up")
	case s.CWD != "" && !filepath.IsAbs(s.CWD):
		return c.errorf(at+"/cwd", "must be an absolute path")
	case s.Tools == nil:
		return c.errorf(at, `tools is missing: list those that can be called, or ["*"] for all of them`)
	case max(len(s.Command), len(s.Env), len(s.Tools), len(s.Headers), len(s.Pins)) > maxServerValues:
		return c.errorf(at, "more than %d values in a list", maxServerValues)
	case s.TimeoutMS < 0 || s.TimeoutMS > maxToolTimeout:
		return c.errorf(at+"/timeout_ms", "must be between 1 and %d", maxToolTimeout)
	case s.MaxBytes < 0 || s.MaxBytes > maxResultBytes:
		return c.errorf(at+"/max_result_bytes", "must be between 1 and %d", maxResultBytes)
	}
	if s.URL != "" {
		if reason := checkServerURL(s.URL); reason != "" {
			return c.errorf(at+"/url", "%s", reason)
		}
	}
	for i, v := range s.Env {
		if !variableName().MatchString(v) {
			return c.errorf(fmt.Sprintf("%s/env/%d", at, i), "is a variable's name, not its value")
		}
	}
	for _, h := range slices.Sorted(maps.Keys(s.Headers)) {
		v, ok := strings.CutPrefix(s.Headers[h], "env:")
		if !headerName().MatchString(h) || !ok || !variableName().MatchString(v) {
			return c.errorf(phases.Join(at+"/headers", h), "must be env:NAME: the file names secrets, it never holds them")
		}
	}
	for i, t := range s.Tools {
		if t != "*" && !serverTool().MatchString(t) {
			return c.errorf(fmt.Sprintf("%s/tools/%d", at, i), "is not a tool's name")
		}
	}
	for _, t := range slices.Sorted(maps.Keys(s.Pins)) {
		if !serverTool().MatchString(t) {
			return c.errorf(phases.Join(at+"/pins", t), "is not a tool's name")
		}
		if !definitionDigest().MatchString(s.Pins[t]) {
			return c.errorf(phases.Join(at+"/pins", t), "is not sha256: and 64 lower-case hexadecimal digits")
		}
	}
	if err := s.Reach.Validate(); err != nil {
		return c.errorf(at+"/reach", "%v", err)
	}
	return nil
}

// checkServerURL says why a URL is not one to send tool calls to, or nothing.
func checkServerURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Fragment != "":
		return "is not a URL"
	case u.User != nil:
		return "has a user or a password: use headers"
	case u.Scheme == "https":
		return ""
	case u.Scheme != "http":
		return "must be https, or http on this machine"
	}
	a, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() != "localhost" && (err != nil || !a.Unmap().IsLoopback()) {
		return "must be https: http is for this machine only"
	}
	return ""
}

func (t *Tools) validate(c checker, at string) error {
	switch t.Results {
	case "", "redacted", "raw":
		return nil
	}
	return c.errorf(at+"/results", "must be redacted or raw")
}

func (b *Binding) validateHTTP(c checker, at string) error {
	_, err := httpcall.NewPolicy(*b.HTTP)
	var e *httpcall.SpecError
	if errors.As(err, &e) {
		return c.errorf(at+e.Pointer, "%s", e.Reason)
	}
	return err
}
