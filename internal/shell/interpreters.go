package shell

import "strings"

// interpreterOf returns how the interpreter of the name gets its programs, from its manual. A version behind the name
// does not matter: python3.12.
func interpreterOf(name string) (grammar, bool) {
	name = strings.TrimSuffix(name, ".exe")
	for _, n := range []string{name, strings.TrimRight(name, "0123456789.-")} {
		if g, ok := languages(n); ok {
			return g, true
		}
		if g, ok := editors(n); ok {
			return g, true
		}
		if g, ok := databases(n); ok {
			return g, true
		}
	}
	return grammar{}, false
}

func languages(name string) (grammar, bool) {
	switch name {
	case "python", "pypy", "python-dbg", "micropython", "jython", "graalpy":
		return grammar{opts: "b B d E h! i I O P q R s S u v V! x ?! c=t.python m=~pymod W: X: Q: " +
			"check-hash-based-pycs: help-all! " +
			"help-env! help-xoptions!", stops: true, tail: "f.python", stdin: "python"}, true
	case "ipython", "bpython", "ptpython", "sage":
		return grammar{opts: "c=t.python i m! profile: h! pylab? matplotlib?", lenient: true, tail: "f.python",
			stdin: "python"}, true
	case "manage.py", "django-admin":
		return grammar{verbs: "manage.py", lenient: true}, true
	case "perl":
		return grammar{opts: "0# a c C# d? D# e=t.perl E=t.perl f F? g h! i? I: l# m?~perlmod+ M?~perlmod+ n p s " +
			"S t T u U v! V? w W X x? ?!",
			joins: true, tail: "f.perl", stdin: "perl"}, true
	case "ruby", "jruby", "truffleruby":
		return grammar{opts: "0# a c C: d e=t.ruby E: F? h! i? I: K? l n p r=~require+ s S T# u U v V w W? x? y " +
			"version! copyright! " +
			"encoding: disable: enable: external-encoding: internal-encoding: jit yjit rjit verbose " +
			"backtrace-limit: dump: " +
			"disable-gems disable-all parser: debug", joins: true, tail: "f.ruby", stdin: "ruby"}, true
	case "rails", "rake", "irb":
		if name == "rake" {
			return grammar{opts: "e,execute=t.ruby p,execute-print=t.ruby E,execute-continue=t.ruby " +
				"f,rakefile=f.ruby+ r=~require+",
				lenient: true, tail: tailNone}, true
		}
		if name == "rails" {
			return grammar{verbs: "rails", lenient: true}, true
		}
		return grammar{opts: "r=~require+ I:", lenient: true, tail: "f.ruby", stdin: "ruby"}, true
	case "node", "nodejs", "tsx", "ts-node", "esno", "bun-node":
		return grammar{opts: "e,eval=t.javascript p,print=t.javascript pe=t.javascript r,require=~require+ " +
			"import=~require+ " +
			"loader,experimental-loader=~require+ C,conditions: env-file: env-file-if-exists: title: input-type: " +
			"inspect-port: " +
			"icu-data-dir: openssl-config: unhandled-rejections: dns-result-order: redirect-warnings: " +
			"diagnostic-dir: P,project: " +
			"tsconfig: T,transpile-only test-name-pattern: test-reporter: test-reporter-destination: watch-path: " +
			"c,check! " +
			"v,version! h,help! run! i,interactive", single: true, lenient: true, joins: true, tail: "f.javascript",
			stdin: "javascript"}, true
	case "deno":
		return grammar{opts: "L,log-level: q,quiet unstable h! V!", verbs: "deno", lenient: true}, true
	case "php", "php-cgi", "php-fpm":
		return grammar{opts: "a b: c: C d: e f,file=f.php F,process-file=f.php h! H i! l! m! n q r,run=t.php " +
			"B,process-begin=t.php " +
			"R,process-code=t.php E,process-end=t.php s! S! t: T: v! w! z: rf! rc! re! ri! ini!", tail: "f.php",
			stdin: "php"}, true
	case "lua", "luajit", "texlua":
		return grammar{opts: "e=t.lua l=~require+ i v E W j: b! O?", tail: "f.lua", stdin: "lua"}, true
	case "Rscript":
		return grammar{opts: "e=t.r default-packages:", lenient: true, joins: true, tail: "f.r", stdin: "r"}, true
	case "R":
		return grammar{opts: "e=t.r f,file=f.r d: g: args! version! help!", lenient: true, joins: true,
			tail: tailNone, stdin: "r"}, true
	case "julia":
		return grammar{opts: "e,eval=t.julia E,print=t.julia L,load=f.julia+ p,procs: t,threads: J,sysimage: " +
			"C,cpu-target: H,home: v! h!",
			lenient: true, tail: "f.julia", stdin: "julia"}, true
	case "elixir", "iex":
		return grammar{opts: "e,eval=t.elixir r=f.elixir+ rpc-eval:: S: pr: pa: pz: name: sname: cookie: erl: " +
			"dot-iex: v! h!", lenient: true,
			tail: "f.elixir", stdin: "elixir"}, true
	case "erl", "escript":
		if name == "escript" {
			return grammar{lenient: true, tail: "f.erlang"}, true
		}
		return grammar{opts: "eval=t.erlang s: run: pa: pz: name: sname: config: boot:", single: true,
			lenient: true, tail: tailNone,
			stdin: "erlang"}, true
	case "osascript":
		return grammar{opts: "e=t.applescript l: s: i", joins: true, tail: "f.applescript",
			stdin: "applescript"}, true
	case "tclsh", "wish", "jimsh":
		return grammar{opts: "encoding:", single: true, lenient: true, tail: "f.tcl", stdin: "tcl"}, true
	case "expect", "expectk":
		return grammar{opts: "c=t.expect f=f.expect b=f.expect d D: i n N v!", tail: "f.expect",
			stdin: "expect"}, true
	case "guile", "gosh", "csi", "chibi-scheme", "scheme", "chez":
		return grammar{opts: "c=t.scheme e=t.scheme s=f.scheme l=f.scheme+ L: C: x: q script=f.scheme",
			lenient: true, tail: "f.scheme",
			stdin: "scheme"}, true
	case "racket":
		return grammar{opts: "e,eval=t.racket f,load=f.racket t,require=f.racket r,script=f.racket " +
			"u,require-script=f.racket l,lib: p: m! i v! h!",
			lenient: true, tail: "f.racket", stdin: "racket"}, true
	case "sbcl", "clisp", "ecl", "ccl", "ros":
		return grammar{opts: "eval=t.lisp load=f.lisp script=f.lisp x=t.lisp e=t.lisp shell=f.lisp core: " +
			"i=f.lisp+ version! help!",
			single: true, lenient: true, tail: "f.lisp", stdin: "lisp"}, true
	case "clj", "clojure", "bb", "lein-exec":
		return grammar{opts: "e,eval=t.clojure f,file=f.clojure m! i,init=f.clojure+ M? X? A?", lenient: true,
			tail:  "f.clojure",
			stdin: "clojure"}, true
	case "groovy", "groovysh":
		return grammar{opts: "e=t.groovy c,encoding: cp,classpath: D: i? n p l?", lenient: true,
			tail: "f.groovy", stdin: "groovy"}, true
	case "scala", "scala-cli", "amm":
		return grammar{opts: "e=t.scala c=t.scala cp,classpath: i=f.scala+", single: true, lenient: true,
			tail: "f.scala", stdin: "scala"}, true
	case "kotlin", "kotlinc":
		return grammar{opts: "e,expression=t.kotlin script=f.kotlin cp,classpath: d:", single: true,
			lenient: true, tail: tailNone}, true
	case "swift":
		return grammar{opts: "e=t.swift", verbs: "swift", lenient: true}, true
	case "ghc", "ghci", "runghc", "runhaskell":
		if name == "ghc" {
			return grammar{opts: "e=t.haskell", lenient: true, tail: tailNone}, true
		}
		return grammar{opts: "e=t.haskell", lenient: true, tail: "f.haskell", stdin: "haskell"}, true
	case "ocaml", "utop":
		return grammar{opts: "e=t.ocaml I: init=f.ocaml+ require:", single: true, lenient: true,
			tail: "f.ocaml", stdin: "ocaml"}, true
	case "swipl", "prolog", "gprolog":
		return grammar{opts: "g=t.prolog+ t=t.prolog+ s=f.prolog l=f.prolog f=f.prolog q", lenient: true,
			tail: "f.prolog", stdin: "prolog"}, true
	case "octave", "octave-cli":
		return grammar{opts: "eval=t.octave p,path: version! help!", lenient: true, tail: "f.octave",
			stdin: "octave"}, true
	case "matlab":
		return grammar{opts: "batch=t.matlab r=t.matlab sd: logfile:", single: true, lenient: true,
			tail: tailNone, stdin: "matlab"}, true
	case "gnuplot":
		return grammar{opts: "e=t.gnuplot c=f.gnuplot p,persist d V! h!", lenient: true, tail: "f.gnuplot",
			stdin: "gnuplot"}, true
	case "dc":
		return grammar{opts: "e,expression=t.dc f,file=f.dc V! h!", tail: "f.dc", stdin: "dc"}, true
	case "m4", "gm4":
		return grammar{opts: "D,define: I,include: U,undefine: R,reload-state: F: t: L: B: d? l: o: " +
			"s,synclines", lenient: true, tail: "f.m4", stdin: "m4"}, true
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk":
		return grammar{opts: "F,field-separator: v,assign: f,file=f.awk e,source=t.awk i,include=f.awk+ l,load: " +
			"E,exec=f.awk h,help! " +
			"version! W: d? D? p? o? L?", lenient: true, tail: "t.awk"}, true
	case "java":
		return grammar{opts: "jar=f.java cp,classpath,class-path: p,module-path: m,module! add-modules: " +
			"javaagent? D? version! help!",
			single: true, lenient: true, tail: "~file"}, true
	case "jshell":
		return grammar{opts: "startup=f.java+ s,feedback: class-path: module-path: R? C?", lenient: true,
			tail: "f.java", stdin: "java"}, true
	case "dotnet":
		return grammar{verbs: "dotnet", lenient: true}, true
	case "nu", "xonsh", "elvish", "oil", "osh", "ysh", "csh", "tcsh", "rc", "es":
		return otherShells(name)
	case "nim":
		return grammar{opts: "eval=t.nim", lenient: true, verbs: "nim"}, true
	case "crystal":
		return grammar{verbs: "crystal", lenient: true}, true
	case "raku", "perl6", "rakudo":
		return grammar{opts: "e=t.perl I: M? n p c! V! v! doc! ll-exception", lenient: true,
			tail: "f.perl", stdin: "perl"}, true
	case "janet", "fennel", "hy", "newlisp", "picolisp":
		return grammar{opts: "e,eval,c=t.lisp l,load=f.lisp+ m: i s k! v! h!", lenient: true,
			tail: "f.lisp", stdin: "lisp"}, true
	case "rdmd", "dmd":
		return grammar{opts: "eval=t.d loop=t.d I? L?", lenient: true, tail: "f.d"}, true
	case "rust-script":
		return grammar{opts: "e,expr=t.rust l,loop=t.rust d,dep: x: b: test: c,cargo-output", lenient: true,
			tail: "f.rust"}, true
	case "pike":
		return grammar{opts: "e=t.pike x: I? M? D?", lenient: true, tail: "f.pike", stdin: "pike"}, true
	case "crontab":
		return grammar{opts: "u: l! r! e i T! s n! c: V!", tail: "f.crontab", stdin: "crontab"}, true
	case "ninja", "just", "task", "rakefile", "scons", "invoke":
		return grammar{}, false
	case "make", "gmake", "bmake", "remake":
		return grammar{opts: "f,file,makefile=f.make+ C,directory: E,eval=t.make+ I,include-dir: j,jobs? " +
			"l,load-average? o,old-file,assume-old: " +
			"W,what-if,new-file,assume-new: O? d k n q s t w B", lenient: true, tail: "~~make"}, true
	case "cmake":
		return grammar{opts: "P=f.cmake E=~cmake D? G: T: A: S: B: C=f.cmake+ build! install! open!",
			single: true, lenient: true, tail: tailNone,
			verbs: ""}, true
	case "ansible-playbook":
		return grammar{opts: "i,inventory: u,user: l,limit: e,extra-vars: t,tags: f,forks: M: T: c: P: B:",
			lenient: true, tail: "f.ansible",
			remote: true}, true
	case "terraform", "tofu":
		return grammar{}, false
	}
	return grammar{}, false
}

