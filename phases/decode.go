package phases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wireInvocation is the JSON form of an invocation.
type wireInvocation struct {
	Phase       string                    `json:"phase"`
	ID          string                    `json:"id,omitzero"`
	Runtime     string                    `json:"runtime,omitzero"`
	Session     string                    `json:"session,omitzero"`
	Agent       string                    `json:"agent,omitzero"`
	Run         string                    `json:"run,omitzero"`
	User        string                    `json:"user,omitzero"`
	CWD         string                    `json:"cwd,omitzero"`
	Time        string                    `json:"time,omitzero"`
	Traceparent string                    `json:"traceparent,omitzero"`
	Action      jsontext.Value            `json:"action"`
	Scopes      Scopes                    `json:"scopes,omitzero"`
	Metadata    map[string]jsontext.Value `json:"metadata,omitzero"`
}

// DecodeInvocation decodes one invocation under the default limits. See
// decodeInvocationLimits.
func DecodeInvocation(b []byte) (Invocation, error) {
	return decodeInvocationLimits(b, limits{})
}

// decodeInvocationLimits decodes one invocation from an untrusted document. It
// refuses: more bytes or deeper nesting than lim; text after the document;
// duplicate member names and bytes that are not UTF-8, at any depth; members
// that the envelope or the phase's action do not have; values of another type,
// null included; ids with control characters or too long; scope patterns that
// are not valid; and an action that DecodeAction refuses. Numbers and
// everything else inside the action stay the caller's bytes, as copies.
//
// Every error is a *DecodeError with the place of the fault.
func decodeInvocationLimits(b []byte, lim limits) (Invocation, error) {
	var w wireInvocation
	if err := decodeWire(b, lim, &w); err != nil {
		return Invocation{}, err
	}
	return w.invocation(b)
}

// decodeWire decodes one document strictly. The error is a *DecodeError.
func decodeWire(b []byte, lim limits, into any) error {
	if err := checkJSON(b, lim); err != nil {
		return err
	}
	if err := json.Unmarshal(b, into, strictOptions()); err != nil {
		return decodeError(b, err)
	}
	return nil
}

// invocation checks the members that were decoded from data.
func (w *wireInvocation) invocation(data []byte) (Invocation, error) {
	refuse := func(ptr, format string, args ...any) (Invocation, error) {
		return Invocation{}, newDecodeErrorAt(data, ptr, fmt.Sprintf(format, args...))
	}
	inv := Invocation{
		ID: w.ID, Phase: Phase(w.Phase), Runtime: w.Runtime, Session: w.Session, Agent: w.Agent, Run: w.Run,
		User: w.User, CWD: w.CWD, Action: w.Action, Scopes: w.Scopes, Metadata: w.Metadata, Traceparent: w.Traceparent,
	}
	if w.Time != "" {
		var t time.Time
		if err := t.UnmarshalText([]byte(w.Time)); err != nil {
			return refuse("/time", "the time is not RFC 3339")
		}
		if inv.Time = t.UTC(); inv.Time.IsZero() { // which would mean that none was given
			return refuse("/time", "the time is not between the years 1970 and 2200")
		}
	} else if _, ok := Get(data, "/time"); ok {
		return refuse("/time", "the time is not RFC 3339")
	}
	if _, ok := Get(data, "/id"); ok && w.ID == "" {
		return refuse("/id", "the id is not a UUIDv7 in lower case")
	}
	if w.Phase == "" {
		return refuse("", "the member %q is missing", "phase")
	}
	if w.Action == nil {
		return refuse("", "the member %q is missing", "action")
	}
	if err := inv.Validate(); err != nil {
		var d *DecodeError
		if errors.As(err, &d) {
			return Invocation{}, newDecodeErrorAt(data, d.Pointer, d.Reason)
		}
		return Invocation{}, newDecodeError(data, "", -1, "not a valid invocation")
	}
	return inv, nil
}

