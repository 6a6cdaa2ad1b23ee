package httpcall

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a policy.
const (
	DefaultMaxBytes  = 256 << 10
	MaxBytes         = 640 << 10 // in base64 it still fits into a reply
	DefaultTimeoutMS = 5_000
	MaxTimeoutMS     = 25_000
	maxHosts         = 64
)

// Spec is what an operator writes for a binding.
type Spec struct {
	// HOST:PORT for https, http://HOST:PORT for plain HTTP; no patterns
	Hosts           []string `json:"hosts"`
	Methods         []string `json:"methods,omitzero"`          // default GET and HEAD
	Addresses       []string `json:"addresses,omitzero"`        // networks (CIDR) that hosts may be in beside public ones
	ResponseHeaders []string `json:"response_headers,omitzero"` // that a hook sees beside the usual ones
	// of a request's and of an answer's body, each; default 262144
	MaxBytes  int64 `json:"max_bytes,omitzero"`
	TimeoutMS int64 `json:"timeout_ms,omitzero"` // for all of it, redirects included; default 5000
}

// SpecError says which member of a Spec is not valid.
type SpecError struct {
	Pointer string // RFC 6901, into the Spec
	Reason  string
}

func (e *SpecError) Error() string { return e.Pointer + ": " + e.Reason }

// Policy is a Spec that was checked. It does not change.
type Policy struct {
	hosts    map[origin]bool
	methods  []string
	networks []netip.Prefix
	headers  []string
	max      int
	timeout  time.Duration
}

// origin is where a request goes to.
type origin struct {
	scheme string // https or http
	host   string // lower-case name, or an address in its canonical form
	port   uint16
}

// NewPolicy checks a Spec. The error is a *SpecError.
func NewPolicy(s Spec) (*Policy, error) {
	p := &Policy{hosts: map[origin]bool{}, methods: s.Methods, max: DefaultMaxBytes,
		timeout: DefaultTimeoutMS * time.Millisecond}
	if len(s.Hosts) == 0 || len(s.Hosts) > maxHosts {
		return nil, &SpecError{"/hosts", fmt.Sprintf("lists between 1 and %d hosts", maxHosts)}
	}
	for i, h := range s.Hosts {
		o, err := parseHost(h)
		if err != nil {
			return nil, &SpecError{"/hosts/" + strconv.Itoa(i), err.Error()}
		}
		if p.hosts[o] {
			return nil, &SpecError{"/hosts/" + strconv.Itoa(i), "listed twice"}
		}
		p.hosts[o] = true
	}
	if s.Methods == nil {
		p.methods = []string{"GET", "HEAD"}
	}
	for i, m := range p.methods {
		if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, m) ||
			slices.Contains(p.methods[:i], m) {
			return nil, &SpecError{"/methods/" + strconv.Itoa(i),
				"must be one of GET, HEAD, POST, PUT, PATCH, DELETE, each once"}
		}
	}
	for i, a := range s.Addresses {
		n, err := netip.ParsePrefix(a)
		if err != nil || n != n.Masked() || n.String() != a || n.Addr().Is4In6() {
			return nil, &SpecError{"/addresses/" + strconv.Itoa(i), "must be a network such as 10.1.0.0/16 or fd12::/32"}
		}
		p.networks = append(p.networks, n)
	}
	for i, h := range s.ResponseHeaders {
		name := strings.ToLower(h)
		if !isToken(name) || name == "set-cookie" {
			return nil, &SpecError{"/response_headers/" + strconv.Itoa(i), "is not a header that a hook may see"}
		}
		p.headers = append(p.headers, name)
	}
	switch {
	case s.MaxBytes < 0 || s.MaxBytes > MaxBytes:
		return nil, &SpecError{"/max_bytes", fmt.Sprintf("must be between 1 and %d", MaxBytes)}
	case s.TimeoutMS < 0 || s.TimeoutMS > MaxTimeoutMS:
		return nil, &SpecError{"/timeout_ms", fmt.Sprintf("must be between 1 and %d", MaxTimeoutMS)}
	}
	if s.MaxBytes > 0 {
		p.max = int(s.MaxBytes)
	}
	if s.TimeoutMS > 0 {
		p.timeout = time.Duration(s.TimeoutMS) * time.Millisecond
	}
	return p, nil
}

// parseHost reads HOST:PORT or http://HOST:PORT.
func parseHost(s string) (origin, error) {
	o := origin{scheme: "https"}
	rest := s
	if after, ok := strings.CutPrefix(s, "http://"); ok {
		o.scheme, rest = "http", after
	} else if after, ok := strings.CutPrefix(s, "https://"); ok {
		rest = after
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return o, errors.New("has no port: write HOST:PORT")
	}
	host, port := rest[:i], rest[i+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return o, errors.New("the port is not a number between 1 and 65535")
	}
	o.port = uint16(n)
	if v6, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(v6, "]")
		if a, err := netip.ParseAddr(host); !ok || err != nil || a.Is4() {
			return o, errors.New("is not an IPv6 address in brackets")
		}
	} else if strings.Contains(host, ":") {
		return o, errors.New("an IPv6 address is written in brackets")
	}
	if host != strings.ToLower(host) {
		return o, errors.New("is written in lower case")
	}
	if o.host, err = canonicalHost(host); err != nil {
		return o, err
	}
	return o, nil
}

// canonicalHost returns the one spelling of a host that is accepted, or says why
// there is none. Spellings that programs read in different ways are refused: other
// forms of IPv4 than four decimal numbers, mapped addresses, zones, a dot at the end,
// escapes, and names that are not ASCII (write the xn-- form).
func canonicalHost(h string) (string, error) {
	if a, err := netip.ParseAddr(h); err == nil {
		if a.Zone() != "" || a.Is4In6() || a.String() != h {
			return "", errors.New("is not an address in its usual form")
		}
		return h, nil
	}
	if len(h) == 0 || len(h) > 253 {
		return "", errors.New("is not a host name")
	}
	h = strings.ToLower(h)
	labels := strings.Split(h, ".")
	for _, l := range labels {
		if len(l) == 0 || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return "", errors.New("is not a host name")
		}
		for i := range len(l) {
			if c := l[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
				return "", errors.New("is not a host name of letters, digits and hyphens")
			}
		}
	}
	// What ends in a number is an IPv4 address to some programs (WHATWG URL, 3.5).
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") &&
		strings.Trim(last[2:], "0123456789abcdef") == "" {
		return "", errors.New("is a number, not a host name")
	}
	return h, nil
}

// special are the blocks that are no public address (IANA's special-purpose
// registries, 2025-10), of IPv4 and of the part of IPv6 that is handed out,
// 2000::/3. Outside of that part nothing is public: loopback, mapped and NAT64
// addresses, unique local and link-local ones, multicast.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

var globalV6 = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public reports whether an address is a public one.
func public(a netip.Addr) bool {
	if a.Zone() != "" || !a.IsValid() {
		return false
	}
	if a = a.Unmap(); a.Is6() && !globalV6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(n netip.Prefix) bool { return n.Contains(a) })
}

// reachable reports whether a connection to the address may be made for the host.
func (p *Policy) reachable(host string, a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if host == a.String() {
		return true // the operator has listed the address itself
	}
	return public(a) || slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
