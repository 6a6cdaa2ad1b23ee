package redact

import "strings"

// flat is a name without case and separators.
func flat(name string) string {
	plain := 0
	for plain < len(name) {
		if c := name[plain]; c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.' || c == ' ' {
			break
		}
		plain++
	}
	if plain == len(name) {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	b.WriteString(name[:plain])
	for i := plain; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c | 32)
		case c == '-' || c == '_' || c == '.' || c == ' ':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// wordBefore returns where the last word of a name begins and ends that ends at name[end] or before; words are split at
// separators and at changes of case. It is empty when there is none.
func wordBefore(name string, end int) (from, to int) {
	for end > 0 && joins(name[end-1]) {
		end--
	}
	from = end
	for from > 0 && !joins(name[from-1]) && (from == end || !turns(name, from)) {
		from--
	}
	return from, end
}

// lastWords returns the last three words of a name in lower case, the last one first; there are n.
func lastWords(name string) (words [3]string, n int) {
	for end := len(name); n < len(words); n++ {
		from, to := wordBefore(name, end)
		if from == to {
			break
		}
		words[n] = strings.ToLower(name[from:to])
		end = from
	}
	return words, n
}

// joins reports a character that stands between the words of a name.
func joins(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c == ' ' || c == '/' || c == ':'
}

// turns reports that a word of a name begins at name[i] by its case.
func turns(name string, i int) bool {
	before := name[i-1]
	return upperByte(name[i]) && (lowerByte(before) || digit(before) ||
		i+1 < len(name) && lowerByte(name[i+1]) && upperByte(before))
}

// strength says how much a name alone proves about its value.
type strength int

const (
	none    strength = iota
	weakest          // the value must be long and look generated: code
	weak             // the value must look like a secret: token, key, auth
	strong           // nearly any value is one: password
)

// nameKind tells what a value of the name is.
func nameKind(name string) (string, strength) {
	kind, str := plainName(name)
	if str == none {
		if head, ok := unstaged(name); ok {
			if kind, str = plainName(head); str == weakest {
				return "", none
			}
			str = min(str, weak)
		}
	}
	return kind, str
}

// plainName is nameKind for a name whose last word says what its value is.
func plainName(name string) (string, strength) {
	if !tellingEnd(name) {
		return "", none
	}
	w, n := lastWords(name)
	if n == 0 {
		return "", none
	}
	last, prev := w[0], w[1]
	switch last {
	case "password", "passwords", "passwd", "passphrase", "pwd", "passwort", "contrasena", "pass", "pw", "psk",
		"userpass", "rootpass", "adminpass", "dbpass", "sshpass", "smtppass", "bindpass", "storepass", "keypass",
		"requirepass", "masterauth", "rootpw", "bindpw":
		return "password", strong
	case "secret", "secrets":
		if prev == "existing" || prev == "pull" {
			return "", none // the name of a Secret
		}
		switch prev { // passwordSecret: shop-db
		case "password", "token", "tls", "auth", "credentials", "registry", "user":
			return "secret", weak // most often the name of a Secret
		}
		return "secret", strong
	case "token", "tokens", "jwt", "pat", "bearer":
		if countedToken(prev) || prev == "key" && w[2] == "public" {
			return "", none
		}
		return "token", weak
	case "key":
		switch {
		case secretKey(prev):
			return prev + "-key", weak
		case prev != "" && !openKey(prev):
			return "key", weakest
		}
		return "", none
	case "authorization", "auth", "credential", "credentials", "cred", "creds":
		return "credential", weak
	case "cookie", "cookies":
		return "cookie", weak
	case "sas":
		return "signature", weak
	case "sig", "signature": // of a URL; others prove an author and open nothing
		if prev == "amz" || prev == "goog" || prev == "access" || prev == "sas" {
			return "signature", weak
		}
		return "", none
	case "mnemonic":
		return last, weak
	case "phrase", "seed":
		return phraseKind, weak
	case "otp":
		if prev == "" {
			return "", none
		}
		return last, weak
	case "session", "sid", "sessionid":
		return "session", weak
	}
	if last == "base" && strings.Contains(strings.ToLower(name), "secret_key_base") {
		return "secret", strong
	}
	return runTogether(flat(name), last)
}

// tellingEnd reports whether a name may be one of nameKind's by its last letters:
// nearly every name of a text is not.
func tellingEnd(name string) bool {
	n := len(name)
	switch {
	case n < 2:
		return false
	case !word[name[n-1]], name[n-2]|32 == 'p' && name[n-1]|32 == 'w':
		return true
	case n < 3:
		return false
	}
	return tellTails.has(name[n-3:])
}

