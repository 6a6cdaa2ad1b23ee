package adapters

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// SessionOf returns the session that a payload names which may not be readable, "" when it
// names none or more than one. The scan in opts goes before payload.
func SessionOf(a Adapter, payload []byte, opts Options) string {
	return TextOf(a.SessionMember(), payload, opts)
}

// TextOf returns the text of a top-level member of a payload which may not be readable, "" when it has
// none, more than one, or one that is no name. The scan in opts goes before payload if it looks for the
// member: the payload may be the beginning of what came, and the member stand behind it.
func TextOf(member string, payload []byte, opts Options) string {
	if opts.Scan != nil {
		if text, looks := opts.Scan.Text(member); looks {
			return text
		}
	}
	return ScanName(payload, member)
}

// ScanFor returns a scan for what the adapter's Failure has to know of a payload of any size: the
// session, and the members that its table names. It is nil where there is nothing to look for.
func ScanFor(a Adapter) *Scan {
	members := a.Table().Scans
	if session := a.SessionMember(); session != "" {
		members = append([]string{session}, members...)
	}
	if len(members) == 0 {
		return nil
	}
	return NewScan(members...)
}

// Scan finds the texts that some top-level members of a JSON object have, in bytes that may
// be anything: too large to keep, cut off, not UTF-8, with doubled members. It takes the
// bytes piece by piece, looks at each once, and allocates nothing that grows with them.
// Where the members stand, and in which order, makes no difference.
// It reads up to the first fault of structure: behind one, text of a tool could pass for
// a member. A Scan is for one goroutine.
type Scan struct {
	members []scanned
	state   scanState
	depth   int
	arrays  [maxScanDepth/64 + 1]uint64 // a bit for each open value: it is an array

	role  scanRole // of the string that is being read
	text  []byte   // of that string with its quotes, if it has a role
	named *scanned // the value that comes next, or is being read, is that of this member
}

// scanned is one member that is looked for.
type scanned struct {
	name, found string
	useless     bool // found does not count: there is another text, or a value that is no name
}

type scanRole uint8

const (
	roleValue  scanRole = iota // of any other member or element
	roleName                   // name of any other member
	roleMember                 // name of a top-level member
	roleWanted                 // value of a member that is looked for
)

// maxScanDepth bounds how deep values may nest; the strict decoders take far less.
const maxScanDepth = 10_000

// maxScanText bounds the bytes kept of one string: escaped, a byte of a name takes six.
const maxScanText = 6*phases.MaxIDBytes + 2

type scanState uint8

const (
	scanStart      scanState = iota // nothing but white space so far
	scanFirstName                   // behind '{'
	scanName                        // behind a comma of an object
	scanColon                       // behind a name
	scanFirstValue                  // behind '['
	scanValue                       // behind a colon, or a comma of an array
	scanScalar                      // in a number or a word
	scanString
	scanEscape // behind a backslash
	scanNext   // behind a value
	scanEnd    // behind the object, or behind a fault: what follows says nothing
)

// NewScan returns a scan for the members, whose names have at most phases.MaxIDBytes bytes each.
func NewScan(members ...string) *Scan {
	s := &Scan{}
	for _, name := range members {
		s.members = append(s.members, scanned{name: name})
	}
	return s
}

// ScanName returns what a Scan of b finds.
func ScanName(b []byte, member string) string {
	s := NewScan(member)
	_, _ = s.Write(b)
	return s.Name()
}

// Name returns the text of the first member that the scan looks for: see Text.
func (s *Scan) Name() string {
	if len(s.members) == 0 {
		return ""
	}
	return s.members[0].text()
}

// Text returns a member's text, and whether the scan looks for that member. The text is ""
// unless all top-level occurrences of the member, at least one, are the same complete string,
// and that can be a name: strict JSON, not empty, at most phases.MaxIDBytes bytes, no control
// or format characters.
func (s *Scan) Text(member string) (text string, looks bool) {
	if m := s.member(member); m != nil {
		return m.text(), true
	}
	return "", false
}

func (m *scanned) text() string {
	if m.useless {
		return ""
	}
	return m.found
}

// member returns the member of that name that the scan looks for, or nil.
func (s *Scan) member(name string) *scanned {
	for i := range s.members {
		if s.members[i].name == name {
			return &s.members[i]
		}
	}
	return nil
}

