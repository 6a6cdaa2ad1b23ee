package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

type heldCase struct {
	kind, form, text string
	secrets          []string
}

// heldNamed are places where a name stands before the value: %[1]s is the
// upper-case name of configuration, %[2]s the same in camel case, %[3]s the
// value.
func heldNamed() []string {
	return []string{
		"export %[1]s=%[3]s", "%[1]s=%[3]s ./run.sh --fast", "PORT=8080\n%[1]s=%[3]s\nDEBUG=0\n",
		"  412  export %[1]s='%[3]s'",
		`{"settings":{"%[2]s":"%[3]s","region":"eu-1"}}`, `{ "%[1]s" : "%[3]s" }`,
		"env:\n  - name: %[1]s\n    value: %[3]s\n",
		"services:\n  api:\n    environment:\n      %[1]s: \"%[3]s\"\n", "[prod]\n%[1]s = %[3]s\n", "%[1]s = \"%[3]s\"",
		"const %[2]s = '%[3]s';", "private static final String %[1]s = \"%[3]s\";", "%[2]s := \"%[3]s\"",
		"os.environ['%[1]s'] = '%[3]s'",
		"ENV %[1]s=%[3]s", "docker run --rm -e %[1]s=%[3]s acme/api:2", "$env:%[1]s = '%[3]s'", "set %[1]s=%[3]s",
		"Environment=\"%[1]s=%[3]s\"", "resource \"x\" \"y\" {\n  %[2]s = \"%[3]s\"\n}", "-%[1]s=%[3]s\n+%[1]s=${%[1]s}\n",
		"heroku config:set %[1]s=%[3]s -a acme", "gh secret set %[1]s --body '%[3]s'",
		"kubectl create secret generic s --from-literal=%[1]s=%[3]s",
		"<add key=\"%[1]s\" value=\"%[3]s\" />", "| %[1]s | `%[3]s` |", "fly secrets set %[1]s=\"%[3]s\"",
		"::add-mask::\n%[1]s: %[3]s",
	}
}

// heldBare are places where nothing names the value.
func heldBare() []string {
	return []string{
		"I rotated it, the new one is %s as of today.", "WARN auth: rejected %s (expired)", "$ cat note.txt\n%s\n",
		"['%s', 'eu-central-1']",
		"see `%s` in the wiki", "curl -H 'Authorization: Bearer %s' https://api.acme.test/v1/me", "Authorization: token %s",
		"deploy(\"%s\")",
		"client = Client(%s)", "- %s\n+ removed\n", "args: [--verbose, %s]",
		"https://api.acme.test/v1/items?limit=3&access_token=%s", "\"%s\",", "<code>%s</code>",
	}
}

// heldWrapped carries a text in another notation.
func heldWrapped(h held, s string) (form, text string) {
	switch h.IntN(9) {
	case 0:
		return "base64", "payload: " + base64.StdEncoding.EncodeToString([]byte(s))
	case 1:
		return "base64url", "state=" + base64.RawURLEncoding.EncodeToString([]byte(s))
	case 2:
		return "hex", "0000 " + hex.EncodeToString([]byte(s))
	case 3:
		return "percent", "POST /hook?body=" + url.QueryEscape(s)
	case 4:
		return "json-in-json", fmt.Sprintf(`{"kind":"tool","body":%q}`, fmt.Sprintf(`{"out":%q}`, s))
	case 5:
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return "u-escape", `{"m":"` + b.String() + `"}`
	case 6:
		e := base64.StdEncoding.EncodeToString([]byte("# shell profile of the build host, kept for reference only\n" + s +
			"\n# end of the part that matters, thanks\n"))
		var out []string
		for len(e) > 76 {
			out, e = append(out, e[:76]), e[76:]
		}
		return "base64-lines", "Content-Transfer-Encoding: base64\n\n" + strings.Join(append(out, e), "\n") + "\n"
	case 7:
		return "base64x2", base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	default:
		return "percent-all", percentAll(s)
	}
}

