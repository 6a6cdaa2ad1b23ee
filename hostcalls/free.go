package hostcalls

import "context"

func logCall(_ context.Context, s *Session, a *Args) (Result, error) {
	if a.I32 < 0 || a.I32 > 3 {
		return Result{Code: int64(Invalid)}, nil
	}
	text := string(a.In[0])
	if a.Long[0] && len(s.logs) < s.limits.Logs { // a line that is dropped is counted there, once
		s.dropped++
	}
	s.Log(int(a.I32), text)
	return Result{}, nil
}

func failCall(_ context.Context, s *Session, a *Args) (Result, error) {
	s.failText = cutText(string(a.In[0]), MaxFail)
	return Result{}, nil
}
