package approvals

import "time"

// Ends returns when a pending or approved item runs out, else when it ended.
func (it *Item) Ends() time.Time {
	switch {
	case it.State == Pending:
		return it.Expires
	case it.State == Approved && it.Decision != nil:
		return it.Decision.Until
	}
	return it.Closed
}
