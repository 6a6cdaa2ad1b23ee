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

// How an encoded event carries digests, behind its number.
const (
	stampMember  = `"restrictions":"`
	sharedMember = `"shared":"`
)

// EncodeTexts returns the events as leaves, but for their numbers, one behind the other in buffer. It
// changes no event.
func EncodeTexts(buffer []byte, es []phases.Event) (texts [][]byte, used []byte, err error) {
	return AppendTexts(make([][]byte, 0, len(es)), buffer, es)
}

// AppendTexts is EncodeTexts into an empty slice that is there already.
func AppendTexts(texts [][]byte, buffer []byte, es []phases.Event) (_ [][]byte, used []byte, err error) {
	begin := len(buffer)
	for i := range es {
		e := es[i]
		if e.ID == "" {
			return nil, buffer, errors.New("event without an id")
		}
		e.Seq, e.Restrictions, e.Shared, e.Time = 0, "", "", e.Time.UTC()
		at := len(buffer)
		if buffer, err = eventbytes.Append(buffer, &e); err != nil {
			return nil, buffer, fmt.Errorf("encode event: %w", err)
		}
		text := buffer[at:]
		if !bytes.HasPrefix(text, []byte(Unnumbered)) {
			return nil, buffer, errors.New("encode event: the number is not its first member")
		}
		texts = append(texts, text)
	}
	for i, t := range texts { // the buffer may have moved to grow
		texts[i], begin = buffer[begin:begin+len(t)], begin+len(t)
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

// Sharing is Numbered for the last event of a batch of which a part is decided in another store: it carries the digest
// of what that store holds as well.
func Sharing(out, text []byte, seq int64, stamp, shared restrict.Digest) []byte {
	behind := len(Unnumbered)
	member := sharedMember + shared.String() + `",`
	with := make([]byte, 0, len(text)+len(member))
	with = append(append(append(with, text[:behind]...), member...), text[behind:]...)
	return Numbered(out, with, seq, &stamp)
}

// StampOf returns the digest that an event carries.
func StampOf(body []byte) (restrict.Digest, bool) {
	stamp, _, ok := stamps(body)
	return stamp, ok
}

// SharedOf returns the digest that an event carries of what another store than the log's holds.
func SharedOf(body []byte) (restrict.Digest, bool) {
	_, rest, ok := stamps(body)
	if !ok {
		return restrict.Digest{}, false
	}
	shared, _, ok := digest(rest, sharedMember)
	return shared, ok
}

// SharedStampOf returns the digest that an event carries of the rows that restrict all kernels: where these are in the
// store of the log, there is one digest for them and all others.
func SharedStampOf(body []byte) (restrict.Digest, bool) {
	if shared, ok := SharedOf(body); ok {
		return shared, true
	}
	return StampOf(body)
}

// stamps returns the digest behind the number, and what follows it.
func stamps(body []byte) (stamp restrict.Digest, rest []byte, ok bool) {
	number, rest, ok := bytes.Cut(body, []byte(","))
	if !ok || !bytes.HasPrefix(number, []byte(Unnumbered[:len(Unnumbered)-2])) {
		return stamp, nil, false
	}
	return digest(rest, stampMember)
}

// digest reads a member that holds a digest, and returns what follows it.
func digest(b []byte, member string) (d restrict.Digest, rest []byte, ok bool) {
	text, ok := bytes.CutPrefix(b, []byte(member))
	if !ok {
		return d, nil, false
	}
	if text, rest, ok = bytes.Cut(text, []byte(`"`)); !ok {
		return d, nil, false
	}
	d, ok = restrict.Parse(string(text))
	return d, bytes.TrimPrefix(rest, []byte(",")), ok
}
