//go:build !linux

package clock

import "time"

func boot() (string, time.Duration) { return "", 0 }
