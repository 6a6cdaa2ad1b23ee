package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/tiers"
)

// userConfig keeps the belay.yaml and trust.yaml of one user as the organisation's files have them. Safe for concurrent
// use.
type userConfig struct {
	uid       int
	dir       string // the user's state directory
	places    system.Places
	reviewers func() ([]string, error) // as system.yaml says at present

	mu   sync.Mutex
	gone time.Time // since when the organisation has no trust.yaml, while the user has one; zero: it has, or neither has

	saying   sync.Mutex // held for no longer than to read or set what follows
	bad      string     // why the files are not those of the organisation; "" when they are
	badLayer string     // why the user's own layer is left out; "" where it is not
}

// problem says why the organisation's files are not in force, or "".
func (u *userConfig) problem() string {
	u.saying.Lock()
	defer u.saying.Unlock()
	return u.bad
}

// say sets what problem or layerProblem tells.
func (u *userConfig) say(of *string, why string) {
	u.saying.Lock()
	defer u.saying.Unlock()
	*of = why
}

// derive writes the user's files where they differ from what the organisation's say. With an error the files stay as
// they were: what was in force before stays so.
func (u *userConfig) derive() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.write()
	why := ""
	if err != nil {
		why = err.Error()
	}
	u.say(&u.bad, why)
	return err
}

func (u *userConfig) write() error {
	src, err := u.sources()
	if err != nil {
		return err
	}
	d, err := u.derived(src)
	if err != nil {
		return fmt.Errorf("the organisation's configuration: %w", err)
	}
	held := u.writeTrust()
	if held != nil && !errors.Is(held, errTrustGone) {
		return held
	}
	if err := u.replace(&src, d); err != nil {
		return err
	}
	return cmp.Or(replaceIf(filepath.Join(u.dir, layers.OriginName), src.Origin, d.Origin), held)
}

// replace puts the derived file in the place of the one before, under the lock of belay.yaml: a hook that a reviewer
// approves meanwhile is bound there, and stays.
func (u *userConfig) replace(src *layers.Sources, d *layers.Derived) error {
	return statedir.Edit(filepath.Join(u.dir, config.FileName), strictyaml.MaxSize, func(old []byte) ([]byte, error) {
		if !bytes.Equal(old, src.Before) {
			src.Before = old
			now, err := u.derived(*src)
			if err != nil {
				return nil, fmt.Errorf("the organisation's configuration: %w", err)
			}
			*d = *now
		}
		if !bytes.Equal(old, d.File) {
			// A crash from here on leaves no hook that is taken for an approved one.
			if err := replaceIf(filepath.Join(u.dir, layers.OriginName), src.Origin, d.Between); err != nil {
				return nil, err
			}
			src.Origin = d.Between
		}
		return d.File, nil
	})
}

