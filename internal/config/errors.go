package config

import "errors"

// Classes of errors, for errors.Is.
var (
	// ErrMissing: the state directory has no belay.yaml and no hook was given.
	ErrMissing = errors.New("there is no belay.yaml and no hook was given")
	// ErrUnusable: belay.yaml is there and cannot be used.
	ErrUnusable = errors.New("belay.yaml cannot be used")
	// ErrBound: a hook is bound already by the name of the new binding.
	ErrBound = errors.New("the name is taken")
)
