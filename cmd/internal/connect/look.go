package connect

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// Severity of a finding.
type Severity string

// Severities: what fails leaves events that belay does not judge.
const (
	OK   Severity = "ok"
	Warn Severity = "warn"
	Fail Severity = "fail"
)

// Finding is what a look at the settings of one runtime found.
type Finding struct {
	Severity     Severity
	Text, Advice string
}

// registered is an entry of belay's in some settings.
type registered struct {
	level Level
	path  string
	event string
	inv   invocation
	wrong []string // what is wrong with it
	void  bool     // it does not run, or nothing waits for it
}

// look gathers what the settings of a runtime's levels say.
type look struct {
	runtime string
	events  []string // that have to be registered
	state   string
	machine *Machine // the machine's daemon is to be asked, and no state directory
	entries []registered
	found   []Finding
	managed bool // only managed hooks run
	off     bool // only managed hooks run, because settings switch hooks off
}

// Examine reads the settings of a runtime at every level, and says what is missing, shadowed or
// wrong in them; state is the state directory that they are to name. It writes nothing.
func Examine(name string, place Place, state string, read Reader) []Finding {
	l := &look{runtime: name, state: state}
	l.gatherAll(place, read)
	l.danger(place, read)
	return l.conclude()
}

// danger adds what keeps the entries' programs from being started, or can take their place.
func (l *look) danger(place Place, read Reader) {
	for _, r := range l.entries {
		level := r.level
		if l.machine != nil { // what an agent's user can replace is no way to a daemon out of its reach
			level = Managed
		}
		for _, f := range Danger(l.runtime, level, place, Hook{Program: r.inv.program}, read) {
			if !slices.Contains(l.found, f) {
				l.found = append(l.found, f)
			}
		}
	}
}

func (l *look) say(s Severity, text, advice string) {
	l.found = append(l.found, Finding{s, text, advice})
}

func (l *look) read(path string, read Reader) ([]byte, bool) {
	src, err := readOld(read, path)
	if err != nil {
		l.say(Warn, err.Error(), "")
		return nil, false
	}
	return src, src != nil
}

func (l *look) claude(level Level, path string, read Reader) {
	src, there := l.read(path, read)
	if !there {
		return
	}
	root, err := parse(src)
	if err != nil {
		l.say(Warn, in(path, err).Error(), "Claude Code may read less of it than it says.")
		return
	}
	isTrue := func(n *jsonedit.Node) bool { return n != nil && n.Kind == 't' }
	if isTrue(root.Member("disableAllHooks")) {
		l.off = true
		l.say(Warn, path+" has disableAllHooks: only managed hooks run", "Take it out.")
	}
	if level == Managed && isTrue(root.Member("allowManagedHooksOnly")) {
		l.managed = true
	}
	if level != Managed {
		l.environment(path, members(root.Member("env")))
	}
	g := claudeGroups(Hook{})
	l.gather(g, level, path, src, func(h *jsonedit.Node, r *registered) {
		if h.Member("args") == nil {
			r.wrong = append(r.wrong, "a shell starts it, which LD_PRELOAD and PATH of a repository's settings reach")
		}
		if str(src, h, "onFailure") != "block" {
			r.wrong = append(r.wrong, "without onFailure block, an event goes on when the hook fails")
		}
		if a := h.Member("async"); a != nil && a.Kind == 't' {
			r.wrong, r.void = append(r.wrong, "it runs in the background: Claude Code does not wait for its answer"), true
		}
	})
}

// environment warns of variables that lead a hook elsewhere.
func (l *look) environment(path string, names []string) {
	var bad []string
	for _, n := range names {
		switch up := strings.ToUpper(n); {
		case up == "BELAY_HOME", strings.HasPrefix(up, "LD_"), strings.HasPrefix(up, "DYLD_"),
			up == "HTTP_PROXY", up == "HTTPS_PROXY", up == "ALL_PROXY":
			bad = append(bad, n)
		}
	}
	if len(bad) > 0 {
		l.say(Warn, path+" sets "+strings.Join(bad, ", ")+" for hooks",
			"Entries as `belay connect` writes them do not depend on it. Look who put it there.")
	}
}

