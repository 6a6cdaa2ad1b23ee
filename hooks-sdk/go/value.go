package hook

import "unicode/utf8"

// Value is a JSON value that was taken apart, for replies and configuration.
// The zero Value stands for "none"; every method works on it.
type Value struct {
	kind    Kind
	present bool
	text    string // String: unescaped; Number, Bool, Null: as written
	items   []Value
	names   []string // Object: one for each item
}

const maxDepth = 200

// ParseJSON reads one JSON value that fills the text. It is strict about form
// and bounded in depth; of two members with the same name the first wins (the
// host hands out none).
func ParseJSON(text string) (Value, bool) {
	r := reader{s: text}
	v, ok := r.value(0)
	if !ok {
		return Value{}, false
	}
	r.blanks()
	return v, r.at == len(r.s)
}

// InputValue returns the input's value at a JSON Pointer, taken apart.
func InputValue(path string) Value { return parsed(KindOf(path), path, Get) }

// ConfigValue returns the configuration's value at a JSON Pointer, taken apart.
func ConfigValue(path string) Value { return parsed(ConfigKind(path), path, ConfigGet) }

func parsed(k Kind, path string, get func(string) (string, bool)) Value {
	if k == None {
		return Value{}
	}
	s, _ := get(path)
	if k == String {
		return Value{kind: String, present: true, text: s}
	}
	v, _ := ParseJSON(s)
	return v
}

// Kind returns the value's kind, None for the zero Value.
func (v Value) Kind() Kind {
	if !v.present {
		return None
	}
	return v.kind
}

// Text returns a string's text, "" for anything else.
func (v Value) Text() string {
	if v.kind == String {
		return v.text
	}
	return ""
}

// Int returns a number that is an integer in range.
func (v Value) Int() (int64, bool) {
	if v.kind != Number {
		return 0, false
	}
	return ParseInt(v.text)
}

// True tells whether the value is true.
func (v Value) True() bool { return v.kind == Bool && v.text == "true" }

// Items returns the elements of an array, or the values of an object.
func (v Value) Items() []Value { return v.items }

// Names returns the member names of an object, in its order.
func (v Value) Names() []string { return v.names }

// Get returns a member of an object.
func (v Value) Get(name string) Value {
	for i, n := range v.names {
		if n == name {
			return v.items[i]
		}
	}
	return Value{}
}

// Texts returns the strings of an array.
func (v Value) Texts() []string {
	var out []string
	for _, e := range v.items {
		if e.kind == String {
			out = append(out, e.text)
		}
	}
	return out
}

type reader struct {
	s  string
	at int
}

func (r *reader) blanks() {
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return
		}
	}
}

func (r *reader) eat(c byte) bool {
	r.blanks()
	if r.at < len(r.s) && r.s[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) value(depth int) (Value, bool) {
	r.blanks()
	if depth > maxDepth || r.at == len(r.s) {
		return Value{}, false
	}
	switch r.s[r.at] {
	case 'n':
		return r.word("null", Null)
	case 't':
		return r.word("true", Bool)
	case 'f':
		return r.word("false", Bool)
	case '"':
		s, ok := r.str()
		return Value{kind: String, present: true, text: s}, ok
	case '[', '{':
		return r.list(depth)
	}
	return r.number()
}

func (r *reader) word(w string, k Kind) (Value, bool) {
	if len(r.s)-r.at < len(w) || r.s[r.at:r.at+len(w)] != w {
		return Value{}, false
	}
	r.at += len(w)
	return Value{kind: k, present: true, text: w}, true
}

func (r *reader) list(depth int) (Value, bool) {
	v, end := Value{kind: Array, present: true}, byte(']')
	if r.s[r.at] == '{' {
		v.kind, end = Object, '}'
	}
	r.at++
	if r.eat(end) {
		return v, true
	}
	for {
		if v.kind == Object {
			r.blanks()
			name, ok := r.str()
			if !ok || !r.eat(':') {
				return Value{}, false
			}
			v.names = append(v.names, name)
		}
		e, ok := r.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		v.items = append(v.items, e)
		if !r.eat(',') {
			return v, r.eat(end)
		}
	}
}

func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.s) && r.s[r.at] >= '0' && r.s[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

func (r *reader) is(set string) bool {
	for i := 0; r.at < len(r.s) && i < len(set); i++ {
		if r.s[r.at] == set[i] {
			return true
		}
	}
	return false
}

func (r *reader) number() (Value, bool) {
	from := r.at
	if r.is("-") {
		r.at++
	}
	if r.is("0") {
		r.at++
	} else if !r.digits() {
		return Value{}, false
	}
	if r.is(".") {
		r.at++
		if !r.digits() {
			return Value{}, false
		}
	}
	if r.is("eE") {
		r.at++
		if r.is("+-") {
			r.at++
		}
		if !r.digits() {
			return Value{}, false
		}
	}
	return Value{kind: Number, present: true, text: r.s[from:r.at]}, true
}

func (r *reader) str() (string, bool) {
	if !r.is(`"`) {
		return "", false
	}
	r.at++
	from := r.at
	var out []byte
	for r.at < len(r.s) {
		c := r.s[r.at]
		switch {
		case c < 0x20:
			return "", false
		case c == '"':
			s := r.s[from:r.at]
			r.at++
			if out != nil {
				s = string(append(out, s...))
			}
			return s, true
		case c == '\\':
			out = append(out, r.s[from:r.at]...)
			u, ok := r.escape()
			if !ok {
				return "", false
			}
			out = utf8.AppendRune(out, u)
			from = r.at
		default:
			r.at++
		}
	}
	return "", false
}

func (r *reader) escape() (rune, bool) {
	if len(r.s)-r.at < 2 {
		return 0, false
	}
	c := r.s[r.at+1]
	r.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'u':
		u, ok := r.hex4()
		if ok && u >= 0xd800 && u < 0xdc00 {
			if len(r.s)-r.at < 2 || r.s[r.at:r.at+2] != `\u` {
				return 0, false
			}
			r.at += 2
			low, ok := r.hex4()
			return 0x10000 + (u-0xd800)<<10 + (low - 0xdc00), ok && low >= 0xdc00 && low < 0xe000
		}
		return u, ok && (u < 0xdc00 || u >= 0xe000)
	}
	return 0, false
}

func (r *reader) hex4() (rune, bool) {
	if len(r.s)-r.at < 4 {
		return 0, false
	}
	var u rune
	for _, c := range []byte(r.s[r.at : r.at+4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|32 >= 'a' && c|32 <= 'f':
			c = c | 32 - 'a' + 10
		default:
			return 0, false
		}
		u = u<<4 | rune(c)
	}
	r.at += 4
	return u, true
}
