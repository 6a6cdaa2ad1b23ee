// Command counter-limit is a hook that limits how often a session may use a
// tool within a window of time. It shows state that lives from one invocation to
// the next: a count is stored only when the verdict is logged.
package main

import hook "github.com/belay-hooks/belay/hooks-sdk/go"

func main() {}

const (
	maxSessions   = 150 // of 256 bytes each, in one state value of 64 KiB
	second        = int64(1_000_000_000)
	defaultWindow = 3600
)

// use is what one session did with one tool in its current window.
type use struct {
	session string
	since   int64 // unix seconds
	count   int64
}

//go:wasmexport pre_tool
func preTool() int32 {
	tool := hook.Text("/tool")
	limit := limitOf(tool)
	if limit < 0 {
		return hook.OK
	}
	now := hook.TimeNow() / second
	window := hook.ConfigInt("/window_s", defaultWindow)
	uses, err := load(tool, now-window)
	if err != nil {
		return hook.FailError(err)
	}
	session := hook.Text("/session")
	i := find(uses, session)
	if i < 0 {
		if len(uses) == maxSessions {
			return hook.Fail("more sessions than can be counted")
		}
		uses = append(uses, use{session: session, since: now})
		i = len(uses) - 1
	}
	if uses[i].count >= limit {
		hook.Block(tool + " may be used " + hook.FormatInt(limit) + " times in " + hook.FormatInt(window) +
			" seconds; the next time is in " + hook.FormatInt(uses[i].since+window-now) + " seconds")
		return hook.OK
	}
	uses[i].count++
	if err := hook.StatePut(key(tool), encode(uses)); err != nil {
		return hook.FailError(err)
	}
	return hook.OK
}

// limitOf returns the limit of a tool, or -1 when there is none.
func limitOf(tool string) int64 {
	own := hook.Pointer("limits", tool)
	if hook.ConfigKind(own) == hook.Number {
		return hook.ConfigInt(own, 0) // what is no whole number allows nothing
	}
	return hook.ConfigInt("/limits/*", -1)
}

// key of at most 256 bytes: a longer name is refused by the host, and the hook
// fails.
func key(tool string) string { return "uses/" + tool }

// load returns the uses whose window is still open.
func load(tool string, after int64) ([]use, error) {
	s, err := hook.StateGet(key(tool))
	if err == hook.Absent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, ok := hook.ParseJSON(s)
	if !ok {
		return nil, hook.Invalid
	}
	var out []use
	for i, name := range v.Names() {
		pair := v.Items()[i].Items()
		if len(pair) != 2 {
			return nil, hook.Invalid
		}
		since, _ := pair[0].Int()
		count, _ := pair[1].Int()
		if since > after {
			out = append(out, use{name, since, count})
		}
	}
	return out, nil
}

func encode(uses []use) string {
	var w hook.Writer
	w.Begin('{')
	for _, u := range uses {
		w.Key(u.session).Begin('[').Int(u.since).Int(u.count).End(']')
	}
	return w.End('}').String()
}

func find(uses []use, session string) int {
	for i, u := range uses {
		if u.session == session {
			return i
		}
	}
	return -1
}
