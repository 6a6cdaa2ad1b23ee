package tiers

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

var (
	ruleName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9][a-z0-9._-]{0,63}\z`) })
	hookPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9*][a-z0-9._*/-]{0,127}\z`) })
	fileDigest  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`) })
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
	policy := new(Policy)
	if err := doc.Decode(policy); err != nil {
		return nil, policyError(err)
	}
	c := policyParser{doc: doc, read: read}
	if err := c.policy(policy); err != nil {
		return nil, policyError(err)
	}
	if policy.TrustedRoot != "" && policy.Keyless() {
		policy.root, policy.rootErr = read(policy.TrustedRoot, MaxRoot)
	}
	if err := policy.seal(); err != nil {
		return nil, policyError(err)
	}
	return policy, nil
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
	return &Error{Class: PolicyUnusable, Text: clipTo(strictyaml.At(PolicyFile, err), 400), Cause: err}
}

type policyParser struct {
	doc  *strictyaml.Document
	read func(string, int64) ([]byte, error)
}

func (c policyParser) policy(policy *Policy) error {
	if policy.Version != PolicyVersion {
		return c.doc.Errorf("/version", "must be %s", PolicyVersion)
	}
	if err := localFile(policy.TrustedRoot); policy.TrustedRoot != "" && err != nil {
		return c.doc.Errorf("/trustedRoot", "%v", err)
	}
	if len(policy.Rules) > maxRules {
		return c.doc.Errorf("/rules", "more than %d rules", maxRules)
	}
	names := map[string]bool{}
	for i := range policy.Rules {
		at := fmt.Sprintf("/rules/%d", i)
		r := &policy.Rules[i]
		if !ruleName().MatchString(r.Name) {
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
	return c.deny(&policy.Deny, "/deny")
}

func (c policyParser) rule(rule *Rule, at string) error {
	if len(rule.AllOf) == 0 && rule.AnyOf == nil {
		return c.doc.Errorf(at, "a rule without signers would trust everybody: give allOf or anyOf")
	}
	n := len(rule.AllOf)
	if rule.AllOf != nil && n == 0 {
		return c.doc.Errorf(at+"/allOf", "lists no signer")
	}
	for i := range rule.AllOf {
		if err := c.slot(&rule.AllOf[i], fmt.Sprintf("%s/allOf/%d", at, i)); err != nil {
			return err
		}
	}
	if a := rule.AnyOf; a != nil {
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
	if rule.Require != nil && len(rule.Require) == 0 || len(rule.Require) > maxRequire {
		return c.doc.Errorf(at+"/require", "lists from 1 to %d statements, or is left out", maxRequire)
	}
	for i := range rule.Require {
		if err := c.attestation(&rule.Require[i], fmt.Sprintf("%s/require/%d", at, i)); err != nil {
			return err
		}
	}
	return c.limits(&rule.Limits, at+"/limits")
}

func (c policyParser) slot(slot *Slot, at string) error {
	if err := plainText("", slot.Name, 128); err != nil {
		return c.doc.Errorf(at+"/name", "too long, or with control characters")
	}
	if (slot.PublicKey == nil) == (slot.Keyless == nil) {
		return c.doc.Errorf(at, "needs publicKey or keyless, and not both")
	}
	if !slot.NotBefore.IsZero() && !slot.NotAfter.IsZero() && !slot.NotBefore.Before(slot.NotAfter) {
		return c.doc.Errorf(at+"/notAfter", "is not after notBefore")
	}
	if k := slot.Keyless; k != nil {
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
	key := slot.PublicKey
	if (key.PEM == "") == (key.File == "") {
		return c.doc.Errorf(at+"/publicKey", "needs pem or file, and not both")
	}
	src, member := []byte(key.PEM), "pem"
	if key.File != "" {
		member = "file"
		if err := localFile(key.File); err != nil {
			return c.doc.Errorf(at+"/publicKey/file", "%v", err)
		}
		var err error
		if src, err = c.read(key.File, MaxKeyFile); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return c.doc.Errorf(at+"/publicKey/file", "cannot be read: there is no file %s", key.File)
			}
			return c.doc.Errorf(at+"/publicKey/file", "cannot be read: %v", err)
		}
	}
	var err error
	if key.key, err = ParseKey(src); err != nil {
		return c.doc.Errorf(at+"/publicKey/"+member, "%v", err)
	}
	return nil
}

func (c policyParser) subject(subject *Subject, at string) error {
	n := 0
	for _, v := range []string{subject.Equal, subject.URLPrefix, subject.Regex} {
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
	if subject.URLPrefix != "" {
		u, err := url.Parse(subject.URLPrefix)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
			u.Fragment != "" || !plainPath(u.EscapedPath()) {
			return c.doc.Errorf(at+"/urlPrefix", "must be a plain URL such as https://github.com/acme/")
		}
	}
	if subject.Regex != "" {
		var err error
		if subject.re, err = regexp.Compile(`\A(?:` + subject.Regex + `)\z`); err != nil {
			return c.doc.Errorf(at+"/regex", "not an RE2 pattern")
		}
		// A pattern such as "a)|(?:b" would close the group that anchors it.
		if _, err := regexp.Compile(subject.Regex); err != nil {
			return c.doc.Errorf(at+"/regex", "not an RE2 pattern")
		}
	}
	return nil
}

func (c policyParser) limits(limits *Limits, at string) error {
	if limits.Hooks != nil && len(limits.Hooks) == 0 || limits.Phases != nil && len(limits.Phases) == 0 {
		return c.doc.Errorf(at, "an empty list vouches for nothing: leave it out, or remove the rule")
	}
	for i, h := range limits.Hooks {
		if _, err := path.Match(h, "x"); err != nil || !hookPattern().MatchString(h) ||
			strings.Contains(strings.TrimSuffix(h, "/**"), "**") {
			return c.doc.Errorf(fmt.Sprintf("%s/hooks/%d", at, i),
				"a pattern is a hook's name with * for anything but /, or with /** at its end")
		}
	}
	for i, s := range limits.Capabilities {
		if _, err := ParseCapability(s); err != nil {
			return c.doc.Errorf(fmt.Sprintf("%s/capabilities/%d", at, i), "%v", err)
		}
	}
	for i, p := range limits.Phases {
		if !p.Valid() {
			return c.doc.Errorf(fmt.Sprintf("%s/phases/%d", at, i), "%q is not a phase", clip(string(p)))
		}
	}
	if v := limits.MinimumVersion; v != "" && (!semanticNumber().MatchString(v) || !semver.IsValid("v"+v)) {
		return c.doc.Errorf(at+"/minimumVersion", "a version has the form 1.2.3")
	}
	return nil
}

func (c policyParser) deny(deny *Deny, at string) error {
	if len(deny.Digests)+len(deny.Keys)+len(deny.Identities)+len(deny.Signatures) > maxDenied {
		return c.doc.Errorf(at, "more than %d entries", maxDenied)
	}
	for i, s := range deny.Digests {
		if !fileDigest().MatchString(s) {
			return c.doc.Errorf(fmt.Sprintf("%s/digests/%d", at, i), "has the form sha256: and 64 hexadecimal digits")
		}
	}
	for i, s := range deny.Signatures {
		if !fileDigest().MatchString(s) {
			return c.doc.Errorf(fmt.Sprintf("%s/signatures/%d", at, i),
				"has the form sha256: and 64 hexadecimal digits, as `belay hook verify --json` prints it")
		}
	}
	for i, s := range deny.Keys {
		if b, err := base64.StdEncoding.Strict().DecodeString(s); err != nil || len(b) != 32 {
			return c.doc.Errorf(fmt.Sprintf("%s/keys/%d", at, i),
				"a key id is 32 bytes in base64, as `belay trust list` prints it")
		}
	}
	for i := range deny.Identities {
		if err := c.subject(&deny.Identities[i].Subject, fmt.Sprintf("%s/identities/%d/subject", at, i)); err != nil {
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
