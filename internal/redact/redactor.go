package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// MinKey is the least length of a Config's Key, in bytes.
const MinKey = 16

// MaxText is the longest text that is looked through, in bytes; a longer one is
// redacted completely.
const MaxText = 4 << 20

// ErrConfig is the class of errors about a Config, ErrInput that of errors
// about the input.
var (
	ErrConfig = errors.New("redact: bad configuration")
	ErrInput  = errors.New("redact: bad input")
)

// Error is this package's error. Text holds nothing of the input.
type Error struct {
	Class error
	Text  string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the class.
func (e *Error) Unwrap() error { return e.Class }

// Config says what to redact besides what the detector finds.
type Config struct {
	// Key keys the placeholders: equal secrets have equal placeholders, and
	// testing a guess takes the key. At least MinKey bytes.
	Key []byte
	// Masks are JSON Pointers (RFC 6901) into documents given to JSON; a token "*"
	// stands for every member or element. What they name is redacted completely.
	Masks []string
	// Removals are JSON Pointers, as Masks, to values to take out: a member
	// with its name, an element as null, so that the others stay in their
	// places. Where a mask names the same, the removal counts.
	Removals []string
	// KeyNames are further names of secret values, compared without case and
	// without - _ . and blanks.
	KeyNames []string
	// Exact are secrets known in full, such as the host's own tokens: redacted
	// wherever they stand, also encoded. At least MinExact bytes each, at most MaxExact.
	Exact []string
	// Patterns are further forms of secrets, at most MaxPatterns.
	Patterns []Pattern
	// Profile is Standard when empty.
	Profile Profile
	// Allow are JSON Pointers, as Masks, to strings that profile Strict leaves to
	// the detector instead of hashing them; what lies below is meant, too.
	Allow []string
}

// Redactor redacts secrets.
type Redactor struct {
	key      []byte
	masks    [][]string
	removals [][]string
	names    map[string]bool
	exact    *exactSet
	patterns *patterns
	strict   bool
	allow    [][]string
	harmless *harmless // shared by the copies that a record makes
	desks    *desks    // likewise

	cuts   map[string][]Cut // of the document, by place
	record *Record          // learns redacted secrets and finds them elsewhere; nil: none
	look   *detector        // of a copy at a desk; nil: a new one each time
	at     *desk            // of that copy
}

// New checks the configuration. Errors are of class ErrConfig.
func New(c Config) (*Redactor, error) {
	if len(c.Key) < MinKey {
		return nil, &Error{ErrConfig, fmt.Sprintf("the redaction key is shorter than %d bytes", MinKey)}
	}
	r := &Redactor{key: append([]byte{}, c.Key...), names: map[string]bool{}, harmless: newHarmless(),
		desks: new(desks)}
	var err error
	if r.masks, err = pointers(c.Masks, "mask"); err != nil {
		return nil, err
	}
	if r.removals, err = pointers(c.Removals, "removal"); err != nil {
		return nil, err
	}
	if r.allow, err = pointers(c.Allow, "allowed place"); err != nil {
		return nil, err
	}
	switch c.Profile {
	case "", Standard:
	case Strict:
		r.strict = true
	default:
		return nil, &Error{ErrConfig, fmt.Sprintf("there is no profile %q", string(c.Profile))}
	}
	if len(c.Exact) > MaxExact {
		return nil, &Error{ErrConfig, fmt.Sprintf("more than %d exact secrets", MaxExact)}
	}
	for _, s := range c.Exact {
		if len(s) < MinExact {
			return nil, &Error{ErrConfig, fmt.Sprintf("an exact secret is shorter than %d bytes", MinExact)}
		}
	}
	r.exact = newExactSet(c.Exact)
	if r.patterns, err = newPatterns(c.Patterns); err != nil {
		return nil, err
	}
	for _, n := range c.KeyNames {
		if flat(n) == "" {
			return nil, &Error{ErrConfig, "an empty key name"}
		}
		r.names[flat(n)] = true
	}
	return r, nil
}

func pointers(list []string, what string) ([][]string, error) {
	var out [][]string
	for _, m := range list {
		if err := phases.CheckPointer(m); err != nil || m == "" {
			return nil, &Error{ErrConfig, fmt.Sprintf("%s %q is not a JSON Pointer below the document", what, m)}
		}
		var tokens []string
		for _, t := range strings.Split(m[1:], "/") {
			tokens = append(tokens, strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~"))
		}
		out = append(out, tokens)
	}
	return out, nil
}

// Finding is one place of a text: bytes Start to End.
type Finding struct {
	Kind  string // such as github-token, private-key, password; [a-z0-9-]
	Start int
	End   int

	secret string // the secret without escapes, when that is another text
}

// in returns the secret that the finding names in its text.
func (f *Finding) in(s string) string {
	if f.secret != "" {
		return f.secret
	}
	return s[f.Start:f.End]
}

// Find returns the secrets of a text, by place and without overlaps.
func Find(text string) []Finding { return FindUntil(text, nil) }

// FindUntil is Find that gives up soon after stop says so: it is asked before
// each kind of secret, and before each piece that looks encoded. The result is
// useless then. Nil never stops.
func FindUntil(text string, stop func() bool) []Finding {
	d := detector{halt: &halt{ask: stop}}
	return d.find(text)
}

// Label redacts the secrets of a text that is shown and not stored, where there is no
// key: their kinds stand instead, [redacted:KIND].
func Label(s string) string {
	if len(s) > MaxText {
		return "[redacted:too-long]"
	}
	found := Find(s)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.Start] + "[redacted:" + f.Kind + "]")
		at = f.End
	}
	return b.String() + s[at:]
}

