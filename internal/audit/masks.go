package audit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/phases"
)

// ErrFixed: an audit hook wanted to redact a member that identifies the record
// or holds the decision.
var ErrFixed = errors.New("this member of a record cannot be covered")

// document is the data of the audit action of kind "verdict".
type document struct {
	phases.Event
	Hooks []phases.Event `json:"hooks"`
}

// Document returns the record as audit hooks see it: the verdict's event, with
// the events of the turns in the member hooks.
func (r *Record) Document() (jsontext.Value, error) { return r.document(nil) }

// document is Document at the end of a buffer.
func (r *Record) document(buffer []byte) ([]byte, error) {
	raw, err := eventbytes.AppendRecord(buffer, &r.Verdict, r.Hooks)
	if err != nil {
		return nil, phases.NewFault(phases.KindAudit, "the record could not be encoded", err)
	}
	return raw, nil
}

// maskable lists the members of an event that an audit hook may redact, whole
// or in part: texts and payloads, never ids, digests, decisions or kinds.
func maskable() []string {
	return []string{"/input", "/output", "/reason", "/detail", "/logs", "/notes"}
}

// CheckMask reports whether the member of the document at ptr may be redacted.
// The error is ErrFixed.
func CheckMask(ptr string) error {
	rest := ptr
	if tail, ok := strings.CutPrefix(ptr, "/hooks/"); ok {
		index, member, found := strings.Cut(tail, "/")
		if _, err := strconv.ParseUint(index, 10, 32); err != nil || !found {
			return fmt.Errorf("%w: %q", ErrFixed, ptr)
		}
		rest = "/" + member
	}
	for _, m := range maskable() {
		if phases.Covers(m, rest) {
			return nil
		}
	}
	return fmt.Errorf("%w: %q", ErrFixed, ptr)
}

// Apply takes over a document that audit hooks have redacted further. masked are
// the pointers that they redacted; each is checked, and nothing outside of them
// can have changed. On an error, a *phases.Fault of kind audit, the record is
// unchanged.
func (r *Record) Apply(redacted jsontext.Value, masked []string) error {
	refuse := func(err error) error {
		return phases.NewFault(phases.KindAudit, "an audit hook did what it may not do", err)
	}
	for _, m := range masked {
		if err := CheckMask(m); err != nil {
			return refuse(err)
		}
	}
	var d document
	if err := json.Unmarshal(redacted, &d, json.RejectUnknownMembers(true)); err != nil {
		return refuse(err)
	}
	if len(d.Hooks) != len(r.Hooks) {
		return refuse(errors.New("the number of turns changed"))
	}
	next := Record{Verdict: r.Verdict, Hooks: slices.Clone(r.Hooks)}
	takeMasked(&next.Verdict, &d.Event)
	for i := range next.Hooks {
		takeMasked(&next.Hooks[i], &d.Hooks[i])
	}
	for _, m := range masked {
		next.note(m)
	}
	*r = next
	return nil
}

// takeMasked copies what an audit hook may change and nothing else.
func takeMasked(dst, src *phases.Event) {
	dst.Input, dst.Output, dst.Reason, dst.Detail = src.Input, src.Output, src.Reason, src.Detail
	dst.Logs, dst.Notes = src.Logs, src.Notes
}

// note lists a redacted pointer with the event that it belongs to.
func (r *Record) note(ptr string) {
	e, rest := &r.Verdict, ptr
	if tail, ok := strings.CutPrefix(ptr, "/hooks/"); ok {
		index, member, _ := strings.Cut(tail, "/")
		i, err := strconv.Atoi(index)
		if err != nil || i >= len(r.Hooks) {
			return
		}
		e, rest = &r.Hooks[i], "/"+member
	}
	e.Masked = append(slices.Clone(e.Masked), rest)
}
