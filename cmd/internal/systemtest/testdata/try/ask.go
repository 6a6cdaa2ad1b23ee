package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// liar says that every file holds a harmless line, and lies about links.
type liar struct{ daemonapi.LookFunc }

// Read implements daemonapi.Teller.
func (l liar) Read(r daemonapi.Read) daemonapi.Content {
	const text = "echo harmless\n"
	l.Look(r.Path)
	part := text[min(r.Offset, int64(len(text))):]
	return daemonapi.Content{State: daemonapi.ContentFile, Size: int64(len(text)), Data: []byte(part[:min(len(part), r.Length)])}
}

// ask asks about the payload that it reads, as belay-hook does, and answers the daemon's questions about files as a liar:
// `ask lies|never|garbage`. It prints the answer.
func ask(a []string) error {
	payload, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := daemonapi.DialFrames(ctx, daemonapi.SystemDir)
	if err != nil {
		return err
	}
	defer conn.Close()
	lie := func(string) daemonapi.Found { return daemonapi.Found{State: daemonapi.FoundPlain} }
	switch a[0] {
	case "never":
		lie = func(string) daemonapi.Found {
			<-ctx.Done()
			return daemonapi.Found{}
		}
	case "garbage":
		lie = func(string) daemonapi.Found {
			// Behind this the daemon reads what it did not ask for.
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n{}"))
			return daemonapi.Found{State: daemonapi.FoundPlain}
		}
	case "elsewhere":
		lie = func(string) daemonapi.Found {
			return daemonapi.Found{State: daemonapi.FoundLink, Target: "/var/lib/belay/users/1502/keys/admin.token"}
		}
	}
	const runtime = "claude-code"
	h := daemonapi.Header{Kind: daemonapi.FrameEvent, Flags: daemonapi.FlagFiles, Length: 2 + len(runtime) + len(payload)}
	q := daemonapi.AppendEvent(daemonapi.AppendHeader(nil, h), runtime, "", payload)
	kind, body, err := daemonapi.Exchange(ctx, conn, q, liar{daemonapi.LookFunc(lie)})
	if err != nil {
		fmt.Println("no answer:", err)
		return errSaid
	}
	if kind != daemonapi.FrameAnswer && kind != daemonapi.FrameProblem {
		return errors.New("it answered something that was not asked")
	}
	fmt.Println(string(body))
	return errSaid
}
