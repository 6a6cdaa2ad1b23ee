package hostcalls

import (
	"context"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/redact"
)

const maxSecrets = 256

func findSecrets(ctx context.Context, session *Session, a *Args) (Result, error) {
	if !utf8.Valid(a.In[0]) {
		return Result{Code: int64(Invalid)}, nil
	}
	reply := secretsReply{Secrets: []secretPlace{}}
	found := redact.FindUntil(string(a.In[0]), func() bool { return ctx.Err() != nil })
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	for _, f := range found {
		if len(reply.Secrets) == maxSecrets {
			reply.Truncated = true
			break
		}
		reply.Secrets = append(reply.Secrets, secretPlace{Kind: f.Kind, Start: f.Start, End: f.End})
	}
	return session.answer(reply, 0)
}
