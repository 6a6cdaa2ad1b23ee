package cli

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram unmaps the pages of the program's own file that were touched until now: a start touches
// most of a large program's, for packages that a daemon hardly uses again. The system keeps them in its
// cache while it has room, and maps those again that run. Without the system's help nothing is released.
func releaseProgram() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for _, m := range unchanged(f, program) {
		// Not unix.Madvise: it takes a slice, and no Go value lies there.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ begin, end uintptr }

// unchanged returns the mappings of a file that smaps (proc_pid_smaps(5)) lists, without those that can be
// written to and those of which a page is no longer the file's, in memory or swapped out: these would lose what
// was written, as what the dynamic linker has relocated.
func unchanged(smaps io.Reader, file string) (out []mapping) {
	var of *mapping // whose lines follow; nil: of another file, or writable
	var anonymous bool
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // begin-end perms offset dev inode path
			of, anonymous = mappingOf(fields, file), true
			continue
		}
		none := len(fields) == 3 && fields[1] == "0"
		switch {
		case of == nil:
		case fields[0] == "Anonymous:":
			anonymous = !none
		case fields[0] == "Swap:": // it stands behind the other
			if none && !anonymous {
				out = append(out, *of)
			}
			of = nil
		}
	}
	return out
}

// mappingOf reads the first line of a mapping; nil when it is none of that file's, or can be written to.
func mappingOf(fields []string, file string) *mapping {
	if len(fields) != 6 || fields[5] != file || len(fields[1]) != 4 || fields[1][1] != '-' || fields[1][3] != 'p' {
		return nil
	}
	from, to, ok := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil || !ok {
		return nil
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || end <= begin {
		return nil
	}
	return &mapping{uintptr(begin), uintptr(end)}
}