func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// heldPasswords are places of a password: %s is the password.
func heldPasswords() []string {
	return []string{
		"postgres://app:%s@db.acme.test:5432/app?sslmode=require", "mongodb+srv://svc:%s@c0.x1y2z.mongodb.net/prod",
		"amqps://bus:%s@mq.acme.test/vh",
		"redis://:%s@cache:6379/0", "https://ci:%s@git.acme.test/team/app.git", "smtp://mailer:%s@smtp.acme.test:587",
		"ftp://up:%s@files.acme.test/in",
		"mysql://root:%s@127.0.0.1/app", "clickhouse://default:%s@ch:9000/logs", "sftp://deploy:%s@host:22/srv",
		"ldap://cn=admin:%s@ldap.acme.test",
		"jdbc:postgresql://db:5432/app?user=app&password=%s",
		"jdbc:sqlserver://db:1433;databaseName=app;user=sa;password=%s;encrypt=true",
		"Server=db,1433;Database=app;User Id=sa;Password=%s;TrustServerCertificate=true",
		"Data Source=db;Initial Catalog=app;Uid=sa;Pwd=%s;",
		"host=db port=5432 user=app password=%s dbname=app", "Driver={ODBC Driver 18};Server=db;UID=sa;PWD=%s;",
		"Endpoint=db;Username=x;Password=%s",
		"curl -u admin:%s https://nexus.acme.test/service/rest",
		"curl --user 'jenkins:%s' -X POST https://ci.acme.test/job/x/build",
		"wget --user=x --password=%s https://acme.test/f.tgz",
		"sshpass -p '%s' ssh root@10.0.0.8 uptime", "mysql -u root -p%s -e 'select 1'",
		"mysqldump --password=%s app > app.sql", "redis-cli -h cache -a %s PING",
		"openssl pkcs12 -in a.p12 -passin pass:%s -nodes", "htpasswd -b .htpasswd admin %s",
		"smbclient //nas/share -U backup%%%s", "ldapsearch -x -D cn=admin,dc=acme -w %s -b dc=acme",
		"docker login registry.acme.test -u ci -p %s", "helm install x ./x --set auth.password=%s",
		"az login --service-principal -u app --password %s --tenant t", "keytool -storepass %s -list",
		"machine git.acme.test\n  login ci\n  password %s\n", "[pypi]\nusername = ci\npassword = %s\n",
		"db.acme.test:5432:app:app:%s", "[client]\nuser=root\npassword=\"%s\"\n",
		"spring.datasource.password=%s", "{\"ConnectionStrings\":{\"Db\":\"Server=db;User Id=sa;Password=%s;\"}}",
		"db:\n  adapter: postgresql\n  password: %s\n", "users:\n- name: ci\n  user:\n    username: ci\n    password: %s\n",
		"CREATE USER app WITH PASSWORD '%s';", "ALTER USER 'app'@'%%' IDENTIFIED BY '%s';",
		"GRANT ALL ON *.* TO 'x'@'h' IDENTIFIED BY '%s'", "requirepass %s\nmaxmemory 1gb\n",
		"ansible_become_password: '%s'", "ansible-playbook site.yml -e ansible_ssh_pass=%s",
		"echo '%s' | sudo -S systemctl restart nginx", "DJANGO_SECRET_KEY='%s'",
		"<password>%s</password>", "<server><id>x</id><username>u</username><password>%s</password></server>",
		"net use Z: \\\\nas\\share /user:backup %s", "psk=\"%s\"",
		"ConvertTo-SecureString '%s' -AsPlainText -Force", "passwd: %s", "userPassword: %s", "//npm.acme.test/:_password=%s",
		"login(username='bob', password='%s')", `{"user":"bob","passphrase":"%s"}`,
		"ssh-keygen -t ed25519 -N '%s' -f k", "gpg --batch --passphrase %s -d f.gpg",
		"restic -r s3:x --password-command 'echo %s' snapshots", "vault login -method=userpass username=bob password=%s",
		"RABBITMQ_DEFAULT_PASS=%s", "KEYSTORE_PASSPHRASE=%s", "the admin password is %s, please change it",
		"password for the staging box: %s", "pw: %s",
		"mongosh --username root --password %s --authenticationDatabase admin", "CONNECT app/%s@//db:1521/XE",
		"snowsql -a acme -u bob --password=%s",
	}
}

