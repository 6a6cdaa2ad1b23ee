package audit

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// maxDocument and maxDepth keep the record small enough to be shown to audit
// hooks inside an input document: what they cannot see is not stored.
const (
	maxDocument = phases.MaxInputBytes - 16<<10
	maxDepth    = phases.MaxInputDepth - 2
)

// fit drops payloads until the record is small enough, the largest kind first
// among those that can be computed again. Their digests stay.
func (r *Record) fit(buffers *Buffers) error {
	buffer := buffers.Get()
	defer func() { buffers.Put(buffer) }()
	const note = "not stored: the record would be too large"
	drops := []func(){
		func() {
			for i := range r.Hooks {
				drop(&r.Hooks[i], &r.Hooks[i].Output, "/output", note)
			}
		},
		func() { drop(&r.Verdict, &r.Verdict.Output, "/output", note) },
		func() { drop(&r.Verdict, &r.Verdict.Input, "/input", note) },
		func() {
			for i := range r.Hooks {
				r.Hooks[i].Logs, r.Hooks[i].Notes = nil, []string{note}
			}
		},
	}
	for {
		doc, err := r.document(buffer)
		if err != nil {
			return err
		}
		if buffer = doc[:0]; len(doc) <= maxDocument && shallow(doc) {
			return nil
		}
		if len(drops) == 0 {
			return phases.NewFault(phases.KindAudit, "the record is too large", nil)
		}
		drops[0]()
		drops = drops[1:]
	}
}

func drop(e *phases.Event, member *jsontext.Value, at, note string) {
	if *member == nil {
		return
	}
	*member = nil
	e.Notes = append(e.Notes, at[1:]+" "+note)
	e.Masked = slices.DeleteFunc(e.Masked, func(m string) bool { return phases.Covers(at, m) })
	e.Masked = append(e.Masked, at)
}

// shallow reports whether values nest no deeper than maxDepth.
func shallow(doc []byte) bool {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

func (r *Record) strip() {
	stripEvent(&r.Verdict)
	for i := range r.Hooks {
		stripEvent(&r.Hooks[i])
	}
}

func stripEvent(e *phases.Event) {
	e.Input, e.Output, e.Masked, e.Logs, e.Detail, e.Changed = nil, nil, nil, nil, "", nil
	if e.Reason != "" {
		e.Reason = hidden
	}
	e.Notes = []string{"redaction failed: digests only"}
}
