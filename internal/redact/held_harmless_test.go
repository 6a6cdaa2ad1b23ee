package redact

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// heldHarmless draws n texts that hold no secret.
func heldHarmless(h held, n int) []heldCase {
	fixed, drawn := heldFixed(), heldDrawn(h)
	var out []heldCase
	for i := range n {
		if i < len(fixed) {
			out = append(out, heldCase{"fixed", "fixed", fixed[i], nil})
			continue
		}
		k := i % len(drawn)
		out = append(out, heldCase{fmt.Sprint("drawn ", k), "drawn", drawn[k](), nil})
	}
	return out
}

// heldDrawn are look-alikes with random parts.
func heldDrawn(h held) []func() string {
	sum := func() string { s := sha256.Sum256(h.bytes(8)); return hex.EncodeToString(s[:]) }
	f := func(format string, parts ...func() string) func() string {
		return func() string {
			args := make([]any, len(parts))
			for i, p := range parts {
				args[i] = p()
			}
			return fmt.Sprintf(format, args...)
		}
	}
	sha1 := func() string { return h.hex(40) }
	short := func() string { return h.hex(8) }
	hex32 := func() string { return h.hex(32) }
	num := func() string { return h.of("123456789", 10) }
	ulid := func() string { return "01" + h.of("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24) }
	sri := func() string { return h.b64(64) }
	sri256 := func() string { return h.b64(32) }
	return []func() string{
		f("commit %s\nAuthor: A <a@acme.test>", sha1), f("git checkout %s && make", sha1),
		f("Merge commit '%s' into main", sha1), f("%s refs/heads/main", sha1), f("HEAD is now at %s tidy", short),
		f("uses: actions/checkout@%s # v4.1.7", sha1), f("image: ghcr.io/acme/api@sha256:%s", sum), f("sha256:%s", sum),
		f("%s  belay_1.2.0_linux_amd64.tar.gz", sum), f("\"integrity\": \"sha512-%s\"", sri),
		f("      integrity: sha512-%s", sri),
		f("<script src=a.js integrity=\"sha384-%s\" crossorigin>", func() string { return h.b64(48) }),
		f("github.com/acme/x v1.2.3/go.mod h1:%s", sri256), f("checksum = \"%s\"", sum),
		f("    --hash=sha256:%s", sum), f("pkg 1.2.3\n  sha256 \"%s\"", sum), f("etag: \"%s\"", hex32),
		f("ETag: W/\"%s\"", short), f("request_id=%s status=200", h.uuid), f("{\"id\":\"%s\",\"ok\":true}", h.uuid),
		f("traceparent: 00-%s-%s-01", hex32, func() string { return h.hex(16) }),
		f("trace_id=%s span_id=%s", hex32, func() string { return h.hex(16) }), f("event %s stored", ulid),
		f("{\"ulid\":\"%s\"}", ulid), f("order #%s shipped", num),
		f("arn:aws:iam::%s12:role/deploy", num), f("i-0%sa running in eu-west-1a", func() string { return h.hex(15) }),
		f("vpc-0%s subnet-0%s", func() string { return h.hex(16) }, func() string { return h.hex(16) }),
		f("container %s exited (0)", func() string { return h.hex(12) }),
		f("docker inspect %s", sum), f("layer %s: Pull complete", func() string { return h.hex(12) }),
		f("![logo](data:image/png;base64,iVBORw0KGgo%s)", func() string { return h.b64(120) }),
		f("src=\"data:image/svg+xml;base64,PHN2Zy%s\"", func() string { return h.b64(90) }),
		f("@font-face{src:url(data:font/woff2;base64,d09GMg%s)}", func() string { return h.b64(120) }),
		f("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI%s a@b", func() string { return h.of(heldB64, 43) }),
		f("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB%s= bob@laptop", func() string { return h.of(heldB64, 340) }),
		f("github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI%s", func() string { return h.of(heldB64, 43) }),
		f("256 SHA256:%s a@b (ED25519)", func() string { return h.of(heldB64, 43) }),
		f("-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----",
			func() string { return strings.Join(h.lines(500, 64), "\n") }),
		f("-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----",
			func() string { return strings.Join(h.lines(90, 64), "\n") }),
		f("-----BEGIN PGP SIGNATURE-----\n\n%s\n-----END PGP SIGNATURE-----",
			func() string { return strings.Join(h.lines(200, 64), "\n") }),
		f("-----BEGIN CERTIFICATE REQUEST-----\n%s\n-----END CERTIFICATE REQUEST-----",
			func() string { return strings.Join(h.lines(300, 64), "\n") }),
		f("certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t%s", func() string { return h.b64(300) }),
		f("age1%s", func() string { return h.of("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58) }), f("0x%s sent 1 ETH", sha1),
		f("block 0x%s", sum), f("bc1q%s", func() string { return h.of("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 38) }),
		f("PublicKey = %s\nAllowedIPs = 10.0.0.0/24", sri256),
		f("chunk-%s.js 41 kB", short), f("static/js/main.%s.chunk.js", short),
		f("/assets/index-%s.css", func() string { return h.alnum(8) }), f("build %s-%s finished", short, num),
		f("ObjectId(\"%s\")", func() string { return h.hex(24) }), f("fingerprint: %s", sum),
		f("x-request-id: %s", h.uuid), f("X-Amz-Cf-Id: %s==", func() string { return h.url(54) }),
		f("cf-ray: %s-FRA", func() string { return h.hex(16) }), f("user_id=%s&page=2", h.uuid), f("tenant_id: %s", h.uuid),
		f("client_id: %s", h.uuid), f("AZURE_CLIENT_ID=%s", h.uuid),
		f("AWS_ACCOUNT_ID=%s12", num), f("cache key: linux-go-%s", sum), f("key: ${{ runner.os }}-%s", sum),
		f("restore-keys: npm-%s-", sum), f("primary_key=%s", num),
		f("foreign key (%s_id)", func() string { return h.one("user", "order") }),
		f("sort_key: %s", func() string { return h.one("created_at", "name") }),
		f("token_count=%s tokens/s=41", func() string { return h.of("123456789", 4) }),
		f("max_tokens=%s", func() string { return h.of("123456789", 4) }),
		f("\"usage\":{\"prompt_tokens\":%s,\"completion_tokens\":12}", num), f("next_page_token is empty after %s rows", num),
		f("var __webpack_hash__=\"%s\"", func() string { return h.hex(20) }),
		f("!function(e,t){var n=%s;e.password=t.value,e.token||(e.token=n)}(this,a%s);", num, short),
		f("function getToken(){return store.get(\"%s\")}", func() string { return h.one("auth/token", "session") }),
		f("pid=%s password_attempts=3", num), f("nonce: %s", num), f("version: 1.%s.0-rc.1+%s", num, short),
		f("app@1.4.2-%s", sha1), f("v0.0.0-20250101120000-%s", func() string { return h.hex(12) }),
		f("gitea/%s/src/secret_store.go:41", short), f("/var/lib/docker/overlay2/%s/merged", sum),
		f("/nix/store/%s-glibc-2.39", func() string { return h.of("0123456789abcdfghijklmnpqrsvwxyz", 32) }),
		f("s3://acme-logs/2025/%s/part-0001.parquet", h.uuid), f("https://acme.test/reset?id=%s", h.uuid),
		f("https://registry.npmjs.org/x/-/x-1.0.0.tgz#%s", sha1),
		f("https://youtu.be/%s", func() string { return h.url(11) }),
		f("kid=%s alg=RS256", func() string { return h.alnum(20) }), f("digest=%s", sum),
		f("md5: %s", hex32), f("CRC32 %s", short), f("cosign verify --digest %s", sum),
		f("log index %s root hash %s", num, sri256), f("belay_digest=%s", sum),
		f("DEPLOYMENT_ID=dpl_%s", func() string { return h.alnum(28) }),
		f("price_%s is active", func() string { return h.alnum(24) }), f("cus_%s paid", func() string { return h.alnum(14) }),
		f("pk_live_%s", func() string { return h.alnum(24) }),
		f("toolu_01%s", func() string { return h.alnum(22) }), f("msg_01%s finished", func() string { return h.alnum(22) }),
		f("chatcmpl-%s", func() string { return h.alnum(29) }), f("call_%s", func() string { return h.alnum(24) }),
		f("sess %s of agent a-7", ulid), f("uid=%s gid=100", num), f("base64 of a picture: %s", func() string {
			return base64.StdEncoding.EncodeToString(append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF"), h.bytes(90)...))
		}),
		f("{\"content\":\"%s\"}", func() string {
			return base64.StdEncoding.EncodeToString([]byte("# Title " + h.one("one", "two", "three") +
				"\n\nThis file explains how to build and run the program.\n"))
		}),
		f("q=%s", func() string { return percentAll("hello world, number " + num()) }),
		f("hexdump: %s", func() string { return hex.EncodeToString([]byte("plain text number " + num())) }),
		f("{\"m\":\"\\u0048\\u0065\\u006c\\u006c\\u006f %s\"}", num),
	}
}

// heldFixed are sentences, code and placeholders about secrets.
func heldFixed() []string {
	return []string{
		"password = getPassword()", "token := os.Getenv(\"TOKEN\")", "const token = process.env.API_TOKEN;",
		"password: str = Field(...)", "if password == \"\" {", "password = input('Password: ')", "api_key=settings.API_KEY",
		"secret = vault.read('kv/app')['secret']",
		"API_KEY=YOUR_API_KEY_HERE", "TOKEN=<your token>", "token: ${TOKEN}", "password: {{ .Values.db.password }}",
		"PASSWORD=$(cat /run/secrets/db)", "PASSWORD=`pass show db`", "--password-stdin", "export TOKEN=\"$GITHUB_TOKEN\"",
		"secret: changeme", "password=********", "token=xxxxxxxxxxxxxxxx", "API_KEY=REPLACE_ME",
		"Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "curl -u \"$USER:$PASS\" https://x.test",
		"https://user:password@example.com/path", "postgres://user:password@localhost/db",
		"postgresql://${DB_USER}:${DB_PASS}@db/app", "redis://localhost:6379/0", "AKIAIOSFODNN7EXAMPLE",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-...", "sk_test_...", "xoxb-your-token", "hf_xxxxx",
		"secretKeyRef:\n  name: db\n  key: password", "valueFrom: {secretKeyRef: {name: app, key: token}}",
		"password_file: /run/secrets/db_password", "POSTGRES_PASSWORD_FILE=/run/secrets/pg",
		"ssh -i ~/.ssh/id_ed25519 bob@host",
		"The password must have at least 12 characters.", "Please enter your password to continue.",
		"A token is a string that the server hands out after login.", "Passwords are hashed with bcrypt, cost 12.",
		"The secret to good bread is patience.", "He holds the key to the city.", "Your API key is shown once; keep it safe.",
		"Reset your password here: https://acme.test/reset",
		"the token expired at 12:30", "invalid token: unexpected end of input", "token is required",
		"error: password authentication failed for user \"app\"",
		"fatal: could not read Password for 'https://x.test': terminal prompts disabled", "secret/data/app not found",
		"unknown key type ssh-dss", "key not found: user.email",
		"func (s *Server) rotateSecret(ctx context.Context) error {",
		"type TokenSource interface { Token() (*Token, error) }", "import { useAuthToken } from '../hooks/useAuthToken'",
		"from django.contrib.auth.hashers import make_password",
		"<input type=\"password\" name=\"password\" autocomplete=\"current-password\">",
		"<label for=password>Password</label>", "password_hash VARCHAR(255) NOT NULL",
		"ALTER TABLE users ADD COLUMN reset_token TEXT", "SELECT token FROM sessions WHERE user_id = ?",
		"UPDATE users SET password = ? WHERE id = ?",
		"assert.Equal(t, \"token\", kind)", "expect(token).toBeDefined()", "token.split('.')",
		"tokens = tokenizer.encode(text)", "next_token = parser.next()", "csrf_token()", "{% csrf_token %}",
		"@token_required", "key = lambda x: x.name", "for key, value in config.items():", "sorted(items, key=itemgetter(1))",
		"map[string]string{\"key\": \"value\"}", "{\"key\": \"value\"}", "key=value", "primaryKey: true", "keyCode === 13",
		"onKeyDown={handleKey}", "PRIMARY KEY (id)", "auth: true", "auth_method: kubernetes", "token_type: bearer",
		"\"token_type\":\"Bearer\"", "grant_type=client_credentials", "secretName: wildcard-tls",
		"imagePullSecrets:\n- name: regcred", "kubectl get secret db -o yaml", "gh auth token", "aws sts get-session-token",
		"vault token lookup", "docker login -u ci --password-stdin < token.txt", "pass: 41, fail: 0",
		"PASS: TestLogin (0.01s)", "--- PASS: TestToken (0.00s)", "pass through the gate", "compass: north", "bypass=true",
		"passport: required", "author: Bob", "authority: acme", "keyboard: us-intl", "monkey = True", "keynote: 9:30",
		"tokenize: false", "hotkeys: ctrl+shift+p", "private: true", "privateKeyPath: ./certs/dev.key",
		"key_file: /etc/ssl/server.key", "ssl_certificate_key /etc/nginx/server.key;", "KeyVaultName: acme-kv",
		"credentials: include", "credential_process = aws-vault exec dev", "withCredentials: true", "cookie: strict",
		"cookies = requests.cookies", "session.commit()", "session_timeout: 3600", "sessionStorage.clear()",
		"signature: valid", "func signature(x int) string", "sig := make(chan os.Signal, 1)", "code=200", "code: ENOENT", "pw, err := readPassword()", "passwd: files systemd", "root:x:0:0:root:/root:/bin/bash", "getpass.getpass()", "password: null", "password: \"\"", "password:", "token: undefined", "secret = None", "api_key: nil", "password=true", "enable_password_auth: false", "PasswordAuthentication no", "PermitRootLogin prohibit-password", "Password (again):", "password-reset-email", "secrets.token_hex(32)", "openssl rand -base64 32", "uuidgen", "ssh-keygen -t ed25519 -f key", "password = os.environ[\"DB_PASSWORD\"]", "this.password = password;", "setPassword(newPassword)", "user.password_digest", "secret: !vault |", "password: !Ref DbPassword", "password: ENC[AES256_GCM,data:x]", "\"password\": {\"type\": \"string\", \"minLength\": 8}", "password: string;", "token?: string", "token: str | None = None", "String password;", "var token string", "let apiKey: string | undefined", "#define TOKEN_EOF 0", "enum Token { Ident, Number }", "TokenKind::CloseBrace", "token: Token::Eof", "std::string token;", "self.token = token", "data: {}", "data:\n  app.conf: |\n    level=info", "kind: ConfigMap\ndata:\n  theme: dark", "-p 8080:80", "mkdir -p build/output", "mysql -u root -p app", "-u origin main", "git push -u origin feature/login-token", "curl -u ci https://x.test", "cp -a dist /srv/www", "rsync -a --delete src/ dst/", "see docs/security/password-policy.md", "https://acme.test/docs/api-keys#rotate", "mailto:security@acme.test", "ssh://git@github.com:22/acme/x.git", "git@github.com:acme/secrets.git", "npm_config_registry=https://registry.npmjs.org", "sk-SK locale", "xoxo, Ann", "SG.1 meeting room", "AIza prefix means a Google key", "a GitHub token starts with ghp_", "keys start with AKIA or ASIA", "eyJ is how a JWT begins", "-----BEGIN PRIVATE KEY----- marks the start", "re.compile(r'ghp_[A-Za-z0-9]{36}')", "pattern: 'sk-[a-zA-Z0-9]{48}'", "\"(?:password|token)\\\\s*=\\\\s*\\\\S+\"", "password.*=.*", "grep -rn 'password' src/", "sed 's/token=.*/token=REDACTED/'", "token=[redacted]", "password=[FILTERED]", "secret: (hidden)", "Bearer realm=\"api\"", "WWW-Authenticate: Bearer error=\"invalid_token\"", "Basic usage of the client", "basic auth is off", "Set-Cookie: theme=dark; Path=/", "Cookie: lang=en", "two tokens per word", "token ring network", "one-time password (OTP) apps", "secretary: Ms. Hill", "session 3: Token economics", "monkeypatch.setenv('TOKEN', 'x')", "api_version=2024-01-01", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: empty\ntype: Opaque", "TOKEN_TTL=3600", "PASSWORD_MIN_LENGTH=12", "SECRET_BACKEND=vault", "KEY_PREFIX=app:", "SESSION_COOKIE_NAME=sid", "JWT_ALGORITHM=RS256", "JWT_EXPIRES_IN=7d", "API_KEY_HEADER=X-Api-Key", "TOKEN_URL=https://login.acme.test/oauth/token", "SECRETS_DIR=/run/secrets", "AUTH_MODE=password", "PASSWORD_HASHER=argon2", "PWD=/home/dev/project\nOLDPWD=/home/dev", "{\"env\":{\"PWD\":\"/home/dev/project\"}}", "https://lore.acme.test/git/2016.GF23@host.test/ and", "[v](https://img.test/v/@a/b.svg)](https://x.test/@a)", "%sudo ALL=(root) NOPASSWD: /bin/systemctl", "const algorithm = 'x'; const password = 'Password used to generate the key';", "s.ReadUint16LengthPrefixed(&x)", "headers['x-session'] = opts.clientSession2", "\"encryptionKey\": \"encryptionKey1024\"", "HEX_PAT = \"[0-9A-Fa-f]{1,4}\"", "<code>salsa20_128_set_key</code>", "Signature: ecdsa-with-SHA256", "SOCKS5_AUTH = exports.SOCKS5_NO_ACCEPTABLE_AUTH",
	}
}
