package loader

import (
	"errors"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/tiers"
)

// CheckConfigs holds the configuration of each enabled binding to the schema of its hook, before it
// is taken into use. Hooks that cannot be read are no fault here: they block their phases. The error
// is config.ErrConfig for errors.Is, and says where the first fault was written.
func (l *Loader) CheckConfigs(f *config.File) error {
	for _, h := range f.Enabled() {
		file, _, err := l.files.read(Spec(h))
		if err != nil {
			continue
		}
		info, err := l.engine.Inspect(file)
		if err != nil || info.Manifest == nil {
			continue
		}
		m, err := tiers.DecodeManifest(info.Manifest)
		if err != nil {
			continue
		}
		if err := m.ValidateConfig(h.Config); err != nil {
			return f.ConfigError(h.Name, err)
		}
	}
	return nil
}

// placed puts the place of the first fault of a hook's configuration before its text.
func placed(spec kernel.BindingSpec, err error) error {
	var te *tiers.Error
	if spec.Place == nil || !errors.As(err, &te) {
		return err
	}
	pointer := ""
	if len(te.Faults) > 0 {
		pointer = te.Faults[0].Pointer
	}
	place := spec.Place(pointer)
	if place == "" {
		return err
	}
	at := *te
	at.Text = place + ": " + te.Text
	return &at
}
