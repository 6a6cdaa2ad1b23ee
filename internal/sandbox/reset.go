package sandbox

// Reset is what an engine does with an instance after a run that ended well, so that the next run of its module finds
// the state that start and _initialize leave behind and nothing else.
type Reset int

const (
	// ResetNone: nothing. Each run has a fresh instance, and start and _initialize run in it.
	ResetNone Reset = iota
	// ResetDrop: the memory is mapped copy-on-write from an image; changed pages are dropped.
	ResetDrop
	// ResetCopy: as ResetDrop, but the pages that the kernel says were changed are copied from the image.
	ResetCopy
)

// String says it in a few words, for operators.
func (r Reset) String() string {
	switch r {
	case ResetDrop:
		return "instances are used again: changed pages are dropped"
	case ResetCopy:
		return "instances are used again: changed pages are copied back"
	}
	return "each run has a fresh instance"
}

// Reset returns what the engine does. It asks the kernel the first time. Safe for concurrent use.
func (e *Engine) Reset() Reset { return e.pool.strategy() }
