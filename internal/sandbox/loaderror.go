package sandbox

import "errors"

// Classes of a [LoadError], for errors.Is.
var (
	// ErrModule: the file is not a module that the sandbox accepts.
	ErrModule = errors.New("module refused")
	// ErrImport: an import is unknown or has another signature.
	ErrImport = errors.New("import refused")
	// ErrExport: a phase or the memory is missing or has another signature.
	ErrExport = errors.New("export refused")
	// ErrDeclared: the manifest and the module do not agree.
	ErrDeclared = errors.New("manifest and module disagree")
	// ErrTooCostly: compiling would take too long, or the memory is over the cap.
	ErrTooCostly = errors.New("module too costly")
	// ErrCompile: the engine refused the metered module; a defect of belay's.
	ErrCompile = errors.New("module did not compile")
	// ErrClosed: the engine or the module is closed.
	ErrClosed = errors.New("sandbox closed")
	// ErrCanceled: the caller's context ended before the module was there.
	ErrCanceled = errors.New("loading canceled")
)

// Stage is the step of loading that failed.
type Stage string

// The stages of loading, in order.
const (
	StageParse    Stage = "parse"
	StageEstimate Stage = "estimate"
	StageLink     Stage = "link"
	StageDeclared Stage = "declared"
	StageMeter    Stage = "meter"
	StageCompile  Stage = "compile"
)

// LoadError is why a module was not loaded. Text is safe to show: names from the
// module are escaped and cut at 128 bytes.
type LoadError struct {
	Stage Stage
	Class error // one of the Err* classes of this package
	Text  string
	Cause error
}

// Error gives class and text, never the cause. The text of ErrModule has a class of its own.
func (e *LoadError) Error() string {
	if errors.Is(e.Class, ErrModule) {
		return e.Text
	}
	return e.Class.Error() + ": " + e.Text
}

// Unwrap makes errors.Is and errors.As work with the class and the cause.
func (e *LoadError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}

func loadError(s Stage, class error, text string, cause error) *LoadError {
	return &LoadError{Stage: s, Class: class, Text: text, Cause: cause}
}
