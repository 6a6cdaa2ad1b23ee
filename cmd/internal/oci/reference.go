package oci

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Scheme begins a reference on the command line.
const Scheme = "oci://"

// Reference names a hook in a registry. The zero value is not valid.
type Reference struct {
	Host   string // host or host:port, lower case
	Repo   string
	Tag    string // may be empty
	Digest string // sha256:<64 hex> of the manifest; may be empty
}

// RE2, anchored; the grammar is that of the distribution specification, hosts
// are DNS names, IPv4 addresses, or IPv6 addresses in brackets.
var (
	hostForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`\A(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?\z`,
		)
	})
	repoForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*\z`)
	})
	tagForm = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`\A[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}\z`) },
	)
	digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`) })
)

// ParseReference reads oci://HOST[:PORT]/REPO[:TAG][@sha256:HEX]. There is no
// default registry: the host is always written out. Errors are ErrReference.
func ParseReference(s string) (Reference, error) {
	bad := func(text string) (Reference, error) {
		return Reference{}, &Error{Class: ErrReference, Op: "read the reference", Text: text}
	}
	rest, ok := strings.CutPrefix(s, Scheme)
	if !ok {
		return bad("it has to begin with " + Scheme)
	}
	if len(rest) > maxRef {
		return bad("it is longer than " + strconv.Itoa(maxRef) + " characters")
	}
	host, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return bad("write it as oci://HOST/REPO:TAG or oci://HOST/REPO@sha256:…")
	}
	r := Reference{Host: strings.ToLower(host)}
	if !hostForm().MatchString(r.Host) || !portFits(r.Host) {
		return bad("the host is not one")
	}
	if rest, r.Digest, ok = strings.Cut(rest, "@"); ok && !digestForm().MatchString(r.Digest) {
		return bad("after the @ there has to be sha256: and 64 hexadecimal digits in lower case")
	}
	if rest, r.Tag, ok = strings.Cut(rest, ":"); ok && !tagForm().MatchString(r.Tag) {
		return bad("the tag is not one")
	}
	if r.Repo = rest; !repoForm().MatchString(r.Repo) {
		return bad("the repository has to be lower-case names with slashes between them")
	}
	return r, nil
}

func portFits(host string) bool {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return true // none
	}
	n, err := strconv.Atoi(port)
	return err == nil && n > 0 && n < 1<<16
}

// String is the reference as the command line takes it.
func (r Reference) String() string {
	s := Scheme + r.Host + "/" + r.Repo
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// Pinned is the reference by digest, without the tag.
func (r Reference) Pinned(digest string) Reference {
	r.Tag, r.Digest = "", digest
	return r
}

// Name is the last part of the repository.
func (r Reference) Name() string { return r.Repo[strings.LastIndexByte(r.Repo, '/')+1:] }

// Plain is the reference as other tools take it, without a scheme.
func (r Reference) Plain() string { return strings.TrimPrefix(r.String(), Scheme) }

// endpoint is the host that requests go to: Docker Hub's name is not its address.
func (r Reference) endpoint() string {
	if r.Host == "docker.io" || r.Host == "index.docker.io" {
		return "registry-1.docker.io"
	}
	return r.Host
}

// Loopback says that the host is this machine by its name. That it really is by
// its address is checked again when a connection is made.
func (r Reference) Loopback() bool { return loopback(r.Host) }

func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
