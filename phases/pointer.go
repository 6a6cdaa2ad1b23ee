package phases

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// errPointer is the class of errors about JSON Pointers: malformed, or not
// applicable to the document.
var errPointer = errors.New("phases: JSON Pointer not valid")

// pointerError says why a JSON Pointer does not work.
type pointerError struct {
	pointer string
	reason  string
}

// Error returns pointer and reason.
func (e *pointerError) Error() string {
	return "pointer " + strconv.Quote(cut(e.pointer, 200)) + ": " + e.reason
}

// Is reports the class errPointer.
func (e *pointerError) Is(target error) bool { return target == errPointer }

// CheckPointer reports whether ptr is a JSON Pointer (RFC 6901) of at most
// 1,024 bytes. "" is the whole document. Whether a token is a legal array index
// shows only against a document: see Find.
func CheckPointer(ptr string) error {
	if ptr == "" {
		return nil
	}
	if len(ptr) > maxPathBytes {
		return &pointerError{ptr, "too long"}
	}
	if ptr[0] != '/' {
		return &pointerError{ptr, "does not start with a slash"}
	}
	if !utf8.ValidString(ptr) {
		return &pointerError{ptr, "is not UTF-8"}
	}
	for i := 0; i < len(ptr); i++ {
		if ptr[i] == '~' && (i+1 == len(ptr) || (ptr[i+1] != '0' && ptr[i+1] != '1')) {
			return &pointerError{ptr, "has a ~ that is neither ~0 nor ~1"}
		}
	}
	return nil
}

