package audit

import (
	"bytes"
	"slices"
	"unicode/utf8"

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
	if r.fits() {
		return nil
	}
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

// fits reports that the record is small and shallow enough for sure, without encoding it.
func (r *Record) fits() bool {
	size := 0
	ok := fits(&r.Verdict, &size)
	for i := range r.Hooks {
		ok = ok && fits(&r.Hooks[i], &size)
	}
	return ok && size <= maxDocument
}

// fits adds at least as many bytes to size as the event takes. False: it may nest too deeply, or a text of it may
// have no JSON form.
func fits(e *phases.Event, size *int) bool {
	const names, levels, escaped = 2 << 10, 3, 6 // of all members; hooks, event, value; bytes of an escape
	n, valid := 0, true
	text := func(s string) {
		n += len(s) + 3
		valid = valid && utf8.ValidString(s)
	}
	for _, s := range [...]string{e.Restrictions, e.Shared, e.ID, string(e.Type), e.Invocation, string(e.Phase), e.Runtime,
		e.Session,
		e.Agent, e.Run, e.User, e.Tool, e.Binding, e.HookDigest, e.HookVersion, string(e.Tier), e.Signer, string(e.Mode),
		string(e.Pass), e.PolicyRevision, string(e.Enforced), e.Decision, e.Reason, string(e.Kind), e.DecidedBy,
		e.InputDigest, e.OutputDigest, e.Detail, e.Intent, e.Traceparent, e.Seed} {
		text(s)
	}
	for _, list := range [...][]string{e.Masked, e.Changed, e.Logs, e.Notes} {
		for _, s := range list {
			text(s)
		}
	}
	*size += names + escaped*n + len(e.Input) + len(e.Output)
	return valid && nests(e.Input)+levels <= maxDepth && nests(e.Output)+levels <= maxDepth
}

// nests returns how deep objects and arrays are in each other.
func nests(doc []byte) (most int) {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			i = closing(doc, i)
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// closing returns where the quote stands that ends the string at i.
func closing(doc []byte, i int) int {
	for end := i; ; {
		if i++; end < i {
			n := bytes.IndexByte(doc[min(i, len(doc)):], '"')
			if n < 0 {
				return len(doc)
			}
			end = i + n
		}
		n := bytes.IndexByte(doc[i:end], '\\')
		if n < 0 {
			return end
		}
		i += n + 1
	}
}

// shallow reports whether values nest no deeper than maxDepth.
func shallow(doc []byte) bool { return nests(doc) <= maxDepth }

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