// Write scans the next bytes. It takes all of them and never fails.
func (s *Scan) Write(p []byte) (int, error) {
	for i := 0; i < len(p) && s.state != scanEnd; i++ {
		s.next(p[i])
	}
	return len(p), nil
}

func (s *Scan) next(c byte) {
	switch s.state {
	case scanString, scanEscape:
		s.inString(c)
		return
	case scanScalar:
		if scalar(c) {
			return
		}
		s.state = scanNext
	}
	switch c {
	case ' ', '\t', '\n', '\r':
		return
	}
	switch s.state {
	case scanStart:
		s.open(c, c == '{')
	case scanFirstName, scanName:
		switch {
		case c == '"' && s.depth == 1:
			s.begin(roleMember)
		case c == '"':
			s.begin(roleName)
		default:
			s.close(c == '}' && s.state == scanFirstName)
		}
	case scanColon:
		s.state = scanEnd
		if c == ':' {
			s.state = scanValue
		}
	case scanFirstValue, scanValue:
		s.value(c)
	case scanNext:
		switch {
		case c == ',' && s.inArray():
			s.state = scanValue
		case c == ',':
			s.state = scanName
		default:
			s.close(c == ']' && s.inArray() || c == '}' && !s.inArray())
		}
	}
}

// value starts a value with its first byte.
func (s *Scan) value(c byte) {
	switch {
	case s.named != nil && c == '"':
		s.begin(roleWanted)
		return
	case s.named != nil:
		s.named.useless, s.named = true, nil // it is no string
	}
	switch {
	case c == '"':
		s.begin(roleValue)
	case c == '{', c == '[':
		s.open(c, true)
	case scalar(c):
		s.state = scanScalar
	default:
		s.close(c == ']' && s.state == scanFirstValue)
	}
}

// open enters an object or array, unless that is a fault.
func (s *Scan) open(c byte, ok bool) {
	if !ok || s.depth == maxScanDepth {
		s.state = scanEnd
		return
	}
	s.depth++
	word, bit := s.depth/64, uint64(1)<<(s.depth%64)
	s.state = scanFirstName
	s.arrays[word] &^= bit
	if c == '[' {
		s.state = scanFirstValue
		s.arrays[word] |= bit
	}
}

// close leaves an object or array, unless that is a fault.
func (s *Scan) close(ok bool) {
	if s.depth--; ok && s.depth > 0 {
		s.state = scanNext
		return
	}
	s.state = scanEnd
}

func (s *Scan) inArray() bool { return s.arrays[s.depth/64]&(1<<(s.depth%64)) != 0 }

// begin starts a string.
func (s *Scan) begin(role scanRole) {
	s.role, s.text, s.state = role, append(s.text[:0], '"'), scanString
}

// inString takes a byte of a string, up to the quote that ends it.
func (s *Scan) inString(c byte) {
	if (s.role == roleMember || s.role == roleWanted) && len(s.text) <= maxScanText {
		s.text = append(s.text, c)
	}
	switch {
	case s.state == scanEscape:
		s.state = scanString
	case c == '\\':
		s.state = scanEscape
	case c == '"':
		s.ended()
	}
}

// ended handles the string that has just ended by its role.
func (s *Scan) ended() {
	s.state = scanNext
	if s.role == roleName || s.role == roleMember {
		s.state = scanColon
	}
	switch s.role {
	case roleMember:
		if text, ok := s.unquoted(); ok {
			s.named = s.member(text)
		}
	case roleWanted:
		m := s.named
		s.named = nil
		text, ok := s.unquoted()
		if !ok || !names(text) || m.found != "" && m.found != text {
			m.useless = true
			return
		}
		m.found = text
	}
}

// unquoted is the text of the string that was kept; ok is false for one that is too long
// or not strict.
func (s *Scan) unquoted() (text string, ok bool) {
	if len(s.text) > maxScanText {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, s.text)
	return string(b), err == nil
}

// names reports whether text can name a session as it is.
func names(text string) bool {
	return text != "" && phases.SafeLine(text, phases.MaxIDBytes) == text
}

// scalar reports bytes of numbers and words. Which of these are values does not
// matter: they hide no structure.
func scalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
}
