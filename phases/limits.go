package phases

// Limits on what comes from outside. Sizes are in bytes.
const (
	MaxInputBytes     = 1 << 20   // one invocation document, and an action after any rewrite
	MaxInputDepth     = 128       // nesting of objects and arrays in an invocation document
	MaxPathBytes      = 1 << 10   // one JSON Pointer
	MaxEffectBytes    = 256 << 10 // one effect: path, value, key, label and text together
	MaxEffectsBytes   = 1 << 20   // all effects of one turn
	MaxEffects        = 64        // effects of one turn; block is not counted
	MaxReasonBytes    = 4 << 10   // a block's or an ask's reason; longer ones are cut
	MaxFailBytes      = 1 << 10   // the text given to fail; longer ones are cut
	MaxContextBytes   = 4 << 10   // one context, its label included; longer ones are cut
	MaxLabelBytes     = 64        // a redaction label, after cleaning
	MaxMetadataKeys   = 64        // entries in a run's bag
	MaxMetadataBytes  = 64 << 10  // keys, values and hook names of a run's bag together
	MaxKeyBytes       = 128       // one metadata key
	MaxRuntimeBytes   = 64        // a runtime's name
	MaxIDBytes        = 256       // session, agent, run, user, tool, call id, model
	MaxCWDBytes       = 4 << 10   // a working directory
	MaxScopePatterns  = 256       // patterns in one scope
	MaxPatternBytes   = 4 << 10   // one scope pattern
	MaxMatcherBytes   = 1 << 10   // one matcher
	MaxRetries        = 10        // the largest "max" of a retry
	MaxChildLeases    = 32        // leases passed on to a child agent
	MaxArtifactName   = 256       // an artifact's name
	MaxMediaTypeBytes = 128       // an artifact's media type
)

// Limits bound a document from outside. The zero value means the defaults.
type Limits struct {
	MaxBytes int // 0: MaxInputBytes
	MaxDepth int // 0: MaxInputDepth
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = MaxInputBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = MaxInputDepth
	}
	return l
}
