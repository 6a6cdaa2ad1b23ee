//! Programs that start children without bound, by the words of their text.

use alloc::string::String;

use super::lang::Lang;
use super::tokens::{tokens, Seg, Tok, Token};
use protected_files::search::Case;

/// Whether a program forks without bound.
pub fn unbounded(text: &str, lang: Lang) -> bool {
    if !["fork", "spawn", "Popen", "Process", "exec", "popen", "proc_open", "system", "execute"].iter().any(|w| text.contains(w)) {
        return false;
    }
    let t = tokens(text, lang);
    let name = |i: usize| match t.get(i).map(|t| &t.tok) {
        Some(Tok::Name(n)) => n.as_str(),
        _ => "",
    };
    let forks = |t: &[Token]| t.iter().any(|t| matches!(&t.tok, Tok::Name(n) if matches!(n.as_str(), "fork" | "pcntl_fork" | "vfork" | "forkpty")));
    let children = |t: &[Token]| forks(t) || t.iter().any(|t| matches!(&t.tok, Tok::Name(n) if matches!(n.as_str(), "Popen" | "spawn" | "Process" | "execFile" | "proc_open" | "create_subprocess_exec" | "create_subprocess_shell")));
    // A line of a shell that goes on in the background.
    let line = |t: &[Token]| {
        let calls = t.iter().any(|t| matches!(&t.tok, Tok::Name(n) if matches!(n.as_str(), "system" | "execute" | "popen" | "exec" | "shell_exec" | "execSync")));
        calls && t.iter().any(|t| matches!(&t.tok, Tok::Text(s) if matches!(s.last(), Some(Seg::Plain(t)) if t.trim_end().ends_with('&'))))
    };
    let waits = t.iter().any(|t| matches!(&t.tok, Tok::Name(n) if matches!(n.as_str(), "wait" | "waitpid" | "wait3" | "accept" | "join" | "communicate" | "break" | "last" | "recv" | "poll" | "waitpid2" | "wait2" | "detach_all" | "return" | "exit" | "_exit" | "sleep")));
    if !children(&t) && !line(&t) {
        return false;
    }
    // A loop that does not end, around it or behind it.
    let always = (0..t.len()).any(|i| match name(i) {
        "while" | "until" => {
            let mut k = i + 1;
            while matches!(t.get(k).map(|t| &t.tok), Some(Tok::Op("("))) {
                k += 1;
            }
            match t.get(k).map(|t| &t.tok) {
                Some(Tok::Name(n)) => matches!((name(i), n.as_str()), ("while", "True" | "true" | "TRUE" | "fork") | ("until", "false" | "False") | ("while", "not")),
                Some(Tok::Num(n)) => (*n != 0) == (name(i) == "while"),
                Some(Tok::Op("!")) | Some(Tok::Op(")")) | Some(Tok::Op("{")) => true,
                _ => false,
            }
        }
        "for" => matches!(
            (t.get(i + 1).map(|t| &t.tok), t.get(i + 2).map(|t| &t.tok), t.get(i + 3).map(|t| &t.tok), t.get(i + 4).map(|t| &t.tok)),
            (Some(Tok::Op("(")), Some(Tok::End), Some(Tok::End), Some(Tok::Op(")")))
        ),
        "loop" => matches!(t.get(i + 1).map(|t| &t.tok), Some(Tok::Op("{"))) || name(i + 1) == "do",
        "repeat" => matches!(t.get(i + 1).map(|t| &t.tok), Some(Tok::Op("{"))) || lang == Lang::Lua,
        "INFINITY" | "setInterval" | "count" | "cycle" => name(i) != "count" || text.contains("itertools"),
        "iter" => matches!((t.get(i + 2).map(|t| &t.tok), t.get(i + 4).map(|t| &t.tok)), (Some(Tok::Name(n)), Some(Tok::Num(1))) if n == "int"),
        _ => false,
    });
    if always && !waits {
        return true;
    }
    // fork while fork, fork || fork without end is the same.
    if (0..t.len()).any(|i| name(i) == "fork" && name(i + 1) == "while") {
        return true;
    }
    // A function that calls itself, and forks.
    (0..t.len()).any(|i| {
        let defined = matches!(name(i), "def" | "function" | "sub" | "func" | "fun") && !name(i + 1).is_empty();
        defined && {
            let n = name(i + 1);
            let body = &t[i + 2..];
            let inner = body.iter().position(|t| t.first && t.indent == 0 && t.tok != Tok::End).map_or(body, |end| if lang == Lang::Python { &body[..end] } else { body });
            let inner = match (lang, inner.iter().position(|t| t.tok == Tok::Op("{"))) {
                (Lang::Python | Lang::Ruby | Lang::Lua, _) | (_, None) => inner,
                (_, Some(open)) => &inner[open..close(inner, open)],
            };
            let itself = inner.iter().any(|t| matches!(&t.tok, Tok::Name(m) if m == n));
            itself && children(inner) && !inner.iter().any(|t| matches!(&t.tok, Tok::Name(m) if matches!(m.as_str(), "if" | "return" | "wait" | "unless" | "case")))
        }
    }) || lang == Lang::Js && text.contains("fork(__filename")
}

