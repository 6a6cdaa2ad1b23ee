//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

// An agent asks the daemon of a state directory before each of its tools. Without a verdict that
// runs, the tool may not run: not after an error, and not where no daemon is there.
func ExampleClient_Invoke() {
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	_, err = client.Dial(dir)
	fmt.Println(errors.Is(err, client.ErrNotRunning))

	daemon, err := net.Listen("unix", filepath.Join(dir, "belay.sock")) // stands in for `belay serve`
	if err != nil {
		fmt.Println(err)
		return
	}
	server := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"01a1fc35-e999-778a-8ada-7a335a915e53","phase":"pre_tool","decision":"block",`+
				`"reason":"no shells here","decided_by":"guard","event":{"seq":1,"id":"e"}}`)
		})}
	defer server.Close()
	go server.Serve(daemon)

	c, err := client.Dial(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	v, err := c.Invoke(context.Background(), phases.Invocation{
		ID: "01a1fc35-e999-778a-8ada-7a335a915e53", Phase: phases.PreTool, Runtime: "my-agent", Session: "s", Agent: "main",
		Action: []byte(`{"tool":"exec","args":{"command":"ls"}}`),
	})
	fmt.Println(v.Runs(), v.Reason, err)
	// Output:
	// true
	// false no shells here <nil>
}
