package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// generator makes labelled cases from a seed: the same seed, the same cases.
type generator struct{ *rand.Rand }

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	hexes  = "0123456789abcdef"
	alnum  = lowers + uppers + digits
	url64  = alnum + "-_"
	std64  = alnum + "+/"
)

func (g generator) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[g.IntN(len(set))]
	}
	return string(b)
}

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) uuid() string {
	h := g.of(hexes, 32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

func (g generator) b64(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.IntN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (g generator) password() string {
	return g.of(alnum, 4) + g.of(digits, 2) + g.of(alnum+"!@#*^~", 4+g.IntN(12)) + g.of(lowers, 2)
}

func (g generator) jwt() string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"`+g.pick("HS256", "RS256", "EdDSA")+`","typ":"JWT"}`)) + "." +
		enc([]byte(`{"sub":"`+g.of(lowers, 6)+`","exp":1790000000}`)) + "." + g.of(url64, 43)
}

// bare are secrets that give themselves away, by kind.
func (g generator) bare() (kind, secret string) {
	makers := []func() (string, string){
		func() (string, string) { return "aws", g.pick("AKIA", "ASIA") + g.of(uppers+"234567", 16) },
		func() (string, string) {
			return "github", g.pick("ghp_", "gho_", "ghs_", "ghu_", "ghr_") + g.of(alnum, 36)
		},
		func() (string, string) { return "github-fine", "github_pat_" + g.of(alnum, 22) + "_" + g.of(alnum, 59) },
		func() (string, string) {
			return "gitlab", g.pick("glpat-", "gldt-", "glrt-", "glptt-", "gloas-", "glagent-", "glimt-") + g.of(url64, 20) +
				g.of(alnum, 4)
		},
		func() (string, string) {
			return "slack", g.pick("xoxb-", "xoxp-") + g.of(digits, 12) + "-" + g.of(digits, 12) + "-" + g.of(alnum, 24)
		},
		func() (string, string) {
			return "stripe", g.pick("sk_live_", "rk_live_", "sk_test_") + g.of(alnum, 24+g.IntN(70))
		},
		func() (string, string) { return "google", "AIza" + g.of(url64, 34) + g.of(alnum, 1) },
		func() (string, string) { return "openai", "sk-proj-" + g.of(url64, 60) + "T3BlbkFJ" + g.of(alnum, 30) },
		func() (string, string) { return "anthropic", "sk-ant-api03-" + g.of(url64, 90) + "AA" },
		func() (string, string) { return "huggingface", "hf_" + g.of(alnum, 34) },
		func() (string, string) { return "npm", "npm_" + g.of(alnum, 36) },
		func() (string, string) { return "sendgrid", "SG." + g.of(alnum, 22) + "." + g.of(alnum, 43) },
		func() (string, string) { return "twilio", "SK" + g.of(hexes, 32) },
		func() (string, string) { return "digitalocean", "dop_v1_" + g.of(hexes, 64) },
		func() (string, string) { return "vault", "hvs." + g.of(url64, 90) + g.of(alnum, 2) },
		func() (string, string) { return "vault-old", "s." + g.of(alnum, 24) },
		func() (string, string) { return "databricks", "dapi" + g.of(hexes, 32) },
		func() (string, string) { return "shopify", "shpat_" + g.of(hexes, 32) },
		func() (string, string) { return "alibaba", "LTAI5t" + g.of(alnum, 18) },
		func() (string, string) { return "heroku", "HRKU-" + g.uuid() },
		func() (string, string) { return "netlify", "nfp_" + g.of(alnum, 36) },
		func() (string, string) { return "sourcegraph", "sgp_" + g.of(hexes, 40) },
		func() (string, string) { return "brevo", "xkeysib-" + g.of(hexes, 64) + "-" + g.of(alnum, 16) },
		func() (string, string) {
			return "dynatrace", "dt0c01." + g.of(uppers+digits, 24) + "." + g.of(uppers+digits, 64)
		},
		func() (string, string) { return "nvidia", "nvapi-" + g.of(url64, 62) + g.of(alnum, 2) },
		func() (string, string) { return "langsmith", "lsv2_pt_" + g.of(hexes, 32) + "_" + g.of(hexes, 10) },
		func() (string, string) { return "bitbucket", "ATBB" + g.of(alnum, 28) + g.of(hexes, 8) },
		func() (string, string) {
			return "swarm", "SWMTKN-1-" + g.of(lowers+digits, 50) + "-" + g.of(lowers+digits, 25)
		},
		func() (string, string) { return "onepassword", "ops_eyJ" + g.of(alnum, 250) },
		func() (string, string) { return "pinecone", "pcsk_" + g.of(alnum, 6) + "_" + g.of(alnum, 63) },
		func() (string, string) { return "supabase", "sb_secret_" + g.of(alnum, 22) + "_" + g.of(alnum, 8) },
		func() (string, string) { return "unknown-pat", g.of(lowers, 4) + "_pat_" + g.of(alnum, 32) },
		func() (string, string) { return "unknown-sk", g.of(lowers, 5) + "_sk_" + g.of(alnum, 40) },
		func() (string, string) { return "unknown-live", g.of(lowers, 6) + "_live_" + g.of(alnum, 32) },
		func() (string, string) { return "unknown-secret", g.of(lowers, 3) + "-secret-" + g.of(alnum, 32) },
		func() (string, string) { return "jwt", g.jwt() },
	}
	return makers[g.IntN(len(makers))]()
}

// held are secrets only by where they stand: the place and the secret.
func (g generator) held() (form, kind, text, secret string) {
	pw, host := g.password(), g.pick("db", "cache", "mq", "api")+"."+g.of(lowers, 5)+".internal"
	plain := g.of(alnum, 6+g.IntN(4)) + g.of(digits, 2) + g.of(alnum, 10)
	hx := g.of(hexes, 32+8*g.IntN(4))
	upper := g.pick("DB", "SMTP", "REDIS", "APP", "LDAP", "KAFKA", "ACME")
	makers := []func() (string, string, string, string){
		func() (string, string, string, string) {
			return "env", "password", upper + "_PASSWORD=" + pw + "\nPORT=80\n", pw
		},
		func() (string, string, string, string) {
			return "env-quoted", "password", "export " + upper + "_PASS='" + pw + "'", pw
		},
		func() (string, string, string, string) {
			return "env", "api-key",
				upper + g.pick("_API_KEY=", "_SECRET_KEY=", "_ACCESS_TOKEN=", "_CLIENT_SECRET=", "_AUTH_TOKEN=") + hx, hx
		},
		func() (string, string, string, string) { return "env", "aws-secret", "AWS_SECRET_ACCESS_KEY=" + hx, hx },
		func() (string, string, string, string) {
			s := g.of(std64, 38) + "a9"
			return "json", "aws-secret", `{"secretAccessKey": "` + s + `"}`, s
		},
		func() (string, string, string, string) {
			return "json", "password", `{"user": "x", "` + g.pick("password", "passwd", "dbPassword", "smtp_pass") + `": "` +
				plain + `"}`, plain
		},
		func() (string, string, string, string) {
			return "yaml", "password", "auth:\n  " + g.pick("password", "passphrase", "adminPassword") + ": " + plain +
				"\n  user: x\n", plain
		},
		func() (string, string, string, string) {
			return "yaml", "uuid-key", "api_key: " + func() string { hx = g.uuid(); return hx }() + "\n", hx
		},
		func() (string, string, string, string) {
			return "toml", "token", "[registry]\n" + g.pick("token", "auth_token", "secret_key") + " = \"" + hx + "\"\n", hx
		},
		func() (string, string, string, string) {
			return "ini", "token", g.pick("token", "client_secret") + "=" + plain + "\n", plain
		},
		func() (string, string, string, string) {
			return "header", "bearer", "Authorization: Bearer " + plain + g.of(url64, 20) + "x", plain
		},
		func() (string, string, string, string) {
			b := base64.StdEncoding.EncodeToString([]byte("svc:" + plain))
			return "header", "basic", "authorization: Basic " + b, b
		},
		func() (string, string, string, string) {
			return "header", "x-api-key",
				"> " + g.pick("X-Api-Key", "X-Auth-Token", "X-Vault-Token", "Private-Token", "DD-API-KEY", "X-Amz-Security-Token") +
					": " + hx + "\n> accept: */*\n", hx
		},
		func() (string, string, string, string) {
			return "header", "scheme", "Authorization: " + g.pick("SSWS", "GenieKey", "Token token=", "Key", "ApiKey") + " " +
				plain + "A9", plain
		},
		func() (string, string, string, string) {
			return "url", "password",
				g.pick("postgres", "mysql", "amqps", "rediss", "mongodb+srv", "ftp", "https", "ldap", "smtp") + "://" +
					g.pick("svc", "app", "") + ":" + plain + "@" + host + "/x", plain
		},
		func() (string, string, string, string) {
			return "url", "query-token",
				"GET https://" + host + "/v1?a=1&" + g.pick("access_token", "api_key", "token", "apikey", "key", "auth") + "=" +
					plain + "&b=2", plain
		},
		func() (string, string, string, string) {
			s := g.of(hexes, 64)
			return "url", "signed", "https://b.s3.amazonaws.com/o?X-Amz-Credential=x&X-Amz-Expires=60&X-Amz-Signature=" + s, s
		},
		func() (string, string, string, string) {
			s := g.of(alnum, 60)
			return "url", "signed", "https://storage.googleapis.com/b/o?GoogleAccessId=x&Expires=1790000000&Signature=" + s +
				"%3D", s
		},
		func() (string, string, string, string) {
			s := g.of(alnum, 43)
			return "url", "sas", "https://acme.blob.core.windows.net/c?sv=2024&sp=r&sig=" + s + "%3D", s
		},
		func() (string, string, string, string) {
			return "netrc", "password", "machine " + host + "\n  login ci\n  password " + plain + "\n", plain
		},
		func() (string, string, string, string) {
			s := base64.StdEncoding.EncodeToString([]byte("u:" + plain))
			return "npmrc", "basic", "//" + host + "/:_auth=" + s + "\n", s
		},
		func() (string, string, string, string) {
			return "npmrc", "token", "//" + host + "/:_authToken=" + g.uuid()[:0] + plain + "\n", plain
		},
		func() (string, string, string, string) {
			s := base64.StdEncoding.EncodeToString([]byte("u:" + plain))
			return "docker", "basic", `{"auths":{"` + host + `":{"auth":"` + s + `"}}}`, s
		},
		func() (string, string, string, string) {
			s := base64.StdEncoding.EncodeToString([]byte(plain))
			return "k8s", "secret", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  " + g.pick("a", "cfg", "pw") +
				": " + s + "\n", s
		},
		func() (string, string, string, string) {
			return "k8s", "string-data", "apiVersion: v1\nkind: Secret\nstringData:\n  cfg: " + plain + "\n", plain
		},
		func() (string, string, string, string) {
			s := base64.StdEncoding.EncodeToString([]byte(plain))
			return "k8s-json", "secret", `{"apiVersion":"v1","kind":"Secret","data":{"x":"` + s + `"}}`, s
		},
		func() (string, string, string, string) {
			return "conn", "password", "Server=" + host + ";Database=x;User Id=sa;" + g.pick("Password=", "Pwd=") + plain +
				";Encrypt=True", plain
		},
		func() (string, string, string, string) {
			s := g.b64(64)
			return "conn", "account-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + s +
				";EndpointSuffix=core.windows.net", s
		},
		func() (string, string, string, string) {
			s := g.b64(32)
			return "conn", "bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=" + s, s
		},
		func() (string, string, string, string) {
			return "conn", "dsn", "host=" + host + " user=app password=" + plain + " sslmode=require", plain
		},
		func() (string, string, string, string) {
			return "conn", "jdbc", "jdbc:postgresql://" + host + "/x?user=app&password=" + plain, plain
		},
		func() (string, string, string, string) {
			return "cookie", "session", "Set-Cookie: " + g.pick("session", "connect.sid", "JSESSIONID", "auth_token") + "=" +
				plain + g.of(alnum, 12) + "; HttpOnly", plain
		},
		func() (string, string, string, string) {
			return "shell", "flag", "tool login --" + g.pick("password", "token", "api-key", "client-secret") +
				g.pick(" ", "=") + plain + " --yes", plain
		},
		func() (string, string, string, string) {
			return "shell", "sudo", "echo " + plain + " | sudo -S apt update", plain
		},
		func() (string, string, string, string) {
			return "shell", "curl", "curl -u " + "svc:" + plain + " https://" + host, plain
		},
		func() (string, string, string, string) {
			return "sql", "password", g.pick("ALTER USER svc WITH PASSWORD '", "CREATE USER 'a'@'%' IDENTIFIED BY '") + plain +
				"';", plain
		},
		func() (string, string, string, string) {
			return "prose", "password", "fyi the " + g.pick("admin ", "staging ", "") + "password is " + g.pick("", "\"", "`") +
				plain + " until Monday", plain
		},
		func() (string, string, string, string) {
			return "prose", "api-key", "use API key " + hx + " for now", hx
		},
		func() (string, string, string, string) {
			return "code", "secret",
				g.pick("const secret = '", "var apiKey = \"", "self.client_secret = '", "String PASSWORD = \"", ":password => '",
					"passwd: '") + plain + g.pick("';", "\""), plain
		},
		func() (string, string, string, string) {
			return "xml", "password", "<" + "password>" + plain + "</password>", plain
		},
		func() (string, string, string, string) {
			return "xml", "attr", "<add key=\"" + g.pick("ClientSecret", "DbPassword", "ApiKey") + "\" value=\"" + plain +
				"\" />", plain
		},
		func() (string, string, string, string) {
			return "log", "password", "2026-01-02T03:04:05Z DEBUG login user=bob password=" + plain + " ok", plain
		},
		func() (string, string, string, string) {
			return "diff", "password", "-  password: old${X}\n+  password: " + plain + "\n", plain
		},
		func() (string, string, string, string) {
			return "header", "webhook", "https://hooks.slack.com/services/T" + g.of(uppers, 8) + "/B" + g.of(uppers, 8) + "/" +
				plain + g.of(alnum, 8), plain
		},
		func() (string, string, string, string) {
			return "terraform", "variable", "  " + g.pick("secret_key", "admin_password", "client_secret") + "   = \"" + plain +
				"\"\n", plain
		},
		func() (string, string, string, string) {
			s := g.of(std64, 64)
			return "pem", "private", "-----BEGIN " + g.pick("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ") + "PRIVATE KEY-----\n" +
				g.of(std64, 64) + "\n" + s + "\n" + g.of(std64, 20) + "\n-----END PRIVATE KEY-----\n", s
		},
		func() (string, string, string, string) {
			s := g.of(std64, 64)
			return "pem-cut", "private", "log: -----BEGIN RSA PRIVATE KEY-----\n" + g.of(std64, 64) + "\n" + s + "\n" +
				g.of(std64, 20), s
		},
		func() (string, string, string, string) {
			s := g.of(std64, 64)
			return "pem-escaped", "private", `{"k": "-----BEGIN PRIVATE KEY-----\n` + s + `\n` + g.of(std64, 40) +
				`\n-----END PRIVATE KEY-----\n"}`, s
		},
	}
	return makers[g.IntN(len(makers))]()
}

