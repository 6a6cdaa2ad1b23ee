package memory

// Durable reports that nothing outlives the process.
func (s *Store) Durable() bool { return false }
