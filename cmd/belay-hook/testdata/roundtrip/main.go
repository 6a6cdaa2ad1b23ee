// Command roundtrip is the least that a program can do for one event: it sends standard input to
// a path of the daemon's socket and prints what comes back. BenchmarkEvent measures against it.
package main

import (
	"io"
	"net"
	"os"
	"strconv"
)

func main() {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	body, _ := io.ReadAll(os.Stdin)
	_, _ = conn.Write(append([]byte("POST "+os.Args[2]+" HTTP/1.0\r\nHost: belay\r\nContent-Type: application/json\r\n"+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...))
	_, _ = io.Copy(os.Stdout, conn)
}
