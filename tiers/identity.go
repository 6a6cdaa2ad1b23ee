package tiers

import (
	"net/url"
	"slices"
	"strings"
)

// Identity is the signer that a certificate names.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Assurance says which proofs come with an identity's signature.
type Assurance struct {
	Log                  bool // an entry in a trusted transparency log
	CertificateTimestamp bool // the certificate's entry in a trusted certificate log
}

func (a Assurance) strength() int {
	n := 0
	if a.Log {
		n += 2
	}
	if a.CertificateTimestamp {
		n++
	}
	return n
}

// covers reports whether a proves at least what want asks for.
func (a Assurance) covers(want Assurance) bool {
	return (a.Log || !want.Log) && (a.CertificateTimestamp || !want.CertificateTimestamp)
}

func (k *Keyless) wants() Assurance {
	return Assurance{
		Log:                  !slices.Contains(k.UnsafeWithout, "log"),
		CertificateTimestamp: !slices.Contains(k.UnsafeWithout, "certificateTimestamp"),
	}
}

func (k *Keyless) matches(id Identity) bool {
	return id.Issuer == k.Issuer && k.Subject.matches(id.Subject)
}

func (s *Subject) matches(subject string) bool {
	switch {
	case subject == "":
		return false
	case s.Equal != "":
		return subject == s.Equal
	case s.re != nil:
		return s.re.MatchString(subject)
	case s.URLPrefix != "":
		return underURL(s.URLPrefix, subject)
	}
	return false
}

// underURL reports whether subject is the URL or lies below it. A prefix without
// a slash at its end ends at a path boundary all the same: https://host/acme is
// not the owner of https://host/acme-evil.
func underURL(prefix, subject string) bool {
	u, err := url.Parse(subject)
	if err != nil || !plainPath(u.EscapedPath()) {
		return false
	}
	if subject == prefix {
		return true
	}
	// The slash also ends the host: https://host@evil.example is below nothing.
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return strings.HasPrefix(subject, prefix)
}

// plainPath reports whether every reader resolves the path to the same place.
func plainPath(p string) bool {
	if strings.ContainsAny(p, `%\`) {
		return false
	}
	for s := range strings.SplitSeq(p, "/") {
		if s == "." || s == ".." {
			return false
		}
	}
	return true
}

func (s *Subject) String() string {
	switch {
	case s.Equal != "":
		return s.Equal
	case s.URLPrefix != "":
		return s.URLPrefix + "…"
	}
	return "/" + s.Regex + "/"
}
