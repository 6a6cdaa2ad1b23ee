package system

// LoadAt is Load for a tree below root whose files belong to owner.
func LoadAt(root string, owner int) (*Config, error) { return load(root, owner) }

// Above is above.
func Above(state string, uid int) bool { return above(state, uid) }