// gather takes belay's entries out of the groups of a document, and warns of others that can
// change a command after belay has judged it.
func (l *look) gather(g groups, level Level, path string, src []byte, check func(*jsonedit.Node, *registered)) {
	root, err := parse(src)
	if err != nil {
		return
	}
	hooks := root.Member("hooks")
	var rivals []string
	for _, event := range members(hooks) {
		list := hooks.Member(event)
		own := map[[2]int]bool{}
		for _, p := range g.owned(src, list) {
			own[[2]int{p.group, p.handler}] = true
			group := list.Elements[p.group]
			r := registered{level: level, path: path, event: event, inv: p.inv}
			if m := str(src, group, "matcher"); m != "" && m != "*" {
				r.wrong, r.void = append(r.wrong, "it is asked about "+m+" only"), true
			}
			check(g.handlers(group)[p.handler], &r)
			l.entry(&r)
		}
		if list.Kind != '[' || !changesCalls(event) {
			continue
		}
		for i, group := range list.Elements {
			count := 1
			if !g.flat {
				count = len(group.Member("hooks").Items())
			}
			for j := range count {
				if !own[[2]int{i, j}] && !slices.Contains(rivals, event) {
					rivals = append(rivals, event)
				}
			}
		}
	}
	if len(rivals) > 0 {
		l.say(Warn, path+" has other hooks on "+strings.Join(rivals, ", "),
			"They can change a command after belay has judged it."+g.alone())
	}
}

// changesCalls reports whether another hook on the event can change a call after belay has judged it.
func changesCalls(event string) bool {
	return event == "PreToolUse" || event == "PermissionRequest" || event == "BeforeTool" ||
		event == "preToolUse"
}

// entry checks what every runtime's entries have in common.
func (l *look) entry(r *registered) {
	inv := &r.inv
	switch {
	case !filepath.IsAbs(inv.program):
		r.wrong = append(r.wrong, "the program has no absolute path: PATH says which one starts")
	default:
		if err := runs(inv.program); err != "" {
			r.wrong, r.void = append(r.wrong, err), true
		}
	}
	switch {
	case l.machine != nil:
		l.machine.entry(r)
	case inv.state == "" && inv.daemon == "":
		r.wrong = append(r.wrong, "it names no state directory: BELAY_HOME says which one is asked")
	case inv.daemon == "" && !sameDir(inv.state, l.state):
		r.wrong = append(r.wrong, "it asks another state directory, "+inv.state)
	}
	if inv.event != "" && inv.event != r.event {
		r.wrong = append(r.wrong, "it says that it is for "+inv.event)
	}
	l.entries = append(l.entries, *r)
}

func sameDir(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

func runs(program string) string {
	fi, err := os.Stat(program)
	switch {
	case err != nil:
		return "the program is not there: " + program
	case !fi.Mode().IsRegular() || runtime.GOOS != "windows" && fi.Mode()&0o111 == 0:
		return "the program cannot be started: " + program
	}
	return ""
}

func (l *look) codex(place Place, read Reader) {
	if src, there := l.read(place.files(codex.Runtime, Managed)[0].path, read); there {
		l.codexManaged(place.files(codex.Runtime, Managed)[0].path, src)
	}
	config := place.files(codex.Runtime, User)[0].path
	src, _ := l.read(config, read)
	doc, err := readTOML(src)
	if err != nil {
		l.say(Warn, in(config, err).Error(), "")
		doc = map[string]any{}
	}
	if on, is := dig(doc, "features", "hooks").(bool); is && !on {
		l.off = true
		l.say(Warn, config+" has features.hooks = false: only hooks that requirements.toml pins run", "Take it out.")
	}
	known := ownKeys(src)
	for _, level := range []Level{User, Project} {
		path := place.files(codex.Runtime, level)[1].path
		src, there := l.read(path, read)
		if !there {
			l.taken(config, path, known)
			continue
		}
		if _, err := parse(src); err != nil {
			l.say(Warn, in(path, err).Error(), "Codex starts none of its hooks.")
			l.taken(config, path, known)
			continue
		}
		before := len(l.entries)
		l.gather(codexGroups(Hook{}), level, path, src, func(*jsonedit.Node, *registered) {})
		l.trusted(doc, path, src, l.entries[before:])
		if len(l.entries) == before {
			l.taken(config, path, known)
		}
	}
}

// taken fails where belay's trust is stored for the hooks.json at path, and none of its hooks is there any
// more: `belay disconnect` takes out both.
func (l *look) taken(config, path string, keys []string) {
	if l.managed { // no hook of a person's runs
		return
	}
	if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, path+":") }) {
		l.say(Fail, path+" has none of belay's hooks, and "+config+" has their trust: Codex asks belay nothing",
			"Look who took them out. `belay connect codex` puts them back, `belay disconnect codex` takes out the trust, too.")
	}
}

