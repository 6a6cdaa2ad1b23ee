package wire

// Compacted reports the contents that a compaction removed, or would remove.
type Compacted struct {
	Events      int64 `json:"events"`         // whose contents were, or would be, removed now
	Through     int64 `json:"through"`        // events 1 to this number have, or would have, no contents
	Event       int64 `json:"event,omitzero"` // the event that announces it
	Checkpoints int   `json:"checkpoints"`    // of the store that were dropped: others cover the same events
	DryRun      bool  `json:"dry_run,omitzero"`
}