// Text redacts the secrets of a text. Findings are places in the original. With
// profile Strict the whole text is one, unless it is harmless by its form.
func (r *Redactor) Text(s string) (string, []Finding) {
	if r.strict && !plainValue(s) && !wholly(s) {
		r.note(s)
		return r.placeholder(hashedText, s), []Finding{{Kind: hashedText, Start: 0, End: len(s)}}
	}
	if r.look != nil {
		return r.redact(s)
	}
	k := r.sit(nil)
	out, found := k.own.redact(s)
	k.leave()
	return out, found
}

// hashedText is the kind of what profile Strict redacts without knowing why.
const hashedText = "text"

// redact redacts what the detector finds, whatever the profile.
func (r *Redactor) redact(s string) (string, []Finding) { return r.redactCuts(r.detector(), s, nil) }

// redactCuts redacts what r's detector finds, and the cuts.
func (r *Redactor) redactCuts(d *detector, s string, cuts []Cut) (string, []Finding) {
	if len(s) > MaxText {
		return r.placeholder("too-long", s), []Finding{{Kind: "too-long", Start: 0, End: len(s)}}
	}
	found := d.find(s)
	if len(cuts) > 0 {
		found = d.merge(s, append(found, findings(cuts)...))
	}
	if len(found) == 0 {
		return s, nil
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.Start])
		b.WriteString(r.placeholder(f.Kind, f.in(s)))
		at = f.End
	}
	b.WriteString(s[at:])
	return b.String(), found
}

// complete redacts a text of which the name or a mask says that it is secret. Where
// the detector knows all of it, the detector's kind says more.
func (r *Redactor) complete(kind, s string) string {
	d := r.detector()
	if f := d.find(s); len(f) == 1 && f[0].Start == 0 && f[0].End == len(s) {
		return r.placeholder(f[0].Kind, f[0].in(s))
	}
	return r.placeholder(kind, s)
}

// detector returns what looks through texts for r.
func (r *Redactor) detector() *detector {
	if r.look != nil {
		return r.look
	}
	d := r.newDetector()
	return &d
}

func (r *Redactor) newDetector() detector {
	return detector{names: r.names, exact: r.exact, patterns: r.patterns, record: r.record, harmless: r.harmless}
}

// note remembers the secrets of a text that is redacted completely, so that they are
// known elsewhere.
func (r *Redactor) note(s string) {
	if r.record == nil {
		return
	}
	d := r.detector()
	for _, f := range d.find(s) {
		r.learn(f.Kind, f.in(s))
	}
}

// learn remembers a secret, and the text that it encodes, for the rest of the
// record.
func (r *Redactor) learn(kind, secret string) {
	if r.record == nil || kind == hashedText || kind == "fragment" || r.record.known.have[secret] {
		return
	}
	r.record.see(kind, secret)
	switch kind {
	case "encoded":
		text := inside(secret)
		d := r.detector()
		for _, f := range d.find(text) {
			if f.Kind != kind || len(f.in(text)) < len(secret) { // one layer less
				r.learn(f.Kind, f.in(text))
			}
		}
	case "unread", "too-long", "private-key", "jwt":
	default: // the data of a Kubernetes Secret, the user and password of basic authentication
		if text := inside(secret); text != "" {
			r.record.see(kind, text)
			if _, pass, ok := strings.Cut(text, ":"); ok && kind == "credential" {
				r.record.see(kind, pass)
			}
		}
	}
}

// learnAll remembers the texts and numbers of a value that is redacted completely.
func (r *Redactor) learnAll(kind string, raw jsontext.Value) {
	if r.record == nil {
		return
	}
	for dec := jsontext.NewDecoder(bytes.NewReader(raw)); ; {
		t, err := dec.ReadToken()
		if err != nil {
			return // the document was read before: this is its end
		}
		last, n := dec.StackIndex(dec.StackDepth())
		name := last == '{' && n%2 == 1
		if k := t.Kind(); (k == '"' || k == '0') && !name {
			r.learn(kind, t.String())
		}
	}
}

// placeholder is what stands for a secret: its kind, and 8 hexadecimal digits of
// a keyed digest.
func (r *Redactor) placeholder(kind, secret string) string {
	r.learn(kind, secret)
	return r.hashed(kind, secret)
}

// hashed is a placeholder for a value that is not looked for elsewhere.
func (r *Redactor) hashed(kind, secret string) string {
	m := hmac.New(sha256.New, r.key)
	m.Write([]byte(secret))
	return "[redacted:" + kind + ":" + hex.EncodeToString(m.Sum(nil)[:4]) + "]"
}

// placeholderAt returns the length of a placeholder at the start of s, or 0:
// [redacted:KIND:HASH8], or [redacted:LABEL] as a hook's redaction leaves it.
func placeholderAt(s string) int {
	const head = "[redacted:"
	if !strings.HasPrefix(s, head) {
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), 128)], ']')
	if end < 0 {
		return 0
	}
	kind, hash, has := strings.Cut(s[len(head):end], ":")
	for _, c := range kind {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') || len(kind) > 24 {
			return 0
		}
	}
	if has && (len(hash) != 8 || strings.Trim(hash, "0123456789abcdef") != "") {
		return 0
	}
	return end + 1
}
