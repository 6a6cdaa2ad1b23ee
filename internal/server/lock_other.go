//go:build !unix

package server

import (
	"errors"
	"os"
)

func lock(string) (*os.File, error) {
	return nil, errors.New("the daemon needs unix sockets and file locks, which this system does not have")
}

func ownedByUs(os.FileInfo) bool { return false }

func fileID(os.FileInfo) uint64 { return 0 }
