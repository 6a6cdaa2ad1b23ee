package signing

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/cmd/internal/signing/sigstoretest"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// signedWith signs with the infrastructure, and with the token whose claims are changed.
func signedWith(t *testing.T, ctx context.Context, w *sigstoretest.World, file []byte, claims map[string]any,
	change func(*Keyless)) (*KeylessSignature, error) {
	t.Helper()
	raw := w.Token(claims)
	tok, err := ParseIdentityToken([]byte(raw), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	k := Keyless{Token: tok, FulcioURL: w.Fulcio.URL, RekorURL: w.Rekor.URL, TimestampURL: w.TSA.URL + "/api/v1/timestamp",
		Root: w.Root()}
	if change != nil {
		change(&k)
	}
	s, err := SignKeyless(ctx, file, k)
	if err != nil {
		if s != nil {
			t.Error("an error, and a signature all the same")
		}
		for _, part := range strings.Split(raw, ".") {
			if strings.Contains(err.Error(), part) {
				t.Errorf("the error shows the token: %v", err)
			}
		}
		return nil, err
	}
	if bytes.Contains(s.Bundle, []byte(raw[strings.LastIndexByte(raw, '.')+1:])) {
		t.Error("the bundle shows the token")
	}
	return s, nil
}

func keylessVerifier(w *sigstoretest.World, want ...tiers.Assurance) tiers.EvidenceVerifier {
	return sigstore.NewVerifier(nil, want, func() ([]byte, error) { return w.Root(), nil })
}

func TestSignKeyless(t *testing.T) {
	file := fixture(t, "guard.wasm")
	w := sigstoretest.New(t)
	everything := tiers.Assurance{Log: true, CertificateTimestamp: true}
	for _, c := range []struct {
		name    string
		claims  map[string]any
		change  func(*Keyless)
		want    tiers.Assurance
		subject string
	}{
		{"everything", nil, nil, everything, sigstoretest.Subject},
		{"no root at hand", nil, func(k *Keyless) { k.Root = nil }, everything, sigstoretest.Subject},
		{"no timestamp authority", nil, func(k *Keyless) { k.TimestampURL = "" }, everything, sigstoretest.Subject},
		{"no log", nil, func(k *Keyless) { k.RekorURL = "" }, tiers.Assurance{CertificateTimestamp: true},
			sigstoretest.Subject},
		{"slashes after the addresses", nil, func(k *Keyless) { k.FulcioURL += "/"; k.RekorURL += "//" }, everything,
			sigstoretest.Subject},
		{"a workload", map[string]any{"email": nil, "sub": "https://ci.example/acme/hooks"}, nil, everything,
			"https://ci.example/acme/hooks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := signedWith(t, t.Context(), w, file, c.claims, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if id := (tiers.Identity{Issuer: sigstoretest.Issuer, Subject: c.subject}); s.Identity != id ||
				time.Since(s.Signed).Abs() > time.Minute || (s.LogIndex >= 0) != c.want.Log {
				t.Errorf("%+v", s)
			}
			f := one(t, keylessVerifier(w, c.want), file, bundleOf(s.Bundle))
			if f.Problem != nil || *f.Identity != s.Identity || f.Assurance != c.want {
				t.Errorf("%+v: %v %v", f, f.Problem, errors.Unwrap(f.Problem))
			}
			wantCode(t, one(t, keylessVerifier(sigstoretest.New(t), c.want), file, bundleOf(s.Bundle)),
				tiers.SignatureInvalid, "")
			wantCode(t, one(t, keylessVerifier(w, c.want), append([]byte{0}, file...), bundleOf(s.Bundle)),
				tiers.SignatureInvalid, "another file")
		})
	}
}

// answering replaces the whole answer of a server.
func answering(h http.HandlerFunc) sigstoretest.Wrap {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // closing waits for an unread body
			h(rw, r)
		})
	}
}

// changed has a server get another request than was sent.
func changed(t *testing.T, change func([]byte) []byte) sigstoretest.Wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(change(b)))
			next.ServeHTTP(rw, r)
		})
	}
}