// secretKey reports a word that makes the word key behind it a secret one.
func secretKey(w string) bool {
	switch w {
	case "api", "secret", "private", "access", "auth", "master", "signing", "encryption", "account", "shared", "storage",
		"service", "deploy", "license", "admin", "app", "application", "sas", "integration", "client",
		"subscription", "certificate", "function", "functions", "webhook", "encrypt", "decrypt", "decryption", "crypto",
		"aes", "hmac", "cipher", "jwt", "session", "cookie",
		"vault", "unseal", "recovery", "preshared", "psk", "write", "ingest", "ingestion", "bot", "consumer", "data", "kms",
		"wallet", "validation", "fernet":
		return true
	}
	return false
}

// openKey reports a word that makes the word key behind it no secret: it names a
// place or a thing.
func openKey(w string) bool {
	switch w {
	case "public", "pub", "publishable", "primary", "foreign", "cache", "sort", "partition", "row", "object", "s3",
		"route", "routing", "idempotency", "index", "hash", "range", "map",
		"registry", "host", "group", "issue", "project", "translation", "i18n", "message", "event", "dedup", "dedupe",
		"lookup", "unique", "composite", "natural", "hot", "site", "restore",
		"query", "json", "yaml", "config", "feature", "flag", "file", "build", "lock", "content", "image", "layer", "chunk",
		"asset", "version", "node", "peer", "user", "id", "known":
		return true
	}
	return false
}

// runTogether is nameKind for names without separators: apikey, identitytoken.
func runTogether(n, last string) (string, strength) {
	switch {
	case strings.HasSuffix(n, "password"), strings.HasSuffix(n, "passwd") && n != "nopasswd":
		return "password", strong
	case strings.HasSuffix(n, "clientsecret"):
		return "client-secret", weak
	}
	if head, ok := strings.CutSuffix(last, "token"); ok && !countedToken(head) {
		return "token", weak
	}
	if head, ok := strings.CutSuffix(n, "key"); ok {
		for _, word := range [...]string{"api", "secret", "access", "private", "auth", "signing", "encryption",
			"subscription"} {
			if strings.HasSuffix(head, word) {
				return word + "-key", weak
			}
		}
	}
	return "", none
}

// countedToken reports a word before "token" that makes it a part of a text, a
// place in a list or a number.
func countedToken(w string) bool {
	switch w {
	case "stop", "pad", "eos", "bos", "unk", "mask", "sep", "next", "page", "continuation", "max", "min", "cancel",
		"cancellation", "start", "end", "special", "sync", "last", "first", "image":
		return true
	}
	return false
}

// yamlTag reports a tag that says where the value comes from: !vault, !Ref x.
func yamlTag(v string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(v, "!"), " ")
	return v[0] == '!' && name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz/") == "" &&
		len(name) <= 12
}

