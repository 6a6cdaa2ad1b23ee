// Command try does one thing to a file or process, and prints the number of the error. Or it sends what it reads to
// belay's socket, and prints the answer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

func main() {
	var err error
	switch os.Args[1] {
	case "read":
		var f *os.File
		if f, err = os.Open(os.Args[2]); err == nil {
			_ = f.Close()
		}
	case "write":
		var f *os.File
		if f, err = os.OpenFile(os.Args[2], os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			_ = f.Close()
		}
	case "kill":
		var pid int
		if pid, err = strconv.Atoi(os.Args[2]); err == nil {
			err = errors.Join(syscall.Kill(pid, syscall.SIGSTOP))
		}
	}
	if os.Args[1] == "post" {
		post(os.Args[2])
		return
	}
	var number syscall.Errno
	switch {
	case err == nil:
		fmt.Println(0)
	case errors.As(err, &number):
		fmt.Println(int(number))
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func post(path string) {
	c := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", "/run/belay/belay.sock")
	}}}
	r, err := c.Post("http://belay"+path, "application/json", os.Stdin)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(os.Stdout, r.Body)
}
