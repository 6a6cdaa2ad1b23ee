package redact

import (
	"strings"
	"testing"
)

// TestPlaces: what is redacted stands between ⟦ and ⟧; a line without them is left alone. Beside each place stands what
// resembles it and holds no secret.
func TestPlaces(t *testing.T) {
	const key, hash = "Zk3vQ9xWb7TnRf2LpYc8", "bf016f8d63fd2cd5388da18d5552c3018700a251baaaebcd318c385273fc3aea"
	const tail = "AqCwErGt12395678IjKlMnOp90"
	for _, group := range []struct {
		why   string
		texts []string
	}{
		{"codes for a terminal", []string{"\x1b[1;31m⟦ghp_Xk2b9QzT4w\x1b[K" + tail + "⟧\x1b[0m",
			`\033[31m⟦ghp_Xk2b9QzT4w\033[0m` + tail + "⟧", "\x1b[32mPASS\x1b[0m token_test.go"}},
		{"numeric references of HTML", []string{"⟦&#103;&#104;&#112;&#95;Xk2b9QzT4w" + tail + "⟧",
			"⟦&#x67;hp_Xk2b9QzT4w" + tail + "⟧", "Tom &#38; Jerry &#x3c;token&#62; &#xzz; &#;"}},
		{"octal digits", []string{`⟦\147\150\160\137Xk2b9QzT4w` + tail + "⟧", `C:\123\456 \101\102`}},
		{"a list that is joined", []string{`["⟦ghp_Xk2b9QzT4w", "` + tail + `⟧"].join("")`,
			`strings.Join([]string{"⟦ghp_Xk2b9QzT4w", "` + tail + `⟧"}, "")`, `["ghp_Xk2b9QzT4w", "` + tail + `"]`,
			`x.join(a); "b": "ghp_Xk2b9QzT4w", "` + tail + `"`}},
		{"literals of a shell beside each other", []string{`echo "⟦ghp_Xk2b9QzT4w"'` + tail + "⟧'"}},
		{"lines of base64 that are short", []string{"⟦Z2hwX1hrMmI5UXpUNHdBcUN3\nRXJHdDEyMzk1Njc4SWpLbE1u\nT3A5MA==⟧"}},
		{"a table whose first line names its columns", []string{"name,api_key\nci,⟦" + key + "⟧\ncd,⟦" + tail + "⟧",
			"id\tpassword\n7\t⟦Tr0ub4dor⟧", "\"user\";\"secret\"\n\"bob\";\"⟦Tr0ub4dor⟧\"", "name,token\nalpha,Ident",
			"host,auth\ndb1,required", "a,token b,c\nx," + key + ",y", "say password, " + key + "\nor not"}},
		{"the secret beside its key's id", []string{
			`("⟦AKIAAHS2TNQ3ASBS63W2⟧", "⟦Io6UWASX1t3YzDThtvL6w1bFxtuFDJyR4OIKJ8ap⟧")`,
			"⟦AKIAAHS2TNQ3ASBS63W2⟧ df52fdacca182802a6f08cd599a62dd97fdc3e36",
			"AKIAFOO Io6UWASX1t3YzDThtvL6w1bFxtuFDJyR4OIKJ8ap"}},
		{"a name that says which of several", []string{"API_KEY_PROD=⟦" + key + "⟧", "db.password.old=⟦Tr0ub4dor33⟧",
			"TOKEN_2: ⟦" + key + "⟧", "password1=⟦Tr0ub4dor33⟧", "MJ_APIKEY_PRIVATE=⟦" + key + "⟧",
			"DD-APPLICATION-KEY: ⟦" + key + "⟧",
			"token_test: Ident", "sortKey2: " + key, "auth0: enabled", "key_value: 12", "password1: required"}},
		{"the name of a Secret", []string{"existingSecret: app-db", "imagePullSecrets: registry-credentials",
			"passwordSecret: shop-db", "passwordSecret: ⟦" + key + "⟧", "PublicKeyToken=b77a5c561934e089",
			"keyToken=⟦b77a5c561934e089⟧"}},
		{"a value that another program fills in", []string{`password = "%(DB_PASSWORD)s"`, "password: #{db.password}",
			"DB_PASSWORD=__DB_PASSWORD__", "token: @@TOKEN@@", "password: @Microsoft.KeyVault(SecretUri=https://a.test/secrets/b)",
			"secret: gcp-sm://projects/1/secrets/db", "password: env:DB_PASSWORD", "password: consul:app/db",
			`api_key = "ENC[AES256_GCM,data:` + key + `,type:str]"`, "password: *db_password", "put password=@pw.txt",
			"password: ⟦#" + key + "⟧", "password: ⟦*" + key + "⟧", "password: ⟦env:" + key + tail + "⟧",
			"secret: ⟦amqp://a:" + key + "@h⟧", "kind: SealedSecret\nspec:\n  encryptedData:\n    password: Ag" +
				strings.Repeat(key, 12), "kind: Other\n    password: ⟦Ag" + strings.Repeat(key, 12) + "⟧"}},
		{"a generated value with brackets", []string{`SECRET_KEY = '⟦r6J5kiMt(PJapVj7Q9Zigt&2Mha)Fg=&(kl0sY8*WVT⟧'`,
			`SECRET_KEY = 'load(settings.KEY2)[0]'`, "rootpw --plaintext ⟦7j9ONMCIzfUMasmS⟧"}},
		{"a token of an issuer that is not listed", []string{"use ⟦newcloud_" + key + tail + "⟧ here",
			"use newcloud_" + key + " here", "pk_prod_" + key + tail, "cache_" + key + tail, "x-newcloud_" + key + tail,
			"newcloud_" + hash, "newcloud_thisIsAVeryLongNameOfAFunction2InSomeProgram3"}},
		{"arguments of a call", []string{`new BasicCredentials("bob", "⟦` + key + `⟧")`, `red:auth("⟦VnMemKJkGDQJTyf5Fm⟧")`,
			`Client("⟦` + key + tail + `⟧")`, `getConnection(url, "sa", "⟦` + key + `⟧")`, `Wallet("⟦0x` + hash + `⟧", p)`,
			`wallet("0x` + hash[:40] + `")`, `auth("bearer", "optional")`, `connect("amqp://h", "guest", "guest")`,
			`Client("orders-service-v2-eu-west-1")`}},
		{"elements of XML",
			[]string{"<wsse:Password>⟦Tr0ub4dor!⟧</wsse:Password>", `<a:Password Type="x#y">⟦Tr0ub4dor!⟧</a:Password>`,
				"<key>APIKey</key><string>⟦" + key + "⟧</string>", "<key>Name</key><string>" + key + "</string>",
				"<wsse:Username>" + key + "</wsse:Username>"}},
		{"what a program reads from its shell", []string{`cryptsetup open /dev/x y <<< "⟦Tr0ub4dor⟧"`, `cat <<< "Tr0ub4dor"`,
			"rabbitmqctl add_user svc ⟦Tr0ub4dor⟧", "snyk auth ⟦" + key + "⟧", "use snyk auth to sign in",
			"ngrok config add-authtoken ⟦" + key + "⟧", "a cache-key " + hash}},
		{"files and messages of a known form", []string{"form-data; name=\"password\"\r\n\r\n⟦Tr0ub4dor⟧\r\n",
			"form-data; name=\"title\"\r\n\r\nTr0ub4dor\r\n", "WIFI:S:Office;T:WPA;P:⟦Tr0ub4dor⟧;;", "WIFI: ask at the desk",
			"chpasswd:\n  list: |\n    root:⟦Tr0ub4dor⟧\n", "see chpasswd(8) for user:password",
			"a.test\tFALSE\t/\tTRUE\t1790000000\tsessionid\t⟦" + key + "⟧", "a.test\tFALSE\t/\tTRUE\t0\ttheme\tdark",
			`bob  *  "⟦Tr0ub4dor⟧"  *`, `chmod * "a.txt" *`, `: PSK "⟦Tr0ub4dor⟧"`, "the PSK identity hint",
			`"app:⟦Tr0ub4dor⟧@tcp(db:3306)/app"`, `"app@tcp(db:3306)/app"`, "SET PASSWORD FOR 'bob' = '⟦Tr0ub4dor⟧';",
			"SET PASSWORD FOR bob", "::add-mask::⟦" + key + "⟧", "https://" + hash[:32] + "@o1.ingest.sentry.io/2"}},
		{"the words of a wallet", []string{
			`MNEMONIC="⟦annual anger answer action announce adapt afraid awake amateur address ankle arena⟧"`,
			"seed phrase: ⟦annual anger answer action announce adapt afraid awake amateur address ankle arena⟧",
			"seed phrase: twelve words that are drawn from a list and written down for the day when all else fails"}},
	} {
		for _, text := range group.texts {
			plain := strings.NewReplacer("⟦", "", "⟧", "").Replace(text)
			var want, got []string
			for _, part := range strings.Split(text, "⟦")[1:] {
				secret, _, _ := strings.Cut(part, "⟧")
				want = append(want, secret)
			}
			for _, f := range Find(plain) {
				got = append(got, plain[f.Start:f.End])
			}
			if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
				t.Errorf("%s: %q\n got %q\nwant %q", group.why, plain, got, want)
			}
		}
	}
}

