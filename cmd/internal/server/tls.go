package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// keyPath is where a state directory keeps the key by which clients know the daemon on the
// loopback address. The certificate beside it is its public half.
func keyPath(dir string) string { return filepath.Join(dir, "keys", "tls.key") }

// maxPEM is the most that a key or a certificate may have, in bytes.
const maxPEM = 64 << 10

// openIdentity reads key and certificate of the loopback address, and makes
// missing ones. A certificate without its key is an error: the key was moved
// away, and a new one would lock out the clients that hold the certificate.
func openIdentity(dir string) (tls.Certificate, error) {
	key, err := files.Private(keyPath(dir), maxPEM)
	if errors.Is(err, fs.ErrNotExist) {
		if _, cerr := os.Lstat(daemonapi.CertificatePath(dir)); cerr == nil {
			return tls.Certificate{},
				fmt.Errorf("%s is there without %s; remove it to begin with a new key", daemonapi.CertificatePath(dir),
					keyPath(dir))
		}
		key, err = newKey(dir)
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := files.Read(daemonapi.CertificatePath(dir), maxPEM)
	if errors.Is(err, fs.ErrNotExist) {
		cert, err = newCertificate(dir, key)
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{},
			fmt.Errorf("%s and %s do not belong together; remove both to begin with a new key: %w",
				daemonapi.CertificatePath(dir),
				keyPath(dir), err)
	}
	return pair, nil
}

// newKey writes the key before its certificate: a crash in between leaves a key that the
// next start takes up.
func newKey(dir string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return b, files.Write(keyPath(dir), b, files.Options{Perm: 0o600, NoUmask: true})
}

// newCertificate signs the key by itself, for loopback addresses. It has no end (RFC 5280,
// 4.1.2.5): what a client trusts is this key alone, and no clock changes that.
func newCertificate(dir string, keyPEM []byte) ([]byte, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key", keyPath(dir))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key: %w", keyPath(dir), err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds no key for ECDSA", keyPath(dir))
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "belay daemon"},
		NotBefore: time.Unix(0, 0).UTC(), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return b, files.Write(daemonapi.CertificatePath(dir), b, files.Options{Perm: 0o644, NoUmask: true})
}