// otherShells are shells whose language is another one.
func otherShells(name string) (grammar, bool) {
	switch name {
	case "csh", "tcsh", "rc", "es":
		return grammar{opts: "c=sh b d e f F i l m n q s t v V x X", stops: true, tail: "~script",
			stdin: kindShell}, true
	case "osh", "ysh", "oil":
		return grammar{opts: "c=sh o: O: n!", lenient: true, tail: "~script", stdin: kindShell}, true
	}
	return grammar{opts: "c,commands=t." + name + " e,execute=t." + name + " l,login n,no-config-file m: config: " +
		"env-config: rc: D: plugins:",
		lenient: true, stops: true, tail: "f." + name, stdin: name}, true
}

func editors(name string) (grammar, bool) {
	switch name {
	case "vi", "vim", "nvim", "view", "vimdiff", "gvim", "rvim", "rview", "ex", "vile", "elvis":
		g := grammar{opts: "c=t.vim+ cmd=t.vim+ S=f.vim+ u=~vimrc+ U: i: t: T: w: W: r? startuptime: servername: " +
			"remote-send: version! h!",
			lenient: true, tail: "~~edit"}
		if name == "ex" {
			g.stdin = "vim"
		}
		return g, true
	case "ed", "red":
		return grammar{opts: "p,prompt: s q E r V! h!", lenient: true, tail: tailNone, stdin: "ed"}, true
	case "emacs", "emacsclient", "xemacs":
		return grammar{opts: "eval,execute,e=t.elisp l,load=f.elisp+ script,x=f.elisp f,funcall: L: " +
			"s,socket-name: a,alternate-editor=sh+ t: u: " +
			"d,display: T,title: batch Q q nw no-init-file", single: true, lenient: true, tail: tailNone}, true
	}
	return grammar{}, false
}

