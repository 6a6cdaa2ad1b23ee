// Command probe is an MCP server with one tool, which does what /srv/probe/todo says and answers what became of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "probe", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "do", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: do()}}}, nil
		})
	fmt.Fprintln(os.Stderr, "the probe runs")
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

func do() string {
	todo, err := os.ReadFile("/srv/probe/todo")
	if err != nil {
		return err.Error()
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(string(todo)), " ")
	number, _ := strconv.Atoi(rest)
	switch word {
	case "who":
		groups, _ := os.Getgroups()
		return fmt.Sprintf("uid %d, gid %d, groups %v, pid %d, environment %q, %s", os.Getuid(), os.Getgid(), groups, os.Getpid(),
			os.Environ(), strings.Join(descriptors(), " "))
	case "read":
		_, err := os.ReadFile(rest)
		return said(err)
	case "list":
		_, err := os.ReadDir(rest)
		return said(err)
	case "write":
		return said(os.WriteFile(rest, []byte("x"), 0o666))
	case "signal":
		return said(syscall.Kill(number, 0))
	case "connect":
		c, err := net.Dial("unix", rest)
		if err != nil {
			return said(err)
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprint(c, "GET /v1/status HTTP/1.1\r\nHost: belay\r\nConnection: close\r\n\r\n")
		answer, _ := io.ReadAll(c)
		return fmt.Sprintf("answered %q", answer)
	case "exit":
		os.Exit(number)
	case "hang":
		time.Sleep(time.Hour)
	}
	return "what?"
}

// descriptors names the files and sockets that are open, beside those of the runtime.
func descriptors() (out []string) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return []string{said(err)}
	}
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/sys/") && !strings.HasPrefix(to, "/proc/") {
			out = append(out, "fd "+e.Name())
		}
	}
	return out
}

func said(err error) string {
	var n syscall.Errno
	switch {
	case err == nil:
		return "it works"
	case errors.As(err, &n):
		return n.Error()
	}
	return err.Error()
}
