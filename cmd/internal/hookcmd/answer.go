package hookcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Exit statuses that runtimes read: a document or a block by its text.
const (
	exitAnswered = 0
	exitBlocked  = 2
)

// Write gives the runtime its answer and returns the exit status. If the answer
// cannot be written or is lost, the status does not read as a decision to go
// on. The answer is to payload, decoded with opts.
func Write(out, errs io.Writer, ad adapters.Adapter, payload []byte, opts adapters.Options, ans adapters.Answer) int {
	if ans.Stderr != "" {
		fmt.Fprintln(errs, strings.TrimRight(ans.Stderr, "\n"))
	}
	if len(ans.Stdout) > 0 {
		var err error
		switch f, null := nowhere(out); {
		case null && !discards(f):
			err = errors.New("standard output is closed")
		case null && string(bytes.TrimSpace(ans.Stdout)) != "{}":
			err = errors.New("standard output goes to the null device, and the answer is more than the exit status")
		default:
			_, err = out.Write(append(bytes.TrimRight(ans.Stdout, "\n"), '\n'))
		}
		if err != nil {
			fmt.Fprintf(errs, "belay: the answer could not be written: %s\n", safe(err.Error()))
			if ad.Failure(payload, opts, err).GoesOnAt2 {
				return exitAnswered
			}
			return exitBlocked
		}
	}
	return ans.Exit
}

// nowhere reports whether writes to w are lost, and returns its file. Go's runtime opens the null
// device in place of a closed standard output.
func nowhere(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	out, err := f.Stat()
	if err != nil {
		return nil, false // writing will fail by itself
	}
	null, err := os.Stat(os.DevNull)
	return f, err == nil && os.SameFile(out, null)
}

func safe(s string) string { return phases.SafeText(s, phases.MaxReasonBytes) }
