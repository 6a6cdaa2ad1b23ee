package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// started tells the program that it runs in a process that is confined, and by which version of Landlock.
const started = "BELAY_CONFINED"

// start starts this program again in this process. Landlock holds each thread in a domain of its own, and lets none
// signal what another one has started: a compiler that takes too long could not be ended. After this all threads come
// from one, and share its domain. It returns only with an error.
func start(version int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("the program cannot be started again: %w",
		syscall.Exec(program, os.Args, append(os.Environ(), started+"="+strconv.Itoa(version))))
}

// again returns the version of Landlock that holds a process which start has made, and 0 in another one. A variable
// alone is not believed: what is confined cannot list the root.
func again() (version int, err error) {
	said, ok := os.LookupEnv(started)
	if !ok {
		return 0, nil
	}
	if err := os.Unsetenv(started); err != nil {
		return 0, err
	}
	version, err = strconv.Atoi(said)
	if err != nil || version < 1 {
		return 0, errors.New(started + " is belay's own: take it out of the environment")
	}
	if _, err := os.ReadDir("/"); !errors.Is(err, fs.ErrPermission) {
		return 0, errors.New(started + " is belay's own, and nothing confines this process: take it out of the environment")
	}
	return version, nil
}