// sources reads what the user's configuration is derived from.
func (u *userConfig) sources() (layers.Sources, error) {
	s := layers.Sources{Dir: u.places.Config, UID: u.uid}
	var err error
	if s.Reviewers, err = u.reviewers(); err != nil {
		return s, err
	}
	if s.Organisation, err = u.places.Organisation(config.FileName); err != nil {
		return s, fmt.Errorf("the organisation's configuration: %w", err)
	}
	for name, into := range map[string]*[]byte{config.FileName: &s.Before, layers.OriginName: &s.Origin,
		layers.UserName: &s.User} {
		if *into, err = readIf(filepath.Join(u.dir, name)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// derived is what the sources come to. A user's layer that does not fit under the organisation's files any more is left
// out: it must never keep the organisation's from being in force.
func (u *userConfig) derived(s layers.Sources) (*layers.Derived, error) {
	d, err := layers.Derive(s)
	if s.User == nil {
		u.say(&u.badLayer, "")
		return d, err
	}
	if err == nil {
		err = u.usable(d.File)
	}
	if err == nil {
		u.say(&u.badLayer, "")
		return d, nil
	}
	s.User = nil
	floor, alone := layers.Derive(s)
	why := ""
	if alone == nil {
		why = "the user's own layer is not in force: " + err.Error()
	}
	u.say(&u.badLayer, why)
	return floor, alone
}

// goneFor is how long the organisation's trust.yaml has to be away before the user's goes, too. An editor that removes
// a file and makes it anew brings no denied hook back meanwhile.
const goneFor = 3 * time.Second

// errTrustGone: the organisation's trust.yaml is away, and the user's still holds.
var errTrustGone = errors.New("trust.yaml has gone")

// writeTrust has the user's trust.yaml be the organisation's, or not be where that has none.
func (u *userConfig) writeTrust() error {
	path := filepath.Join(u.dir, tiers.PolicyFile)
	before, err := readIf(path)
	if err != nil {
		return err
	}
	src, err := u.places.Organisation(tiers.PolicyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if u.gone.IsZero() {
			u.gone = time.Now()
		}
		if time.Since(u.gone) < goneFor {
			return fmt.Errorf("%w from %s: what it said holds for %v more", errTrustGone, u.places.Config, goneFor)
		}
		return os.Remove(path)
	case err != nil:
		return fmt.Errorf("the organisation's trust policy: %w", err)
	}
	u.gone = time.Time{}
	return replaceIf(path, before, src)
}

func readIf(path string) ([]byte, error) {
	src, err := files.Read(path, strictyaml.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return src, err
}

func replaceIf(path string, before, now []byte) error {
	if before != nil && bytes.Equal(before, now) {
		return nil
	}
	return statedir.Replace(path, now, 0o600)
}

// follow derives the files of a user, who from now on is among those whose files follow the organisation's. It is so
// before the files are read: what root changes meanwhile is not missed.
func (m *machine) follow(uid int, dir string) (*userConfig, error) {
	u := &userConfig{uid: uid, dir: dir, places: m.places, reviewers: func() ([]string, error) {
		c, err := m.configs.fresh()
		if err != nil {
			return nil, err
		}
		return c.ReviewersOf(uid, system.Directory{}), nil
	}}
	m.mu.Lock()
	m.users[uid] = u
	m.mu.Unlock()
	if err := u.derive(); err != nil && !errors.Is(err, errTrustGone) { // which watch ends
		m.leave(uid)
		return nil, err
	}
	return u, nil
}

// leave has the files of a user follow no more.
func (m *machine) leave(uid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.users, uid)
}

// followed are the users whose files follow the organisation's. m.mu is not held while one of them is waited for: a
// user who comes takes it.
func (m *machine) followed() []*userConfig {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.users))
}

// derive has every open user's files follow the organisation's.
func (m *machine) derive() error {
	var errs []error
	for _, u := range m.followed() {
		errs = append(errs, u.derive())
	}
	return errors.Join(errs...)
}

// troubled reports whether the files of a user are not those of the organisation. They are tried again until they are.
func (m *machine) troubled() bool {
	return slices.ContainsFunc(m.followed(), func(u *userConfig) bool { return u.problem() != "" })
}

// followEvery is how often the organisation's files are looked at.
const followEvery = time.Second

// watch takes up what root changes in the organisation's files. The users' servers see their own files change.
func (m *machine) watch(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	seen, said := m.written(), ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A change of system.yaml is an event, also while none asks; and who accepts connections need not look.
		_, _ = m.configs.fresh()
		now, text := m.written(), ""
		if now == seen && said == "" && !m.troubled() {
			continue
		}
		seen = now
		m.followMachineLog(ctx)
		if err := m.derive(); err != nil {
			text = err.Error()
		}
		if text != said && text != "" {
			m.log.LogAttrs(ctx, slog.LevelError, "the configuration before stays in use", slog.String("error", text))
		}
		said = text
	}
}

// written tells versions of the organisation's files apart, without reading them.
func (m *machine) written() string {
	all := ""
	for _, name := range []string{config.FileName, tiers.PolicyFile, system.File} {
		fi, err := os.Stat(filepath.Join(m.places.Config, name))
		if err != nil {
			all += "none "
			continue
		}
		all += fmt.Sprintf("%d %d ", fi.Size(), fi.ModTime().UnixNano())
	}
	return all
}
