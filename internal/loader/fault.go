package loader

import (
	"errors"
	"os"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// loadFault makes the failure that stands for a hook which could not be loaded.
// Texts of the sandbox and of manifests are made to be shown; others are not.
func loadFault(name string, err error) error {
	if f := phases.FaultOf(err); f != nil {
		return err
	}
	text := "the hook " + name + " could not be loaded"
	var le *sandbox.LoadError
	var te *tiers.Error
	var re *rules.Error
	switch {
	case errors.As(err, &re):
		text += ": " + phases.SafeLine(re.Error(), 300)
	case errors.As(err, &le):
		text += ": " + le.Text
	case errors.As(err, &te):
		text += ": " + te.Text
	case errors.Is(err, kernel.ErrTrust):
		text += ": it is not the module that was bound"
	case errors.Is(err, os.ErrNotExist):
		text += ": its file is missing"
	case errors.Is(err, files.ErrNotRegular):
		text += ": its file is not a regular file"
	case errors.Is(err, files.ErrTooLarge):
		text += ": its file is too large"
	case errors.Is(err, builtin.ErrUnknown):
		text += ": there is no built-in hook of that name"
	}
	return phases.NewFault(phases.KindLoad, text, err)
}
