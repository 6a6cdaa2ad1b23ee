package sigstore

import (
	"crypto/elliptic"
	"encoding/asn1"
	"math/big"
	"testing"
)

// twinOf flips s of a P-256 signature.
func twinOf(t testing.TB, sig []byte) []byte {
	t.Helper()
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(sig, &rs); err != nil {
		t.Fatal(err)
	}
	rs.S.Sub(elliptic.P256().Params().N, rs.S)
	out, err := asn1.Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