/// Whether a text of words starts itself twice, or children in a loop that does not end.
pub fn endless(text: &str, language: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace() && *c != '^').collect();
    let low = plain.lowered();
    if language == "cmd" {
        return low.contains("%0|%0");
    }
    let waits = ["sleep", "wait", "break", "return", "exit", "vwait"].iter().any(|w| low.contains(w) && !low.contains(&alloc::format!("\"{}", w)));
    let loops = ["while($true)", "while(1)", "while1{", "while{1}", "whiletrue{", "for(;;)", "while{true}"].iter().any(|l| low.contains(l));
    let starts = ["start-process", "saps", "start-job", "start-threadjob"].iter().any(|s| low.contains(s));
    let background = language != "powershell" && low.contains("exec") && text.lines().any(|l| l.trim_end().trim_end_matches('}').trim_end().ends_with('&'));
    loops && (starts || background) && !waits
}

fn close(t: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (k, t) in t.iter().enumerate().skip(open) {
        match t.tok {
            Tok::Op("{") => depth += 1,
            Tok::Op("}") => {
                depth -= 1;
                if depth == 0 {
                    return k;
                }
            }
            _ => {}
        }
    }
    t.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs() {
        for (lang, text, want) in [
            (Lang::Ruby, "fork while true", true),
            (Lang::Perl, "fork while fork", true),
            (Lang::Perl, "while(1){fork}", true),
            (Lang::Python, "import os\nwhile True: os.fork()", true),
            (Lang::Python, "import os\nwhile 1:\n  os.fork()", true),
            (Lang::Ruby, "loop { fork { sleep } }", false),
            (Lang::Ruby, "loop { fork }", true),
            (Lang::Js, "for(;;) require('child_process').spawn('node')", true),
            (Lang::Python, "import os\ndef b():\n  os.fork()\n  b()\nb()", true),
            (Lang::Python, "import os\nfor i in range(4): os.fork()", false),
            (Lang::Python, "import os\npid = os.fork()\nprint(pid)", false),
            (Lang::Python, "while True:\n  c = s.accept()\n  os.fork()", false),
            (Lang::Awk, "BEGIN { while (1) system(\"sleep 9 &\") }", true),
            (Lang::Lua, "while true do os.execute('sleep 9 &') end", true),
            (Lang::Lua, "while true do os.execute('sleep 9') end", false),
            (Lang::Php, "while(true){pcntl_fork();}", true),
            (Lang::Python, "def f(n): return n if n < 2 else f(n-1)\nprint(f(3))", false),
        ] {
            assert_eq!(unbounded(text, lang), want, "{text}");
        }
        for (language, text, want) in [
            ("cmd", "echo %0^|%0 > b.bat & b.bat", true),
            ("cmd", "%0|%0", true),
            ("cmd", "echo %0", false),
            ("powershell", "while($true){Start-Process pwsh}", true),
            ("powershell", "while($true){Start-Process x; Start-Sleep 5}", false),
            ("powershell", "Start-Process pwsh", false),
            ("tcl", "while 1 {exec sh -c \"ls\" &}", true),
            ("tcl", "while 1 {exec sh -c ls}", false),
        ] {
            assert_eq!(endless(text, language), want, "{text}");
        }
    }
}
