package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/peercred"
)

const maxCertificateBytes = 16 << 10

// ReadCertificate reads a daemon's certificate for Options.Certificate. A
// writer of the file decides which daemon is believed: it must be a regular
// file of this user or of root that others cannot write to. The error is
// ErrPeer, or of the file system.
func ReadCertificate(path string) ([]byte, error) {
	return readTrusted(path, 0o022, maxCertificateBytes)
}

// readTrusted reads a small regular file of this user or of root without the permissions
// in not.
func readTrusted(path string, not os.FileMode, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	owner, known := peercred.Owner(info)
	switch {
	case !info.Mode().IsRegular():
		return nil, daemonapi.PeerError("%s is no regular file", path)
	case !known || owner != os.Geteuid() && owner != 0:
		return nil, daemonapi.PeerError("%s belongs to another user", path)
	case info.Mode().Perm()&not != 0:
		return nil, daemonapi.PeerError("%s is open to others (%v)", path, info.Mode().Perm())
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, daemonapi.PeerError("%s has become another file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, daemonapi.PeerError("%s has more than %d bytes", path, most)
	}
	return b, err
}

// pinned is the configuration that believes the holder of one key and no authority of the
// system's.
func pinned(certificate []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		return nil, errors.New("client: Certificate holds none in PEM")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// notKnown reports whether connecting failed because of who listens.
func notKnown(err error) bool {
	var unverified *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	return errors.As(err, &unverified) || errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch)
}

var errPlain = errors.New("client: over plain HTTP nothing says who answers: give https://ADDRESS:PORT, " +
	"and as Certificate what keys/tls.crt of the state directory holds")
