package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// A secret that a name gives away in one place is redacted in every other, also
// in texts about it, in the encodings that surround it and in quotes that split
// it.
func TestKnownEverywhere(t *testing.T) {
	r := newTestRedactor(t, Config{})
	for _, v := range []string{"hunter", "xK9#qz", "Tr0ub4dor&3", "correct horse battery staple",
		"p@$$-w0rd!!-#%x&y-(long)-and-longer"} {
		rec := NewRecord()
		q, _ := json.Marshal(v)
		doc := jsontext.Value(`{"action":{"command":` + quote("rm -rf /etc/"+v+"/x") + `,"password":` + string(q) + `}}`)
		if _, _, err := rec.JSON(r, doc); err != nil {
			t.Fatal(err)
		}
		out, masked, err := rec.JSON(r, doc)
		if err != nil || strings.Contains(string(out), v) || len(masked) != 2 {
			t.Errorf("%s: %s %v %v", v, out, masked, err)
		}
		if !strings.Contains(string(out), "rm -rf /etc/[redacted:password:") || !strings.Contains(string(out), "]/x") {
			t.Errorf("%s: more or less than the secret is covered: %s", v, out)
		}
		for form, text := range formsOf(v) {
			for _, around := range []string{"%s", "it is %s.", "a%sb", "/etc/%s/x"} {
				s := fmt.Sprintf(around, text)
				if strings.HasPrefix(form, "base64") && len(text) < 16 && around == "a%sb" {
					continue
				}
				if got, _ := rec.Text(r, s); strings.Contains(got, text) {
					t.Errorf("%s, %s: %q stays %q", v, form, s, got)
				} else if (form == "quotes" || form == "backslash") && around == "a%sb" &&
					!(strings.HasPrefix(got, "a[") && strings.HasSuffix(got, "]b")) {
					t.Errorf("%s, %s: %q becomes %q", v, form, s, got)
				}
			}
		}
		if got, _ := rec.Text(r, "nothing of it"); got != "nothing of it" {
			t.Errorf("%s: %q", v, got)
		}
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// formsOf are ways to write v.
func formsOf(v string) map[string]string {
	all := ""
	for _, c := range []byte(v) {
		all += fmt.Sprintf("%%%02X", c)
	}
	m := len(v) / 2
	return map[string]string{
		"plain": v, "upper": strings.ToUpper(v), "lower": strings.ToLower(v), "query": url.QueryEscape(v),
		"path": url.PathEscape(v), "percent": all,
		"hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"JSON":          strings.Trim(quote(v), `"`),
		"base64":        base64.StdEncoding.EncodeToString([]byte(v)),
		"base64 inside": base64.StdEncoding.EncodeToString([]byte("user:" + v)),
		"base64url":     base64.URLEncoding.EncodeToString([]byte(v)), "quotes": v[:m] + `""` + v[m:],
		"quoted": `'` + v[:m] + `'"` + v[m:] + `"`, "backslash": v[:m] + `\` + v[m:],
	}
}

// Common words are not looked for: a password that is one would blank the record.
func TestCommonWordsStay(t *testing.T) {
	r := newTestRedactor(t, Config{KeyNames: []string{"vault"}})
	for _, v := range []string{"secret", "password", "Password", "main", "master", "localhost", "develop", "python3",
		"/usr/bin", "github.com", "command", "production", "127.0.0.1", "aaaaaa", "------", "short"} {
		rec := NewRecord()
		doc := jsontext.Value(`{"vault":` + quote(v) + `,"command":` + quote("run "+v+" now") + `}`)
		_, first, _ := rec.JSON(r, doc)
		out, masked, err := rec.JSON(r, doc)
		if err != nil || len(first) != 1 || len(masked) != 1 || rec.Known() != 0 {
			t.Errorf("%s: %s %v %v", v, out, masked, err)
		}
	}
}

// A text inside of a redacted one is known, too: data of a Secret, basic
// authentication, values that a mask or a removal names.
func TestKnownFromInside(t *testing.T) {
	const v = "n3ver-seen"
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, c := range map[string]struct {
		config Config
		doc    string
	}{
		"kubernetes":  {Config{}, `{"kind":"Secret","data":{"db":"` + b64(v) + `"}}`},
		"basic":       {Config{}, `{"headers":{"authorization":"Basic ` + b64("bob:"+v) + `"}}`},
		"mask":        {Config{Masks: []string{"/a"}}, `{"a":{"b":["` + v + `"]}}`},
		"removal":     {Config{Removals: []string{"/a"}}, `{"a":{"b":["` + v + `"]}}`},
		"element":     {Config{Removals: []string{"/a/0"}}, `{"a":["` + v + `"]}`},
		"number name": {Config{KeyNames: []string{"pin"}}, `{"pin":["` + v + `"]}`},
		"encoded":     {Config{}, `{"x":"` + b64("export DB_PASSWORD="+v+"\n") + `"}`},
	} {
		rec, r := NewRecord(), newTestRedactor(t, c.config)
		if _, masked, err := rec.JSON(r, jsontext.Value(c.doc)); err != nil || len(masked) == 0 {
			t.Fatalf("%s: %v %v", name, masked, err)
		}
		if got, _ := rec.Text(r, "cannot reach "+v+" now"); strings.Contains(got, v) {
			t.Errorf("%s: %s", name, got)
		}
	}
	rec, r := NewRecord(), newTestRedactor(t, Config{})
	doc := jsontext.Value(`{"password":48392176,"port":48392176,"size":483921760}`)
	_, _, _ = rec.JSON(r, doc)
	if out, masked, _ := rec.JSON(r, doc); len(masked) != 2 || !strings.HasSuffix(string(out), `"size":483921760}`) {
		t.Errorf("%s %v", out, masked)
	}
}

// A random value that is redacted in one place leaves no trace in another.
func TestKnownProperty(t *testing.T) {
	r := newTestRedactor(t, Config{KeyNames: []string{"vault"}})
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringMatching(`[!-~]{6,64}`).Filter(func(s string) bool {
			return !exempt(s) && placeholderAt(s) == 0 && !strings.Contains(s, "[redacted:") && strings.Count(s, `\`) == 0
		}).Draw(t, "v")
		before, after := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "before"),
			rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "after")
		if strings.Contains(before+after, "[redacted:") {
			return
		}
		doc := jsontext.Value(`{"text":` + quote(before+v+after) + `,"deep":[{"x":` + quote(v) + `}],"vault":` + quote(v) +
			`,` + quote(before+v) + `:1}`)
		rec := NewRecord()
		if _, _, err := rec.JSON(r, doc); err != nil {
			t.Fatal(err)
		}
		out, _, err := rec.JSON(r, doc)
		if err != nil || strings.Contains(string(out), quote(v)[1:len(quote(v))-1]) {
			t.Fatalf("%q stays: %s %v", v, out, err)
		}
		if got, _ := rec.Text(r, before+v+after); strings.Contains(got, v) {
			t.Fatalf("%q stays: %s", v, got)
		}
	})
}

// A second pass over an action full of secrets costs what its length costs.
func BenchmarkKnown(b *testing.B) {
	r := testRedactor(b)
	for _, secrets := range []int{1, 100, 10000} {
		var s strings.Builder
		for i := range secrets {
			fmt.Fprintf(&s, "password=xq%07dz\n", i*7919)
		}
		for s.Len() < 256<<10 {
			s.WriteString("The quick brown fox jumps over xq0007919z and then walks home through the wide green fields.\n")
		}
		text := s.String()
		b.Run(fmt.Sprint(secrets), func(b *testing.B) {
			rec := NewRecord()
			rec.Text(r, text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				rec.Text(r, text)
			}
		})
	}
}

// Secrets known from one text change no unrelated text.
func TestKnownTouchesNothing(t *testing.T) {
	r := testRedactor(t)
	all, touched := 0, 0
	for seed := range uint64(heldSeeds) {
		h := newHeld(seed)
		secrets, harmless := heldSecrets(h, heldSize), heldHarmless(h, heldSize)
		for i, c := range harmless {
			alone, _ := r.Text(c.text)
			rec := NewRecord()
			rec.Text(r, secrets[i].text)
			rec.Text(r, secrets[(i+7)%len(secrets)].text)
			if out, _ := rec.Text(r, c.text); out != alone {
				touched++
				t.Logf("touched %s: %.200q\n   gives %.200q, for %.200q", c.kind, c.text, out, secrets[i].text)
			}
			all++
		}
	}
	t.Logf("touched %d of %d", touched, all)
	if touched*1000 > all {
		t.Error("above 0.1 % of texts touched")
	}
}
