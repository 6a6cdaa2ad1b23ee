package shell

import "testing"

// TestOptionsOfWrappers: where the options of a program that runs another end, and what of them is a value.
func TestOptionsOfWrappers(t *testing.T) {
	checkRows(t, []row{
		// xargs: -I stands behind an option whose value is a word of its own
		{"a value as a word of its own", `echo / | xargs --max-args 1 -I{} rm {}etc`,
			[]string{"echo /", "xargs --max-args 1 -I{} rm {}etc", "xargs> rm /etc"}},
		{"a value in the same word", `echo / | xargs --max-args=1 -I{} rm {}etc`,
			[]string{"echo /", "xargs --max-args=1 -I{} rm {}etc", "xargs> rm /etc"}},
		{"an option without a value", `echo / | xargs --verbose -I{} rm {}etc`,
			[]string{"echo /", "xargs --verbose -I{} rm {}etc", "xargs> rm /etc"}},
		{"what is replaced is no option", `echo / | xargs -I0 rm 0etc`,
			[]string{"echo /", "xargs -I0 rm 0etc", "xargs> rm /etc"}},
		// containers
		{"-- right behind the verb", `kubectl exec -- rm x`, []string{"kubectl exec -- rm x", "kubectl exec> rm x"}},
		// su and runuser: the first operand is the user, what follows goes to the user's shell
		{"the user is no command", `su root rm x`, []string{"su root rm x", "su> rm x"}},
		{"each option that takes a value", `su -g g -G h -w A -s /bin/sh root -c 'rm x'`,
			[]string{"su -g g -G h -w A -s /bin/sh root -c rm x", "su> rm x"}},
		{"their long forms", `su --group g --supp-group h --shell /bin/sh --whitelist-environment A root -c 'rm x'`,
			[]string{"su --group g --supp-group h --shell /bin/sh --whitelist-environment A root -c rm x", "su> rm x"}},
		{"a session", `su root --session-command 'rm x'`, []string{"su root --session-command rm x", "su> rm x"}},
		{"a shell that reads", `echo 'rm x' | su root`, []string{"echo rm x", "su root", "su> rm x"}},
		{"a shell that reads, without a user", `echo 'rm x' | runuser -`,
			[]string{"echo rm x", "runuser -", "runuser> rm x"}},
		// shells: options between -c and the code
		{"-c and options, but no code", `bash -c -x`, []string{"bash -c -x"}},
		{"an option that is taken off", `bash -c +x 'rm x'`, []string{"bash -c +x rm x", "bash -c> rm x"}},
		{"an option with a name", `bash -c -o errexit 'rm x'`, []string{"bash -c -o errexit rm x", "bash -c> rm x"}},
		{"several, and parameters", `bash -c -x +O extglob -e 'rm $1' a b`,
			[]string{"bash -c -x +O extglob -e rm $1 a b", "bash -c> rm b"}},
		{"-- ends them: what follows is the code", `bash -c -- '-x y'`, []string{"bash -c -- -x y", "bash -c> -x y"}},
		{"so does -", `bash -c - '+x y'`, []string{"bash -c - +x y", "bash -c> +x y"}},
		// builtins
		{"trap --", `trap -- 'rm x' EXIT`, []string{"trap -- rm x EXIT", "trap> rm x"}},
		{"trap -- resets", `trap -- - EXIT`, []string{"trap -- - EXIT"}},
		{"trap --, and nothing", `trap --`, []string{"trap --"}},
		{"let behind a wrapper assigns", `a=1; command let a=2; rm $a`,
			[]string{"command let a=2", "command> let a=2", "rm $a? …"}},
		{"let counts in front of a name", `a=1; command let ++a; rm $a`,
			[]string{"command let ++a", "command> let ++a", "rm $a? …"}},
		{"let assigns within", `a=1; builtin let 'b = a = 2'; rm $a`,
			[]string{"builtin let b = a = 2", "builtin> let b = a = 2", "rm $a? …"}},
	})
}

// TestHomeIsWrittenAsATilde: ~ and $HOME are the home directory; a ~ that a variable holds is a name.
func TestHomeIsWrittenAsATilde(t *testing.T) {
	checkRows(t, []row{
		{"unquoted", `rm ~/x $HOME/x ${HOME}/x`, []string{"rm ~/x(home) ~/x(home) ~/x(home)"}},
		{"in quotes", `rm "$HOME" "$HOME"/x "${HOME}/x" "~/x"`, []string{"rm ~(home) ~/x(home) ~/x(home) ~/x"}},
		{"with something unknown behind it", `rm ~/"$X" "$HOME/$X"`, []string{"rm ~/$X?(home) ~/$X?(home)"}},
		{"another home", `HOME=/x; rm $HOME "$HOME"`, []string{"rm /x /x"}},
		{"a name of one character", `HOME='~'; rm $HOME "$HOME"`, []string{"rm ~ ~"}},
		{"braces", `rm ~/{a,b} {~,/x}`, []string{"rm ~/a(home) ~/b(home) ~(home) /x"}},
	})
}

// TestOnlyDecodingIsDecoded: a program that encodes is not taken for the one that decodes.
func TestOnlyDecodingIsDecoded(t *testing.T) {
	for _, program := range []string{
		"xxd -p", "xxd -r", "xxd", "basenc --base16", "basenc --base32", "basenc --base64", "basenc -d", "base32",
		"openssl base64", "openssl enc -d", "openssl enc -base64", "openssl -d -a",
		"openssl base64 -d -in f", "openssl enc -aes-128-cbc -base64 -d", "base64 -w 0", "base64 f", "base64 -d f",
		"base64 -r -p", "base32 -r -p",
	} {
		checkRows(t,
			[]row{{"not decoding", "echo 726d2078 | " + program + " | sh",
				[]string{"echo 726d2078", program, "sh", "unknown code"}}})
	}
	for program, in := range map[string]string{
		"xxd -r -p": "726d2078", "xxd -p -r": "726d2078", "basenc --base16 -d": "726D2078",
		"basenc --decode --base16": "726D2078", "basenc --base32 -d": "OJWSA6A=", "basenc --base64 -d": "cm0geA==",
		"base32 -d":       "OJWSA6A=",
		"base32 --decode": "OJWSA6A=", "base32 -D": "OJWSA6A=", "base64 -d": "cm0geA==", "base64 --decode": "cm0geA",
		"base64 -D": "cm0geA==", "base64 -di": "cm0geA==", "base64 -id": "cm0geA==", "gbase64 -d": "cm0geA==",
		"openssl base64 -d": "cm0geA==", "openssl enc -base64 -d": "cm0geA==", "openssl enc -a -d": "cm0geA==",
	} {
		checkRows(t,
			[]row{{"decoding", "echo " + in + " | " + program + " | sh", []string{"echo " + in, program, "sh", "stdin> rm x"}}})
	}
}
