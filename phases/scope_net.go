package phases

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// hostPattern is a host exactly (a name in lower case or an address), all names
// below a suffix (text ".suffix"), or every host (text "", wild).
type hostPattern struct {
	text string
	wild bool
}

func (p hostPattern) covers(q hostPattern) bool {
	switch {
	case !p.wild:
		return p == q
	case p.text == "":
		return true
	default:
		return strings.HasSuffix(q.text, p.text) // addresses never end in a suffix: see checkHost
	}
}

func (p hostPattern) String() string {
	if p.wild {
		return "*" + p.text
	}
	if strings.Contains(p.text, ":") {
		return "[" + p.text + "]"
	}
	return p.text
}

// ports is a closed range.
type ports struct{ low, high int }

const minPort, maxPort = 1, 65535

func (r ports) String() string {
	switch {
	case r.low == minPort && r.high == maxPort:
		return "*"
	case r.low == r.high:
		return strconv.Itoa(r.low)
	}
	return strconv.Itoa(r.low) + "-" + strconv.Itoa(r.high)
}

// netPattern is one host pattern with one range of ports.
type netPattern struct {
	host  hostPattern
	ports ports
}

func parseNet(p string) (netPattern, string) {
	if p == "*" {
		return netPattern{hostPattern{wild: true}, ports{minPort, maxPort}}, ""
	}
	i := strings.LastIndexByte(p, ':')
	if i < 0 || strings.HasSuffix(p, "]") {
		return netPattern{}, "the port is missing: write HOST:PORT, HOST:LOW-HIGH or HOST:*"
	}
	host, reason := parseHostPattern(p[:i])
	if reason != "" {
		return netPattern{}, reason
	}
	r, ok := parsePorts(p[i+1:])
	if !ok {
		return netPattern{}, "the port is not a number from 1 to 65535, LOW-HIGH or *"
	}
	return netPattern{host, r}, ""
}

func parseHostPattern(h string) (hostPattern, string) {
	if h == "*" {
		return hostPattern{wild: true}, ""
	}
	if suffix, ok := strings.CutPrefix(h, "*."); ok {
		suffix, reason := checkHost(suffix)
		if reason == "" && isAddress(suffix) {
			reason = "an address has no names below it"
		}
		return hostPattern{"." + suffix, true}, reason
	}
	host, reason := checkHost(h)
	return hostPattern{text: host}, reason
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func parsePorts(s string) (ports, bool) {
	if s == "*" {
		return ports{minPort, maxPort}, true
	}
	lo, hi, isRange := strings.Cut(s, "-")
	low, ok := parsePort(lo)
	high := low
	if ok && isRange {
		high, ok = parsePort(hi)
	}
	return ports{low, high}, ok && low <= high
}

func parsePort(s string) (int, bool) {
	n, ok := arrayIndex(s) // digits without leading zeros
	return n, ok && n >= minPort && n <= maxPort
}

// checkHost returns a host in one spelling: names in lower case without the
// last dot, addresses as netip writes them, without brackets, IPv4 in IPv6 unwrapped.
// Names are letters, digits, - and _; a name whose last label is a number in
// any base is refused, since resolvers read such names as addresses.
func checkHost(h string) (string, string) {
	if inner, ok := strings.CutPrefix(h, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || a.Zone() != "" || !a.Is6() {
			return "", "not an IPv6 address in brackets"
		}
		return a.Unmap().String(), ""
	}
	if a, err := netip.ParseAddr(h); err == nil && a.Is4() {
		return a.String(), ""
	}
	h = strings.ToLower(strings.TrimSuffix(h, "."))
	if h == "" || len(h) > 253 {
		return "", "the host is empty or too long"
	}
	last := ""
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", "the host has an empty or malformed label"
		}
		for i := 0; i < len(label); i++ {
			if c := label[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return "", "the host has other characters than letters, digits, - and _"
			}
		}
		last = label
	}
	if isNumeric(last) {
		return "", "the host is an address in an unusual spelling"
	}
	return h, ""
}

