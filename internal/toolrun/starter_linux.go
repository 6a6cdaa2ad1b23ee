package toolrun

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/confine"
)

// StarterCommand is the first argument of a program that is to do what Starter does. The places of a server follow, as
// JSON, and the server's command.
const StarterCommand = "start-tool"

const (
	starterReport = 3 // the descriptor on which a starter says how it goes
	starterReady  = "ready\n"
)

// Bounds of a server's process, beside those of its unit.
const (
	maxFiles     = 4096
	maxFileSize  = 1 << 30 // bytes of a file that it writes
	maxProcesses = 4096    // of all servers: the kernel counts them by user
)

// IsStarter says whether a command line, the program's name included, asks for a starter.
func IsStarter(args []string) bool { return len(args) >= 4 && args[1] == StarterCommand }

// Starter confines this process for good, gives away all descriptors but the standard streams, and becomes the server.
// It returns, with an exit status, only when that fails. Preconditions: IsStarter.
func Starter(args []string) int {
	report := os.NewFile(starterReport, "report")
	if err := become(args[2], args[3:], report); err != nil {
		fmt.Fprint(report, err)
	}
	return 1
}

func become(rules string, command []string, report *os.File) error {
	var places confine.Server
	if err := json.Unmarshal([]byte(rules), &places, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	// Those of this program are closed at the end anyway; what it was given by mistake is, too.
	if err := unix.CloseRange(starterReport, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("descriptors cannot be closed: %w", err)
	}
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxFiles,
		unix.RLIMIT_FSIZE: maxFileSize, unix.RLIMIT_NPROC: maxProcesses} {
		if err := limit(resource, most); err != nil {
			return err
		}
	}
	if err := places.Apply(); err != nil {
		return err
	}
	if _, err := report.WriteString(starterReady); err != nil {
		return err
	}
	return syscall.Exec(command[0], command, os.Environ())
}

// limit lowers a limit to most, for good.
func limit(resource int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, most)
	now.Cur = now.Max
	return syscall.Setrlimit(resource, &now)
}
