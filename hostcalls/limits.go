package hostcalls

// Sizes of single arguments. They are part of guest ABI version 1 and the same
// for every hook.
const (
	MaxPath      = 1 << 10   // bytes of a JSON Pointer, a state key or a metadata key
	MaxEffect    = 256 << 10 // bytes of one effect, all its arguments together
	MaxReason    = 4 << 10   // bytes of a block reason; cut
	MaxFail      = 1 << 10   // bytes of the text of fail; cut
	MaxLogText   = 8 << 10   // bytes of one log entry; cut
	MaxContext   = 4 << 10   // bytes of one added context
	MaxLabel     = 64        // bytes of a redaction label
	MaxRandom    = 4 << 10   // bytes of one random call
	MaxShell     = 64 << 10  // bytes of shell text
	MaxRequest   = 64 << 10  // bytes of a JSON request to an analysis
	MaxScan      = 256 << 10 // bytes of text for find_secrets
	MaxStateVal  = 64 << 10  // bytes of one state value
	MaxStateKey  = 256       // bytes of one state key
	MaxStateKeys = 64        // keys in a hook's namespace
	MaxState     = 1 << 20   // bytes of keys and values in a hook's namespace
)

// Limits bound one turn of one hook. The zero value of a field means its default.
type Limits struct {
	Input       int // bytes of the input document and of the configuration, each; 1 MiB
	Effects     int // effects other than block; 64
	EffectBytes int // bytes of all effects together; 1 MiB
	Calls       int // counted calls; 32
	Reply       int // bytes of one reply; 1 MiB
	Logs        int // log entries kept; 64
}

// DefaultLimits are the limits of a hook whose binding sets none.
func DefaultLimits() Limits {
	return Limits{Input: 1 << 20, Effects: 64, EffectBytes: 1 << 20, Calls: 32, Reply: 1 << 20, Logs: 64}
}

// setDefaults replaces what is not set.
func (l *Limits) setDefaults() {
	d := DefaultLimits()
	positive(&l.Input, d.Input)
	positive(&l.Effects, d.Effects)
	positive(&l.EffectBytes, d.EffectBytes)
	positive(&l.Calls, d.Calls)
	positive(&l.Reply, d.Reply)
	positive(&l.Logs, d.Logs)
}

func positive(v *int, otherwise int) {
	if *v <= 0 {
		*v = otherwise
	}
}