// The words of a wallet are found in a document, too, and other values of its names are none.
func TestWalletsInDocuments(t *testing.T) {
	const words = "annual anger answer action announce adapt afraid awake amateur address ankle arena"
	r := testRedactor(t)
	for in, want := range map[string]bool{
		`{"seed_phrase":"` + words + `"}`: true, `{"mnemonic":"` + words + `"}`: true, `{"seed":"` + words + `"}`: true,
		`{"seed":"Zk3vQ9xWb7TnRf2LpYc8"}`: false, `{"phrase":"Zk3vQ9xWb7TnRf2LpYc8"}`: false,
		`{"words":"` + words + `"}`: false,
	} {
		_, masked, err := r.JSON([]byte(in))
		if err != nil || len(masked) > 0 != want {
			t.Errorf("%s: %v, %v", in, masked, err)
		}
	}
}

// Three corpora of places and forms that are seldom seen, drawn by an examiner who did not know the rules.
// The rules were mended with the first, then with the second; docs/REDACTION.md has what was found on first
// sight. No form of a value says
// which of its texts are secrets: only their places do.
func TestCorporaOfPlaces(t *testing.T) {
	r := testRedactor(t)
	for file, floor := range map[string]float64{"places_tuned.jsonl": 1, "places_held.jsonl": 0.985,
		"places_fresh.jsonl": 1} {
		secrets, gone, harmless := 0, 0, 0
		for _, c := range samplesOf(t, "testdata/"+file) {
			out, _ := r.Text(c.Text)
			if again, _ := r.Text(out); again != out {
				t.Errorf("%s %s: redacting twice changes the text: %q, %q", file, c.ID, out, again)
			}
			if len(c.Secrets) == 0 {
				if harmless++; out != c.Text {
					t.Errorf("%s %s touched: %q gives %q", file, c.ID, c.Text, out)
				}
				continue
			}
			secrets++
			left := false
			for _, s := range c.Secrets {
				left = left || strings.Contains(out, s)
			}
			if left {
				t.Logf("%s %s missed (%s, %s): %.160q", file, c.ID, c.Kind, c.Form, out)
			} else {
				gone++
			}
		}
		t.Logf("%s: %d of %d secrets gone, %d harmless texts", file, gone, secrets, harmless)
		if secrets < 75 || harmless < 75 || float64(gone) < floor*float64(secrets) {
			t.Errorf("%s: %d of %d gone, floor %.3f; %d harmless texts", file, gone, secrets, floor, harmless)
		}
	}
}
