package cli

// Exit statuses, the same for every command.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitBlocked     = 3
	ExitPending     = 4
	ExitDifferences = 5
	ExitRestart     = 6 // hooks were left behind: the supervisor is to start the command again
)

// exitError ends a command with a status. text is for people and may be empty
// when the command has said everything already; hint says what to do next.
type exitError struct {
	code       int
	text, hint string
	cause      error
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) Unwrap() error { return e.cause }

func usageError(text, hint string) error { return &exitError{code: ExitUsage, text: text, hint: hint} }

func failure(text, hint string) error { return &exitError{code: ExitError, text: text, hint: hint} }

func failureBy(err error, hint string) error {
	return &exitError{code: ExitError, text: safe(err.Error()), hint: hint, cause: err}
}

func exitWith(code int) error {
	if code == ExitOK {
		return nil
	}
	return &exitError{code: code}
}
