//go:build !linux

package cli

// asDaemon does nothing here: there is no system mode.
func (a *App) asDaemon(string) error { return nil }
