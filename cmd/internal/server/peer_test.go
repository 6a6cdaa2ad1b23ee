package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/highwater/highwatertest"
)

const childEnv = "BELAY_TEST_SOCKET"

// TestMain lets the test binary be a caller of its own: with childEnv it sends one
// request to that socket and prints the status, with serveEnv it serves that directory.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(childCall(path, os.Getenv("BELAY_TEST_TOKEN")))
	}
	if dir := os.Getenv(serveEnv); dir != "" {
		os.Exit(childServe(dir))
	}
	os.Exit(highwatertest.Run(m))
}

func childCall(path, token string) int {
	if filepath.Base(path) == daemonapi.FrameSocketName {
		return childFrame(path)
	}
	req, err := http.NewRequest("GET", "http://belay/v1/status", nil)
	if err != nil {
		return 1
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := socketClient(path).Do(req)
	if err != nil {
		fmt.Println("error", err)
		return 0
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(b))
	return 0
}

// childFrame says what the framed socket answers to an invocation.
func childFrame(path string) int {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("error", err)
		return 0
	}
	defer conn.Close()
	_, body, err := daemonapi.Exchange(context.Background(), conn, frame(daemonapi.FrameInvoke, 0, asked), nil)
	fmt.Println(string(body), err)
	return 0
}
