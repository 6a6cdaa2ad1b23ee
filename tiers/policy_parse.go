package tiers

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

var (
	ruleName    = regexp.MustCompile(`\A[a-z0-9][a-z0-9._-]{0,63}\z`)
	hookPattern = regexp.MustCompile(`\A[a-z0-9*][a-z0-9._*/-]{0,127}\z`)
	fileDigest  = regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`)
)

// ParsePolicy decodes trust.yaml and everything that it names, which read
// returns: files beside it, by the path as it is written there. Errors are of class
// PolicyUnusable with the line, except that a trusted root that cannot be read
// only fails what needs it.
func ParsePolicy(src []byte, read func(name string, limit int64) ([]byte, error)) (*Policy, error) {
	if len(src) > MaxPolicy {
		return nil, &Error{Class: PolicyUnusable, Text: fmt.Sprintf("larger than %d bytes", MaxPolicy)}
	}
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, policyError(err)
	}
	p := new(Policy)
	if err := doc.Decode(p); err != nil {
		return nil, policyError(err)
	}
	c := policyParser{doc: doc, read: read}
	if err := c.policy(p); err != nil {
		return nil, policyError(err)
	}
	if p.TrustedRoot != "" && p.Keyless() {
		p.root, p.rootErr = read(p.TrustedRoot, MaxRoot)
	}
	if err := p.seal(); err != nil {
		return nil, policyError(err)
	}
	return p, nil
}

// NoPolicy returns the policy of a host without trust.yaml: it trusts no signer.
func NoPolicy() *Policy {
	p := &Policy{Version: PolicyVersion}
	if err := p.seal(); err != nil {
		panic(err) // a constant
	}
	return p
}

func policyError(err error) error {
	return &Error{Class: PolicyUnusable, Text: PolicyFile + ": " + clipTo(err.Error(), 400), Cause: err}
}

type policyParser struct {
	doc  *strictyaml.Document
	read func(string, int64) ([]byte, error)
}

func (c policyParser) policy(p *Policy) error {
	if p.Version != PolicyVersion {
		return c.doc.Errorf("/version", "must be %s", PolicyVersion)
	}
	if err := localFile(p.TrustedRoot); p.TrustedRoot != "" && err != nil {
		return c.doc.Errorf("/trustedRoot", "%v", err)
	}
	if len(p.Rules) > maxRules {
		return c.doc.Errorf("/rules", "more than %d rules", maxRules)
	}
	names := map[string]bool{}
	for i := range p.Rules {
		at := fmt.Sprintf("/rules/%d", i)
		r := &p.Rules[i]
		if !ruleName.MatchString(r.Name) {
			return c.doc.Errorf(at+"/name", "a name is lower-case letters, digits, - . _, at most 64 bytes")
		}
		if names[r.Name] {
			return c.doc.Errorf(at+"/name", "%q is there twice", r.Name)
		}
		names[r.Name] = true
		if err := c.rule(r, at); err != nil {
			return err
		}
	}
	return c.deny(&p.Deny, "/deny")
}

func (c policyParser) rule(r *Rule, at string) error {
	if len(r.AllOf) == 0 && r.AnyOf == nil {
		return c.doc.Errorf(at, "a rule without signers would trust everybody: give allOf or anyOf")
	}
	n := len(r.AllOf)
	if r.AllOf != nil && n == 0 {
		return c.doc.Errorf(at+"/allOf", "lists no signer")
	}
	for i := range r.AllOf {
		if err := c.slot(&r.AllOf[i], fmt.Sprintf("%s/allOf/%d", at, i)); err != nil {
			return err
		}
	}
	if a := r.AnyOf; a != nil {
		n += len(a.Signers)
		if len(a.Signers) == 0 {
			return c.doc.Errorf(at+"/anyOf", "lists no signer under signers")
		}
		if a.MinimumMatches < 1 || a.MinimumMatches > len(a.Signers) {
			return c.doc.Errorf(at+"/anyOf/minimumMatches", "must be between 1 and %d, the number of signers", len(a.Signers))
		}
		for i := range a.Signers {
			if err := c.slot(&a.Signers[i], fmt.Sprintf("%s/anyOf/signers/%d", at, i)); err != nil {
				return err
			}
		}
	}
	if n > maxSlots {
		return c.doc.Errorf(at, "more than %d signers", maxSlots)
	}
	if r.Require != nil && len(r.Require) == 0 || len(r.Require) > maxRequire {
		return c.doc.Errorf(at+"/require", "lists from 1 to %d statements, or is left out", maxRequire)
	}
	for i := range r.Require {
		if err := c.attestation(&r.Require[i], fmt.Sprintf("%s/require/%d", at, i)); err != nil {
			return err
		}
	}
	return c.limits(&r.Limits, at+"/limits")
}

func (c policyParser) slot(s *Slot, at string) error {
	if err := plainText("", s.Name, 128); err != nil {
		return c.doc.Errorf(at+"/name", "too long, or with control characters")
	}
	if (s.PublicKey == nil) == (s.Keyless == nil) {
		return c.doc.Errorf(at, "needs publicKey or keyless, and not both")
	}
	if !s.NotBefore.IsZero() && !s.NotAfter.IsZero() && !s.NotBefore.Before(s.NotAfter) {
		return c.doc.Errorf(at+"/notAfter", "is not after notBefore")
	}
	if k := s.Keyless; k != nil {
		if u, err := url.Parse(k.Issuer); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return c.doc.Errorf(at+"/keyless/issuer", "must be the URL of an identity provider")
		}
		for i, w := range k.UnsafeWithout {
			if w != "log" && w != "certificateTimestamp" || slices.Contains(k.UnsafeWithout[:i], w) {
				return c.doc.Errorf(fmt.Sprintf("%s/keyless/unsafeWithout/%d", at, i),
					"must be log or certificateTimestamp, each once")
			}
		}
		return c.subject(&k.Subject, at+"/keyless/subject")
	}
	k := s.PublicKey
	if (k.PEM == "") == (k.File == "") {
		return c.doc.Errorf(at+"/publicKey", "needs pem or file, and not both")
	}
	src, member := []byte(k.PEM), "pem"
	if k.File != "" {
		member = "file"
		if err := localFile(k.File); err != nil {
			return c.doc.Errorf(at+"/publicKey/file", "%v", err)
		}
		var err error
		if src, err = c.read(k.File, MaxKeyFile); err != nil {
			return c.doc.Errorf(at+"/publicKey/file", "cannot be read: %v", err)
		}
	}
	var err error
	if k.key, err = ParseKey(src); err != nil {
		return c.doc.Errorf(at+"/publicKey/"+member, "%v", err)
	}
	return nil
}

func (c policyParser) subject(s *Subject, at string) error {
	n := 0
	for _, v := range []string{s.Equal, s.URLPrefix, s.Regex} {
		if v != "" {
			n++
		}
		if len(v) > 2048 {
			return c.doc.Errorf(at, "too long")
		}
	}
	if n != 1 {
		return c.doc.Errorf(at, "needs exactly one of equal, urlPrefix, regex")
	}
	if s.URLPrefix != "" {
		u, err := url.Parse(s.URLPrefix)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
			u.Fragment != "" || !plainPath(u.EscapedPath()) {
			return c.doc.Errorf(at+"/urlPrefix", "must be a plain URL such as https://github.com/acme/")
		}
	}
	if s.Regex != "" {
		var err error
		if s.re, err = regexp.Compile(`\A(?:` + s.Regex + `)\z`); err != nil {
			return c.doc.Errorf(at+"/regex", "not an RE2 pattern")
		}
		// A pattern such as "a)|(?:b" would close the group that anchors it.
		if _, err := regexp.Compile(s.Regex); err != nil {
			return c.doc.Errorf(at+"/regex", "not an RE2 pattern")
		}
	}
	return nil
}

func (c policyParser) limits(l *Limits, at string) error {
	if l.Hooks != nil && len(l.Hooks) == 0 || l.Phases != nil && len(l.Phases) == 0 {
		return c.doc.Errorf(at, "an empty list vouches for nothing: leave it out, or remove the rule")
	}
	for i, h := range l.Hooks {
		if _, err := path.Match(h, "x"); err != nil || !hookPattern.MatchString(h) ||
			strings.Contains(strings.TrimSuffix(h, "/**"), "**") {
			return c.doc.Errorf(fmt.Sprintf("%s/hooks/%d", at, i),
				"a pattern is a hook's name with * for anything but /, or with /** at its end")
		}
	}
	for i, s := range l.Capabilities {
		if _, err := ParseCapability(s); err != nil {
			return c.doc.Errorf(fmt.Sprintf("%s/capabilities/%d", at, i), "%v", err)
		}
	}
	for i, p := range l.Phases {
		if !p.Valid() {
			return c.doc.Errorf(fmt.Sprintf("%s/phases/%d", at, i), "%q is not a phase", clip(string(p)))
		}
	}
	if v := l.MinimumVersion; v != "" && (!semanticNumber.MatchString(v) || !semver.IsValid("v"+v)) {
		return c.doc.Errorf(at+"/minimumVersion", "a version has the form 1.2.3")
	}
	return nil
}

func (c policyParser) deny(d *Deny, at string) error {
	if len(d.Digests)+len(d.Keys)+len(d.Identities)+len(d.Signatures) > maxDenied {
		return c.doc.Errorf(at, "more than %d entries", maxDenied)
	}
	for i, s := range d.Digests {
		if !fileDigest.MatchString(s) {
			return c.doc.Errorf(fmt.Sprintf("%s/digests/%d", at, i), "has the form sha256: and 64 hexadecimal digits")
		}
	}
	for i, s := range d.Signatures {
		if !fileDigest.MatchString(s) {
			return c.doc.Errorf(fmt.Sprintf("%s/signatures/%d", at, i),
				"has the form sha256: and 64 hexadecimal digits, as `belay hook verify --json` prints it")
		}
	}
	for i, s := range d.Keys {
		if b, err := base64.StdEncoding.Strict().DecodeString(s); err != nil || len(b) != 32 {
			return c.doc.Errorf(fmt.Sprintf("%s/keys/%d", at, i),
				"a key id is 32 bytes in base64, as `belay trust list` prints it")
		}
	}
	for i := range d.Identities {
		if err := c.subject(&d.Identities[i].Subject, fmt.Sprintf("%s/identities/%d/subject", at, i)); err != nil {
			return err
		}
	}
	return nil
}

// localFile refuses names that lead out of the policy's directory by accident.
// An absolute path is an operator's choice.
func localFile(name string) error {
	if filepath.IsAbs(name) || filepath.IsLocal(name) {
		return nil
	}
	return errors.New("must be a file beside trust.yaml, or an absolute path")
}

func clipTo(s string, n int) string {
	if len(s) > n {
		return s[:n-3] + "..."
	}
	return s
}
