package meter

import (
	"errors"
	"io"
	"testing"
)

// TestErrorText: an error says its class, the function where it is in one, and
// the fault; errors.Is sees the cause.
func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		ErrLimit.Error() + ": 3 pages":          refuse(ErrLimit, -1, "%d pages", 3),
		ErrModel.Error() + ": func 0: odd":      refuse(ErrModel, 0, "odd"),
		ErrReserved.Error() + ": func 12: name": {Class: ErrReserved, Func: 12, Msg: "name", Cause: io.EOF},
	} {
		if e.Error() != want || !errors.Is(e, e.Class) || errors.Is(e, io.EOF) != (e.Cause != nil) {
			t.Errorf("%v, want %s", e, want)
		}
	}
}
