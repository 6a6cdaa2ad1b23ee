package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Only what still is the program's file is released: a page that was written to would be lost.
func TestUnchangedMappings(t *testing.T) {
	const smaps = `00400000-01cc7000 r-xp 00000000 fe:00 9978958                            /opt/belay
Rss:               21492 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me sd
01cc7000-03965000 r--p 018c7000 fe:00 9978958                            /opt/belay
Anonymous:             4 kB
Swap:                  0 kB
03965000-03966000 r--p 018c7000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
Swap:                  0 kB
03966000-03abf000 rw-p 03565000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
Swap:                  0 kB
03abf000-03ac0000 r--s 03565000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
Swap:                  0 kB
03ac0000-03ac1000 r--p 03565000 fe:00 9978958                            /opt/belay (deleted)
Anonymous:             0 kB
Swap:                  0 kB
03ad0000-03ad1000 r--p 03565000 fe:00 9978959                            /opt/libc.so
Anonymous:             0 kB
Swap:                  0 kB
03ae0000-03ae1000 r--p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
03af1000-03af0000 r--p 00000000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
Swap:                  0 kB
03b00000-03b01000 r--p 00000000 fe:00 9978958                            /opt/belay
Rss:                   4 kB
03b10000-03b11000 r--p 00000000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
Swap:                  4 kB
03b20000-03b21000 r--p 00000000 fe:00 9978958                            /opt/belay
Swap:                  0 kB
03b30000-03b31000 r--p 00000000 fe:00 9978958                            /opt/belay
Anonymous:             0 kB
`
	got := unchanged(strings.NewReader(smaps), "/opt/belay")
	if want := []mapping{{0x400000, 0x1cc7000}, {0x3965000, 0x3966000}}; !slices.Equal(got, want) {
		t.Errorf("%x, not %x", got, want)
	}
}

// A program whose pages are released holds less of its file, and goes on.
func TestReleaseProgram(t *testing.T) {
	touched := ofFiles(t)
	releaseProgram()
	released := ofFiles(t)
	if released > touched*3/4 {
		t.Errorf("%d of %d pages of files are still mapped", released, touched)
	}
}

// ofFiles is how many resident pages of files the process has.
func ofFiles(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[2])
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