// credible reports whether a value of a secret name is one: not a placeholder,
// not a reference to where the secret is, not a word of a type or a program.
func credible(v string, s strength, quoted bool) bool {
	if s == none || len(v) < 4 {
		return false
	}
	if v = unmarked(v); len(v) < 4 {
		return false
	}
	low := strings.ToLower(v)
	switch {
	case strings.HasPrefix(v, "$"), yamlTag(v), strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">"),
		strings.Contains(v, "{{"), strings.Contains(v, "${"),
		strings.HasPrefix(v, "%") && strings.HasSuffix(v, "%"), strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]"),
		strings.HasPrefix(v, "/run/secrets/"), strings.HasPrefix(v, "/var/run/secrets"), strings.HasPrefix(v, "file:"),
		strings.HasPrefix(v, "vault:"),
		// a path
		strings.HasPrefix(v, "~/"), strings.HasPrefix(v, "./"), v[0] == '/' && strings.Count(v, "/") > 1 && !randomish(v),
		strings.HasPrefix(v, "arn:"), strings.HasPrefix(v, "AWS4-HMAC"), strings.HasPrefix(v, "projects/"),
		strings.HasPrefix(v, "op://"), strings.HasPrefix(v, "ref+"), strings.HasPrefix(v, "ssm:"), filledIn(v):
		return false
	}
	for _, word := range []string{"example", "placeholder", "changeme", "change_me", "change-me", "redacted", "your-",
		"your_", "yourpass", "yourtoken", "yourkey", "yoursecret",
		"xxxx", "&lt;", "abcdefg", "****", "....", "todo", "dummy", "not-a-real", "notreal", "replace", "<", "insert"} {
		if strings.Contains(low, word) {
			return false
		}
	}
	switch low {
	case "null", "none", "nil", "true", "false", "undefined", "string", "password", "passwd", "secret", "token", "test",
		"pass", "admin", "user", "root", "default",
		"empty", "bearer", "basic", "required", "optional", "hidden", "masked", "unknown", "value", "text", "bool", "char",
		"str", "number", "object", "mypassword",
		"foobar", "yes", "auto", "inherit", "always", "never", "disabled", "enabled", "read", "write", "postgres", "mysql",
		"username", "fixme":
		return false
	}
	if !quoted && strings.ContainsAny(v, "()[]{}") && !strings.ContainsAny(v, "!@#^&") && !scrambled(v) {
		return false // a call or an index
	}
	if strings.HasPrefix(low, "process.env") || strings.HasPrefix(low, "os.") || strings.HasPrefix(low, "env.") ||
		strings.HasPrefix(low, "secrets.") || strings.HasPrefix(low, "config.") || strings.HasPrefix(low, "var.") ||
		strings.HasPrefix(low, "self.") || strings.HasPrefix(low, "this.") || strings.HasPrefix(low, "req.") ||
		strings.HasPrefix(low, "data.") {
		return false
	}
	digits, letters, upper, lower, other := 0, 0, 0, 0, 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			upper, letters = upper+1, letters+1
		case c >= 'a' && c <= 'z':
			lower, letters = lower+1, letters+1
		default:
			other++
		}
	}
	if strings.ContainsAny(v, " \t\n") && s != strong {
		return false
	}
	if s == strong {
		if sentence(low) {
			return false
		}
		return len(v) >= 6 || digits > 0 && letters+other > 0
	}
	if dull(v) {
		return false
	}
	mixed := upper > 0 && lower > 0
	if s == weakest {
		return len(v) >= 18 && randomish(v) && !uuid36(v) && !strings.ContainsAny(v, ":,")
	}
	if strings.Contains(v, "://") || strings.ContainsAny(v, "[]{}()<>|") && !scrambled(v) || len(v) < 40 && letters > 0 &&
		(digits == 0 || onlyNames(v)) && identifier(v) && !randomish(v) {
		return false // a link, or the name of something: encryptionKey1024
	}
	return digits > 0 && letters > 0 && len(v) >= 10 || mixed && len(v) >= 16 && other == 0 || len(v) >= 40 && mixed ||
		mixed && len(v) >= 12 && !identifier(v) || digits >= 16 && letters == 0
}

// openAs reports a value that its name would make secret and its form makes an
// id or a digest.
func openAs(kind, v string) bool {
	return kind == "session" && uuid36(v) || kind == phraseKind && !wallet(kind, v) || kind == "key" &&
		!(len(v) >= 32 && mixed(v))
}

// onlyNames reports that nothing stands in v but names and what joins them.
func onlyNames(v string) bool {
	for i := 0; i < len(v); i++ {
		if !nameByte[v[i]] {
			return false
		}
	}
	return true
}

// sentence reports words of a language and not a passphrase; low is in lower case.
func sentence(low string) bool {
	n := strings.Count(low, " ")
	if n == 0 {
		return false
	}
	for _, w := range strings.Fields(low) {
		switch strings.Trim(w, ".,:;!?'\"") {
		case "the", "your", "to", "is", "are", "for", "this", "that", "used", "must", "enter", "please", "password", "not",
			"of", "should", "has", "in", "with", "or", "new", "here":
			return true
		}
	}
	return n > 6
}

// identifier reports letters that read like a name of a program: words in camel
// case or in one case, most of them with a vowel. Letters that a generator drew
// change their case too often for that.
func identifier(v string) bool {
	good, bad, pieces := 0, 0, 0
	for i := 0; i < len(v); {
		from := i
		for i < len(v) && upperByte(v[i]) {
			i++
		}
		if i-from > 1 && i < len(v) && lowerByte(v[i]) {
			i-- // the last capital of HTTPServer begins the next word
		}
		if i == from || i-from == 1 {
			for i < len(v) && lowerByte(v[i]) {
				i++
			}
		}
		if i == from { // _ . digits
			i++
			continue
		}
		pieces++
		if n := i - from; n >= 3 && strings.ContainsAny(v[from:i], "aeiouyAEIOU") || n == 2 && pieces == 1 {
			good += n
		} else {
			bad += n
		}
	}
	return bad*4 <= good
}

func upperByte(c byte) bool { return c >= 'A' && c <= 'Z' }
func lowerByte(c byte) bool { return c >= 'a' && c <= 'z' }