// heldGeneric are places of a generated value without an issuer.
func heldGeneric() []string {
	return []string{
		"Cookie: lang=de; sessionid=%s; theme=dark", "Set-Cookie: JSESSIONID=%s; Path=/; HttpOnly",
		"Set-Cookie: __Host-session=%s; Secure", "X-Api-Key: %s", "x-auth-token: %s",
		"Authorization: Bearer %s", "Authorization: SSWS %s", "Authorization: ApiKey %s", "X-Vault-Token: %s",
		"Ocp-Apim-Subscription-Key: %s", "X-Amz-Security-Token: %s", "X-CSRF-Token: %s",
		"{\"client_secret\":\"%s\",\"grant_type\":\"client_credentials\"}", "grant_type=refresh_token&refresh_token=%s",
		"client_id=web&client_secret=%s&code=x", "https://x.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sig=%s",
		"https://b.s3.amazonaws.com/f?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=%s",
		"https://storage.googleapis.com/b/f?GoogleAccessId=x&Expires=1&Signature=%s",
		"https://acme.azurewebsites.net/api/f?code=%s",
		"JWT_SECRET=%s", "SESSION_SECRET=\"%s\"", "ENCRYPTION_KEY=%s", "SIGNING_KEY: %s", "secret_key_base: %s",
		"APP_KEY=base64:%s", "MASTER_KEY=%s", "hmac_secret = '%s'", "WEBHOOK_SECRET=%s",
		"AccountName=acme;AccountKey=%s;EndpointSuffix=core.windows.net",
		"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=%s",
		"[Interface]\nPrivateKey = %s\nAddress = 10.0.0.2/32\n", "PresharedKey = %s",
		"apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: %s\n", "access_token: %s",
		"{\"accessToken\":\"%s\",\"expiresIn\":3600}", "\"private_key_id\":\"x\",\"token\":\"%s\"", "--token %s --ca-hash",
		"--api-key=%s",
		"deploy_token=%s", "my api key is %s", "the token: %s", "config.access_token = '%s'", "headers={'X-API-KEY': '%s'}",
		"req.Header.Set(\"Authorization\", \"Bearer %s\")", "const apiSecret = \"%s\"",
		"{\"auths\":{\"r.acme.test\":{\"identitytoken\":\"%s\"}}}", "$ANSIBLE: vault_password=%s",
		"kubeadm join 10.0.0.1:6443 --certificate-key %s", "otpauth://totp/acme:bob?secret=%s&issuer=acme",
	}
}

// heldWhole are documents whose shape says what they are.
func heldWhole(h held) heldCase {
	pw := h.alnum(18)
	switch h.IntN(11) {
	case 0:
		kind := h.one("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "DSA PRIVATE KEY",
			"ENCRYPTED PRIVATE KEY")
		l := h.lines(600, 64)
		s := "-----BEGIN " + kind + "-----\n" + strings.Join(l, "\n") + "\n-----END " + kind + "-----\n"
		return heldCase{"pem", kind, s, []string{l[0], l[len(l)/2], l[len(l)-2]}}
	case 1:
		l := h.lines(700, 64)
		s := "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n" + strings.Join(l, "\n") +
			"\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----"
		return heldCase{"pgp", "pgp", s, []string{l[0], l[3], l[len(l)-2]}}
	case 2:
		l := h.lines(500, 64)
		s := `{"type":"service_account","project_id":"acme","private_key_id":"` + h.hex(40) +
			`","private_key":"-----BEGIN PRIVATE KEY-----\n` + strings.Join(l, `\n`) +
			`\n-----END PRIVATE KEY-----\n","client_email":"x@acme.iam.gserviceaccount.com"}`
		return heldCase{"gcp-sa", "json", s, []string{l[0], l[2], l[len(l)-2]}}
	case 3:
		l := h.lines(500, 64)
		s := "ssh_key: |\n    -----BEGIN OPENSSH PRIVATE KEY-----\n    " + strings.Join(l, "\n    ") +
			"\n    -----END OPENSSH PRIVATE KEY-----\nnext: 1\n"
		return heldCase{"pem", "yaml-block", s, []string{l[0], l[2], l[len(l)-2]}}
	case 4:
		e := base64.StdEncoding.EncodeToString([]byte(pw))
		s := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  labels: {app: x}\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  " + h.one("password", "db.conf", "license", "value") + ": " + e + "\n"
		return heldCase{"k8s-secret", "yaml", s, []string{e}}
	case 5:
		e := base64.StdEncoding.EncodeToString([]byte("ci:" + pw))
		return heldCase{"docker-auth", "json", `{"auths":{"registry.acme.test":{"auth":"` + e + `"}}}`, []string{e}}
	case 6:
		e := base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRIVATE KEY-----\n" +
			strings.Join(h.lines(400, 64), "\n") + "\n-----END RSA PRIVATE KEY-----\n"))
		return heldCase{"kubeconfig", "yaml", "users:\n- name: admin\n  user:\n    client-certificate-data: " +
			base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n"+h.b64(60))) + "\n    client-key-data: " +
			e + "\n", []string{e[:60], e[len(e)-60:]}}
	case 7:
		e := base64.StdEncoding.EncodeToString([]byte("bob:" + pw))
		return heldCase{"basic", "header",
			h.one("Authorization: Basic "+e, "curl -H 'Authorization: Basic "+e+"' https://x.test",
				`{"headers":{"authorization":"Basic `+e+`"}}`), []string{e}}
	case 8:
		return heldCase{"tf-state", "json",
			`{"resources":[{"type":"aws_db_instance","instances":[{"attributes":{"username":"root","password":"` + pw +
				`","port":5432}}]}]}`, []string{pw}}
	case 9:
		return heldCase{"stringData", "yaml", "kind: Secret\nstringData:\n  config.txt: " + pw + "\n", []string{pw}}
	default:
		l := h.lines(500, 64)
		return heldCase{"pem", "cut", "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Join(l[:5], "\n") +
			"\n[output truncated]", []string{l[0], l[4]}}
	}
}

