package paths

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every form of a path, spelling by spelling: Path, Walk, Key, Keys, Absolute, Notes.
func TestSpellings(t *testing.T) {
	for _, tc := range []struct {
		in, cwd, home string
		want          Normal
	}{
		// Percent-encoding is decoded twice, and only where two hexadecimal digits follow; the other reading is a key, too.
		{"/a%41", "", "", Normal{"/a%41", "/a%41", "/aa", []string{"/aa", "/a%41"}, true, []string{"percent"}}},
		{"/a%4", "", "", Normal{"/a%4", "/a%4", "/a%4", []string{"/a%4"}, true, nil}},
		{"/%zz%4g%g4", "", "", Normal{"/%zz%4g%g4", "/%zz%4g%g4", "/%zz%4g%g4", []string{"/%zz%4g%g4"}, true, nil}},
		{"/%2e%2E%61", "", "", Normal{"/%2e%2E%61", "/%2e%2E%61", "/..a", []string{"/..a", "/%2e%2e%61"}, true, []string{"percent"}}},
		{"/%25252541", "", "", Normal{"/%25252541", "/%25252541", "/%2541", []string{"/%2541", "/%25252541"}, true, []string{"percent"}}},
		{"/a%", "", "", Normal{"/a%", "/a%", "/a%", []string{"/a%"}, true, nil}},
		{"/%4a%5A%6F", "", "", Normal{"/%4a%5A%6F", "/%4a%5A%6F", "/jzo", []string{"/jzo", "/%4a%5a%6f"}, true, []string{"percent"}}},
		{"/%30%39", "", "", Normal{"/%30%39", "/%30%39", "/09", []string{"/09", "/%30%39"}, true, []string{"percent"}}},
		{`/a%41\b`, "", "", Normal{`/a%41\b`, `/a%41\b`, "/aa/b", []string{"/aa/b", `/a%41\b`, "/a%41/b"}, true, []string{"percent", "backslash"}}},
		// A NUL may end a path, or be dropped.
		{"/a\x00b", "", "", Normal{"/a\x00b", "/a\x00b", "/a", []string{"/a", "/a\x00b", "/ab"}, true, []string{"nul"}}},
		{"\x00b", "/w", "", Normal{"/w/\x00b", "/w/\x00b", "/w", []string{"/w", "/w/\x00b", "/w/b"}, true, []string{"nul"}}},
		{"/a%41\x00b", "", "", Normal{"/a%41\x00b", "/a%41\x00b", "/aa", []string{"/aa", "/a%41\x00b", "/a%41", "/aab"}, true, []string{"percent", "nul"}}},
		// Invisible characters are dropped, and compatibility forms are brought to one.
		{"/a\tb", "", "", Normal{"/a\tb", "/a\tb", "/ab", []string{"/ab", "/a\tb"}, true, []string{"invisible"}}},
		{"/a\x01b", "", "", Normal{"/a\x01b", "/a\x01b", "/ab", []string{"/ab", "/a\x01b"}, true, []string{"invisible"}}},
		{"/a\u034fb", "", "", Normal{"/a\u034fb", "/a\u034fb", "/ab", []string{"/ab", "/a\u034fb"}, true, []string{"invisible"}}},
		{"/a\u115fb", "", "", Normal{"/a\u115fb", "/a\u115fb", "/ab", []string{"/ab", "/a\u115fb"}, true, []string{"invisible"}}},
		{"/a\u1160b", "", "", Normal{"/a\u1160b", "/a\u1160b", "/ab", []string{"/ab", "/a\u1160b"}, true, []string{"invisible"}}},
		{"/a\u3164b", "", "", Normal{"/a\u3164b", "/a\u3164b", "/ab", []string{"/ab", "/a\u3164b"}, true, []string{"invisible"}}},
		{"/a\uffa0b", "", "", Normal{"/a\uffa0b", "/a\uffa0b", "/ab", []string{"/ab", "/a\uffa0b"}, true, []string{"invisible"}}},
		{"/a\ufe00b", "", "", Normal{"/a\ufe00b", "/a\ufe00b", "/ab", []string{"/ab", "/a\ufe00b"}, true, []string{"invisible"}}},
		{"/a\ufe0fb", "", "", Normal{"/a\ufe0fb", "/a\ufe0fb", "/ab", []string{"/ab", "/a\ufe0fb"}, true, []string{"invisible"}}},
		{"/a\u180eb", "", "", Normal{"/a\u180eb", "/a\u180eb", "/ab", []string{"/ab", "/a\u180eb"}, true, []string{"invisible"}}},
		{"/a\ufe10b", "", "", Normal{"/a\ufe10b", "/a\ufe10b", "/a,b", []string{"/a,b", "/a\ufe10b"}, true, []string{"unicode"}}},
		{"/\ufdff", "", "", Normal{"/\ufdff", "/\ufdff", "/\ufdff", []string{"/\ufdff"}, true, nil}},
		{"/e\u0301", "", "", Normal{"/e\u0301", "/e\u0301", "/\u00e9", []string{"/\u00e9", "/e\u0301"}, true, nil}},
		{"/a\xffb", "", "", Normal{"/a\xffb", "/a\xffb", "/a\ufffdb", []string{"/a\ufffdb"}, true, nil}},
		{"/a\u00a0", "", "", Normal{"/a\u00a0", "/a\u00a0", "/a", []string{"/a", "/a\u00a0"}, true, []string{"unicode", "blank"}}},
		// Quotes round a path are no part of it.
		{`"/a"`, "", "", Normal{`"/a"`, `"/a"`, "/a", []string{"/a", `"/a"`}, false, nil}},
		{"'/a'", "", "", Normal{"'/a'", "'/a'", "/a", []string{"/a", "'/a'"}, false, nil}},
		// URLs of files: without what follows a path in a URL, and without their host.
		{"file:", "/w", "/h", Normal{"/w", "/w/", "/w", []string{"/w"}, true, []string{"file_url"}}},
		{"file:a", "/w", "/h", Normal{"/w/a", "/w/a", "/w/a", []string{"/w/a"}, true, []string{"file_url"}}},
		{"file:/a?b", "/w", "/h", Normal{"/a", "/a", "/a", []string{"/a"}, true, []string{"file_url"}}},
		{"file://host", "/w", "/h", Normal{"/host", "/host", "/host", []string{"/host"}, true, []string{"file_url"}}},
		{"file:///a#b", "/w", "/h", Normal{"/a", "/a", "/a", []string{"/a"}, true, []string{"file_url"}}},
		{"file:///C:/x", "/w", "/h", Normal{"/w/C:/x", "/w/C:/x", "/x", []string{"/x", "/w/c:/x"}, true, []string{"file_url", "drive"}}},
		{"file:///c:", "/w", "/h", Normal{"/w/c:", "/w/c:", "/", []string{"/", "/w/c:"}, true, []string{"file_url", "drive"}}},
		{"file:///1:/x", "/w", "/h", Normal{"/1:/x", "/1:/x", "/1:/x", []string{"/1:/x"}, true, []string{"file_url"}}},
		{"file:///C|/x", "/w", "", Normal{"/C|/x", "/C|/x", "/c|/x", []string{"/c|/x"}, true, []string{"file_url"}}},
		{"file", "/w", "/h", Normal{"/w/file", "/w/file", "/w/file", []string{"/w/file"}, true, nil}},
		{"files:/x", "/w", "/h", Normal{"/w/files:/x", "/w/files:/x", "/w/files:/x", []string{"/w/files:/x"}, true, nil}},
		{"file:~/x", "/w", "/h", Normal{"/h/x", "/h/x", "/h/x", []string{"/h/x"}, true, []string{"file_url"}}},
		// Drives, and what Windows puts before them.
		{"c:", "/w", "/h", Normal{"/w/c:", "/w/c:", "/", []string{"/", "/w/c:"}, true, []string{"drive"}}},
		{"c:x", "/w", "/h", Normal{"/w/c:x", "/w/c:x", "/x", []string{"/x", "/w/c:x"}, true, []string{"drive"}}},
		{"Z:/x", "/w", "/h", Normal{"/w/Z:/x", "/w/Z:/x", "/x", []string{"/x", "/w/z:/x"}, true, []string{"drive"}}},
		{"1:/x", "/w", "/h", Normal{"/w/1:/x", "/w/1:/x", "/w/1:/x", []string{"/w/1:/x"}, true, nil}},
		{":", "/w", "/h", Normal{"/w/:", "/w/:", "/w/:", []string{"/w/:"}, true, nil}},
		{"[:/x", "/w", "/h", Normal{"/w/[:/x", "/w/[:/x", "/w/[:/x", []string{"/w/[:/x"}, true, nil}},
		{"@:/x", "/w", "/h", Normal{"/w/@:/x", "/w/@:/x", "/w/@:/x", []string{"/w/@:/x"}, true, nil}},
		{"{:/x", "/w", "/h", Normal{"/w/{:/x", "/w/{:/x", "/w/{:/x", []string{"/w/{:/x"}, true, nil}},
		{"//?/UNC/host/x", "/w", "/h", Normal{"/?/UNC/host/x", "//?/UNC/host/x", "/host/x", []string{"/host/x", "/?/unc/host/x"}, true, []string{"drive"}}},
		{`\\.\c:\x`, "/w", "/h", Normal{`/w/\\.\c:\x`, `/w/\\.\c:\x`, "/x", []string{"/x", `/w/\\.\c:\x`}, true, []string{"backslash", "drive"}}},
		{"/??/c:/x", "/w", "/h", Normal{"/??/c:/x", "/??/c:/x", "/x", []string{"/x", "/??/c:/x"}, true, []string{"drive"}}},
		{"//?/", "/w", "/h", Normal{"/?", "//?/", "/w", []string{"/w", "/?"}, true, []string{"drive"}}},
		{"//?", "/w", "/h", Normal{"/?", "//?", "/?", []string{"/?"}, true, nil}},
		// Dots and blanks at the end of an element, and streams, which Windows drops.
		{"/a./b", "", "", Normal{"/a./b", "/a./b", "/a/b", []string{"/a/b", "/a./b"}, true, []string{"dot"}}},
		{"/a /b", "", "", Normal{"/a /b", "/a /b", "/a/b", []string{"/a/b", "/a /b"}, true, []string{"dot"}}},
		{"/.../b", "", "", Normal{"/.../b", "/.../b", "/.../b", []string{"/.../b"}, true, nil}},
		{"/ a/b", "", "", Normal{"/ a/b", "/ a/b", "/a/b", []string{"/a/b", "/ a/b"}, true, []string{"blank"}}},
		{"/a/ /b", "", "", Normal{"/a/ /b", "/a/ /b", "/a/ /b", []string{"/a/ /b"}, true, nil}},
		{"/a:$DATA", "", "", Normal{"/a:$DATA", "/a:$DATA", "/a", []string{"/a", "/a:$data"}, true, []string{"variable", "stream"}}},
		{"/a:b:$data/c", "", "", Normal{"/a:b:$data/c", "/a:b:$data/c", "/a/c", []string{"/a/c", "/a:b:$data/c"}, true, []string{"variable", "stream"}}},
		{"/a::x/b", "", "", Normal{"/a::x/b", "/a::x/b", "/a::x/b", []string{"/a::x/b"}, true, nil}},
		{"/b/a::x", "", "", Normal{"/b/a::x", "/b/a::x", "/b/a", []string{"/b/a", "/b/a::x"}, true, []string{"stream"}}},
		{"/b/::x", "", "", Normal{"/b/::x", "/b/::x", "/b/::x", []string{"/b/::x"}, true, nil}},
		{"/b/:$DATA", "", "", Normal{"/b/:$DATA", "/b/:$DATA", "/b/:$data", []string{"/b/:$data"}, true, []string{"variable"}}},
		{"/b/a:x", "", "", Normal{"/b/a:x", "/b/a:x", "/b/a:x", []string{"/b/a:x"}, true, nil}},
		// The home directory, by variables.
		{"$HOME", "/w", "/h/u", Normal{"/h/u", "/h/u/", "/h/u", []string{"/h/u"}, true, []string{"variable"}}},
		{"${HOME}", "/w", "/h/u", Normal{"/h/u", "/h/u/", "/h/u", []string{"/h/u"}, true, []string{"variable"}}},
		{"%USERPROFILE%/x", "/w", "/h/u", Normal{"/h/u/x", "/h/u/x", "/h/u/x", []string{"/h/u/x"}, true, []string{"variable"}}},
		{`%userprofile%\x`, "/w", "/h/u", Normal{`/w/%userprofile%\x`, `/w/%userprofile%\x`, "/h/u/x", []string{"/h/u/x", `/w/%userprofile%\x`}, true, []string{"backslash", "variable"}}},
		{"%HOME%/x", "/w", "/h/u", Normal{"/h/u/x", "/h/u/x", "/h/u/x", []string{"/h/u/x"}, true, []string{"variable"}}},
		{"$env:userprofile/x", "/w", "/h/u", Normal{"/h/u/x", "/h/u/x", "/h/u/x", []string{"/h/u/x"}, true, []string{"variable"}}},
		{"$env:HOME/x", "/w", "/h/u", Normal{"/h/u/x", "/h/u/x", "/h/u/x", []string{"/h/u/x"}, true, []string{"variable"}}},
		{"$HOMEX", "/w", "/h/u", Normal{"/w/$HOMEX", "/w/$HOMEX", "/w/$homex", []string{"/w/$homex"}, true, []string{"variable"}}},
		{"a/$X", "/w", "/h/u", Normal{"/w/a/$X", "/w/a/$X", "/w/a/$x", []string{"/w/a/$x"}, true, []string{"variable"}}},
		{"$HOME/x", "/w", "", Normal{"~/x", "~/x", "~/x", []string{"~/x"}, false, []string{"variable"}}},
		// The home directory, one's own and that of others.
		{"~+", "/w", "/h/u", Normal{"/h/u", "/h/u/", "/h/u", []string{"/h/u"}, true, nil}},
		{"~+/x", "/w", "/h/u", Normal{"/h/u/x", "/h/u/x", "/h/u/x", []string{"/h/u/x"}, true, nil}},
		{"~+/x", "/w", "", Normal{"~+/x", "~+/x", "~+/x", []string{"~+/x"}, false, nil}},
		{"~", "/w", "/h/u", Normal{"/h/u", "/h/u/", "/h/u", []string{"/h/u"}, true, nil}},
		{"~root", "/w", "/h/u", Normal{"/root", "/root/", "/root", []string{"/root"}, true, []string{"tilde_user"}}},
		{"~bob", "/w", "/h/u", Normal{"/h/bob", "/h/bob/", "/h/bob", []string{"/h/bob"}, true, []string{"tilde_user"}}},
		{"~bob/x", "/w", "", Normal{"/home/bob/x", "/home/bob/x", "/home/bob/x", []string{"/home/bob/x"}, true, []string{"tilde_user"}}},
		{"~bob/x", "/w", "/root", Normal{"/home/bob/x", "/home/bob/x", "/home/bob/x", []string{"/home/bob/x"}, true, []string{"tilde_user"}}},
		{"~a.b/x", "/w", "/h/u", Normal{"~a.b/x", "~a.b/x", "~a.b/x", []string{"~a.b/x"}, false, nil}},
		{"~-/x", "/w", "/h/u", Normal{"~-/x", "~-/x", "~-/x", []string{"~-/x"}, false, nil}},
		{"~a b", "/w", "/h/u", Normal{"~a b", "~a b", "~a b", []string{"~a b"}, false, nil}},
		{"~a$b", "/w", "/h/u", Normal{"~a$b", "~a$b", "~a$b", []string{"~a$b"}, false, []string{"variable"}}},
		// Relative paths, with and without a working directory.
		{"a/../b", "", "", Normal{"b", "a/../b", "b", []string{"b"}, false, nil}},
		{"a", "", "", Normal{"a", "a", "a", []string{"a"}, false, nil}},
		{"", "/w", "", Normal{"/w", "/w/", "/w", []string{"/w"}, true, nil}},
		{"", "", "", Normal{".", "", ".", []string{"."}, false, nil}},
		{"a/../../b", "/w", "", Normal{"/b", "/w/a/../../b", "/b", []string{"/b"}, true, nil}},
		{"/../..", "", "", Normal{"/", "/../..", "/", []string{"/"}, true, nil}},
		// Aliases of the root and of the working directory.
		{"/proc/1/root", "", "", Normal{"/proc/1/root", "/proc/1/root", "/", []string{"/", "/proc/1/root"}, true, []string{"proc"}}},
		{"/proc/root", "", "", Normal{"/proc/root", "/proc/root", "/proc/root", []string{"/proc/root"}, true, nil}},
		{"/PROC/1/ROOT/x", "", "", Normal{"/PROC/1/ROOT/x", "/PROC/1/ROOT/x", "/x", []string{"/x", "/proc/1/root/x"}, true, []string{"proc"}}},
		{"/proc/1/task/2/root/x", "", "", Normal{"/proc/1/task/2/root/x", "/proc/1/task/2/root/x", "/x", []string{"/x", "/proc/1/task/2/root/x"}, true, []string{"proc"}}},
		{"/proc/1/fdinfo/2/root", "", "", Normal{"/proc/1/fdinfo/2/root", "/proc/1/fdinfo/2/root", "/proc/1/fdinfo/2/root", []string{"/proc/1/fdinfo/2/root"}, true, nil}},
		{"/proc/1/a/root", "", "", Normal{"/proc/1/a/root", "/proc/1/a/root", "/proc/1/a/root", []string{"/proc/1/a/root"}, true, nil}},
		{"/x/proc/1/root", "", "", Normal{"/x/proc/1/root", "/x/proc/1/root", "/x/proc/1/root", []string{"/x/proc/1/root"}, true, nil}},
		{"/proc/1/cwd", "", "", Normal{"/proc/1/cwd", "/proc/1/cwd", ".", []string{".", "/proc/1/cwd"}, true, []string{"proc"}}},
		{"/proc/1/cwd/x", "", "", Normal{"/proc/1/cwd/x", "/proc/1/cwd/x", "x", []string{"x", "/proc/1/cwd/x"}, true, []string{"proc"}}},
		{"/proc/1/cwd/../x", "/w/v", "", Normal{"/proc/1/x", "/proc/1/cwd/../x", "/w/x", []string{"/w/x", "/proc/1/x"}, true, []string{"proc"}}},
		{"/proc/1/task/2/cwd/x", "/w/v/", "", Normal{"/proc/1/task/2/cwd/x", "/proc/1/task/2/cwd/x", "/w/v/x", []string{"/w/v/x", "/proc/1/task/2/cwd/x"}, true, []string{"proc"}}},
		{"/proc/1/fdinfo/2/cwd", "/w", "", Normal{"/proc/1/fdinfo/2/cwd", "/proc/1/fdinfo/2/cwd", "/proc/1/fdinfo/2/cwd", []string{"/proc/1/fdinfo/2/cwd"}, true, nil}},
		{"/proc/1/task/2/CWD", "", "", Normal{"/proc/1/task/2/CWD", "/proc/1/task/2/CWD", ".", []string{".", "/proc/1/task/2/cwd"}, true, []string{"proc"}}},
		{"/dev/fd", "", "", Normal{"/dev/fd", "/dev/fd", "/proc/self/fd", []string{"/proc/self/fd", "/dev/fd"}, true, []string{"proc"}}},
		{"/DEV/FD/3", "", "", Normal{"/DEV/FD/3", "/DEV/FD/3", "/proc/self/fd/3", []string{"/proc/self/fd/3", "/dev/fd/3"}, true, []string{"proc"}}},
		{"/x/dev/fd/3", "", "", Normal{"/x/dev/fd/3", "/x/dev/fd/3", "/x/dev/fd/3", []string{"/x/dev/fd/3"}, true, nil}},
		{"/dev/fdx", "", "", Normal{"/dev/fdx", "/dev/fdx", "/dev/fdx", []string{"/dev/fdx"}, true, nil}},
		// What macOS keeps below /private.
		{"/private/etc", "", "", Normal{"/private/etc", "/private/etc", "/etc", []string{"/etc", "/private/etc"}, true, nil}},
		{"/Private/VAR/x", "", "", Normal{"/Private/VAR/x", "/Private/VAR/x", "/var/x", []string{"/var/x", "/private/var/x"}, true, nil}},
		{"/private/tmp/x", "", "", Normal{"/private/tmp/x", "/private/tmp/x", "/tmp/x", []string{"/tmp/x", "/private/tmp/x"}, true, nil}},
		{"/private/x", "", "", Normal{"/private/x", "/private/x", "/private/x", []string{"/private/x"}, true, nil}},
		{"/x/private/etc", "", "", Normal{"/x/private/etc", "/x/private/etc", "/x/private/etc", []string{"/x/private/etc"}, true, nil}},
		{"/private/etc/../y", "", "", Normal{"/private/y", "/private/etc/../y", "/y", []string{"/y", "/private/y"}, true, nil}},
	} {
		if diff := cmp.Diff(tc.want, Normalize(tc.in, tc.cwd, tc.home)); diff != "" {
			t.Errorf("%q in %q, at home in %q (-want +got):\n%s", tc.in, tc.cwd, tc.home, diff)
		}
	}
}
