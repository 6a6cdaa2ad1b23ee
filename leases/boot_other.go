//go:build !linux

package leases

import "time"

func boot() (string, time.Duration) { return "", 0 }