// broken are servers that fail in the same ways, whatever they are.
var brokenServers = []struct {
	name string
	h    http.HandlerFunc
	says string
}{
	{"status 500", func(rw http.ResponseWriter, r *http.Request) {
		http.Error(rw, r.Header.Get("Authorization"), 500) // a server that echoes the token
	}, "answered with status 500"},
	{"status 400 with the token in it", func(rw http.ResponseWriter, r *http.Request) {
		http.Error(rw, r.Header.Get("Authorization"), 400)
	}, "answered with status 400"},
	{"redirect", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://127.0.0.1:1/"+r.Header.Get("Authorization"), http.StatusTemporaryRedirect)
	}, "redirect"},
	{"garbage", func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(201)
		io.WriteString(rw, "hello "+r.Header.Get("Authorization"))
	}, ""},
	{"JSON of another kind", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(201)
		io.WriteString(rw, `{"x":{}}`)
	}, ""},
	{"nothing", func(http.ResponseWriter, *http.Request) {}, ""},
	{"10 GB", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "10000000000")
		for block := bytes.Repeat([]byte(" "), 1<<20); r.Context().Err() == nil; {
			if _, err := rw.Write(block); err != nil {
				return
			}
		}
	}, "more than 1048576 bytes"},
	{"an answer that breaks off", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "100")
		io.WriteString(rw, "{")
	}, "broke off"},
	{"an encoding", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		io.WriteString(rw, "{}")
	}, "encoding"},
}

func TestSignKeylessBrokenServers(t *testing.T) {
	file := fixture(t, "guard.wasm")
	for which, wrap := range map[string]func(sigstoretest.Wrap) sigstoretest.Option{
		"certificate authority": sigstoretest.WrapFulcio, "transparency log": sigstoretest.WrapRekor,
		"timestamp authority": sigstoretest.WrapTSA,
	} {
		for _, c := range brokenServers {
			t.Run(which+" "+c.name, func(t *testing.T) {
				w := sigstoretest.New(t, wrap(answering(c.h)))
				_, err := signedWith(t, t.Context(), w, file, nil, nil)
				if !errors.Is(err, ErrService) || !strings.Contains(err.Error(), which) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q of the %s", err, c.says, which)
				}
			})
		}
		t.Run(which+" that never answers", func(t *testing.T) {
			w := sigstoretest.New(t, wrap(answering(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })))
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := signedWith(t, ctx, w, file, nil, nil); !errors.Is(err, ErrService) ||
				!strings.Contains(err.Error(), "in time") {
				t.Error(err)
			}
		})
		t.Run(which+" that is gone", func(t *testing.T) {
			w := sigstoretest.New(t)
			map[string]func(){"certificate authority": w.Fulcio.Close, "transparency log": w.Rekor.Close,
				"timestamp authority": w.TSA.Close}[which]()
			if _, err := signedWith(t, t.Context(), w, file, nil, nil); !errors.Is(err, ErrService) ||
				!strings.Contains(err.Error(), "cannot be reached") {
				t.Error(err)
			}
		})
	}
}

