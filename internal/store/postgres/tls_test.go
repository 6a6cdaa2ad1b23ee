package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listener answers the question for TLS, and reports what it was told before it hangs up.
func listener(t *testing.T, cert *tls.Certificate) (address string, told *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	told = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			question := make([]byte, 8)
			if _, err := io.ReadFull(c, question); err == nil && cert == nil {
				_, _ = c.Write([]byte("N"))
				n, _ := c.Read(make([]byte, 512))
				told.Add(int64(n))
			} else if err == nil {
				_, _ = c.Write([]byte("S"))
				s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*cert}})
				n, _ := s.Read(make([]byte, 512))
				told.Add(int64(n))
			}
			c.Close()
		}
	}()
	return l.Addr().String(), told
}

// certificate returns one for a name, which signs itself, and the file that says so.
func certificate(t *testing.T, name string) (*tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign |
			x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// A server that shows no certificate, one of another name, or one that a stranger signed is told nothing:
// neither user nor database, and no password.
func TestWhomAServerHasToBe(t *testing.T) {
	other, otherRoot := certificate(t, "other.example")
	right, rightRoot := certificate(t, "localhost")
	for name, c := range map[string]struct {
		cert *tls.Certificate
		root string
		mode TLS
		want string // in the error; "" means that the server is spoken to
	}{
		"the right one":                     {right, rightRoot, VerifyFull, ""},
		"no TLS":                            {nil, rightRoot, VerifyFull, "refused TLS"},
		"no TLS, any name":                  {nil, rightRoot, VerifyCA, "refused TLS"},
		"another name":                      {other, otherRoot, VerifyFull, "other.example"},
		"another name, which may be":        {other, otherRoot, VerifyCA, ""},
		"a stranger's":                      {right, otherRoot, VerifyFull, "certificate"},
		"a stranger's, any name":            {right, otherRoot, VerifyCA, "certificate"},
		"not signed by what the system has": {right, "", VerifyFull, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			address, told := listener(t, c.cert)
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), Options{DSN: fmt.Sprintf("postgres://u:geheim@localhost:%s/d", port), Kernel: "k",
				TLS: c.mode, RootCert: c.root, ConnectTimeout: 5 * time.Second})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%v", err)
			}
			if (told.Load() > 0) != (c.want == "") {
				t.Errorf("%d bytes were sent", told.Load())
			}
		})
	}
}
