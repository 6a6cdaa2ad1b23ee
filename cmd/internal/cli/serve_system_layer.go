package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/statedir"
)

// layerProblem says why the user's own layer is not in force, or "".
func (u *userConfig) layerProblem() string {
	u.saying.Lock()
	defer u.saying.Unlock()
	return u.badLayer
}

// setLayer takes the user's own layer, nil for none, and derives anew. With an error everything is as it was; so it is
// after undo. Preconditions: no other layer of this user is being set.
func (u *userConfig) setLayer(ctx context.Context, file []byte) (undo func() error, err error) {
	if file != nil {
		// Hooks are compiled for that. All users' files follow one after the other, and must not wait as long.
		if err := u.checkLayer(ctx, file); err != nil {
			return nil, err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	before, err := readIf(filepath.Join(u.dir, layers.UserName))
	if err != nil {
		return nil, err
	}
	err = u.putLayer(file)
	if left := u.layerProblem(); err == nil && file != nil && left != "" { // the organisation's files changed meanwhile
		err = fmt.Errorf("%w: %s", config.ErrConfig, left)
	}
	if err != nil {
		return nil, errors.Join(err, u.putLayer(before))
	}
	return func() error {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.putLayer(before)
	}, nil
}

// putLayer writes the file of the layer, and what follows from it. Preconditions: u.mu is held.
func (u *userConfig) putLayer(file []byte) error {
	path := filepath.Join(u.dir, layers.UserName)
	if file == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else if err := statedir.Replace(path, file, 0o600); err != nil {
		return err
	}
	return u.write()
}

// checkLayer refuses a layer that does not fit under the organisation's files as they are, or whose hooks would not
// run. It writes nothing.
func (u *userConfig) checkLayer(ctx context.Context, file []byte) error {
	u.mu.Lock()
	s, err := u.sources() // as one derivation left them
	u.mu.Unlock()
	if err != nil {
		return err
	}
	s.User = file
	d, err := layers.Derive(s)
	if err != nil {
		return err
	}
	if err := u.usable(d.File); err != nil {
		return err
	}
	user, err := layers.ParseUser(file)
	if err != nil {
		return err
	}
	look, err := loader.Look(trustDir(u.dir))
	if err != nil {
		return err
	}
	defer look.Close(func() bool { return false })
	hooks, err := look.Examine(ctx, user.Enabled())
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if h.Problem != "" {
			return fmt.Errorf("%w: the hook %s cannot run: %s", config.ErrConfig, h.Name, h.Problem)
		}
	}
	return nil
}

// usable refuses a derived file that a host could not take into use for what the user's layer says.
func (u *userConfig) usable(file []byte) error {
	f, err := config.Parse(file)
	if err != nil {
		return err
	}
	look, err := loader.Look(trustDir(u.dir))
	if err != nil {
		return err
	}
	defer look.Close(func() bool { return false })
	if err := look.CheckConfigs(f); err != nil {
		return err
	}
	_, err = redaction.New(u.dir, make([]byte, redact.MinKey), f) // the key is of no matter: nothing is redacted
	return err
}
