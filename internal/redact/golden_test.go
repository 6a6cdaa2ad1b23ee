package redact

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// goldenPieces are what generated texts are put together of: every mark that some detector looks for.
var goldenPieces = strings.Split(
	"|¦t1.¦sk-¦api key ¦\" \"¦'a'+'b'¦a=\n¦\\u0041¦00 ¦password ¦://¦eyJ¦PRIVATE KEY¦x_key_¦"+
		"name value=¦kind: Secret\ndata:\n¦\"kind\":\"Secret\",\"data\":{¦[redacted:¦dt0¦echo a | sudo -S ¦password=¦token=a¦"+
		"pw=()¦secret=;¦password: ¦-----BEGIN RSA PRIVATE KEY-----¦-----END¦machine x login y password ¦://a:b@¦://u:p¦x=`¦"+
		"67:68:70:¦1:A¦a:1:b:c:d\n¦| api_key | b ¦\"token\",\"¦api_key b ¦value=¦secret set x --body y ¦htpasswd -b a ¦"+
		"curl -u¦-us1¦1Q~¦a.bcdefg.¦QUJD\n¦password for a: ¦EAAA/¦a_b-¦cookie=a;¦cookie: a=b; ¦ghp_a¦Authorization: x ¦"+
		"api key: ¦password=\\\"a¦a:1:b:\"¦htpasswd -n a ¦| \n¦-----a¦tokens: [\"a\",¦token:[\"¦password: |\n ¦password:|¦"+
		"auth: x a=\"b\", ¦x-ghp_¦ -p¦ -u ¦ -a ¦ -w ¦mysql¦mariadb¦sshpass¦redis-cli¦ldap¦mongo¦ssh-keygen¦ login¦unzip¦7z¦"+
		"sqlcmd¦bcp¦ipmitool¦mosquitto_¦xfreerdp¦ /p:¦smbclient¦ -U ¦%¦lftp¦net use¦/user:¦rabbitmqctl¦add_user ¦"+
		"change_password ¦wpa_passphrase ¦nmcli¦ password ¦sp_addlogin¦, ¦bitcoin-cli¦importprivkey ¦snyk auth ¦vault login ¦"+
		"::add-mask::¦CONNECT ¦sqlplus ¦@¦/¦ConvertTo-SecureString ¦-AsPlainText¦curl¦http¦--user ¦printenv ¦echo $¦echo \"$¦"+
		"alias set ¦createUser ¦MD5 ¦SHA¦form-data; name=\"¦WIFI:¦P:¦S:x;T:WPA;¦@tcp(¦@unix(¦PASSWORD FOR ¦= '¦chpasswd¦"+
		"TRUE\t¦FALSE\t¦\t¦\" *¦ * ¦<<<¦BEGIN ¦SECRET KEY¦Static key V1¦Private-Lines:¦Private-MAC¦AKIA¦ASIA¦\"data\"¦"+
		"stringData:¦eyJhbGciOi¦.¦0x¦base64,¦data:image/¦\\n¦\\x41¦%41¦&#103;¦=\n¦\x1b[31m¦\\033[0m¦join(¦concat(¦\" + \"¦"+
		"'\n'¦é¦\u200b¦ｇｈｐ¦by ¦PSK ¦PSK \"¦IDENTIFIED BY ¦_authToken ¦requirepass ¦<Password>¦</¦<key>¦string>¦name: ¦"+
		"key=\"¦default = ¦variable \"¦login(\"¦Client(\"¦Wallet(\"0x¦auth(\"¦?sig=¦&key=¦?code=¦is ¦app password ¦"+
		"recovery code: ¦unseal key 1: ¦token_test: ¦_PROD=¦_2=¦1=¦phrase: ¦mnemonic: ¦abandon ¦a;b;api_key\n¦name,token\n¦"+
		"value¦Value: ¦JQQJ99¦.atlasv1.¦s.¦SK¦SG.¦hunter2hunter2¦mine-123456¦zq12345678¦notes: ¦notes=¦encryptedData: ¦Ag",
	"¦",
)

// golden is a generated text: secrets, what holds them, marks, and characters that take part in neither, some of which
// are damaged.
func (g generator) golden() string {
	var b strings.Builder
	for range 1 + g.IntN(8) {
		switch g.IntN(12) {
		case 0, 1, 2:
			b.WriteString(g.pick(goldenPieces...))
		case 3:
			_, s := g.bare()
			b.WriteString(s)
		case 4:
			_, _, s, _ := g.held()
			b.WriteString(s)
		case 5:
			_, s := g.bare()
			_, text, _ := g.layered(s)
			b.WriteString(text)
		case 6:
			_, s := g.harmless()
			b.WriteString(s)
		case 7:
			b.WriteString(g.of(" \n\t\"'`=:,;|<>()[]{}\\/@#$%&*-_.~+!?^", 1+g.IntN(4)))
		case 8:
			b.WriteString(g.of(url64, 1+g.IntN(50)))
		case 9:
			b.WriteString(g.of(hexes+" :-,", 1+g.IntN(60)))
		case 10:
			b.WriteString(g.pick(goldenPieces...) + g.password() + g.pick(" ", "\n", "\"", ""))
		case 11:
			b.WriteString(g.pick(goldenPieces...) + g.pick(goldenPieces...) + g.of(alnum, 4+g.IntN(30)))
		}
	}
	s := []byte(b.String())
	for len(s) > 0 && g.IntN(2) == 0 {
		switch i := g.IntN(len(s)); g.IntN(3) {
		case 0:
			s = append(s[:i:i], s[min(len(s), i+1+g.IntN(4)):]...)
		case 1:
			s[i] = byte(g.IntN(128))
		case 2:
			s[i] = g.of(" \n\t\"'`=:,;|<>()[]{}\\/@#$%&*-_.~+", 1)[0]
		}
	}
	return string(s)
}

// TestFindingsStay: what is found in generated texts, with its place, its kind and what it stands for, is bit for bit
// what it was before the detectors were told where to look. The digests are of what an earlier version found. A rule
// that is changed on purpose changes them; a way to look faster must not.
func TestFindingsStay(t *testing.T) {
	detectors := gateDetectors(t)
	for seed, want := range []string{
		"3006b2680aaea25c", "26197de52177f0d1", "b569c710d91ce83b", "be25b550e473dbed", "be1c5b356376a84b",
		"80786bed8f103a82",
		"c2597523640fd7bb", "043e1bcab5f91502",
	} {
		g, h := generator{rand.New(rand.NewPCG(uint64(seed), 3))}, sha256.New()
		d, found := detectors[seed%len(detectors)], 0
		for range 1500 {
			text := g.golden()
			for _, f := range d.find(text) {
				found++
				fmt.Fprintf(h, "%s %d %d %q\n", f.Kind, f.Start, f.End, f.secret)
			}
			h.Write([]byte{'\n'})
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != want || found < 500 {
			t.Errorf("seed %d: %s of %d findings, want %s", seed, got, found, want)
		}
	}
}
