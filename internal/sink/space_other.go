//go:build !linux && !darwin

package belay

func noSpace(string) bool { return false }
