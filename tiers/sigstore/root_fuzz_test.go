package sigstore

import "testing"

// An invalid trusted root is an error, never a panic: a library parses it, and its file may
// be of unknown origin.
func FuzzTrustedRoot(f *testing.F) {
	f.Add([]byte(
		`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[],"certificateAuthorities":[],"ctlogs":[]}`))
	f.Add([]byte(`{"mediaType":"x","mediaType":"x"}`))
	f.Add([]byte(
		`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[{"baseUrl":"https://rekor.example","hashAlgorithm":"SHA2_256","publicKey":{"rawBytes":"AAAA","keyDetails":"PKIX_ECDSA_P256_SHA_256","validFor":{"start":"2021-01-12T11:53:27.000Z"}},"logId":{"keyId":"wNI9atQGlz+VWfO6LRygH4QUfY/8W4RFwiT5i5WRgB0="}}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := parseRoot(src)
		if err == nil {
			m.FulcioCertificateAuthorities()
			m.RekorLogs()
			m.CTLogs()
		}
	})
}
