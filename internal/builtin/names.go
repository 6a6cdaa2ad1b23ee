package builtin

// renamed are hooks that go by a newer name, by the older one. belay.yaml files name the older one on
// and on, and get the newer hook.
func renamed() map[string]string {
	return map[string]string{"command-block": "command-guard"}
}

// Name returns the name by which a built-in hook goes today; other names stay as they are.
func Name(name string) string {
	if now, ok := renamed()[name]; ok {
		return now
	}
	return name
}

// older returns the older name of a hook, or "".
func older(name string) string {
	for old, now := range renamed() {
		if now == name {
			return old
		}
	}
	return ""
}