// Services that answer well, but not about this signature.
func TestSignKeylessLies(t *testing.T) {
	file := fixture(t, "guard.wasm")
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var w *sigstoretest.World // what the wrapped servers answer with
	proposed := func(change func(spec map[string]any)) sigstoretest.Option {
		return sigstoretest.WrapRekor(changed(t, func(b []byte) []byte {
			var e map[string]any
			if err := json.Unmarshal(b, &e); err != nil {
				t.Error(err)
				return b
			}
			change(e["spec"].(map[string]any))
			out, err := json.Marshal(e)
			if err != nil {
				t.Error(err)
			}
			return out
		}))
	}
	// other is an entry of another signer: the log takes it, all in it fits.
	other := func(sameFile bool) func(map[string]any) {
		return func(spec map[string]any) {
			f := file
			if !sameFile {
				f = []byte("another file")
			}
			sum := sha256.Sum256(f)
			sig, err := ecdsa.SignASN1(rand.Reader, foreign, sum[:])
			if err != nil {
				t.Error(err)
			}
			s := spec["signature"].(map[string]any)
			cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: w.Certificate(sigstoretest.Subject, sigstoretest.Issuer, &foreign.PublicKey)})
			spec["data"] = map[string]any{"hash": map[string]any{"algorithm": "sha256", "value": hexOf(sum[:])}}
			s["content"], s["publicKey"] = sig, map[string]any{"content": cert}
		}
	}
	certificateFor := func(subject string, key *ecdsa.PublicKey) sigstoretest.Option {
		return sigstoretest.WrapFulcio(answering(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Write(w.CertificateAnswer(subject, sigstoretest.Issuer, key))
		}))
	}
	stamp := func(digest []byte, at time.Time) sigstoretest.Option {
		return sigstoretest.WrapTSA(answering(func(rw http.ResponseWriter, _ *http.Request) {
			b, err := w.Stamp(digest, at)
			if err != nil {
				t.Error(err)
			}
			rw.Write(b)
		}))
	}
	something := sha256.Sum256([]byte("something else"))
	// renamed has the authority name another signer for our key.
	renamed := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			var req struct {
				PublicKeyRequest struct {
					PublicKey struct {
						Content string `json:"content"`
					} `json:"publicKey"`
				} `json:"publicKeyRequest"`
			}
			if err := json.UnmarshalRead(r.Body, &req); err != nil {
				t.Error(err)
			}
			k, err := tiers.ParseKey([]byte(req.PublicKeyRequest.PublicKey.Content))
			if err != nil {
				t.Error(err)
			}
			who := "mallory@acme.example"
			if r.Header.Get("X-Show") != "" {
				who = r.Header.Get("Authorization")
			}
			rw.Write(w.CertificateAnswer(who, sigstoretest.Issuer, k.Public.(*ecdsa.PublicKey)))
		})
	}
	shown := func(next http.Handler) http.Handler {
		h := renamed(next)
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Show", "1")
			r.Header.Set("Authorization", "https://ci.example/"+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			h.ServeHTTP(rw, r)
		})
	}
	for _, c := range []struct {
		name   string
		with   sigstoretest.Option
		claims map[string]any
		says   string
	}{
		{"another's certificate", certificateFor(sigstoretest.Subject, &foreign.PublicKey), nil,
			"certificate for another key"},
		{"a certificate for another identity", sigstoretest.WrapFulcio(renamed), nil, "certificate for another identity"},
		{"a certificate with the token in it", sigstoretest.WrapFulcio(shown), map[string]any{"email": nil, "sub": "ci"},
			"shows the token"},
		{"the log's entry about another signature", proposed(other(true)), nil, "entry about another signature"},
		{"the log's entry about another file", proposed(other(false)), nil, "entry about another signature"},
		{"the log's entry about another certificate for our key", proposed(func(spec map[string]any) {
			key := spec["signature"].(map[string]any)["publicKey"].(map[string]any)
			key["content"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: w.Certificate("mallory@acme.example", sigstoretest.Issuer, keyIn(t, key["content"].(string)))})
		}), nil, "entry about another certificate"},
		{"timestamp over something else", stamp(something[:], time.Now()), nil, "timestamp over something else"},
		{"timestamp from long ago", sigstoretest.WrapTSA(late(t, &w)), nil, "when the certificate was not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w = sigstoretest.New(t, c.with)
			for _, root := range []string{"with the root", "without"} {
				_, err := signedWith(t, t.Context(), w, file, c.claims, func(k *Keyless) {
					if root == "without" {
						k.Root = nil
					}
				})
				if !errors.Is(err, ErrService) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v, want %q", root, err, c.says)
				}
			}
		})
	}
	// A whole other infrastructure shows only by the root.
	t.Run("a log that the root does not know", func(t *testing.T) {
		w = sigstoretest.New(t)
		elsewhere := sigstoretest.New(t)
		_, err := signedWith(t, t.Context(), w, file, nil, func(k *Keyless) { k.RekorURL = elsewhere.Rekor.URL })
		if !errors.Is(err, ErrService) || !strings.Contains(err.Error(), "trusted root") {
			t.Error(err)
		}
	})
}

