package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// maxConfigFile is the largest file of options, in bytes: what the host hands to a hook.
const maxConfigFile = 1 << 20

// configFile is a file of options that was read.
type configFile struct {
	name   string // as the binding names it
	digest string // sha256:HEX
	doc    *strictyaml.Document
}

func (b *Binding) validateConfigFile(c checker, at string) error {
	switch {
	case b.ConfigFile == "" && b.ConfigFileOptional:
		return c.errorf(at+"/config_file_optional", "says nothing without config_file")
	case b.ConfigFile != "" && len(b.Config) > 0:
		return c.errorf(at+"/config_file", "contradicts config: the options stand in one place")
	case strings.ContainsRune(b.ConfigFile, 0):
		return c.errorf(at+"/config_file", "is not the name of a file")
	}
	return nil
}

// ReadConfigs reads the files of options of the enabled bindings into their Config, as strictly as
// belay.yaml itself. dir is the state directory. Errors are of class ErrConfig, with the file and
// the line at fault.
func (f *File) ReadConfigs(dir string) error {
	for i := range f.Hooks {
		b := &f.Hooks[i]
		if b.ConfigFile == "" || b.Disabled {
			continue
		}
		src, err := statedir.Read(statedir.Inside(dir, b.ConfigFile), maxConfigFile)
		if errors.Is(err, fs.ErrNotExist) && b.ConfigFileOptional {
			continue
		}
		at := fmt.Sprintf("/hooks/%d/config_file", i)
		if err != nil {
			return f.Errorf(at, "%s", unreadable(b.ConfigFile, err))
		}
		doc, err := strictyaml.Parse(src)
		if err != nil {
			return inFile(b.ConfigFile, err)
		}
		if k := doc.JSON.Kind(); k != '{' {
			return inFile(b.ConfigFile, doc.Errorf("", "must be a mapping: the options of the hook %s", b.Name))
		}
		b.Config = doc.JSON
		if f.configs == nil {
			f.configs = map[string]configFile{}
		}
		f.configs[b.Name] = configFile{name: b.ConfigFile, digest: phases.ByteDigest(src), doc: doc}
	}
	return nil
}

// unreadable says why a file cannot be read, without more of the system than its name.
func unreadable(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no file %s: config_file_optional: true has the hook run without options then", name)
	case errors.Is(err, statedir.ErrTooLarge):
		return fmt.Sprintf("%s is larger than %d bytes", name, maxConfigFile)
	}
	return fmt.Sprintf("%s cannot be read: %v", name, err)
}

func inFile(name string, err error) error {
	var e *strictyaml.Error
	if errors.As(err, &e) {
		return &Error{File: name, Line: e.Line, Pointer: e.Pointer, Reason: e.Reason, Cause: err}
	}
	return &Error{File: name, Reason: err.Error(), Cause: err}
}

// Revision names the exact text of the configuration: that of belay.yaml, src, and of the files of
// options that were read with it: sha256:HEX. Without such files it is Revision of src.
func (f *File) Revision(src []byte) string {
	if len(f.configs) == 0 {
		return Revision(src)
	}
	var parts []string
	for binding, c := range f.configs {
		parts = append(parts, binding+" "+c.digest)
	}
	slices.Sort(parts)
	return Revision([]byte(Revision(src) + "\n" + strings.Join(parts, "\n")))
}

// ConfigPlace says where a member of a binding's configuration was written: FILE:LINE, or "" when
// that is not known. The pointer leads into the configuration.
func (f *File) ConfigPlace(binding, pointer string) string {
	name, line := FileName, 0
	if c, ok := f.configs[binding]; ok {
		name, line = c.name, c.doc.Line(pointer)
	} else if i := f.indexOf(binding); i >= 0 && f.doc != nil {
		line = f.doc.Line(fmt.Sprintf("/hooks/%d/config%s", i, pointer))
	}
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// ConfigError is what package tiers says about a binding's configuration, with the place of the
// first fault. It is of class ErrConfig.
func (f *File) ConfigError(binding string, err error) error {
	var te *tiers.Error
	if !errors.As(err, &te) {
		return &Error{Reason: err.Error(), Cause: err}
	}
	pointer := ""
	if len(te.Faults) > 0 {
		pointer = te.Faults[0].Pointer
	}
	e := &Error{Reason: fmt.Sprintf("the options of the hook %s: %s", binding, te.Text), Cause: err}
	if c, ok := f.configs[binding]; ok {
		e.File, e.Line = c.name, c.doc.Line(pointer)
	} else if i := f.indexOf(binding); i >= 0 && f.doc != nil {
		e.Line = f.doc.Line(fmt.Sprintf("/hooks/%d/config%s", i, pointer))
	}
	return e
}

func (f *File) indexOf(binding string) int {
	return slices.IndexFunc(f.Hooks, func(b Binding) bool { return b.Name == binding })
}
