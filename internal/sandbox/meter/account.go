package meter

import (
	"errors"
	"math"
)

// ErrFuel says that the budget of an [Account] is spent.
var ErrFuel = errors.New("fuel exhausted")

// Account hands a fuel budget out in slices. It is the host's half of the
// counter: the guest's half is the ExportFuel global, and the used fuel is
// Granted minus that. The slice decides how often the host is asked, never
// where the guest ends: an invocation is out of fuel when it has used more than
// Limit, and at no other point.
//
// The zero value has no fuel. Not for concurrent use.
type Account struct {
	Limit   int64 // budget, ≥ 0
	Slice   int64 // fuel between two yields; ≤ 0 means all at once
	Granted int64 // handed out so far, ≤ Limit
}

// Refill is the body of the yield import: left is the guest's counter, the result is the
// new one, ≥ 0. It is also what a handler calls after a charge that left the counter
// below zero. ErrFuel: even the whole budget would leave it negative; nothing has been
// granted then, and left is still the counter that goes with Used.
func (a *Account) Refill(left int64) (int64, error) {
	if left >= 0 {
		return left, nil
	}
	room := max(a.Limit-a.Granted, 0)
	if left < -room {
		return left, ErrFuel
	}
	give := room
	if a.Slice > 0 {
		if slices := (-left-1)/a.Slice + 1; slices <= room/a.Slice {
			give = slices * a.Slice
		}
	}
	a.Granted += give
	return left + give, nil
}

// Skip begins an account behind code that has run before and used so much fuel, 0 ≤ used ≤ Limit: it counts as used,
// and the result is the counter for what comes next. Precondition: nothing has been granted.
func (a *Account) Skip(used int64) (left int64) {
	give := a.Limit - used
	if a.Slice > 0 {
		give = min(give, a.Slice)
	}
	a.Granted = used + give
	return give
}

// Charge takes n ≥ 0 from the counter and refills it if need be, as a handler does
// during a host call: read the global, Charge, write the result back, also on ErrFuel.
// A charge beyond 2^62 counts as 2^62.
func (a *Account) Charge(left, n int64) (int64, error) {
	return a.Refill(max(left, math.MinInt64/4) - min(max(n, 0), 1<<62))
}

// Used is the fuel used when the counter stands at left. It does not depend on Slice.
func (a *Account) Used(left int64) int64 { return a.Granted - left }

// Settle closes the account after the guest has returned: ErrFuel when the last stretch
// of code, which no check follows, went over the budget.
func (a *Account) Settle(left int64) (used int64, err error) {
	if used = a.Used(left); used > a.Limit {
		return used, ErrFuel
	}
	return used, nil
}