// Covers reports whether the value at prefix is, or contains, the value at ptr:
// "/args" covers "/args" and "/args/command" but not "/argsx"; "" covers all.
// Both must be valid; a token has only one spelling, so comparing text is exact.
func Covers(prefix, ptr string) bool {
	rest, ok := strings.CutPrefix(ptr, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Join appends the tokens to ptr, escaped.
func Join(ptr string, tokens ...string) string {
	var text strings.Builder
	text.WriteString(ptr)
	for _, t := range tokens {
		text.WriteByte('/')
		for i := 0; i < len(t); i++ {
			switch t[i] {
			case '~':
				text.WriteString("~0")
			case '/':
				text.WriteString("~1")
			default:
				text.WriteByte(t[i])
			}
		}
	}
	return text.String()
}

// splitToken takes the first token off ptr, which is not empty, unescaped.
func splitToken(ptr string) (token, rest string) {
	end := strings.IndexByte(ptr[1:], '/') + 1
	if end == 0 {
		end = len(ptr)
	}
	token, rest = ptr[1:end], ptr[end:]
	if strings.IndexByte(token, '~') >= 0 {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return token, rest
}

// splitLast returns the pointer of the parent and the last token, unescaped.
func splitLast(ptr string) (parent, token string) {
	i := strings.LastIndexByte(ptr, '/')
	token, _ = splitToken(ptr[i:])
	return ptr[:i], token
}

// arrayIndex parses a token as an array index: digits without leading zeros.
// "-" (the element after the last) is not accepted.
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 9 || (len(token) > 1 && token[0] == '0') {
		return 0, false
	}
	n := 0
	for i := 0; i < len(token); i++ {
		if token[i] < '0' || token[i] > '9' {
			return 0, false
		}
		n = n*10 + int(token[i]-'0')
	}
	return n, true
}

// Find returns the value at ptr as its source bytes, without white space around
// it. found is false when nothing is there. The error is of class errPointer: ptr
// is malformed, or a token that addresses an array is no legal index (RFC 6901
// forbids leading zeros; "-" addresses nothing and is refused too). raw must be
// valid JSON; the result shares its memory.
func find(raw jsontext.Value, ptr string) (v jsontext.Value, found bool, err error) {
	v, found, _, err = FindCounted(raw, ptr)
	return v, found, err
}

// escapedName is how many entries a name with escapes counts as, beside its length.
const escapedName = 8

// Looked counts the work of finding a value.
type Looked struct {
	Bytes   int // from the beginning of the document on
	Entries int // of arrays and objects that were passed; a name with escapes counts as more
}

// FindCounted is find that also counts its work, the same for the same document and
// pointer everywhere.
func FindCounted(raw jsontext.Value, ptr string) (v jsontext.Value, found bool, took Looked, err error) {
	if err := CheckPointer(ptr); err != nil {
		return nil, false, took, err
	}
	sp, found, err := locate(raw, ptr, &took)
	if !found || err != nil {
		return nil, false, took, err
	}
	took.Bytes = sp.end
	return raw[sp.start:sp.end:sp.end], true, took, nil
}

// Get is Find for callers to whom a bad pointer is the same as an absent value.
func Get(raw jsontext.Value, ptr string) (jsontext.Value, bool) {
	v, found, err := find(raw, ptr)
	return v, found && err == nil
}

// GetString returns the text of the string at ptr; false when there is none.
func GetString(raw jsontext.Value, ptr string) (string, bool) {
	v, _ := Get(raw, ptr)
	return unquote(v)
}

// locate finds the range of the value at ptr, which is well formed.
func locate(raw []byte, ptr string, took *Looked) (span, bool, error) {
	i := skipSpace(raw, 0)
	for p := ptr; p != ""; {
		var token string
		token, p = splitToken(p)
		m, found, err := child(raw, i, token, took)
		if err != nil {
			return span{}, false, &pointerError{ptr, err.Error()}
		}
		if !found {
			return span{}, false, nil
		}
		i = m.value.start
	}
	end, ok := skipValue(raw, i)
	return span{i, end}, ok, nil
}

var errIndex = errors.New("addresses an array with something that is no index")

// child finds the entry that token names in the container at i; value.end is not set.
func child(raw []byte, i int, token string, took *Looked) (member, bool, error) {
	entries := entriesOf(raw, i)
	defer func() {
		took.Bytes = max(took.Bytes, entries.i)
		took.Entries += entries.n
	}()
	if entries.bad {
		return member{}, false, nil
	}
	want := -1
	if !entries.object {
		var isIndex bool
		if want, isIndex = arrayIndex(token); !isIndex {
			return member{}, false, errIndex
		}
	}
	for {
		m, ok := entries.next()
		if !ok {
			return member{}, false, nil
		}
		if entries.object && bytes.IndexByte(raw[m.name.start:m.name.end], '\\') >= 0 {
			took.Entries += escapedName + (m.name.end-m.name.start)/16 // it is decoded
		}
		if m.index == want || (entries.object && nameIs(raw[m.name.start:m.name.end], token)) {
			return m, true, nil
		}
		if !entries.skip(&m) {
			return member{}, false, nil
		}
	}
}

// Set returns raw with the value at ptr replaced, everything else byte for
// byte as it was. An absent last member of an object is added at its end, and
// the index one past an array's end appends. value must be valid JSON and is put in as it is,
// without white space around it. raw is not changed. The error names the pointer and the reason.
func Set(raw jsontext.Value, ptr string, value jsontext.Value) (jsontext.Value, error) {
	if err := CheckPointer(ptr); err != nil {
		return nil, err
	}
	value = trim(value)
	if len(value) == 0 {
		return nil, &pointerError{ptr, "no value given"}
	}
	sp, found, err := locate(raw, ptr, new(Looked))
	if err != nil {
		return nil, err
	}
	if found {
		return splice(raw, sp, value), nil
	}
	if ptr == "" {
		return nil, &pointerError{ptr, "the document is not JSON"}
	}
	parent, token := splitLast(ptr)
	at, found, err := locate(raw, parent, new(Looked))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &pointerError{ptr, "the parent is missing"}
	}
	object := raw[at.start] == '{'
	if !object && raw[at.start] != '[' {
		return nil, &pointerError{ptr, "the parent is neither object nor array"}
	}
	last, n := at.start+1, 0 // where the last entry ends
	walk(raw, at.start, func(m member) bool {
		last, n = m.value.end, m.index+1
		return true
	})
	if !object {
		if i, _ := arrayIndex(token); i != n {
			return nil, &pointerError{ptr, "the index is beyond the end of the array"}
		}
	}
	var entry []byte
	if n > 0 {
		entry = append(entry, ',')
	}
	if object {
		entry = append(append(entry, quote(token)...), ':')
	}
	return splice(raw, span{last, last}, append(entry, value...)), nil
}

// remove returns raw without the value at ptr, everything else byte for byte as
// it was. Removing an absent value from a parent that is there changes nothing; a
// missing parent and the whole document are errors.
func remove(raw jsontext.Value, ptr string) (jsontext.Value, error) {
	if err := CheckPointer(ptr); err != nil {
		return nil, err
	}
	if ptr == "" {
		return nil, &pointerError{ptr, "the whole document cannot be removed"}
	}
	parent, token := splitLast(ptr)
	at, found, err := locate(raw, parent, new(Looked))
	if err != nil {
		return nil, err
	}
	if !found || (raw[at.start] != '{' && raw[at.start] != '[') {
		return nil, &pointerError{ptr, "the parent is missing"}
	}
	m, found, err := child(raw, at.start, token, new(Looked))
	if err != nil {
		return nil, &pointerError{ptr, err.Error()}
	}
	if !found {
		return raw.Clone(), nil
	}
	from := m.value.start
	if m.name.end > 0 {
		from = m.name.start
	}
	to, _ := skipValue(raw, m.value.start)
	if next := skipSpace(raw, to); next < len(raw) && raw[next] == ',' {
		to = skipSpace(raw, next+1) // the entry, its comma and the space before the next one
	} else {
		for i := from - 1; i > at.start; i-- { // the last entry: the comma before it goes, with the space between
			if raw[i] == ',' {
				from = i
				break
			}
		}
	}
	return splice(raw, span{from, to}, nil), nil
}

// splice returns a new slice with the range replaced.
func splice(raw []byte, sp span, with []byte) jsontext.Value {
	out := make([]byte, 0, len(raw)-(sp.end-sp.start)+len(with))
	out = append(out, raw[:sp.start]...)
	out = append(out, with...)
	return append(out, raw[sp.end:]...)
}
