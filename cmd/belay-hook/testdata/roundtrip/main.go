// Command roundtrip is the least that a program can do for one event: it sends standard input as one
// frame to the daemon's framed socket and prints what comes back. BenchmarkEvent and bench measure
// against it.
package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	payload, _ := io.ReadAll(os.Stdin)
	runtime := os.Args[2]
	frame := binary.BigEndian.AppendUint32([]byte{0xBE, 1, 2, 0}, uint32(len(payload)+len(runtime)+2))
	frame = append(append(append(frame, byte(len(runtime))), runtime...), 0)
	_, _ = conn.Write(append(frame, payload...))
	var header [8]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		os.Exit(1)
	}
	answer := make([]byte, binary.BigEndian.Uint32(header[4:]))
	_, _ = io.ReadFull(conn, answer)
	_, _ = os.Stdout.Write(answer)
}
