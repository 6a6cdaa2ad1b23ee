package sigstoretest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"os"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
)

// KMS is the program sigstore-kms-NAME of a key management service whose keys are
// files in the current directory: NAME://KEY is KEY.pem. It speaks the protocol of
// sigstore's cliplugin v1. Beside that, `new KEY CURVE` makes a key and KEY.pub.
func KMS(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 4 && args[1] == "new" {
		return newKMSKey(args[2], map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384()}[args[3]])
	}
	call, err := handler.GetPluginArgs(args)
	if err != nil {
		return errors.Join(err, handler.WriteErrorResponse(stdout, err))
	}
	key, err := openKMSKey(call.InitOptions.KeyResourceID, call.InitOptions.HashFunc)
	if err != nil {
		return errors.Join(err, handler.WriteErrorResponse(stdout, err))
	}
	_, err = handler.Dispatch(stdout, stdin, call, key)
	return err
}

func newKMSKey(name string, curve elliptic.Curve) error {
	if curve == nil {
		return errors.New("sigstoretest: no such curve")
	}
	priv, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		return err
	}
	secret, err := cryptoutils.MarshalPrivateKeyToPEM(priv)
	if err != nil {
		return err
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(priv.Public())
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(name+".pem", secret, 0o600), os.WriteFile(name+".pub", public, 0o600))
}

func openKMSKey(name string, hash crypto.Hash) (*kmsKey, error) {
	b, err := os.ReadFile(name + ".pem")
	if err != nil {
		return nil, errors.New("sigstoretest: there is no key of that name")
	}
	priv, err := cryptoutils.UnmarshalPEMToPrivateKey(b, cryptoutils.SkipPassword)
	if err != nil {
		return nil, err
	}
	sv, err := signature.LoadSignerVerifier(priv, hash)
	return &kmsKey{sv}, err
}

// kmsKey signs as the service would; keys are not made through the protocol.
type kmsKey struct{ signature.SignerVerifier }

var errNotHere = errors.New("sigstoretest: this service does not do that")

func (*kmsKey) CreateKey(context.Context, string) (crypto.PublicKey, error) { return nil, errNotHere }
func (*kmsKey) CryptoSigner(context.Context, func(error)) (crypto.Signer, crypto.SignerOpts, error) {
	return nil, nil, errNotHere
}
func (*kmsKey) SupportedAlgorithms() []string { return []string{"ecdsa"} }
func (*kmsKey) DefaultAlgorithm() string      { return "ecdsa" }
