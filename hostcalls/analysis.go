package hostcalls

import (
	"context"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/shell"
)

// shellStepFuel is charged for each step of the shell walker.
const shellStepFuel = 500

func shellParse(ctx context.Context, session *Session, a *Args) (Result, error) {
	if !utf8.Valid(a.In[0]) {
		return Result{Code: int64(Invalid)}, nil
	}
	spent := false
	reply, steps := shell.ParseUntil(string(a.In[0]), func(steps int) bool {
		spent = a.spent(int64(steps) * shellStepFuel)
		return spent || ctx.Err() != nil
	})
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if spent {
		return Result{Fuel: int64(steps) * shellStepFuel}, nil
	}
	return session.answer(reply, int64(steps)*shellStepFuel)
}

// spent reports whether the guest cannot pay so much. Then the call ends with that as its
// fuel, and the turn with the charge.
func (a *Args) spent(fuel int64) bool { return a.Fuel > 0 && fuel > a.Fuel }

// answer puts a document into the reply buffer.
func (s *Session) answer(doc any, fuel int64) (Result, error) {
	out, err := json.Marshal(doc)
	if err != nil {
		return Result{}, err
	}
	s.reply = out
	return Result{Fuel: fuel}, nil
}
