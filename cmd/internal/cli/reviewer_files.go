package cli

import "path/filepath"

// reviewerKeyFile is where the key of a reviewer lies if not told otherwise: in the state directory whose configuration
// names it. In system mode that is the daemon's, and the key is the reviewer's own: it lies in the reviewer's home, or
// nowhere where there is none ("").
func (a *App) reviewerKeyFile(dir, name string) string {
	name += ".reviewer.key"
	if dir != a.places().Config {
		return filepath.Join(dir, "keys", name)
	}
	if c := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(c) {
		return filepath.Join(c, "belay", name)
	}
	if home := a.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "belay", name)
	}
	return ""
}
