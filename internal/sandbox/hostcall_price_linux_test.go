package sandbox

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// pathQuery and patternQuery are the documents that path_resolve and pattern_match read.
type pathQuery struct {
	Paths []string `json:"paths"`
}

type patternQuery struct {
	Kind       string   `json:"kind"`
	Patterns   []string `json:"patterns"`
	Texts      []string `json:"texts"`
	IgnoreCase bool     `json:"ignore_case,omitzero"`
}

// threadCPU is the processor time of the calling thread; rusage moves in steps of milliseconds.
func threadCPU(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// hostile are inputs that make an analysis work, for each byte of them or in all.
func hostile(t testing.TB) map[string][]string {
	t.Helper()
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	object := func(doc any) string {
		b, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const shell, scan = hostcalls.MaxShell, hostcalls.MaxScan
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	secret := "ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B "
	b64 := base64.StdEncoding.EncodeToString
	return map[string][]string{
		"shell_parse": {
			"ls",
			"echo $((" + fill("1+", shell-20) + "1))",
			"((" + fill("a+=", shell-20) + "1))",
			"echo $((" + strings.Repeat("(", 50) + fill("1+", shell-200) + "1" + strings.Repeat(")", 50) + "))",
			fill("echo $((1+1)) ", shell-20),
			fill("$((1))", shell-20),
			"echo $((" + fill("1?", 16000) + "1))",
			"echo $((" + fill("1?", shell-20) + "1))",
			"echo $((" + fill("~", shell-20) + "1))",
			"echo ${a:" + fill("'?", 16000) + "}",
			"for ((" + fill("a?", 16000) + ";;)); do a; done",
			"x[" + fill("-a", 16000) + "1]=1",
			"x[" + fill("#'", 16000) + "1]=1",
			"x[" + fill("~", shell-20) + "1]=1",
			"x[" + fill("?$a", shell-20) + "1]=1",
			"[[ " + fill("$a", shell-20) + "a ]]",
			"let " + fill("1?", 16000),
			"echo $[" + fill("a=", shell-20) + "1]",
			fill("()", 16000),
			fill("-&&", 16000),
			"x=(" + fill("$()", 16000) + ")",
			"sh -c 'echo $((" + fill("1?", 16000) + "1))'",
			fill("eval ", 7*5) + "'((" + fill("1?", 16000) + "1))'",
			"cat <<E\n" + fill("$(echo a) ", shell-40) + "\nE\n",
			fill("cat <<E\na\nE\n", shell-20),
			"cat <<E\n" + fill("x\n", shell-40) + "E\n",
			fill("cat <<'E' ", 20000) + "\n" + fill("E\n", 20000),
			fill("{a,b} ", shell-20),
			"echo " + fill("{a,b}", 100) + " " + fill("{a,b,c,d,e,f,g,h} ", shell-200),
			"echo " + strings.Repeat("x", shell-20),
			"echo \"" + strings.Repeat("x", shell-20) + "\"",
			fill("a=1 ", shell-20),
			fill("a=b\n", shell-20),
			many(6000, "a%d=1\n"),
			many(3000, "v%d=$v1 "),
			fill("a;", shell-20),
			fill("a|", 4000) + "a",
			fill("!", 2000) + " a",
			fill("\\\n", shell-20),
			fill("' ", shell-20),
			fill("'a'", shell-20),
			"echo " + fill("$a", shell-20),
			"echo " + fill("${a}", shell-20),
			"a=x; echo " + fill("$a", shell-20),
			"a=" + strings.Repeat("x", 4000) + "; echo " + fill("\"$a\" ", 30000),
			"a=" + strings.Repeat("x", 4000) + "; " + fill("echo \"$a$a\";", 30000),
			"a=" + strings.Repeat("x", 4000) + "; " + fill("echo ${a//x/y};", 30000),
			"a=" + strings.Repeat("x", 90) + "; " + fill("echo ${a//x/yyyyyyyyyy};", 30000),
			fill("eval ", 8*5) + "'" + fill("a;", shell-400) + "'",
			fill("sh -c 'echo $((1+1))' ;", shell-20),
			fill("f(){ a;};", 400) + fill("f;", 30000),
			fill("if a;then b;fi;", 15000),
			fill("$(", 100) + fill(")", 100),
			fill("`a` ", 2000),
			fill("[[ a == b ]];", shell-20),
			fill("case a in b) c;; esac;", 20000),
			fill("case a in ", 2000),
			"x=(" + fill("a ", shell-20) + ")",
			"x=(" + fill("$b ", shell-20) + ")",
			fill("x[1]=2 ", shell-20),
			fill(">a ", shell-20),
			fill("a>b<c;", shell-20),
			"# " + strings.Repeat("x", shell-20),
			fill("#\n", shell-20),
			strings.Repeat("\n", shell-20),
			strings.Repeat("é", shell/2-20),
			fill("~/a ", shell-20),
			fill("$'\\x41'", shell-20),
			fill("for i in 1 2 3 4 5 6 7 8; do echo $i; done;", shell-20),
			"for i in " + fill("a ", 30000) + "; do echo $i; done",
			fill("for i in {1..9}; do ", 200) + "a" + fill("; done", 60),
			fill("echo a | base64 -d;", shell-20),
			"echo " + b64([]byte(strings.Repeat("a;", 20000))) + " | base64 -d | sh",
			fill("xargs ", 32*6) + "a",
			fill("env A=1 ", shell-20) + "b",
			fill("printf %s a;", shell-20),
			"printf '%s' " + fill("a ", shell-20),
			"[" + fill("[$(a", shell-20),
			fill("(( a[1]=1 ));", shell-20),
			fill("let a=1;", shell-20),
			fill("declare a=1;", shell-20),
			fill("a && b || c;", shell-20),
			fill("a &", shell-20),
			fill("${a:-", 400) + fill("}", 400),
			fill("${a[", 400),
			"x='" + fill("[", 400) + fill("a$(", 60) + "'; " + fill("[[ ", 30000),
			strings.Repeat("(", 60) + strings.Repeat("$((1", 0) + "a" + strings.Repeat(")", 60),
			"echo " + fill("*?[a] ", shell-20),
			"echo " + fill("@(a|b) ", 20000),
		},
		"find_secrets": {
			"x",
			fill("x ", scan), strings.Repeat("x", scan), fill(secret, scan), fill("ghp_", scan), fill("sk-", scan),
			fill("a=b ", scan),
			fill("password=hunter2xyz ", scan), fill("password=", scan), fill("token: ", scan),
			fill("\"password\": \"hunter21\", ", scan),
			b64([]byte(fill(secret, scan*3/4-8))), b64([]byte(b64([]byte(fill(secret, scan*9/16-16))))),
			b64([]byte(b64([]byte(b64([]byte(fill("a=b; ", scan*27/64-30))))))),
			hex.EncodeToString([]byte(fill(secret, scan/2))),
			hex.EncodeToString([]byte(hex.EncodeToString([]byte(hex.EncodeToString([]byte(fill("a=b ", scan/8))))))),
			fill(b64([]byte("password=hunter2xyz abc"))+" ", scan),
			fill(b64([]byte(b64([]byte(b64([]byte("password=x yz"))))))+" ", scan),
			fill(b64([]byte(fill("abc=b64;", 57)))+"\n", scan), fill("eyJhbGciOiJIUzI1NiJ9.", scan),
			fill("-----BEGIN PRIVATE KEY-----\n", scan), fill("https://a:b@c/ ", scan), fill("https://a:", scan),
			fill("%41", scan), fill("\\u0041", scan), fill("\\x41", scan), fill("\\\\n", scan), fill("\" + \"a", scan),
			fill("é", scan), fill("\u200b", scan), fill("--token ", scan), fill("-p", scan), fill("AKIA", scan),
			fill("data:a;base64,", scan), fill("00000000: 4142 4344 4546 4748 494a 4b4c 4d4e 4f50  ABCDEFGHIJKLMNOP\n", scan),
			fill("kind: Secret\ndata:\n  a: YWJj\n", scan), fill("{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}", scan),
			fill("curl -u a:b ", scan), fill("xoxb-", scan), fill("a_b-c_", scan), fill("sk_live_", scan), fill("=\n", scan),
			fill("0x", scan), fill("'", scan), fill("\"", scan), fill("\\", scan), fill("a'b\"c`", scan),
			fill("machine a login b password c\n", scan), fill("Bearer ", scan), fill("Authorization: Basic YTpi\n", scan),
			fill("key: |\n  abc\n", scan), fill("the password is ", scan),
			fill("export A=", scan), fill("echo a | b -p ", scan), fill("A\n", scan), fill("PuTTY-User-Key-File-2: a\n", scan),
			fill("$(cat ", scan), fill("[redacted:a]", scan),
			fill("api_key=", scan), fill("%2D%2Dtoken --token=", scan), fill("--token \\\n--token=", scan),
			fill("password=\"a\\\"--token ", scan), fill("--t\u200boken --token=", scan),
			fill("<<<", scan), fill("a>", scan), fill("<a>b", scan), fill("connect(\"a\",", scan),
			fill("Client('", scan), fill("join(\"a\",\"b\",\"c\",", scan), fill("token,a\n", scan), fill("a,token\n", scan),
			fill("<key>a</key><string>b", scan), fill("\x1b[", scan), fill("\\033[", scan), fill("&#", scan),
			fill("&#65;", scan), fill("\\101", scan), fill("WIFI:", scan), fill("@tcp(", scan),
			fill("form-data; name=\"token\"\n\n", scan), fill("mnemonic=abc abc ", scan), fill("seed: ", scan),
			fill("PASSWORD FOR ", scan), fill("AKIAAHS2TNQ3ASBS63W2", scan), fill("AKIAAHS2TNQ3ASBS63W2,", scan),
			fill("api_key_prod=", scan), fill("a\tTRUE\t", scan), fill("a * \"b\" *\n", scan), fill("chpasswd\n", scan),
		},
		"pattern_match": {
			object(patternQuery{Kind: "re2", Patterns: []string{"(a|b)*c"}, Texts: []string{fill("ab", 30000)}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf("(x+x+)+y", 40),
				Texts: slicesOf(fill("x", 200), 60)}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf("((a{1,9}){1,9}){1,9}", 3),
				Texts: []string{fill("a", 9000)}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(".*.*.*.*=.*", 30),
				Texts: []string{fill("x=", 20000)}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(fill("a|", 900), 60), Texts: []string{"b"}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(`\pL`, 64), Texts: []string{"b"}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(`[a-z]{1,300}`, 60), Texts: []string{"b"}}),
			object(patternQuery{Kind: "re2", IgnoreCase: true, Patterns: slicesOf(`[\x{0}-\x{1E942}]`, 4),
				Texts: []string{"b"}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(fill("(a", 400)+fill(")", 400), 60),
				Texts: []string{"b"}}),
			object(patternQuery{Kind: "re2", Patterns: slicesOf(fill("a?", 400), 40),
				Texts: []string{fill("a", 400)}}),
			object(patternQuery{Kind: "re2", Patterns: []string{"a"}, Texts: slicesOf("b", 64)}),
			object(patternQuery{Kind: "glob", Patterns: slicesOf("{a,{b,c}}*", 60), Texts: slicesOf("abcabc", 60)}),
			object(patternQuery{Kind: "glob", Patterns: slicesOf(fill("{{x},a,aa}", 20), 40),
				Texts: slicesOf(fill("a", 400), 60)}),
			object(patternQuery{Kind: "glob", Patterns: slicesOf("*a*a*a*a*a*b", 60),
				Texts: slicesOf(fill("a", 400), 60)}),
			object(patternQuery{Kind: "glob", Patterns: slicesOf("**/a/**/b", 60),
				Texts: slicesOf(fill("a/", 400), 60)}),
			object(patternQuery{Kind: "glob", Patterns: slicesOf(fill("[a-z]", 900), 60),
				Texts: slicesOf(fill("a", 180), 20)}),
		},
		"path_resolve": {
			object(pathQuery{Paths: []string{"a"}}),
			object(pathQuery{Paths: slicesOf(fill("a/", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("../", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("%2525", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("%61", 900), 60)}),
			object(pathQuery{Paths: slicesOf(fill("\ufdfa", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("a\u0301\u0323", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("\u200b", 900), 64)}),
			object(pathQuery{Paths: slicesOf("/proc/self/root"+fill("/proc/self/root", 850), 64)}),
			object(pathQuery{Paths: slicesOf("C:\\a"+fill(".\\", 850), 40)}),
			object(pathQuery{Paths: slicesOf(fill(". /", 900), 64)}),
			object(pathQuery{Paths: slicesOf(fill("a\x00", 300), 30)}),
			"[" + fill("[", 60000),
			`{"paths":["` + fill(`\u0061`, 60000) + `"]}`,
			`{"x":` + fill("[", 9000) + fill("]", 9000) + "}",
		},
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// dearestCall is how many times what a unit of fuel takes in plain code of a guest it may
// take in a hostcall, on the processors that the prices were measured on (make test-prices). On any
// processor it may take dearestCallAnywhere: one took 13.2 times as long.
const (
	dearestCall         = 8
	dearestCallAnywhere = 2 * dearestCall
)

// What analyses take is in proportion to what they charge, whatever they are given. With
// BELAY_PRICES, all figures are printed, and the bound is the closer one.
func TestHostcallsArePricedByTheirWork(t *testing.T) {
	if testing.Short() {
		t.Skip("measures each analysis: 10 s")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, show := os.LookupEnv("BELAY_PRICES")
	limit := float64(dearestCallAnywhere)
	if show {
		limit = dearestCall
	}
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	plain := func() float64 {
		from := threadCPU(t)
		rep, _ := m.Run(t.Context(),
			RunRequest{Phase: phases.PrePlan, Fuel: 8 << 20, Timeout: -1, Session: session(t, phases.PrePlan, lsAction)})
		return float64(threadCPU(t)-from) / float64(rep.Fuel)
	}
	worst, what := 0.0, ""
	for name, list := range hostile(t) {
		c, _ := hostcalls.Lookup(name)
		s := session(t, phases.PreTool, lsAction)
		for _, text := range list {
			if len(text) > c.MaxIn[0] {
				t.Errorf("%s: %.30q: %d bytes", name, text, len(text))
				continue
			}
			least, times := math.Inf(1), 1
			if len(text) < 2000 {
				times = 50 // the clock takes its time, too
			}
			// What else the machine does can only lengthen a measurement.
			for round := 0; round < 2 || round < 10 && least > limit; round++ {
				fuel, from := int64(0), threadCPU(t)
				for range times {
					a := &hostcalls.Args{}
					a.In[0] = []byte(text)
					r, err := s.Do(t.Context(), &c, a)
					if err != nil {
						t.Fatal(err)
					}
					fuel += c.Cost.Base + c.Cost.PerIn*int64(len(text)) + r.Fuel
				}
				took := threadCPU(t) - from
				least = min(least, float64(took)/float64(fuel)/plain())
			}
			if show {
				t.Logf("%6.2f  %s %.40q, %d bytes", least, name, text, len(text))
			}
			if least > worst {
				worst, what = least, fmt.Sprintf("%s %.40q", name, text)
			}
			if least > limit {
				t.Errorf("%s of %.40q, %d bytes: a unit takes %.1f times as long as one of plain code", name, text, len(text),
					least)
			}
		}
	}
	t.Logf("the most is %.1f: %s", worst, what)
}