func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

type netPatterns []netPattern

func parseNets(s Scope) netPatterns {
	if s == nil {
		s = Scope{"*"}
	}
	out := make(netPatterns, 0, len(s))
	for _, p := range s {
		if q, reason := parseNet(p); reason == "" && len(p) <= maxPatternBytes {
			out = append(out, q)
		}
	}
	return out
}

// portsOf returns the ports that are allowed for every host of the pattern.
// Only patterns that cover it count: finitely many narrower ones never add up
// to a wildcard, since there are always more names.
func (ns netPatterns) portsOf(h hostPattern) []ports {
	var out []ports
	for _, n := range ns {
		if n.host.covers(h) {
			out = append(out, n.ports)
		}
	}
	return mergePorts(out)
}

// minimal keeps for each host pattern only the ports that no wider pattern
// allows, in merged ranges: one such list for each set. It also keeps
// intersections of many overlapping ranges small.
func (ns netPatterns) minimal() netPatterns {
	var out netPatterns
	done := map[hostPattern]bool{}
	for _, n := range ns {
		if done[n.host] {
			continue
		}
		done[n.host] = true
		var wider netPatterns
		for _, w := range ns {
			if w.host != n.host && w.host.covers(n.host) {
				wider = append(wider, w)
			}
		}
		for _, r := range subtractPorts(ns.portsOf(n.host), wider.portsOf(n.host)) {
			out = append(out, netPattern{n.host, r})
		}
	}
	return out
}

func (ns netPatterns) normal() Scope {
	out := Scope{}
	for _, n := range ns.minimal() {
		text := n.host.String() + ":" + n.ports.String()
		if text == "*:*" {
			text = "*"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func (ns netPatterns) contains(os netPatterns) bool {
	for _, o := range os {
		if len(subtractPorts([]ports{o.ports}, ns.portsOf(o.host))) > 0 {
			return false
		}
	}
	return true
}

func (ns netPatterns) intersect(os netPatterns) netPatterns {
	var out netPatterns
	os = os.minimal()
	for _, n := range ns.minimal() {
		for _, o := range os {
			host := n.host
			switch {
			case o.host.covers(n.host):
			case n.host.covers(o.host):
				host = o.host
			default:
				continue
			}
			r := ports{max(n.ports.low, o.ports.low), min(n.ports.high, o.ports.high)}
			if r.low <= r.high {
				out = append(out, netPattern{host, r})
			}
		}
	}
	return out
}

// mergePorts sorts and joins ranges that overlap or touch.
func mergePorts(rs []ports) []ports {
	slices.SortFunc(rs, func(a, b ports) int { return a.low - b.low })
	var out []ports
	for _, r := range rs {
		if n := len(out); n > 0 && r.low <= out[n-1].high+1 {
			out[n-1].high = max(out[n-1].high, r.high)
			continue
		}
		out = append(out, r)
	}
	return out
}

// subtractPorts returns a without b; both are merged.
func subtractPorts(a, b []ports) []ports {
	var out []ports
	for _, r := range a {
		for _, s := range b {
			if s.high < r.low || s.low > r.high {
				continue
			}
			if s.low > r.low {
				out = append(out, ports{r.low, s.low - 1})
			}
			r.low = s.high + 1
		}
		if r.low <= r.high {
			out = append(out, r)
		}
	}
	return out
}

// AllowsHost reports whether the host (a name, an IPv4 address, or an IPv6
// address with or without brackets) with the port is in a net scope. Text that is no host is in none.
func (s Scope) allowsHost(host string, port int) bool {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	h, reason := checkHost(host)
	if reason != "" || port < minPort || port > maxPort {
		return false
	}
	return parseNets(s).contains(netPatterns{{hostPattern{text: h}, ports{port, port}}})
}
