package clock_test

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/leases/clock"
)

// A grant of ten minutes lasts ten minutes, although a person sets the wall clock ahead by a day.
func ExampleStamp_Left() {
	began := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	at := clock.Instant{Wall: began, Boot: "this boot", Since: time.Hour}
	grant, ends := at.Stamp(), began.Add(10*time.Minute)

	later := clock.Instant{Wall: began.Add(24 * time.Hour), Boot: "this boot", Since: time.Hour + 4*time.Minute}
	fmt.Println(grant.Left(later, began, ends))
	fmt.Println(grant.Over(later, began, ends))
	// Output:
	// 6m0s
	// false
}
