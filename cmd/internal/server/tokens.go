package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// A token is 256 random bits, so that a plain hash of it is as good as a slow one.
const tokenBytes = 32

// tokens knows the hash of each role's token, never the token itself.
type tokens map[client.Role][sha256.Size]byte

// roleOf returns the role of a token. Every role is compared, in constant time.
func (t tokens) roleOf(token string) (client.Role, bool) {
	sum := sha256.Sum256([]byte(token))
	var found client.Role
	for r, want := range t {
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			found = r
		}
	}
	return found, found != ""
}

// openTokens reads the hashes under dir/keys. A role without a hash gets one:
// of its token file, if there is one, else of a new token. A token file that is
// missing beside its hash stays missing: it was moved away.
func openTokens(dir string) (tokens, error) {
	t := tokens{}
	for _, r := range client.Roles() {
		path := filepath.Join(dir, "keys", string(r)+".hash")
		sum, err := readHash(path)
		if errors.Is(err, fs.ErrNotExist) {
			sum, err = newToken(dir, r, path)
		}
		if err != nil {
			return nil, err
		}
		t[r] = sum
	}
	for i, a := range client.Roles() {
		for _, b := range client.Roles()[i+1:] {
			if t[a] == t[b] {
				return nil, fmt.Errorf("the tokens of the roles %s and %s are the same; remove the files of one under %s", a, b,
					filepath.Join(dir, "keys"))
			}
		}
	}
	return t, nil
}

func readHash(path string) (sum [sha256.Size]byte, err error) {
	b, err := files.Private(path, 256)
	if err != nil {
		return sum, err
	}
	h, ok := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), "sha256:")
	raw, err := hex.DecodeString(h)
	if !ok || err != nil || len(raw) != sha256.Size {
		return sum, fmt.Errorf("%s holds no hash; remove it and the token beside it to begin with a new token", path)
	}
	return [sha256.Size]byte(raw), nil
}

// newToken writes the token before its hash: a crash in between leaves a token
// that the next start takes up.
func newToken(dir string, r client.Role, hashPath string) (sum [sha256.Size]byte, err error) {
	token, err := client.ReadToken(dir, r)
	if errors.Is(err, fs.ErrNotExist) {
		b := make([]byte, tokenBytes)
		rand.Read(b) // never fails: the runtime ends the process instead
		token = "belay_" + string(r) + "_" + base64.RawURLEncoding.EncodeToString(b)
		if err = statedir.Create(daemonapi.TokenPath(dir, r), []byte(token+"\n"), 0o600); errors.Is(err, fs.ErrExist) {
			token, err = client.ReadToken(dir, r)
		}
	}
	if err != nil {
		return sum, err
	}
	sum = sha256.Sum256([]byte(token))
	if err := statedir.Create(hashPath, []byte(phases.SumDigest(sum[:])+"\n"), 0o600); errors.Is(err, fs.ErrExist) {
		return readHash(hashPath)
	} else if err != nil {
		return sum, err
	}
	return sum, nil
}
