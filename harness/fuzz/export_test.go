package fuzz

import (
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

// NewNullStore is a store that keeps nothing.
func NewNullStore() kernel.Store {
	return &ledger{Store: memory.New(), rig: &rig{}}
}

// NoRedactor covers nothing.
type NoRedactor = plain
