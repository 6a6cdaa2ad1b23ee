package ownfiles

import (
	"context"
	"os"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// Exchange is daemonapi.Exchange on a socket of a directory. Behind the machine's sockets the daemon has another uid,
// and cannot look by itself: there this process tells of its user's files until the answer comes.
func Exchange(
	ctx context.Context,
	conn daemonapi.Conn,
	question []byte,
	dir string,
) (daemonapi.FrameKind, []byte, error) {
	if dir != daemonapi.SystemDir {
		return daemonapi.Exchange(ctx, conn, question, nil)
	}
	daemonapi.TellsFiles(question)
	own := New(question, os.Getenv)
	defer own.Close()
	return daemonapi.Exchange(ctx, conn, question, own)
}
