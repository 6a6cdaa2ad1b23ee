package leases_test

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A scope covers another when it contains it in every dimension. A lease that a child agent asks for has to be
// covered by its parent's, and Narrow cuts one scope down to another.
func ExampleScope_Contains() {
	parent := leases.Scope{Paths: phases.Scope{"/srv/app/**"}, Hosts: phases.Scope{"api.example:443"}}
	child := leases.Scope{Paths: phases.Scope{"/srv/app/logs/**"}, Hosts: phases.Scope{"api.example:443"}}
	fmt.Println(parent.Contains(child), child.Contains(parent))
	fmt.Println(parent.Narrow(leases.Scope{Paths: phases.Scope{"/srv/**"}}).Paths)
	// Output:
	// true false
	// [/srv/app/**]
}

// A store answers a query lease by lease, and keeps the ids below a prefix together.
func ExampleQuery_Match() {
	query := leases.Query{Prefix: "session-1/coder", State: leases.Active}
	for _, lease := range []leases.Lease{
		{ID: "session-1/coder/read", State: leases.Active},
		{ID: "session-1/coder/exec", State: leases.Revoked},
		{ID: "session-1/coder-2/read", State: leases.Active},
	} {
		fmt.Println(lease.ID, query.Match(&lease))
	}
	// Output:
	// session-1/coder/read false
	// session-1/coder/exec false
	// session-1/coder-2/read false
}

// A grant of ten minutes lasts ten minutes, although a person sets the wall clock ahead by a day.
func ExampleStamp_Left() {
	began := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	at := leases.Instant{Wall: began, Boot: "this boot", Since: time.Hour}
	grant, ends := at.Stamp(), began.Add(10*time.Minute)

	later := leases.Instant{Wall: began.Add(24 * time.Hour), Boot: "this boot", Since: time.Hour + 4*time.Minute}
	fmt.Println(grant.Left(later, began, ends))
	fmt.Println(grant.Over(later, began, ends))
	// Output:
	// 6m0s
	// false
}
