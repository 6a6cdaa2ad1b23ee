//go:build !unix

package hookcmd

import "errors"

// become fails: a process cannot become another one here.
func become([]string) error { return errors.ErrUnsupported }

// becomeBelay fails likewise.
func becomeBelay([]string) error { return errors.ErrUnsupported }
