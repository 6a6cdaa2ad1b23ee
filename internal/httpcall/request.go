package httpcall

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

const (
	maxURL         = 8 << 10
	maxHeaders     = 32
	maxHeaderBytes = 16 << 10
	maxRecorded    = 16 << 10 // bytes of a body that stand in the record
)

// document is the argument of http_request.
type document struct {
	Method     string            `json:"method,omitzero"` // GET when absent
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers,omitzero"`
	Body       *string           `json:"body,omitzero"`
	BodyBase64 *string           `json:"body_base64,omitzero"`
	TimeoutMS  int64             `json:"timeout_ms,omitzero"` // within the binding's
}

// request is a document that was checked.
type request struct {
	method  string
	url     *url.URL
	to      origin
	headers http.Header
	body    []byte
}

// refusal says why a request is not sent, or not followed up.
func refusal(e hostcalls.Errno, reason string) error {
	raw, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return e
	}
	return &hostcalls.Refusal{Errno: e, Reply: raw}
}

// parse decodes a document and holds it against the policy. The error is a refusal.
func (p *Policy) parse(raw jsontext.Value) (*request, *document, error) {
	var d document
	if err := json.Unmarshal(raw, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, refusal(hostcalls.Invalid, "the request is not a valid document")
	}
	r := &request{method: d.Method, headers: http.Header{}}
	if r.method == "" {
		r.method = "GET"
	}
	if !slices.Contains(p.methods, r.method) {
		return nil, nil, refusal(hostcalls.Denied, "the method is not allowed")
	}
	if d.TimeoutMS < 0 || d.TimeoutMS > MaxTimeoutMS {
		return nil, nil, refusal(hostcalls.Invalid, "the timeout is out of range")
	}
	var err error
	if r.url, r.to, err = parseURL(d.URL); err != nil {
		return nil, nil, err
	}
	if !p.hosts[r.to] {
		return nil, nil, refusal(hostcalls.Denied, "the host is not allowed")
	}
	if err := r.setHeaders(d.Headers); err != nil {
		return nil, nil, err
	}
	if err := r.setBody(&d, p.max); err != nil {
		return nil, nil, err
	}
	return r, &d, nil
}

// parseURL accepts absolute http and https URLs in which nothing is ambiguous.
func parseURL(s string) (*url.URL, origin, error) {
	bad := func(reason string) (*url.URL, origin, error) {
		return nil, origin{}, refusal(hostcalls.Invalid, reason)
	}
	if len(s) == 0 || len(s) > maxURL {
		return bad("the URL is missing or too long")
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte(`\"<>^`+"`{|}", s[i]) >= 0 {
			return bad("the URL has characters that need to be escaped")
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return bad("the URL is not valid")
	}
	o := origin{scheme: u.Scheme}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return bad("the URL is not one of https or http")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return bad("the URL has a user or a password")
	case strings.Contains(s, "#"):
		return bad("the URL has a fragment")
	case u.Host == "" || strings.ContainsAny(u.Host, "%"):
		return bad("the URL has no valid host")
	}
	port := u.Port()
	switch {
	case port == "" && strings.HasSuffix(u.Host, ":"):
		return bad("the URL's port is empty")
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return bad("the URL's port is not valid")
	}
	o.port = uint16(n)
	if o.host, err = canonicalHost(u.Hostname()); err != nil {
		return bad("the URL's host " + err.Error())
	}
	if strings.Contains(o.host, ":") != strings.HasPrefix(u.Host, "[") {
		return bad("the URL's host is not valid")
	}
	return u, o, nil
}

// ownHeader reports headers that belong to the connection or that belay sets itself.
func ownHeader(name string) bool {
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
		"accept-encoding", "via", "forwarded", "http2-settings", "proxy-connection", "proxy-authorization",
		"proxy-authenticate":
		return true
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded-")
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

func (r *request) setHeaders(list map[string]string) error {
	size := 0
	for name, value := range list {
		lower := strings.ToLower(name)
		size += len(name) + len(value)
		switch {
		case !isToken(lower):
			return refusal(hostcalls.Invalid, "a header's name is not valid")
		case ownHeader(lower):
			return refusal(hostcalls.Denied, "a header belongs to the connection")
		case r.headers.Values(lower) != nil:
			return refusal(hostcalls.Invalid, "a header is there twice")
		case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c >= 0x7f }):
			return refusal(hostcalls.Invalid, "a header's value is not printable ASCII")
		}
		r.headers.Set(lower, value)
	}
	if len(list) > maxHeaders || size > maxHeaderBytes {
		return refusal(hostcalls.TooLarge, "too many headers")
	}
	return nil
}

func (r *request) setBody(d *document, limit int) error {
	switch {
	case d.Body != nil && d.BodyBase64 != nil:
		return refusal(hostcalls.Invalid, "there are two bodies")
	case d.Body != nil:
		r.body = []byte(*d.Body)
	case d.BodyBase64 != nil:
		b, err := base64.StdEncoding.Strict().DecodeString(*d.BodyBase64)
		if err != nil {
			return refusal(hostcalls.Invalid, "the body is not base64")
		}
		r.body = b
	default:
		return nil
	}
	switch {
	case r.method == "GET" || r.method == "HEAD":
		return refusal(hostcalls.Invalid, "a request of this method has no body")
	case len(r.body) > limit:
		return refusal(hostcalls.TooLarge, "the body is too large")
	}
	return nil
}

// record is what the event of the intent holds.
func (r *request) record() (jsontext.Value, error) {
	headers := map[string]string{}
	for name := range r.headers {
		headers[strings.ToLower(name)] = r.headers.Get(name)
	}
	out := struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitzero"`
		Bytes   int               `json:"body_bytes,omitzero"`
		Body    string            `json:"body,omitzero"`
		Sum     string            `json:"body_sha256,omitzero"`
	}{Method: r.method, URL: r.url.String(), Headers: headers, Bytes: len(r.body)}
	if len(r.body) > 0 {
		if len(r.body) <= maxRecorded && utf8.Valid(r.body) {
			out.Body = string(r.body)
		} else {
			out.Sum = phases.ByteDigest(r.body)
		}
	}
	return json.Marshal(&out, json.Deterministic(true))
}
