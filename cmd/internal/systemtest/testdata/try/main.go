// Command try does one thing that belay has to hold against, as the user who starts it. A try on a file or process prints
// the number of the error, 0 for none; a try on belay prints the answer.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func main() {
	act, ok := verbs()[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "try: no verb", os.Args[1])
		os.Exit(2)
	}
	err := act(os.Args[2:])
	var number syscall.Errno
	switch {
	case errors.Is(err, errSaid):
	case err == nil:
		fmt.Println(0)
	case errors.As(err, &number):
		fmt.Println(int(number))
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// errSaid: the verb has printed what there was to say.
var errSaid = errors.New("said")

func verbs() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"read": read, "write": write, "mkdir": mkdir, "fifo": fifo, "symlink": symlink, "hard": hard, "remove": remove,
		"rename": rename, "chmod": chmod, "chown": chown, "bind": bind, "connect": connect, "list": list,
		"stop": stop, "trace": trace, "peek": peek, "limit": limit, "enter": enter, "setuid": setuid, "settime": settime,
		"http": speakHTTP, "raw": raw, "listen": listen, "ask": ask, "crowd": crowd, "huge": huge, "deaf": deaf,
		"steady": steady, "rush": rush,
		"frame": frame, "pivot": pivot, "namespace": namespace, "mounted": mounted, "few": few,
	}
}
