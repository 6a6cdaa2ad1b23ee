//go:build unix

package files

import "golang.org/x/sys/unix"

// noWait keeps a pipe from making its reader wait for a writer, and a terminal from
// becoming the one that controls this process.
const noWait = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

const noFollow = unix.O_NOFOLLOW
