package conformance

// Turn is the turn of the rule.
func (r *Rule) Turn() (Request, error) { return r.turn() }
