//go:build !linux && !darwin

package sink

func noSpace(string) bool { return false }
