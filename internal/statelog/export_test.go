package statelog

import "github.com/belay-hooks/belay/internal/config"

// SameStore is Storage.sameStore of a storage that was opened with a file.
func SameStore(open, f *config.File) error { return (&Storage{file: open}).sameStore(f, nil) }
