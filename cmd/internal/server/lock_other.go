//go:build !unix

package server

import "os"

func ownedByUs(os.FileInfo) bool { return false }

func fileID(os.FileInfo) uint64 { return 0 }
