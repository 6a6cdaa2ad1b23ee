//go:build !unix

package cli

func restrictUmask() {}

func (a *App) notifier() func(state string) { return func(string) {} }
