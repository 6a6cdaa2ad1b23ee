package restrict

// Table is one group of rows. Its number is part of the digest: numbers are never
// given to another group.
type Table uint8

const (
	Latches      Table = iota // sessions that are held
	Approvals                 // questions to people, with their answers
	ApprovalKeys              // the newest question of each kind and key
	Leases                    // with their state and uses
	LeaseClock                // the highest wall time seen
	Runs                      // metadata of runs, and their retries
	State                     // values of hooks
	StateVersion              // the last version given to a value
	Compaction                // which events were compacted

	tables // how many there are
)

// Tables returns all tables. The slice is the caller's.
func Tables() []Table {
	out := make([]Table, tables)
	for i := range out {
		out[i] = Table(i)
	}
	return out
}

// String names the table as the database does.
func (t Table) String() string {
	switch t {
	case Latches:
		return "latches"
	case Approvals:
		return "approvals"
	case ApprovalKeys:
		return "approvals (newest of a key)"
	case Leases:
		return "leases"
	case LeaseClock:
		return "lease_clock"
	case Runs:
		return "runs"
	case State:
		return "state"
	case StateVersion:
		return "state_version"
	case Compaction:
		return "compaction"
	}
	return "unknown"
}