// Validate checks everything that DecodeInvocation checks after the syntax: an
// invocation that was built in Go must pass it before it is used. The error is a
// *DecodeError whose pointer is the member of the wire form.
func (inv *Invocation) Validate() error {
	_, err := inv.validate()
	return err
}

// validate is Validate that also tells whether the action is compact, as formOf does. False says nothing.
func (inv *Invocation) validate() (compact bool, err error) {
	if err := inv.validateEnvelope(); err != nil {
		return false, err
	}
	if err := checkCallerMetadata(inv.Metadata); err != nil {
		return false, err
	}
	if len(inv.Action) <= MaxInputBytes {
		right, compact := formOf(inv.Action, MaxInputDepth)
		if right && plainAction(inv.Phase, inv.Action) {
			return compact, nil
		}
		if tooDeep(inv.Action, MaxInputDepth) < 0 {
			if _, err := DecodeAction(inv.Phase, inv.Action); err == nil {
				return compact, nil // decoding refuses all that is not strict
			}
		}
	}
	// Something is wrong: the check of the syntax names it with its place, where that is it.
	if err := checkJSON(inv.Action, limits{}); err != nil {
		return false, under(err, "/action")
	}
	_, err = DecodeAction(inv.Phase, inv.Action)
	return false, under(err, "/action")
}

// validateEnvelope checks everything but metadata and action.
func (inv *Invocation) validateEnvelope() error {
	refuse := func(ptr, format string, args ...any) error {
		return &DecodeError{Pointer: ptr, Offset: -1, Reason: fmt.Sprintf(format, args...)}
	}
	if !inv.Phase.Valid() {
		return refuse("/phase", "unknown phase %s; the phases are %s", quote(SafeLine(string(inv.Phase), 64)), phaseNames())
	}
	if inv.ID != "" && !isUUIDv7(inv.ID) {
		return refuse("/id", "the id is not a UUIDv7 in lower case")
	}
	for _, id := range []struct {
		ptr, value string
		max        int
	}{
		{"/runtime", inv.Runtime, MaxRuntimeBytes},
		{"/session", inv.Session, MaxIDBytes},
		{"/agent", inv.Agent, MaxIDBytes},
		{"/run", inv.Run, MaxIDBytes},
		{"/user", inv.User, MaxIDBytes},
		{"/cwd", inv.CWD, maxCWDBytes},
	} {
		if reason := checkID(id.value, id.max); reason != "" {
			return refuse(id.ptr, "%s", reason)
		}
	}
	if inv.CWD != "" && inv.CWD[0] != '/' {
		return refuse("/cwd", "the working directory is not an absolute path")
	}
	if !inRange(inv.Time) {
		return refuse("/time", "the time is not between the years 1970 and 2200")
	}
	if !inRange(inv.ReportedTime) {
		return refuse("/reported_time", "the time is not between the years 1970 and 2200")
	}
	if inv.Traceparent != "" && !isTraceparent(inv.Traceparent) {
		return refuse("/traceparent", "not a W3C traceparent")
	}
	if err := inv.Scopes.Validate(); err != nil {
		var s *scopeError
		if errors.As(err, &s) {
			return refuse("/scopes"+s.pointer, "%s", s.reason)
		}
		return refuse("/scopes", "not valid")
	}
	return nil
}

// inRange reports whether a time is absent or one that every part of belay can say.
func inRange(t time.Time) bool { return t.IsZero() || t.Year() >= 1970 && t.Year() <= 2200 }

// under moves the place of a DecodeError below a member of the document round it.
func under(err error, ptr string) error {
	var d *DecodeError
	if !errors.As(err, &d) {
		return err
	}
	return &DecodeError{Pointer: ptr + d.Pointer, Offset: -1, Reason: d.Reason}
}

// strictOptions are for every typed document: exact names, no unknown members,
// and no null where a value is wanted, since "absent" and "null" would else be
// two spellings with one meaning, and for scopes with a dangerous one. Never written.
var strictOptions = sync.OnceValue(func() json.Options {
	return json.JoinOptions(
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v any) error {
			if _, raw := v.(*jsontext.Value); !raw && dec.PeekKind() == 'n' {
				return errNull
			}
			return errors.ErrUnsupported
		})),
	)
})

