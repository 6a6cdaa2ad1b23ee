package phases

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// checkPathArgument checks a call of a file tool that names the path, in the directory /w, under scopes for /w alone.
func checkPathArgument(tool, p string, scope Scope) error {
	args := fmt.Sprintf(`{"file_path":%s}`, quote(p))
	switch tool {
	case "grep", "list":
		args = fmt.Sprintf(`{"path":%s}`, quote(p))
	case "glob":
		args = fmt.Sprintf(`{"pattern":%s}`, quote(p))
	case "write":
		args = fmt.Sprintf(`{"file_path":%s,"content":"x"}`, quote(p))
	case "apply_patch":
		args = fmt.Sprintf(`{"input":%s}`, quote("*** Begin Patch\n*** Update File: "+p+"\n@@\n-a\n+b\n*** End Patch"))
	}
	action := jsontext.Value(fmt.Sprintf(`{"tool":%q,"args":%s}`, tool, args))
	inv := Invocation{Phase: PreTool, Runtime: "custom", CWD: "/w", Action: action}
	return CheckScopes(inv, action, Scopes{FSRead: scope, FSWrite: scope})
}

// No spelling of a path outside of the scopes passes, for any tool that names files.
func TestPropertyNoSpellingLeadsOutside(t *testing.T) {
	encoded := func(s string) string { return strings.ReplaceAll(url.PathEscape(s), ".", "%2e") }
	spellings := []func(*rapid.T, string) string{
		func(*rapid.T, string) string { return "" }, // replaced below: the path as it is
		func(t *rapid.T, p string) string {
			return rapid.SampledFrom([]string{" ", "\t", "\u00a0", "\u3000", "\n"}).Draw(t, "b") + p
		},
		func(t *rapid.T, p string) string {
			runes := []rune(p)
			at := rapid.IntRange(0, len(runes)).Draw(t, "at")
			z := rapid.SampledFrom([]rune("\u200b\u00ad\u2060\ufeff\u2028\ufe0f\u034f")).Draw(t, "z")
			return string(slices.Insert(runes, at, z))
		},
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "/", `\`) },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "/", "\uff0f") },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, ".", "\uff0e") },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "..", "\u2025") },
		func(_ *rapid.T, p string) string { return encoded(p) },
		func(_ *rapid.T, p string) string { return encoded(encoded(p)) },
		func(_ *rapid.T, p string) string { return `"` + p + `"` },
		func(_ *rapid.T, p string) string { return " '" + p + "'" },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "..", ".. ") },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "..", " ..") },
		func(_ *rapid.T, p string) string { return "file://" + p },
		func(_ *rapid.T, p string) string { return "FILE:" + p },
		func(_ *rapid.T, p string) string { return "C:" + p },
		func(_ *rapid.T, p string) string { return "//?/" + p },
		func(_ *rapid.T, p string) string { return "/proc/self/root" + p },
		func(_ *rapid.T, p string) string { return p + "\x00.txt" },
		func(_ *rapid.T, p string) string { return strings.ReplaceAll(p, "/", "//") },
	}
	spellings[0] = func(_ *rapid.T, p string) string { return p }
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"etc/passwd", "home/u/.ssh/id_rsa", "w2/a", "x"}).Draw(t, "name")
		start := rapid.SampledFrom([]string{"/", "../", "a/../../", "~/", "/w/../", "/w/a/../../", "$HOME/", "./../",
			"%USERPROFILE%/"}).Draw(t, "start")
		p := start + name
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			p = rapid.SampledFrom(spellings).Draw(t, "spelling")(t, p)
		}
		tool := rapid.SampledFrom([]string{"read", "write", "edit", "grep", "list", "glob", "apply_patch"}).Draw(t, "tool")
		if tool == "apply_patch" && strings.ContainsAny(p, "\n\r") {
			return // a line of its own: the header is another one
		}
		if tool == "glob" && !strings.ContainsAny(p, "/~") {
			return // a pattern for names in the directory: no program decodes it
		}
		if err := checkPathArgument(tool, p, Scope{"/w/**"}); !errors.Is(err, ErrOutside) {
			t.Fatalf("%s %q: %v", tool, p, err)
		}
	})
}

// Names that look odd, and are harmless, stay in scope.
func TestOddNamesStayInScope(t *testing.T) {
	for _, p := range []string{
		"a b.txt", "/w/my notes/to do.md", "a ", "/w/ a/b", "a%20b.txt", "100%25.txt", "50%.csv", "%.txt", "it's.txt",
		"(draft) [v2].md",
		"Foo$Bar.class", "...", "a..b", "..a", ".hidden", "ab:c.txt", "ab::c", "résumé.md", "re\u0301sume\u0301.md",
		"日本語/説明.md", "Ｒeadme.md",
		"a…b.txt", "🚀.md", "a#b?c", "a&b;c|d", "-rf", "+x", "@scope/pkg", "caf%C3%A9.md", "'quoted'.txt", "“x”.txt", "a.",
		"proc/self/root",
		"/w/proc/self/cwd/x", "dev/fd/3", "a%2fb.txt", "x~", "a~1", "{{name}}/x", "%d.log", "%name.txt",
	} {
		for _, tool := range []string{"read", "write", "edit", "list"} {
			if err := checkPathArgument(tool, p, Scope{"/w/**"}); err != nil {
				t.Errorf("%s %q: %v", tool, p, err)
			}
		}
	}
}

// What cannot be told is told so, and only where scopes restrict.
func TestUnclearSpellings(t *testing.T) {
	for _, p := range []string{" a", "\ta", "\u3000a", "/w/a\u200bb", "/w/a\u00ad", `a\b`, `/w/\x`, "/w/%2e%2e/x",
		"/w/%252e%252e/x", "/w/．．/x",
		"/w/.. /x", "'/x'", "/w/a%00b", "%HOME%/x", "/w/a／../x", "\u2028a"} {
		for _, tool := range []string{"read", "write", "edit", "grep", "list"} {
			err := checkPathArgument(tool, p, Scope{"/w/**"})
			var outside *outsideError
			if !errors.As(err, &outside) || !strings.Contains(outside.reason, "cannot be told") {
				t.Errorf("%s %q: %v", tool, p, err)
			}
			if err := checkPathArgument(tool, p, Scope{"*"}); err != nil {
				t.Errorf("%s %q, and all is in scope: %v", tool, p, err)
			}
		}
	}
	// A scope that names the aliases themselves does not let through what is behind them.
	for _, p := range []string{"/proc/self/root/etc/shadow", "/proc/1/cwd/x", "/proc/self/fd/3", "/dev/fd/3",
		"/dev/stdin"} {
		if err := checkPathArgument("read", p, Scope{"/proc/**", "/dev/**"}); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if err := checkPathArgument("read", "/proc/self/status", Scope{"/proc/**"}); err != nil {
		t.Errorf("a file of /proc: %v", err)
	}
	for _, p := range []string{"/w/a b", "é", "a"} {
		if read, ok := reading(p); read != p || !ok {
			t.Errorf("%q is read as %q, %v", p, read, ok)
		}
	}
}

// However often a path is encoded, it does not lead outside; a decoder that stops early sees a harmless name.
func TestSpellingsInsideOfEachOther(t *testing.T) {
	for depth := range 40 {
		dot := "%" + strings.Repeat("25", depth) + "2e"
		p := "a/" + dot + dot + "/" + dot + dot + "/etc/passwd"
		for _, tool := range []string{"read", "write", "list", "glob", "apply_patch"} {
			if err := checkPathArgument(tool, p, Scope{"/w/**"}); err == nil {
				t.Fatalf("%s %s passes, encoded %d times", tool, p, depth+1)
			}
		}
	}
}
