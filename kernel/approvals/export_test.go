package approvals

// Legal is for tests.
func Legal(from, to State) bool { return legal(from, to) }
