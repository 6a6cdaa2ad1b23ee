package layers

import (
	"slices"
	"strings"
)

// Merge says what becomes of a key of belay.yaml when a user's file meets the organisation's.
type Merge string

// The ways in which two layers become one. None of them lets an action pass that the organisation's file alone stops.
const (
	Same         Merge = "the same"     // both say the same
	Organisation Merge = "organisation" // only the organisation's counts; a user's file that has the key is refused
	Added        Merge = "added"        // what the user lists comes beside what the organisation lists
	Own          Merge = "own"          // a part of what the user adds, as the user wrote it
	Within       Merge = "within"       // what both allow
	Stricter     Merge = "stricter"     // the stricter answer of the two
	Either       Merge = "either"       // in force when one of the two says so
)

// Rule is the rule for a key.
type Rule struct {
	// Key is the path of the key: members with a dot between, [] for the elements of a list.
	Key string
	Merge
	Says string // what a user's file may have there
}

// covers reports whether the rule is also that of every key below its own: what is the organisation's alone, and what
// is taken over as one value.
func (r Rule) covers(key string) bool {
	if key == r.Key {
		return true
	}
	rest, below := strings.CutPrefix(key, r.Key)
	return below && (rest[0] == '.' || rest[0] == '[') && r.Merge != Same && (r.Merge == Organisation || whole(r.Key))
}

// whole reports whether the value of a key counts as one: no part of it can weaken what the organisation says.
func whole(key string) bool {
	return slices.Contains([]string{"hooks[].match", "hooks[].config", "hooks[].budget", "require[]", "require_lease[]",
		"redact.patterns[]", "default", "scopes.fs_read", "scopes.fs_write", "scopes.net", "scopes.tools", "known_tools",
		"hooks[].phases", "hooks[].capabilities", "redact.keys"}, key)
}

// RuleOf returns the rule of a key. Without a rule a user's file must not have the key.
func RuleOf(key string) (Rule, bool) {
	for _, r := range Rules() {
		if r.covers(key) {
			return r, true
		}
	}
	return Rule{}, false
}

// Rules returns the merge table: a rule for every key of belay.yaml. docs/SYSTEM.md prints it.
func Rules() []Rule {
	const no = "refused"
	return []Rule{
		{"version", Same, "`belay/v1`"},
		{"hooks", Added, "at most 16, behind all others"},
		{"hooks[]", Added, ""},
		{"hooks[].name", Own, "begins with `user-`"},
		{"hooks[].module", Own, "`builtin:NAME`, or `sha256:HEX` of a hook that is installed"},
		{"hooks[].digest", Own, "the same as `module`"},
		{"hooks[].phases", Own, "needed"},
		{"hooks[].priority", Own, "moved below every other hook's"},
		{"hooks[].tier", Own, "`trusted`: the hook has to be"},
		{"hooks[].match", Own, "any"},
		{"hooks[].config", Own, "any that the hook takes"},
		{"hooks[].config_file", Organisation, no + ": the daemon reads no file of a user's"},
		{"hooks[].config_file_optional", Organisation, no},
		{"hooks[].capabilities", Own, "only those that restrict, listed below"},
		{"hooks[].budget", Own, "any"},
		{"hooks[].http", Organisation, no},
		{"hooks[].mode", Own, "any"},
		{"hooks[].via", Own, "`queue`"},
		{"hooks[].redacts", Organisation, no},
		{"hooks[].keeps_default", Own, "`true`, also unsaid, where the organisation's `default` asks or blocks in a phase of the hook"},
		{"hooks[].apart", Own, "`true`, also unsaid: what it annotates is kept apart"},
		{"hooks[].disabled", Own, "any"},
		{"require", Added, "actions that need hooks of the user's"},
		{"require[]", Added, ""},
		{"scopes", Within, ""},
		{"scopes.fs_read", Within, "narrower"},
		{"scopes.fs_write", Within, "narrower"},
		{"scopes.net", Within, "narrower"},
		{"scopes.tools", Within, "narrower"},
		{"default", Stricter, "for each phase: allow, then ask, then block"},
		{"unknown_tools", Stricter, "allow, then ask, then block"},
		{"known_tools", Within, "narrower, where the organisation's `unknown_tools` asks or blocks"},
		{"open_shells", Stricter, "allow, then ask, then block"},
		{"redact", Added, ""},
		{"redact.masks", Added, "more, for records: they are under `redact.recorded` then"},
		{"redact.masks[]", Added, "a JSON Pointer"},
		{"redact.masks[].path", Own, "any"},
		{"redact.masks[].how", Own, "`hash`: what is removed can never be proved"},
		{"redact.keys", Added, "more, likewise"},
		{"redact.secrets", Organisation, no + ": the daemon reads no file or variable for a user"},
		{"redact.patterns", Added, "more, under names of their own, likewise"},
		{"redact.patterns[]", Added, ""},
		{"redact.gitleaks", Organisation, no + ": it names a file"},
		{"redact.profile", Stricter, "`strict`"},
		{"redact.allow", Organisation, no},
		{"redact.recorded", Organisation, no + ": what a user's file adds becomes that"},
		{"limits", Organisation, no},
		{"events", Organisation, no},
		{"mcp", Organisation, no},
		{"tools", Organisation, no},
		{"require_lease", Added, "more actions that need a lease"},
		{"require_lease[]", Added, ""},
		{"lease_rules", Organisation, no},
		{"leases", Organisation, no},
		{"approvals", Organisation, no + "; `unsigned` is false in system mode, whatever the organisation says"},
		{"reviewers", Organisation, no + "; those whom system.yaml names for the user count"},
		{"single_user", Organisation, no},
		{"latch_changed_calls", Either, "`true`"},
		{"latch_reconcile", Either, "`true`"},
		{"recordings", Organisation, no},
		{"store", Organisation, no + "; each user has a kernel of their own, `NAME-UID`"},
	}
}

// Capabilities returns those that a hook of a user's layer may hold: effects that can only restrict, annotate, which is
// kept apart from what hooks of the organisation see, and calls that look or count. Not among them: add_context, which
// restricts nothing.
func Capabilities() []string {
	return []string{"block", "request_approval", "clamp_scopes", "annotate", "shell_parse", "path_resolve",
		"pattern_match", "find_secrets", "state_get", "state_put", "time_now", "random"}
}
