package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// frame sends a frame, KIND BODY, to the socket where the daemon has MCP servers started.
func frame(args []string) error {
	c, err := net.Dial("unix", "/run/belay/tools.sock")
	if err != nil {
		return err
	}
	_, _ = c.Write(binary.BigEndian.AppendUint32([]byte(args[0]), uint32(len(args[1]))))
	_, _ = io.WriteString(c, args[1])
	_ = c.(*net.UnixConn).CloseWrite()
	answer, err := io.ReadAll(c)
	fmt.Printf("%q %v\n", answer, err)
	return errSaid
}
