package hook

// Writer builds JSON without reflection:
//
//	var w hook.Writer
//	w.Begin('{').Key("max").Int(3).Key("names").Texts(names).End('}')
//
// It puts the commas; that every Begin has its End and every member its Key is
// the caller's care. The zero value is ready.
type Writer struct {
	buf   []byte
	comma bool // the next value or key follows another one
}

// String returns what was written.
func (w *Writer) String() string { return string(w.buf) }

func (w *Writer) value(s string) *Writer {
	w.separate()
	w.buf = append(w.buf, s...)
	w.comma = true
	return w
}

func (w *Writer) separate() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
}

// Begin opens an object '{' or an array '['.
func (w *Writer) Begin(bracket byte) *Writer {
	w.separate()
	w.buf = append(w.buf, bracket)
	w.comma = false
	return w
}

// End closes an object '}' or an array ']'.
func (w *Writer) End(bracket byte) *Writer {
	w.buf = append(w.buf, bracket)
	w.comma = true
	return w
}

// Key writes a member's name.
func (w *Writer) Key(name string) *Writer {
	w.separate()
	w.buf = append(appendQuoted(w.buf, name), ':')
	w.comma = false
	return w
}

// Text writes a string.
func (w *Writer) Text(s string) *Writer {
	w.separate()
	w.buf = appendQuoted(w.buf, s)
	w.comma = true
	return w
}

// Texts writes an array of strings.
func (w *Writer) Texts(list []string) *Writer {
	w.Begin('[')
	for _, s := range list {
		w.Text(s)
	}
	return w.End(']')
}

// Int writes an integer.
func (w *Writer) Int(n int64) *Writer { return w.value(FormatInt(n)) }

// Bool writes a boolean.
func (w *Writer) Bool(b bool) *Writer {
	if b {
		return w.value("true")
	}
	return w.value("false")
}

// JSON writes a value that is JSON already.
func (w *Writer) JSON(raw string) *Writer { return w.value(raw) }

// FormatInt returns n in decimal.
func FormatInt(n int64) string {
	var b [20]byte
	i := len(b)
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	for {
		i--
		b[i] = byte('0' + u%10)
		u /= 10
		if u == 0 {
			break
		}
	}
	if n < 0 {
		i--
		b[i] = '-'
	}
	return string(b[i:])
}

const hexDigits = "0123456789abcdef"

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
