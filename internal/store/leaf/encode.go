package leaf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/phases"
)

// Unnumbered is how an event begins that has no number yet.
const Unnumbered = `{"seq":0,`

// stampMember is how an encoded event carries the digest, behind its number.
const stampMember = `"restrictions":"`

// EncodeTexts returns the events as leaves, but for their numbers, one behind the other in buffer. It
// changes no event.
func EncodeTexts(buffer []byte, es []phases.Event) (texts [][]byte, used []byte, err error) {
	texts = make([][]byte, len(es))
	ends := make([]int, len(es))
	for i, e := range es {
		if e.ID == "" {
			return nil, buffer, errors.New("event without an id")
		}
		e.Seq, e.Restrictions, e.Time = 0, "", e.Time.UTC()
		if buffer, err = eventbytes.Append(buffer, &e); err != nil {
			return nil, buffer, fmt.Errorf("encode event: %w", err)
		}
		ends[i] = len(buffer)
	}
	at := 0
	for i, end := range ends { // now that the buffer grows no more
		texts[i] = buffer[at:end]
		if at = end; !bytes.HasPrefix(texts[i], []byte(Unnumbered)) {
			return nil, buffer, errors.New("encode event: the number is not its first member")
		}
	}
	return texts, buffer, nil
}

// Numbered returns the encoded event with its number and, unless it is nil, with the
// digest of the rows that restrict, at the beginning of out.
func Numbered(out, text []byte, seq int64, stamp *restrict.Digest) []byte {
	return AppendNumbered(slices.Grow(out[:0], len(text)+len(stampMember)+100), text, seq, stamp)
}

// AppendNumbered appends to out what Numbered returns.
func AppendNumbered(out, text []byte, seq int64, stamp *restrict.Digest) []byte {
	out = append(out, Unnumbered[:len(Unnumbered)-2]...)
	out = strconv.AppendInt(out, seq, 10)
	if stamp != nil {
		out = append(append(append(append(out, ','), stampMember...), stamp.String()...), '"')
	}
	return append(out, text[len(Unnumbered)-1:]...)
}

// StampOf returns the digest that an event carries.
func StampOf(body []byte) (restrict.Digest, bool) {
	_, rest, ok := bytes.Cut(body, []byte(","))
	if !ok || !bytes.HasPrefix(body, []byte(Unnumbered[:len(Unnumbered)-2])) {
		return restrict.Digest{}, false
	}
	text, ok := bytes.CutPrefix(rest, []byte(stampMember))
	if !ok {
		return restrict.Digest{}, false
	}
	text, _, ok = bytes.Cut(text, []byte(`"`))
	if !ok {
		return restrict.Digest{}, false
	}
	return restrict.Parse(string(text))
}
