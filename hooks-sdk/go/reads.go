package hook

// Kind is the kind of a JSON value.
type Kind int32

const (
	None   Kind = -1 // there is no value
	Null   Kind = 0
	Bool   Kind = 1
	Number Kind = 2
	String Kind = 3
	Array  Kind = 4
	Object Kind = 5
)

// fetch calls read until all fits.
func fetch(guess int, read func(d []byte) int32) (string, error) {
	buf := make([]byte, guess)
	for {
		n := read(buf)
		if n < 0 {
			return "", Errno(n)
		}
		if int(n) <= len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, n)
	}
}

func lastReply() (string, error) { return fetch(1024, rawReplyRead) }

// Input returns the whole document that the hook is asked about: the members of
// the action (tool, args, text...) beside those of the invocation (phase, cwd,
// metadata...). It shows the action as the hook received it; its own rewrites do
// not show.
func Input() string { s, _ := fetch(1024, rawInputRead); return s }

// Get returns the input's value at a JSON Pointer: a string without quotes and
// escapes, anything else as its source text. ok tells whether there is one.
func Get(path string) (value string, ok bool) {
	s, err := fetch(256, func(d []byte) int32 { return rawInputGet(path, d) })
	return s, err == nil
}

// KindOf returns the kind of the input's value at a JSON Pointer.
func KindOf(path string) Kind { return kind(rawInputKind(path)) }

// Has tells whether the input has a value at a JSON Pointer; null is one.
func Has(path string) bool { return KindOf(path) != None }

// Text returns the string at a JSON Pointer, or "".
func Text(path string) string { s, _ := LookupText(path); return s }

// LookupText returns the string at a JSON Pointer, if there is one.
func LookupText(path string) (string, bool) {
	if KindOf(path) != String {
		return "", false
	}
	return Get(path)
}

// Int returns the number at a JSON Pointer, if it is an integer in range.
func Int(path string) (int64, bool) {
	if KindOf(path) != Number {
		return 0, false
	}
	s, _ := Get(path)
	return ParseInt(s)
}

// IsTrue tells whether true stands at a JSON Pointer.
func IsTrue(path string) bool {
	s, _ := Get(path)
	return s == "true" && KindOf(path) == Bool
}

// Keys returns the member names of the object at a JSON Pointer.
func Keys(path string) []string {
	if KindOf(path) != Object {
		return nil
	}
	return names(rawInputKeys(path))
}

// Len returns the length of the array at a JSON Pointer; 0 for anything else.
func Len(path string) int {
	if KindOf(path) != Array {
		return 0
	}
	return length(rawInputKeys(path))
}

// Config returns the whole configuration of this hook. It fits the schema in the manifest.
func Config() string { s, _ := fetch(256, rawConfigRead); return s }

// ConfigGet is Get in the configuration.
func ConfigGet(path string) (value string, ok bool) {
	s, err := fetch(128, func(d []byte) int32 { return rawConfigGet(path, d) })
	return s, err == nil
}

// ConfigKind is KindOf in the configuration.
func ConfigKind(path string) Kind { return kind(rawConfigKind(path)) }

// ConfigText returns the string at a JSON Pointer in the configuration, or other.
func ConfigText(path, other string) string {
	if ConfigKind(path) == String {
		if s, ok := ConfigGet(path); ok {
			return s
		}
	}
	return other
}

// ConfigInt returns the integer at a JSON Pointer in the configuration, or other.
func ConfigInt(path string, other int64) int64 {
	if ConfigKind(path) == Number {
		s, _ := ConfigGet(path)
		if n, ok := ParseInt(s); ok {
			return n
		}
	}
	return other
}

// ConfigBool returns the boolean at a JSON Pointer in the configuration, or other.
func ConfigBool(path string, other bool) bool {
	if ConfigKind(path) == Bool {
		s, _ := ConfigGet(path)
		return s == "true"
	}
	return other
}

// ConfigKeys is Keys in the configuration.
func ConfigKeys(path string) []string {
	if ConfigKind(path) != Object {
		return nil
	}
	return names(rawConfigKeys(path))
}

// ConfigLen is Len in the configuration.
func ConfigLen(path string) int {
	if ConfigKind(path) != Array {
		return 0
	}
	return length(rawConfigKeys(path))
}

func kind(code int32) Kind {
	if code < 0 || code > int32(Object) {
		return None
	}
	return Kind(code)
}

func names(code int32) []string {
	v, err := parsedReply(code)
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range v.Items() {
		out = append(out, n.Text())
	}
	return out
}

func length(code int32) int {
	if code < 0 {
		return 0
	}
	s, _ := lastReply()
	n, _ := ParseInt(s)
	return int(n)
}

// ParseInt reads a decimal integer that fills s.
func ParseInt(s string) (int64, bool) {
	digits, neg := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, neg = s[1:], true
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false // 18 digits always fit; nobody counts further
	}
	var n int64
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(digits[i]-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// Pointer joins names to a JSON Pointer, escaping them:
// Pointer("args", "a/b") is "/args/a~1b".
func Pointer(steps ...string) string {
	var b []byte
	for _, s := range steps {
		b = append(b, '/')
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '~':
				b = append(b, "~0"...)
			case '/':
				b = append(b, "~1"...)
			default:
				b = append(b, s[i])
			}
		}
	}
	return string(b)
}

// Level is the importance of a log line.
type Level int32

const (
	Debug Level = 0 // for the author
	Info  Level = 1 // for the record
	Warn  Level = 2 // something is odd
	Error Level = 3 // something is wrong
)

// Log writes a line for the operator. Lines over the limit are dropped and counted.
func Log(l Level, text string) { rawLog(int32(l), text) }