// trusted marks the entries that Codex skips, because their hash is not stored.
func (l *look) trusted(doc map[string]any, path string, src []byte, entries []registered) {
	root, err := parse(src)
	if err != nil {
		return
	}
	g := codexGroups(Hook{})
	for i := range entries {
		r := &entries[i]
		list := root.Member("hooks").Member(r.event)
		for _, p := range g.owned(src, list) {
			if p.inv != r.inv {
				continue
			}
			h := list.Elements[p.group].Member("hooks").Elements[p.handler]
			want := trustHash(snake(r.event), str(src, h, "command"), seconds(src, h))
			state, _ := dig(doc, "hooks", "state",
				fmt.Sprintf("%s:%s:%d:%d", path, snake(r.event), p.group, p.handler)).(map[string]any)
			if on, is := state["enabled"].(bool); state["trusted_hash"] != want || is && !on {
				r.wrong, r.void = append(r.wrong, "Codex does not trust it, and skips it without a word"), true
			}
		}
	}
}

func seconds(src []byte, h *jsonedit.Node) (n int) {
	if m := h.Member("timeout"); m != nil {
		_, _ = fmt.Sscanf(string(src[m.Start:m.End]), "%d", &n)
	}
	return n
}

func (l *look) codexManaged(path string, src []byte) {
	doc, err := readTOML(src)
	if err != nil {
		l.say(Warn, in(path, err).Error(), "")
		return
	}
	l.managed, _ = doc["allow_managed_hooks_only"].(bool)
	if on, is := dig(doc, "features", "hooks").(bool); !is || !on {
		l.say(Warn, path+" does not pin features.hooks: one flag of the command line ends the hooks",
			"`belay connect codex --managed` does.")
	}
	hooks, _ := doc["hooks"].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(hooks)) {
		groups, _ := hooks[event].([]any)
		for _, g := range groups {
			group, _ := g.(map[string]any)
			handlers, _ := group["hooks"].([]any)
			for _, h := range handlers {
				handler, _ := h.(map[string]any)
				command, _ := handler["command"].(string)
				if inv, own := ownCommand(split(command), codex.Runtime); own {
					l.entry(&registered{level: Managed, path: path, event: event, inv: inv})
				}
			}
		}
	}
}

// conclude says which events reach belay, now that all levels are known.
func (l *look) conclude() []Finding {
	if len(l.entries) == 0 {
		if l.managed {
			l.say(Fail, "managed settings let managed hooks run only, and belay is none of them",
				cmp.Or(l.machine.command(l.runtime), "`belay connect "+l.runtime+" --managed`, as root."))
		}
		if l.machine != nil {
			return append(l.found, l.machine.unasked(l.runtime))
		}
		return append(l.found, Finding{Warn, "it does not ask belay", "`belay connect " + l.runtime + "` connects it."})
	}
	asked, levels := map[string][]string{}, map[Level]bool{}
	wrong := map[string][]string{} // what is wrong -> events
	shadowed := 0
	for _, r := range l.entries {
		for _, w := range r.wrong {
			w = r.path + ": " + w
			wrong[w] = append(wrong[w], r.event)
		}
		levels[r.level] = true
		if (l.managed || l.off) && r.level != Managed {
			shadowed++
			continue
		}
		if !r.void {
			asked[r.event] = append(asked[r.event], string(r.level))
		}
	}
	var missing, twice []string
	for _, e := range l.events {
		switch len(asked[e]) {
		case 0:
			missing = append(missing, e)
		case 1:
		default:
			twice = append(twice, e)
		}
	}
	advice := cmp.Or(l.machine.command(l.runtime), "`belay connect "+l.runtime+"` puts the entries back.")
	if shadowed > 0 && !levels[Managed] {
		l.say(Fail, "belay's entries do not run: hooks are switched off, or only managed ones run",
			"See the line above, or connect it with --managed.")
	} else if len(missing) > 0 {
		l.say(Fail, "belay is not asked about "+some(missing), advice)
	}
	for _, w := range slices.Sorted(maps.Keys(wrong)) {
		l.say(Warn, w+" ("+some(wrong[w])+")", advice)
	}
	if len(twice) > 0 {
		l.say(Warn, "belay is asked twice about "+some(twice)+": at "+strings.Join(asked[twice[0]], " and "),
			"`belay disconnect` takes one level's entries out.")
	}
	if l.machine != nil && !levels[Managed] {
		l.found = append(l.found, l.machine.below(l.runtime)...)
	}
	if len(missing) == 0 {
		var names []string
		for _, lv := range []Level{Managed, User, Project, Local} {
			if levels[lv] {
				names = append(names, string(lv))
			}
		}
		l.found = append([]Finding{{OK, fmt.Sprintf("asks belay about all %d events (%s settings)", len(l.events),
			strings.Join(names, ", ")), ""}}, l.found...)
	}
	return l.found
}

// some names events, the first few of many.
func some(events []string) string {
	if len(events) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(events[:3], ", "), len(events)-3)
	}
	return strings.Join(events, ", ")
}
