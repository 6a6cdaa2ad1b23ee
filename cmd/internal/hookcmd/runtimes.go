package hookcmd

import (
	"maps"
	"slices"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	openclawinterceptors "github.com/belay-hooks/belay/adapters/openclaw-interceptors"
	"github.com/belay-hooks/belay/adapters/opencode"
)

// registry is the one list of runtimes: the commands, the daemon and the API's description read it.
func registry() []adapters.Adapter {
	return []adapters.Adapter{
		claudecode.New(),
		codex.New(),
		cursor.New(),
		geminicli.New(),
		openclaw.New(),
		openclawinterceptors.New(),
		opencode.New(),
	}
}

// Runtimes returns the adapters by the name that --runtime takes.
func Runtimes() map[string]adapters.Adapter {
	all := map[string]adapters.Adapter{}
	for _, ad := range registry() {
		all[ad.Runtime()] = ad
	}
	return all
}

// Named returns the adapter that --runtime takes by that name; nil for none.
func Named(runtime string) adapters.Adapter {
	for _, ad := range registry() {
		if ad.Runtime() == runtime {
			return ad
		}
	}
	return nil
}

// RuntimeNames returns the names of all runtimes, sorted.
func RuntimeNames() []string { return slices.Sorted(maps.Keys(Runtimes())) }

// OptionsFor returns what a command that the runtime has started knows beside the payload. event
// is the one that it is registered for, or "".
func OptionsFor(ad adapters.Adapter, event string, getenv func(string) string) adapters.Options {
	o := adapters.Options{Event: event}
	if ad == nil {
		return o
	}
	t := ad.Table()
	o.MaxBytes = t.Limit(o)
	o.Headless = t.Headless != nil && t.Headless(getenv)
	return o
}
