package hostcalls

import (
	"context"
	"sync/atomic"
)

// callMeter counts what one call costs its guest beyond the table's price.
type callMeter struct {
	left int64 // when the call began; 0 when not known
	used atomic.Int64
}

type meterKey struct{}

// withMeter makes the meter that FuelLeft and Charge find in the context.
func withMeter(ctx context.Context, left int64) (context.Context, func() int64) {
	m := &callMeter{left: left}
	return context.WithValue(ctx, meterKey{}, m), m.used.Load
}

// FuelLeft returns the fuel that is left to the guest whose call runs with the
// context, less the fuel charged to the call. It is false when that is not known:
// then nothing bounds the call.
func FuelLeft(ctx context.Context) (int64, bool) {
	m, _ := ctx.Value(meterKey{}).(*callMeter)
	if m == nil || m.left == 0 {
		return 0, false
	}
	return m.left - m.used.Load(), true
}

// Charge adds fuel to the price of the call that runs with the context. The guest
// pays when the call returns; one that cannot pay ends with kind fuel. A recording
// of the call's answer has to hold what Charged says, so that a replay costs the same.
func Charge(ctx context.Context, fuel int64) {
	if m, _ := ctx.Value(meterKey{}).(*callMeter); m != nil && fuel > 0 {
		m.used.Add(fuel)
	}
}

// Charged returns the fuel charged so far to the call that runs with the context.
func Charged(ctx context.Context) int64 {
	if m, _ := ctx.Value(meterKey{}).(*callMeter); m != nil {
		return m.used.Load()
	}
	return 0
}
