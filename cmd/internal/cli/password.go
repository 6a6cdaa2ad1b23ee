package cli

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/belay-hooks/belay/cmd/internal/signing"
)

// keyPassword returns how the password of a signing key is found: in the environment,
// else from a person. twice is for a new key. It is never taken from standard
// input: that is where an agent would write it.
func (a *App) keyPassword(what string, twice bool) signing.Password {
	return func() ([]byte, error) {
		for _, name := range []string{"BELAY_KEY_PASSWORD", "COSIGN_PASSWORD"} {
			if v := a.Getenv(name); v != "" {
				return []byte(v), nil
			}
		}
		if _, set := os.LookupEnv("COSIGN_PASSWORD"); set { // set and empty is an empty password, as with cosign
			return []byte{}, nil
		}
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("there is no terminal to ask for the password; set $BELAY_KEY_PASSWORD or $COSIGN_PASSWORD")
		}
		defer tty.Close()
		first, err := askOn(tty, "Password of "+what+": ")
		if err != nil || !twice {
			return first, err
		}
		second, err := askOn(tty, "The same again: ")
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(first, second) {
			return nil, fmt.Errorf("the two passwords differ")
		}
		return first, nil
	}
}

func askOn(tty *os.File, prompt string) ([]byte, error) {
	fmt.Fprint(tty, prompt)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	return b, err
}