// heldSecrets draws n texts that hold a secret.
func heldSecrets(h held, n int) []heldCase {
	tokens, named, bare := heldTokens(), heldNamed(), heldBare()
	passwords, generic := heldPasswords(), heldGeneric()
	var out []heldCase
	for i := range n {
		t := tokens[i%len(tokens)]
		v := t.make(h)
		place, form := fmt.Sprintf(named[h.IntN(len(named))], t.named, heldCamel(t.named), v), "named"
		if t.self && h.IntN(2) == 0 {
			place, form = fmt.Sprintf(bare[h.IntN(len(bare))], v), "bare"
		}
		c := heldCase{t.kind, form, place, heldLast(v)}
		switch i % 10 {
		case 0, 1:
			p := passwords[h.IntN(len(passwords))]
			v := h.password()
			c = heldCase{"password", p, fmt.Sprintf(p, v), []string{v}}
			if strings.Contains(p, "://") || strings.Contains(p, "sudo -S") {
				c.text = strings.ReplaceAll(c.text, v, strings.NewReplacer("%", "x", "^", "y", "+", "z").Replace(v))
				c.secrets = []string{strings.NewReplacer("%", "x", "^", "y", "+", "z").Replace(v)}
			}
		case 2, 3:
			p := generic[h.IntN(len(generic))]
			v := h.one(h.alnum(32), h.hex(40), h.hex(64), h.b64url(32), h.url(43), h.alnum(24))
			c = heldCase{"generic", p, fmt.Sprintf(p, v), heldLast(v)}
		case 4:
			c = heldWhole(h)
		case 5:
			if t.self {
				c.form, c.text = heldWrapped(h, place)
				c.secrets = heldGone(c.form, c.text, c.secrets)
			}
		}
		out = append(out, c)
	}
	return out
}

// heldGone is what must be gone of a wrapped text: the secret in that notation
// where it stands alone in it, else the middle of the encoded run.
func heldGone(form, text string, secrets []string) []string {
	var out []string
	for _, v := range secrets {
		switch form {
		case "json-in-json":
			out = append(out, v)
		case "percent":
			out = append(out, url.QueryEscape(v))
		case "percent-all":
			out = append(out, percentAll(v))
		case "hex":
			out = append(out, hex.EncodeToString([]byte(v)))
		case "u-escape":
			var b strings.Builder
			for _, r := range v {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			out = append(out, b.String())
		}
	}
	if out != nil {
		return out
	}
	if form == "base64-lines" {
		return []string{strings.Split(text, "\n")[3]}
	}
	run := strings.TrimRight(text, "=")
	run = run[strings.LastIndexAny(run, " =")+1:]
	return []string{run[len(run)/3 : 2*len(run)/3]}
}

// heldCamel turns DB_PASSWORD into dbPassword.
func heldCamel(name string) string {
	parts := strings.Split(strings.ToLower(name), "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
