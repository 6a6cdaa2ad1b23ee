package sandbox

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// The texts of faults: all that an agent or a person gets to read about a failed
// hook without asking for the event.
const (
	textTrap        = "the hook crashed"
	textFuel        = "the hook used up its fuel"
	textDeadline    = "the hook did not finish in time"
	textMemory      = "the hook needed more memory than it may have"
	textStack       = "the hook's calls were nested too deeply"
	textHostMemory  = "the host could not give the hook its memory"
	textPointer     = "the hook passed a range outside of its memory"
	textEarlyCall   = "the hook made a call before its phase began"
	textHostcall    = "a host function failed"
	textExit        = "the hook ended itself"
	textFailed      = "the hook reported a failure"
	textInstantiate = "the hook could not be started"
	textNoPhase     = "the hook does not serve this phase"
	textClosed      = "the hook has been unloaded"
)

// Detail is the cause of a fault, for operators and events. All its text is
// escaped (printable ASCII, everything else as \u{…}) and bounded.
type Detail struct {
	Reason   string // such as "unreachable" or "out of bounds memory access"; ≤ 256 bytes
	Function string // innermost guest function, by name or number; ≤ 128 bytes
	Fail     string // what the hook gave to fail; ≤ 1 KiB
	Err      error  // what lies below, for errors.Is; its own text is not escaped
}

// Error joins the known details into one line.
func (d *Detail) Error() string {
	var b strings.Builder
	b.WriteString(d.Reason)
	if d.Function != "" {
		b.WriteString(" in " + d.Function)
	}
	if d.Fail != "" {
		b.WriteString(`; the hook says "` + d.Fail + `"`)
	}
	return b.String()
}

// Unwrap makes errors.Is see through to what lies below.
func (d *Detail) Unwrap() error { return d.Err }

const (
	maxReason   = 256
	maxFunction = 128
	maxFail     = 1 << 10
)

// escape makes text of a guest or the engine harmless: printable ASCII stays,
// everything else becomes \u{…}, and what does not fit in limit bytes is cut.
func escape(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		part := string(r)
		switch {
		case r == '\\' || r == '"':
			part = `\` + part
		case r == utf8.RuneError || r < 0x20 || r > 0x7e:
			part = `\u{` + strconv.FormatInt(int64(r), 16) + `}`
		}
		if b.Len()+len(part) > limit-3 {
			b.WriteString("...")
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// Reasons with which the engine stops a guest. They are matched by text, since
// the engine keeps their values to itself.
var trapReasons = [...]string{
	"unreachable", "out of bounds memory access", "invalid table access",
	"indirect call type mismatch", "integer divide by zero", "integer overflow",
	"invalid conversion to integer", "stack overflow", "null reference",
}

func trapReason(err error) string {
	leaf := err
	for below := errors.Unwrap(leaf); below != nil; below = errors.Unwrap(leaf) {
		leaf = below
	}
	if r := leaf.Error(); slices.Contains(trapReasons[:], r) {
		return r
	}
	return "engine error: " + escape(err.Error(), maxReason-len("engine error: "))
}

// fault turns what a call into the guest returned into one typed fault.
func (inv *invocation) fault(err error) *phases.Fault {
	f := inv.ended
	if f == nil {
		f = phases.FaultOf(err)
	}
	d := &Detail{Function: inv.module.where(err), Fail: escape(inv.session.FailText(), maxFail)}
	if f != nil {
		var known *Detail
		d.Err = f.Cause
		switch {
		case errors.As(f.Cause, &known):
			d.Reason = known.Reason
		case f.Cause != nil:
			d.Reason = escape(f.Cause.Error(), maxReason)
		}
		return phases.NewFault(f.Kind, f.Text, d)
	}
	d.Reason, d.Err = trapReason(err), err
	switch {
	case d.Reason == "stack overflow":
		return phases.NewFault(phases.KindMemory, textStack, d)
	case inv.inst.growRefused():
		d.Reason += " after memory.grow was refused"
		return phases.NewFault(phases.KindMemory, textMemory, d)
	}
	return phases.NewFault(phases.KindTrap, textTrap, d)
}

// A frame of an anonymous module in the engine's stack trace, as ".$17(i32) i32".
// Names cannot stand there: the metered module has no name section.
var frame = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\t\.\$([0-9]{1,10})\(`) })

// where names the innermost guest function of the engine's stack trace.
func (m *code) where(err error) string {
	if err == nil {
		return ""
	}
	_, trace, ok := strings.Cut(err.Error(), "wasm stack trace:\n")
	if !ok {
		return ""
	}
	for _, hit := range frame().FindAllStringSubmatch(trace, 8) {
		n, err := strconv.ParseUint(hit[1], 10, 32)
		if err != nil {
			continue
		}
		if fn, own := m.metered.OriginalFunc(uint32(n)); own {
			return m.names.of(fn)
		}
	}
	return ""
}
