package phases

// Limits on what comes from outside. Sizes are in bytes.
const (
	MaxInputBytes     = 1 << 20    // one invocation document, and an action after any rewrite
	MaxDocumentBytes  = 1536 << 10 // what a hook sees of an invocation: with scopes, metadata and judged beside it
	MaxInputDepth     = 128        // nesting of objects and arrays in an invocation document
	maxPathBytes      = 1 << 10    // one JSON Pointer
	maxEffectBytes    = 256 << 10  // one effect: path, value, key, label and text together
	maxEffectsBytes   = 1 << 20    // all effects of one turn
	maxEffects        = 64         // effects of one turn; block is not counted
	MaxReasonBytes    = 4 << 10    // a block's or an ask's reason; longer ones are cut
	maxFailBytes      = 1 << 10    // the text given to fail; longer ones are cut
	maxContextBytes   = 4 << 10    // one context, its label included; longer ones are cut
	maxLabelBytes     = 64         // a redaction label, after cleaning
	maxMetadataKeys   = 64         // entries in a run's bag
	maxMetadataBytes  = 64 << 10   // keys, values and hook names of a run's bag together
	maxKeyBytes       = 128        // one metadata key
	MaxRuntimeBytes   = 64         // a runtime's name
	MaxIDBytes        = 256        // session, agent, run, user, tool, call id, model
	maxCWDBytes       = 4 << 10    // a working directory
	maxScopePatterns  = 256        // patterns in one scope
	maxPatternBytes   = 4 << 10    // one scope pattern
	maxRetries        = 10         // the largest "max" of a retry
	maxChildLeases    = 32         // leases passed on to a child agent
	maxArtifactName   = 256        // an artifact's name
	maxMediaTypeBytes = 128        // an artifact's media type
)

// limits bound a document from outside. The zero value means the defaults.
type limits struct {
	maxBytes int // 0: MaxInputBytes
	maxDepth int // 0: MaxInputDepth
}

func (l limits) withDefaults() limits {
	if l.maxBytes <= 0 {
		l.maxBytes = MaxInputBytes
	}
	if l.maxDepth <= 0 {
		l.maxDepth = MaxInputDepth
	}
	return l
}
