//go:build !unix

package connect

func (w Writer) readOwned(string) ([]byte, error) { return nil, w.none() }

func (w Writer) writeOwned(Change) (string, error) { return "", w.none() }

// CheckProgram refuses: this system's owners and permissions are not known to belay.
func (w Writer) CheckProgram(string) error { return w.none() }

func (w Writer) none() error {
	return &Error{Reason: "belay does not write managed settings on this system",
		Advice: "--print prints them; put them there with the tool that manages the machine.", Err: ErrUsage}
}