// late answers with a timestamp of the right digest from an hour ago.
func late(t *testing.T, w **sigstoretest.World) sigstoretest.Wrap {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			q, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			b, err := (*w).Stamp(digestIn(t, q), time.Now().Add(-time.Hour))
			if err != nil {
				t.Error(err)
			}
			rw.Write(b)
		})
	}
}

func TestSignKeylessAddresses(t *testing.T) {
	file := fixture(t, "guard.wasm")
	w := sigstoretest.New(t,
		sigstoretest.WrapFulcio(answering(func(http.ResponseWriter, *http.Request) { t.Error("the token was sent") })))
	for _, c := range []struct {
		name   string
		change func(*Keyless)
		says   string
	}{
		{"no authority", func(k *Keyless) { k.FulcioURL = "" }, "certificate authority: its address is missing"},
		{"neither log nor timestamps", func(k *Keyless) { k.RekorURL, k.TimestampURL = "", "" },
			"transparency log: its address is missing"},
		{"plain http", func(k *Keyless) { k.FulcioURL = "http://fulcio.example" }, "use https"},
		{"plain http of the log", func(k *Keyless) { k.RekorURL = "http://rekor.example" }, "use https"},
		{"plain http of the timestamps", func(k *Keyless) { k.TimestampURL = "http://192.0.2.1/t" }, "use https"},
		{"a name that begins like this machine", func(k *Keyless) { k.FulcioURL = "http://127.0.0.1.example" }, "use https"},
		{"a user", func(k *Keyless) { k.FulcioURL = "https://me:pw@fulcio.example" }, "user or a password"},
		{"a query", func(k *Keyless) { k.FulcioURL = "https://fulcio.example?x" }, "query"},
		{"a file", func(k *Keyless) { k.FulcioURL = "file:///etc/passwd" }, "not a URL"},
		{"another protocol", func(k *Keyless) { k.FulcioURL = "ftp://fulcio.example" }, "not one of https"},
		{"a word", func(k *Keyless) { k.FulcioURL = "fulcio" }, "not a URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := signedWith(t, t.Context(), w, file, nil, c.change); !errors.Is(err, ErrEndpoint) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	t.Run("a root that is none", func(t *testing.T) {
		if _, err := signedWith(t, t.Context(), w, file, nil, func(k *Keyless) { k.Root = []byte("{}") }); !errors.Is(err,
			tiers.RootMissing) {
			t.Error(err)
		}
	})
	t.Run("no token", func(t *testing.T) {
		if _, err := signedWith(t, t.Context(), w, file, nil, func(k *Keyless) { k.Token = nil }); !errors.Is(err, ErrToken) {
			t.Error(err)
		}
	})
	t.Run("a token that has expired since it was read", func(t *testing.T) {
		if _, err := signedWith(t, t.Context(), w, file, nil, func(k *Keyless) {
			k.Token.expires = time.Now()
		}); !errors.Is(err, ErrToken) {
			t.Error(err)
		}
	})
}

// A proxy is never used for this machine, and a name of this machine that stands for
// another one is not connected to.
func TestEndpointLoopback(t *testing.T) {
	e, err := newEndpoint(t.Context(), "x", "http://localhost:1", false)
	if err != nil || e.tr.Proxy != nil || e.tr.DialContext == nil {
		t.Errorf("%v, %+v", err, e)
	}
	for address, ok := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "192.0.2.1:1": false,
		"[2001:db8::1]:1": false, "x": false} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if e, err = newEndpoint(t.Context(), "x", "https://fulcio.example", false); err != nil || e.tr.Proxy == nil {
		t.Errorf("%v, %+v", err, e)
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func digestIn(t *testing.T, query []byte) []byte {
	q, err := timestamp.ParseRequest(query)
	if err != nil {
		t.Error(err)
		return nil
	}
	return q.HashedMessage
}

// keyIn is the key of a certificate in PEM in base64.
func keyIn(t *testing.T, content string) *ecdsa.PublicKey {
	src, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode(src)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Error(err)
	}
	return c.PublicKey.(*ecdsa.PublicKey)
}