func databases(name string) (grammar, bool) {
	switch name {
	case "psql", "pgcli":
		return grammar{opts: "c,command=t.sql f,file=f.sql v,set,variable: h,host: p,port: U,username: d,dbname: " +
			"o,output=~pipe+ L,log-file: " +
			"P,pset: F,field-separator: R,record-separator: T,table-attr: l,list! V,version! ?!", lenient: true,
			tail: tailNone, stdin: "sql"}, true
	case "mysql", "mariadb", "mycli":
		return grammar{opts: "e,execute=t.sql h,host: P,port: u,user: p,password? D,database: S,socket: " +
			"pager?sh+ tee: " +
			"init-command=t.sql+ default-character-set: defaults-file: defaults-extra-file: " +
			"defaults-group-suffix: delimiter: " +
			"prompt: protocol: V! ?!", lenient: true, tail: tailNone, stdin: "sql"}, true
	case "sqlite3", "sqlite", "duckdb", "litecli", "sqlcipher":
		return grammar{opts: "cmd=t.sql+ c,s=t.sql init=f.sql+ f=f.sql separator: nullvalue: newline: mmap: vfs: " +
			"maxsize: A? version! help!",
			single: true, lenient: true, tail: "~sqlite", stdin: "sql"}, true
	case "clickhouse-client", "sqlcmd", "cqlsh", "trino", "presto", "snowsql", "usql", "mssql-cli", "bq",
		"hive", "beeline", "impala-shell":
		return grammar{opts: "q,query,Q,e,execute,c,command=t.sql f,i,file,queries-file=f.sql h,host: p,port: " +
			"u,user: S: U: P: d: password:",
			lenient: true, tail: tailNone, stdin: "sql"}, true
	case "sqlplus":
		return grammar{opts: "S L V! H!", lenient: true, tail: tailNone, stdin: "sql"}, true
	case "mongosh", "mongo":
		return grammar{opts: "eval=t.javascript f,file=f.javascript host: port: u,username: p,password: " +
			"authenticationDatabase: quiet nodb " +
			"version! help!", lenient: true, tail: tailNone, stdin: "javascript"}, true
	case "redis-cli":
		return grammar{opts: "eval=f.lua h: p: a: n: u:", lenient: true, tail: tailNone}, true
	}
	return grammar{}, false
}
