package builtin

import "slices"

// others are further names of hooks: those that hooks had before, which belay.yaml files name on and
// on, and those by which people look for them. By each of them they get the hook of today.
func others() map[string]string {
	return map[string]string{
		"command-block":   "command-guard",
		"secret-redactor": "redact-secret",
		"classify-think":  "classify-message",
		"spawn-limit":     "refuse-deep-spawn",
		"capsule":         "result-capsule",
	}
}

// Name returns the name by which a built-in hook goes; names that are not others' stay as they are.
func Name(name string) string {
	if now, ok := others()[name]; ok {
		return now
	}
	return name
}

// othersOf returns the further names of a hook, sorted.
func othersOf(name string) []string {
	var out []string
	for other, now := range others() {
		if now == name {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return out
}
