package kernel

import "crypto/sha256"

// leafHash is the hash of a leaf of the log (RFC 6962).
func leafHash(body []byte) [32]byte {
	return sha256.Sum256(append([]byte{0}, body...))
}

// leafIndex is the index under which Log.LogHashes has the hash of leaf n, counted from
// 0: tlog.StoredHashIndex(0, n).
func leafIndex(n int64) (index int64) {
	for ; n > 0; n >>= 1 {
		index += n
	}
	return index
}
