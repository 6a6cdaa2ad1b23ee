package tiers

// Wants reports whether the manifest declares a capability that covers c.
func (m *Manifest) Wants(c Capability) bool {
	for _, w := range m.Capabilities {
		if have, err := ParseCapability(w.Name); err == nil && have.covers(c) {
			return true
		}
	}
	return false
}
