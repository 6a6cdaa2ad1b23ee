package belay

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
)

// share takes the keys into use that the kernels of a shared store have in common, and has the redactor make its
// placeholders by them. It changes nothing where no other kernel shares the store. While the store cannot be
// reached, the keys count that it handed out before.
func share(ctx context.Context, dir string, o *Options, s *statelog.Storage, keys *keyring.Ring, f *config.File,
	detector *audit.Detector) error {
	shared := s.Sharing()
	if shared == nil {
		return nil
	}
	found, err := shared.SharedKeys(ctx)
	if errors.Is(err, kernel.ErrUnavailable) {
		before, rerr := keyring.Remembered(dir)
		if errors.Is(rerr, fs.ErrNotExist) {
			return err
		} else if rerr != nil {
			return errors.Join(err, rerr)
		}
		found = before
	} else if err != nil {
		return err
	}
	if err := keys.Share(found); err != nil {
		return errors.Join(kernel.ErrUnavailable, err)
	}
	if !o.DryRun && !o.InMemory {
		if err := keyring.Remember(dir, found); err != nil {
			return err
		}
	}
	now, err := redaction.New(dir, keys.Redact, f)
	if err == nil {
		detector.Use(now)
	}
	return err
}

// among adds to the options of a kernel what comes of sharing its store. What a person decides at a terminal counts
// no more: the key of that decision says which directory it came from, and the action may happen on another machine.
func among(s *statelog.Storage, o kernel.Options) kernel.Options {
	if shared := s.Sharing(); shared != nil {
		o.Elsewhere, o.Terminal = shared, ed25519.PublicKey(nil)
	}
	return o
}
