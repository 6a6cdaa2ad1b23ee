package config

import (
	"errors"

	"github.com/belay-hooks/belay/internal/httpcall"
)

func (b *Binding) validateHTTP(c checker, at string) error {
	_, err := httpcall.NewPolicy(*b.HTTP)
	var e *httpcall.SpecError
	if errors.As(err, &e) {
		return c.errorf(at+e.Pointer, "%s", e.Reason)
	}
	return err
}
