package client

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/peercred"
)

// Files of a connection directory.
const (
	connectURL   = "url"          // one line: https://ADDRESS:PORT
	connectCert  = "tls.crt"      // the daemon's certificate
	connectToken = "invoke.token" // of RoleInvoke
)

const maxURLBytes = 256

// Connect returns a client of a daemon whose state directory is out of reach: of another
// user, at its loopback address. dir holds the files url (https://ADDRESS:PORT), tls.crt
// (the daemon's certificate) and invoke.token. They and dir belong to root or to this user, and others write to none of
// them; the token is for its owner and group. The error is ErrPeer, ErrToken, or of the
// file system.
//
// On a machine in system mode dir counts as far as a state directory does (Dial): for others than root only where
// system.yaml lets it, and in its place the daemon of the machine is asked.
func Connect(dir string) (*Client, error) {
	if asked, err := inForce(dir); err != nil || asked != dir {
		if err != nil {
			return nil, err
		}
		return Dial(asked)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	owner, known := peercred.Owner(fi)
	if !fi.IsDir() || !known || owner != 0 && owner != os.Geteuid() || fi.Mode().Perm()&0o022 != 0 {
		return nil, daemonapi.PeerError("%s must be a directory of root or of this user that others cannot write to", dir)
	}
	url, err := readTrusted(filepath.Join(dir, connectURL), 0o022, maxURLBytes)
	if err != nil {
		return nil, err
	}
	cert, err := ReadCertificate(filepath.Join(dir, connectCert))
	if err != nil {
		return nil, err
	}
	token, err := readTrusted(filepath.Join(dir, connectToken), 0o027, maxTokenBytes)
	if err != nil {
		return nil, err
	}
	t := string(bytes.TrimSuffix(token, []byte("\n")))
	if !plausible(t) {
		return nil, fmt.Errorf("%w: %s holds no token", ErrToken, filepath.Join(dir, connectToken))
	}
	return New(Options{URL: string(bytes.TrimSuffix(url, []byte("\n"))), Certificate: cert,
		Tokens: map[Role]string{RoleInvoke: t}})
}
