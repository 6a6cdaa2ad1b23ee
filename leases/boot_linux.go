package leases

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootName is read once: it cannot change while a process lives. A time namespace
// has its own offset to the clock, so that its name belongs to the boot's.
var bootName = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, _ := os.Readlink("/proc/self/ns/time") // absent where the kernel has no time namespaces
	return strings.TrimSpace(string(id)) + " " + ns
})

func boot() (string, time.Duration) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil || bootName() == "" {
		return "", 0
	}
	return bootName(), time.Duration(ts.Nano())
}