var errNull = errors.New("null is not allowed here")

// checkJSON refuses all but one strict JSON document within the limits.
func checkJSON(data []byte, lim limits) error {
	lim = lim.withDefaults()
	if len(data) <= lim.maxBytes && wellFormed(data, lim.maxDepth) {
		return nil
	}
	if len(data) > lim.maxBytes {
		return newDecodeError(data, "", lim.maxBytes, fmt.Sprintf("the document is larger than %d bytes", lim.maxBytes))
	}
	if at := tooDeep(data, lim.maxDepth); at >= 0 {
		return newDecodeError(data, pointerAt(data, at), at,
			fmt.Sprintf("objects and arrays nest deeper than %d", lim.maxDepth))
	}
	dec := jsontext.NewDecoder(newByteReader(data))
	if _, err := dec.ReadValue(); err != nil {
		if errors.Is(err, io.EOF) {
			return newDecodeError(data, "", len(data), "the document is empty")
		}
		return decodeError(data, err)
	}
	if i := skipSpace(data, int(dec.InputOffset())); i < len(data) {
		return newDecodeError(data, "", i, "text after the document")
	}
	return nil
}

// pointerAt returns the pointer of the innermost value that begins before the offset.
func pointerAt(b []byte, at int) string {
	dec := jsontext.NewDecoder(newByteReader(b))
	for int(dec.InputOffset()) <= at {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
	}
	return string(dec.StackPointer())
}

// decodeError turns an error of the JSON library into ours. Texts of the
// library can quote input, so they are replaced or cleaned.
func decodeError(src []byte, err error) error {
	var d *DecodeError
	if errors.As(err, &d) {
		return d
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		reason := "not JSON"
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			reason = "duplicate member name"
		case errors.Is(err, io.ErrUnexpectedEOF):
			reason = "the document ends too early"
		case syntax.Err != nil && strings.Contains(syntax.Err.Error(), "UTF-8"):
			reason = "not UTF-8"
		case syntax.Err != nil:
			reason = "not JSON: " + SafeLine(syntax.Err.Error(), 120)
		}
		return newDecodeError(src, string(syntax.JSONPointer), int(syntax.ByteOffset), reason)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		reason := "has the wrong type"
		switch {
		case errors.Is(err, json.ErrUnknownName):
			reason = "unknown member"
		case errors.Is(err, errNull):
			reason = errNull.Error()
		case errors.Is(err, errArray):
			reason = errArray.Error()
		case semantic.JSONKind != 0 && semantic.GoType != nil:
			reason = fmt.Sprintf("has the wrong type: %s instead of %s", kindName(semantic.JSONKind), typeName(semantic.GoType))
		}
		return newDecodeError(src, string(semantic.JSONPointer), int(semantic.ByteOffset), reason)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return newDecodeError(src, "", len(src), "the document ends too early")
	}
	return newDecodeError(src, "", -1, "not a valid document")
}

// newDecodeErrorAt finds the place of ptr, or of the nearest parent that exists.
func newDecodeErrorAt(src []byte, ptr, reason string) *DecodeError {
	for p := ptr; ; p, _ = splitLast(p) {
		if sp, found, err := locate(src, p, new(Looked)); found && err == nil {
			return newDecodeError(src, ptr, sp.start, reason)
		}
		if p == "" {
			return newDecodeError(src, ptr, -1, reason)
		}
	}
}

// newDecodeError computes line and column of the offset; -1 is "not known".
func newDecodeError(src []byte, ptr string, offset int, reason string) *DecodeError {
	e := &DecodeError{Pointer: ptr, Offset: int64(offset), Reason: reason}
	if offset < 0 {
		return e
	}
	offset = min(offset, len(src))
	e.Offset = int64(offset)
	before := src[:offset]
	e.Line = bytes.Count(before, []byte{'\n'}) + 1
	e.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return e
}
