package fleettest

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
	"time"
)

// otherServer is a kernel's try to speak to a server with a good certificate of another name.
func (s *stage) otherServer() outcome {
	certificate, root := s.certificate("other.example")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer l.Close()
	var told atomic.Int64 // bytes that the server was told behind the handshake
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.ReadFull(c, make([]byte, 8)); err == nil { // it asks for TLS
				_, _ = c.Write([]byte("S"))
				n, _ := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}}).Read(make([]byte, 512))
				told.Add(int64(n))
			}
			c.Close()
		}
	}()
	k := s.misfit("d", "a")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s.must(os.WriteFile(k.dsn, []byte("postgres://a:secret@localhost:"+port+"/belay\n"), 0o600))
	file := filepath.Join(k.dir, "belay.yaml")
	text, err := os.ReadFile(file)
	s.must(err)
	verified := strings.Replace(string(text), "tls: off", "tls: verify-full\n    root_cert: "+root, 1)
	s.must(os.WriteFile(file, []byte(verified), 0o600))
	o := s.refused(k, "other.example")
	if n := told.Load(); n > 0 {
		return outcome{happened: "it was told something", saw: fmt.Sprintf("%d bytes", n)}
	}
	return o
}

// certificate returns one for a name, which signs itself, and the file that says so.
func (s *stage) certificate(name string) (c tls.Certificate, root string) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	s.must(err)
	root = s.file("root.pem", strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, root
}