// layered carries a bare secret in a form that hides it; what must not survive
// is the hidden text and, where the form keeps them readable, its parts.
func (g generator) layered(s string) (form, text string, gone []string) {
	j := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) }
	std, b64u := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	cut := len(s)/2 - 2 + g.IntN(4)
	one := func(form, format, hidden string) (string, string, []string) {
		return form, fmt.Sprintf(format, hidden), []string{hidden}
	}
	makers := []func() (string, string, []string){
		func() (string, string, []string) { return one("base64", "data: %s\n", std([]byte("X_TOKEN="+s+"\n"))) },
		func() (string, string, []string) { return one("base64", "echo %s | base64 -d", std([]byte(s))) },
		func() (string, string, []string) {
			return one("base64url", "state=%s&x=1", b64u([]byte(`{"t":"`+s+`"}`)))
		},
		func() (string, string, []string) { return one("base64x2", "%s", std([]byte(std([]byte(s))))) },
		func() (string, string, []string) { return one("hex", "0x%s", hex.EncodeToString([]byte(s))) },
		func() (string, string, []string) {
			return one("hex", "dump %s end", strings.ToUpper(hex.EncodeToString([]byte(s))))
		},
		func() (string, string, []string) {
			return one("hex-base64", "v: %s", hex.EncodeToString([]byte(std([]byte(s)))))
		},
		func() (string, string, []string) { return one("hex-spaced", "%s", fmt.Sprintf("% x", s)) },
		func() (string, string, []string) {
			return one("hex-escape", "printf '%s'", func() string {
				return `\x` + strings.ReplaceAll(fmt.Sprintf("% x", s), " ", `\x`)
			}())
		},
		func() (string, string, []string) {
			return one("percent-all", "u=%s", "%"+strings.ReplaceAll(fmt.Sprintf("% X", s), " ", "%"))
		},
		func() (string, string, []string) {
			e := url.QueryEscape("token=" + s + "&x=1")
			return "percent", "redirect=https%3A%2F%2Fx%2F%3F" + e, []string{s}
		},
		func() (string, string, []string) {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			return one("u-escape", `{"t":"%s"}`, b.String())
		},
	}
	switch g.IntN(9) {
	case 0:
		return "json-in-json", `{"out": "` + j(`{"a": {"token": "`+s+`"}}`) + `"}`, []string{s}
	case 1:
		return "json-in-json", `{"o": "` + j(`{"p": "`+j(`{"t": "`+s+`"}`)+`"}`) + `"}`, []string{s}
	case 2:
		z := g.pick("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad")
		return "zero-width", "see " + s[:cut] + z + s[cut:], []string{s[:cut] + z + s[cut:], s[cut:]}
	case 3:
		op := g.pick(`" + "`, `' + '`, `" .. "`, `" . "`, "\" +\n    \"", `" "`, "\"\n  \"", `" & "`)
		q := op[:1]
		return "split-concat", "k = " + q + s[:cut] + op + s[cut:] + q, []string{s[cut:]}
	case 4:
		return "line-wrapped", "x " + s[:cut] + g.pick("\\\n", "\\\n  ", "=\n") + s[cut:], []string{s[cut:]}
	default:
		return makers[g.IntN(len(makers))]()
	}
}
