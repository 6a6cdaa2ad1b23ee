//! What the functions do that a program calls: start programs, change files, fetch, run texts.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::lang::Lang;
use super::reader::Reader;
use super::texts;
use super::value::{one_of, Val, HOLE};

impl Reader<'_> {
    /// Calls what the program does not define: full is its name with those of its modules, recv what it is called on.
    pub fn invoke(&mut self, full: &str, recv: Option<Val>, args: Vec<Val>, named: Vec<(String, Val)>) -> Val {
        let full = full.trim_start_matches("builtins.").trim_start_matches("globalThis.").trim_start_matches("Kernel.").trim_start_matches("window.").trim_start_matches("__builtins__.");
        let last = full.rsplit('.').next().unwrap_or(full).trim_end_matches('!').to_string();
        if let Some(v) = self.reflected(full, &last, &recv, &args) {
            return v;
        }
        if let Some(v) = self.runs_text(full, &last, &recv, &args, &named) {
            return v;
        }
        if let Some(v) = self.starts(full, &last, &recv, &args, &named) {
            self.run_functions(&Val::Unknown, &args);
            return v;
        }
        if let Some(v) = self.network(full, &last, &recv, &args, &named) {
            return v;
        }
        if let Some(v) = self.files(full, &last, &recv, &args, &named) {
            self.run_functions(&v, &args);
            return v;
        }
        if let Some(v) = texts::returned(full, recv.as_ref(), &args, &named) {
            self.run_functions(&v, &args);
            return v;
        }
        self.callbacks(full, &last, recv, args)
    }

    /// Names that a program makes up: getattr(os, "system"), __import__("os"), require("fs"), send(:system, ...).
    fn reflected(&mut self, full: &str, last: &str, recv: &Option<Val>, args: &[Val]) -> Option<Val> {
        let text = |i: usize| args.get(i).and_then(Val::known);
        Some(match last {
            // What find calls for each file has its name in two places.
            "find" | "finddepth" if self.lang == Lang::Perl && matches!(args.first(), Some(Val::Function(_) | Val::Map(_))) => {
                for dir in args[1..].iter().flat_map(Val::elements) {
                    let all = super::value::join_path(&dir, &Val::text(super::value::ANY));
                    self.bind("_", all.clone());
                    self.bind("File::Find::name", all.clone());
                    if let Some(Val::Function(k)) = args.first().map(|f| f.member("wanted").unwrap_or(f)) {
                        let k = *k;
                        self.call_function(k, vec![all]);
                    }
                }
                Val::Unknown
            }
            "get_password" | "get_credential" if full.starts_with("keyring") => {
                self.told.own("secret-tool lookup service x".into());
                Val::Unknown
            }
            "getattr" | "hasattr" if recv.is_none() => match (args.first(), text(1)) {
                (Some(Val::Name(m)), Some(n)) => Val::Name(format!("{}.{}", m, n)),
                (_, Some(_)) => Val::Unknown,
                _ => Val::Name("?".into()),
            },
            "__getattribute__" | "__getattr__" if matches!(text(0), Some(_)) => Val::Name(format!("{}.{}", full.trim_end_matches(last).trim_end_matches('.'), text(0)?)),
            "__import__" | "import_module" | "require" | "createRequire" | "getBuiltinModule" | "import" if recv.is_none() && self.lang != Lang::Php && self.lang != Lang::Perl => match text(0) {
                Some(m) => Val::Name(m.trim_start_matches("node:").trim_end_matches("/promises").to_string()),
                None if last == "require" && self.lang != Lang::Js => return None,
                None => Val::Name("?".into()),
            },
            "globals" | "locals" | "vars" if recv.is_none() && args.len() < 2 => match args.first() {
                Some(v) => v.clone(),
                None => Val::Name("builtins".into()),
            },
            "send" | "public_send" | "__send__" | "method" | "call_user_func" | "call_user_func_array" | "apply" | "do.call" | "call" | "array_walk" | "func_get_args" | "ReflectionFunction"
                if text(0).is_some() || matches!(args.first(), Some(Val::Name(_))) =>
            {
                let name = match &args[0] {
                    Val::Name(n) => n.clone(),
                    _ => text(0)?,
                };
                let module = full.trim_end_matches(last).trim_end_matches('.');
                let target = if module.is_empty() || matches!(module, "Object" | "self") { name } else { format!("{}.{}", module, name) };
                if last == "method" {
                    return Some(Val::Name(target));
                }
                let rest: Vec<Val> = match args.get(1) {
                    Some(Val::List(l)) if matches!(last, "call_user_func_array" | "apply" | "do.call") => l.clone(),
                    _ => args[1..].to_vec(),
                };
                if last == "call" && recv.is_none() {
                    return None;
                }
                self.invoke(&target, None, rest, Vec::new())
            }
            "map" | "array_map" | "array_walk" | "each" | "forEach" | "for_each" | "lapply" | "sapply" | "filter" | "array_filter" | "each_with_index" | "Enum.each" | "Enum.map" | "foreach" | "submit" | "starmap"
            | "apply_async" | "invoke_map" => {
                let (f, list) = match (recv, args.first()) {
                    (Some(list), Some(f)) => (f.clone(), list.clone()),
                    (None, Some(list @ (Val::List(_) | Val::OneOf(_)))) => (args.get(1)?.clone(), list.clone()),
                    (None, Some(f)) => (f.clone(), args.get(1).cloned().unwrap_or(Val::Unknown)),
                    _ => return None,
                };
                let name = match &f {
                    Val::Name(n) => n.clone(),
                    Val::Text(n) if n.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') => n.clone(),
                    Val::Function(k) => {
                        let all = list.elements();
                        if all.len() <= 64 && !all.is_empty() && matches!(list, Val::List(_)) {
                            let out = all.into_iter().map(|v| self.call_function(*k, vec![v])).collect();
                            return Some(Val::List(out));
                        }
                        return Some(self.call_function(*k, vec![list.element()]));
                    }
                    _ => return None,
                };
                if texts::returned(full, recv.as_ref(), args, &[]).is_some() {
                    return None;
                }
                // A method of the elements: &:unlink
                if matches!(f, Val::Text(_)) && self.lang == Lang::Ruby {
                    let v = list.element();
                    return Some(self.invoke(&name, Some(v), Vec::new(), Vec::new()));
                }
                let all = list.elements();
                let out: Vec<Val> = all.into_iter().take(64).map(|v| self.invoke(&name, None, vec![v], Vec::new())).collect();
                Val::List(out)
            }
            _ => return None,
        })
    }

    /// Texts that are run as programs of the language.
    fn runs_text(&mut self, full: &str, last: &str, recv: &Option<Val>, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        let bare = full == last && recv.is_none();
        let first = args.first().cloned();
        let module = full.trim_end_matches(last).trim_end_matches('.');
        let evaluates = match last {
            "eval" | "execfile" => bare || matches!(module, "vm" | "engine" | "Code" | "Eval" | "js" | "this" | "Meta" | "self" | "base" | "instance"),
            "exec" => bare && self.lang == Lang::Python || module == "builtins",
            "runInThisContext" | "runInNewContext" | "runInContext" | "instance_eval" | "class_eval" | "module_eval" | "eval_string" | "loadstring" | "create_function" | "evalString" | "include_string"
            | "GeneratorFunction" | "AsyncFunction" | "eval_quoted" | "eval_file" | "evaluate" => true,
            "Function" => self.lang == Lang::Js,
            "Script" => module == "vm",
            "load" => bare && matches!(self.lang, Lang::Lua | Lang::Ruby),
            "assert" => bare && self.lang == Lang::Php && matches!(first, Some(Val::Text(_) | Val::Net)),
            "setTimeout" | "setInterval" | "setImmediate" => matches!(first, Some(Val::Text(_) | Val::Net)),
            "loads" => matches!(module, "pickle" | "marshal" | "dill" | "cloudpickle" | "cPickle") && first == Some(Val::Net),
            "run_path" | "run_module" => false,
            "preg_replace" => false,
            _ => false,
        };
        if evaluates {
            let v = match (last, args.last()) {
                ("Function" | "create_function", Some(v)) => v.clone(),
                _ => first.unwrap_or(Val::Unknown),
            };
            if args.is_empty() {
                self.run_functions(&Val::Unknown, args);
                return Some(Val::Unknown);
            }
            let v = match named.iter().find(|(k, _)| k == "text") {
                Some((_, t)) => t.clone(),
                None => v,
            };
            if last == "load" && self.lang == Lang::Ruby || matches!(last, "execfile" | "eval_file") {
                self.told.run_text(self.lang.program(), &Val::Content(Box::new(v)));
                return Some(Val::Unknown);
            }
            if matches!(last, "Function" | "load" | "loadstring" | "create_function" | "Script") {
                self.eval(&v);
                return Some(Val::Name("made()".into()));
            }
            return Some(self.eval(&v));
        }
        // Files that are run.
        let file = match last {
            "run_path" | "dofile" | "loadfile" => bare || module == "runpy",
            "source" | "sys.source" => bare && matches!(self.lang, Lang::R),
            "include" if self.lang == Lang::Julia => bare,
            "include" | "include_once" | "require" | "require_once" => bare && matches!(self.lang, Lang::Php),
            "do" => bare && self.lang == Lang::Perl,
            "importScripts" => true,
            _ => false,
        };
        if file {
            match &first {
                Some(Val::Text(t)) if t.contains("://") => self.told.run_text(self.lang.program(), &Val::Net),
                Some(Val::Text(t)) if !t.contains(HOLE) => self.told.run_text(self.lang.program(), &Val::Content(Box::new(Val::text(t.clone())))),
                Some(Val::Net) => self.told.run_text(self.lang.program(), &Val::Net),
                _ => {}
            }
            return Some(Val::Unknown);
        }
        None
    }

    /// Programs that are started.
    fn starts(&mut self, full: &str, last: &str, recv: &Option<Val>, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        if recv.is_some() {
            return self.starts_on(last, recv.as_ref()?, args);
        }
        let module = full.trim_end_matches(last).trim_end_matches('!').trim_end_matches('.');
        let top = module.split('.').next().unwrap_or("");
        let bare = module.is_empty() && self.lang.bare_functions();
        let own = |list: &[&str]| list.contains(&module) || list.contains(&top);
        let processes = own(&[
            "os", "subprocess", "sp", "child_process", "cp", "commands", "popen2", "Process", "IO", "Open3", "PTY", "posix", "nt", "asyncio", "pty", "sh", "execa", "shell", "shelljs", "Deno", "Bun", "System", "Sys", "io",
            "Runtime", "Cmd", "exec", "std", "pexpect", "winpty", "util", "invoke", "plumbum", "platform", "Shell", "Session", "Unix", "luv", "vim", "uv",
        ]);
        let mode = match last {
            "system" | "popen" | "popen2" | "popen3" | "popen4" | "getoutput" | "getstatusoutput" | "getstatus" | "shell_exec" | "passthru" | "execSync" | "create_subprocess_shell" | "execaCommand" | "execaCommandSync"
            | "execaSync" | "proc_open" | "startfile" | "capture2" | "capture2e" | "capture3" | "popen2e" | "shell" | "system2" | "pipeline" | "pipe_r" | "subprocess_shell" | "runCommand" | "open3" | "getoutput_s" | "cmd" | "shellCommand" | "readProcess"
            | "callCommand" | "callProcess" | "rawSystem" | "jobstart" | "termopen" | "job_start" | "systemlist" | "esyscmd" | "syscmd" | "os_execute" | "sys_exec" | "executeCommand" | "open_process_in" | "command" | "open_process" | "create_process" | "spawnSync"
            | "execFile" | "execFileSync" | "spawn" | "check_output" | "check_call" | "Popen" | "create_subprocess_exec" | "pcntl_exec" | "execvp" | "execv" | "execl" | "execlp" | "execle" | "execve" | "execvpe" | "execlpe" | "spawnl" | "spawnlp"
            | "spawnv" | "spawnvp" | "spawnle" | "spawnve" | "posix_spawn" | "posix_spawnp" | "spawnu" | "execa" | "call" | "run" | "exec" | "Command" | "execute" | "ProcessBuilder" | "Process" | "capture" | "fork" | "spawn_process" | "$"  | "runInteractiveCommand" | "shelltools" | "qx" | "readpipe" | "readProcessWithExitCode" => last,
            "sh" if self.lang == Lang::Ruby && module.is_empty() && !args.is_empty() => last, // rake's own
            _ if top == "sh" && full.contains('.') && self.lang == Lang::Python && !args.is_empty() => {
                let mut words = vec![Val::text(last)];
                words.extend(args.iter().cloned());
                self.told.words(&words);
                return Some(Val::Unknown);
            }
            _ => return None,
        };
        // Names that mean something else without the module of processes.
        let ambiguous = matches!(mode, "call" | "run" | "exec" | "command" | "execute" | "capture" | "Process" | "Command" | "spawn" | "fork" | "cmd" | "shell" | "pipeline" | "popen" | "Popen" | "execFile" | "$" | "create_process" | "open3" | "capture2");
        let known = match mode {
            "call" | "capture" => processes,
            "run" => processes || module.is_empty() && matches!(self.lang, Lang::Julia | Lang::R),
            "exec" => processes || module.is_empty() && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php) || full.contains("getRuntime"),
            "execute" => top == "os" || top == "IO",
            "command" | "cmd" | "shell" => processes || module.is_empty() && matches!(self.lang, Lang::R | Lang::Calls),
            "spawn" => processes || bare,
            "fork" => top == "child_process" || top == "cp",
            "Process" | "Command" | "$" => processes || matches!(self.lang, Lang::Calls),
            "pipeline" | "open3" | "capture2" => processes || bare,
            "popen" | "Popen" => processes || bare || module.is_empty(),
            "execFile" => processes || module.is_empty(),
            _ => true,
        };
        if ambiguous && !known || args.is_empty() && named.is_empty() {
            return None;
        }
        if top == "platform" && mode == "system" {
            return None;
        }
        let mut words: Vec<Val> = args.iter().filter(|a| !matches!(a, Val::Map(_) | Val::Function(_))).cloned().collect();
        if words.is_empty() {
            if let Some((_, v)) = named.iter().find(|(k, _)| matches!(k.as_str(), "args" | "cmd" | "command")) {
                words.push(v.clone());
            }
        }
        if words.is_empty() {
            return None;
        }
        if self.lang == Lang::Julia && matches!(words[0], Val::Unknown | Val::Net) {
            return Some(Val::Unknown); // its command in backticks is told
        }
        let cwd = named.iter().find(|(k, _)| k == "cwd" || k == "chdir").map(|(_, v)| v.clone()).or_else(|| args.iter().find_map(|a| a.member("cwd").cloned()));
        if let Some(Val::Text(dir)) = &cwd {
            self.told.push(format!("cd {}", super::value::quoted(dir)));
        }
        let words_at_first = |w: &[Val]| matches!(w.first(), Some(Val::List(_)));
        // subprocess.run(["bash"], input=TEXT)
        let input = named.iter().find(|(k, _)| k == "input").map(|(_, v)| v).or_else(|| args.iter().find_map(|a| a.member("input")));
        if let (Some(text @ (Val::Net | Val::Text(_))), Some(program)) = (input, words[0].elements().first().and_then(Val::known)) {
            if crate::backdoor::is_shell(program.rsplit('/').next().unwrap_or("")) {
                self.told.run_text_on(&program, text);
            }
        }
        if top == "pty" {
            self.told.shell = true;
        }
        match mode {
            // The words of the program, with its own name again.
            "execv" | "execvp" | "execve" | "execvpe" | "posix_spawn" | "posix_spawnp" if self.lang == Lang::Python || self.lang == Lang::Js => {
                let mut all = vec![words[0].clone()];
                all.extend(words.get(1).map_or(Vec::new(), |l| l.elements().into_iter().skip(1).collect()));
                self.told.words(&all);
            }
            "execl" | "execlp" | "execle" | "execlpe" => {
                words.drain(1..2.min(words.len()));
                self.told.words(&words);
            }
            "spawnl" | "spawnlp" | "spawnle" => {
                words.drain(..1);
                words.drain(1..2.min(words.len()));
                self.told.words(&words);
            }
            "spawnv" | "spawnvp" | "spawnve" => {
                let mut all = vec![words.get(1).cloned().unwrap_or(Val::Unknown)];
                all.extend(words.get(2).map_or(Vec::new(), |l| l.elements().into_iter().skip(1).collect()));
                self.told.words(&all);
            }
            "popen" | "system" | "getoutput" | "execSync" | "shell_exec" | "passthru" | "capture2" | "capture2e" | "capture3" | "popen2e" | "create_subprocess_shell" if !words_at_first(&words) => {
                // One text is a line; more of them are words, but a mode of popen is none.
                let modes = |v: &Val| matches!(v.known().as_deref(), Some("r" | "w" | "rb" | "wb" | "r+" | "re" | "rw"));
                if words.len() > 1 && matches!(self.lang, Lang::Ruby | Lang::Perl) && !modes(&words[1]) {
                    self.told.words(&words);
                } else {
                    self.told.line(&words[0]);
                    if words.get(1).and_then(Val::known).as_deref() == Some("w") {
                        return Some(Val::File(Box::new(Val::Map(vec![("to".into(), words[0].clone())])), true));
                    }
                    return Some(self.told.output(&words[0]));
                }
            }
            "cmd" | "Command" | "spawn" | "spawnSync" | "execFile" | "execFileSync" | "execa" | "execaSync" | "system2" | "Process" | "create_subprocess_exec" | "pcntl_exec" | "fork" | "proc_open" | "callProcess" | "readProcess" | "rawSystem"
            | "jobstart" | "termopen" | "$" | "ProcessBuilder" | "create_process" | "run" | "Popen" | "call" | "check_output" | "check_call" | "exec" | "open3" | "execvp" | "execv" | "capture" | "readProcessWithExitCode" => {
                let more: Vec<Val> = named.iter().filter(|(k, _)| k == "args").map(|(_, v)| v.clone()).collect();
                let options: Vec<Val> = args.iter().filter_map(|a| a.member("args").or_else(|| a.member("cmd"))).cloned().collect();
                words.extend(more);
                words.extend(options);
                words.retain(|w| !matches!(w, Val::Num(_)) || words_at_first(core::slice::from_ref(w)));
                let list = words.len() > 1 || words_at_first(&words);
                let line_first = matches!(mode, "run" | "Popen" | "call" | "check_output" | "check_call" | "exec" | "spawn" | "open3");
                if list && !(line_first && matches!(words[0], Val::Text(_)) && self.lang == Lang::Python) && !(mode == "exec" && self.lang == Lang::Php) && !(mode == "exec" && self.lang == Lang::Js) && !(mode == "proc_open" && !words_at_first(&words)) {
                    let words: Vec<Val> = if self.lang == Lang::R {
                        words.iter().flat_map(|w| w.elements()).flat_map(|w| w.as_text().map_or(vec![w.clone()], |t| t.split_whitespace().map(Val::text).collect())).collect()
                    } else {
                        words
                    };
                    self.told.words(&words);
                } else {
                    self.told.line(&words[0]);
                    return Some(self.told.output(&words[0]));
                }
            }
            _ => {
                self.told.line(&words[0]);
                return Some(self.told.output(&words[0]));
            }
        }
        Some(Val::Unknown)
    }

    /// Texts that start themselves: "rm -rf /".execute(), ["rm"].execute()
    fn starts_on(&mut self, last: &str, recv: &Val, args: &[Val]) -> Option<Val> {
        match (last, recv) {
            ("execute", Val::Text(_) | Val::List(_)) if self.lang == Lang::Calls => {
                self.told.line(recv);
                Some(Val::Unknown)
            }
            ("exec" | "start" | "startProcess", Val::Text(_) | Val::List(_)) if self.lang == Lang::Calls && args.is_empty() => {
                self.told.line(recv);
                Some(Val::Unknown)
            }
            ("exec", Val::Unknown) if self.lang == Lang::Calls && !args.is_empty() => {
                self.told.line(&args[0]);
                Some(Val::Unknown)
            }
            ("recv" | "recvfrom" | "recv_into", _) => Some(Val::Net),
            _ => None,
        }
    }

    /// What comes from the network, and connections.
    fn network(&mut self, full: &str, last: &str, recv: &Option<Val>, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        let sockets = matches!(
            full,
            "socket.socket" | "socket.create_connection" | "socket.create_server" | "net.connect" | "net.createConnection" | "net.Socket" | "net.createServer" | "tls.connect" | "TCPSocket.new" | "TCPSocket.open" | "TCPServer.new"
                | "TCPServer.open" | "Socket.tcp" | "Socket.new" | "socket.tcp" | "socket.connect" | "fsockopen" | "pfsockopen" | "stream_socket_client" | "stream_socket_server" | "IO.Socket.INET.new" | "IO.Socket.IP.new" | "gen_tcp.connect"
                | "gen_tcp.listen" | "Sockets.connect" | "connect" | "TCPSocket" | "socketConnection" | "asyncio.open_connection" | "asyncio.start_server" | "Deno.connect" | "Deno.listen" | "socket" | "socket_create" | "OpenSSL.SSL.SSLSocket.new"
                | "UNIXSocket.new" | "Socket" | "ServerSocket" | "socketserver.TCPServer" | "socket.bind" | "Bun.listen" | "Bun.connect" | "server.listen"
        );
        if sockets || full.contains("Socket.INET") || full.contains("gen_tcp") {
            self.told.socket = true;
            self.run_functions(&Val::Net, args);
            return Some(Val::Net);
        }
        if matches!(last, "dup2" | "dup" | "reopen" | "fdopen") {
            self.told.shell |= matches!(last, "dup2" | "reopen") || last == "fdopen";
            return None;
        }
        if let Some(Val::Net) = recv {
            let v = match last {
                "pipe" => {
                    if let Some(Val::File(p, true)) = args.first() {
                        self.told.fetched(&Val::Unknown, p);
                    }
                    Val::Net
                }
                "on" | "then" | "map" | "forEach" | "each" | "each_line" | "tap" => {
                    for f in args.iter() {
                        if let Val::Name(n) = f {
                            self.invoke(n, None, vec![Val::Net], Vec::new());
                        }
                    }
                    self.run_functions(&Val::Net, args);
                    Val::Net
                }
                "write_text" | "write_bytes" | "save" | "saveTo" => Val::Net,
                _ => {
                    self.run_functions(&Val::Net, args);
                    Val::Net
                }
            };
            return Some(v);
        }
        if let Some(Val::Content(_) | Val::File(..)) = recv {
            return None;
        }
        let address = |v: &Val| matches!(v, Val::Text(t) if t.starts_with("http://") || t.starts_with("https://") || t.starts_with("ftp://") || t.starts_with("ftps://"));
        let at = args.iter().position(|a| a.each().iter().any(address) || a.elements().iter().any(address) && !matches!(a, Val::Map(_)));
        let fetches = matches!(
            full,
            "urllib.request.urlopen" | "urllib.urlopen" | "urllib2.urlopen" | "requests.get" | "requests.post" | "requests.request" | "httpx.get" | "fetch" | "axios" | "axios.get" | "http.get" | "https.get" | "got" | "Net.HTTP.get" | "URI.open"
                | "curl_exec" | "http.request" | "https.request" | "LWP.Simple.get" | "urlopen" | "Req.get" | "HTTPoison.get" | "requests.session" | "http.client.HTTPSConnection" | "http.client.HTTPConnection" | "wget" | "curl" | "getURL" | "httr.GET"
        );
        if at.is_none() && !fetches {
            return None;
        }
        if matches!(last, "print" | "println" | "log" | "puts" | "echo" | "warn" | "error" | "write" | "push" | "append" | "assert" | "assertEqual" | "expect" | "info" | "debug" | "say") {
            return None;
        }
        let saves = matches!(last, "urlretrieve" | "download" | "download.file" | "file" | "getstore" | "mirror" | "copy" | "downloadFile" | "writeFile");
        let to = match at {
            Some(i) => args.get(i + 1),
            None => None,
        };
        if saves || last == "copy" {
            let url = at.map_or(Val::Unknown, |i| args[i].clone());
            if let Some(to) = to {
                self.told.fetched(&url, to);
            } else if let Some((_, to)) = named.iter().find(|(k, _)| matches!(k.as_str(), "filename" | "out" | "destfile" | "output" | "to")) {
                self.told.fetched(&url, to);
            }
            return Some(Val::Net);
        }
        self.run_functions(&Val::Net, args);
        Some(Val::Net)
    }

    /// Functions that are handed to functions of which nothing is known.
    fn callbacks(&mut self, full: &str, last: &str, recv: Option<Val>, args: Vec<Val>) -> Val {
        // fs.readFile(p, callback) and promises
        let about = match &recv {
            Some(v) => v.clone(),
            None => Val::Unknown,
        };
        if last == "then" || last == "pipe" || last == "tap" {
            for f in &args {
                if let Val::Name(n) = f {
                    self.invoke(n, None, vec![about.clone()], Vec::new());
                }
            }
        }
        if last == "then" {
            let module = full.trim_end_matches(".then");
            if recv.is_none() && module != full {
                let mut out = Val::Unknown;
                for a in &args {
                    if let Val::Function(k) = a {
                        out = self.call_function(*k, vec![Val::Name(module.trim_end_matches("()").into())]);
                    }
                }
                return out;
            }
        }
        // Thread(target=f), setTimeout(f): what is handed on by its name is called.
        let made = self.run_functions(&about, &args);
        for v in &args {
            if let (Val::Name(n), true) = (v, matches!(last, "setTimeout" | "setImmediate" | "nextTick" | "at_exit" | "register" | "atexit")) {
                self.invoke(n, None, Vec::new(), Vec::new());
            }
        }
        match recv {
            Some(Val::Net) => Val::Net,
            Some(Val::Function(_)) => made,
            Some(v @ (Val::Text(_) | Val::OneOf(_))) if matches!(last, "then" | "itself" | "dup" | "clone" | "to_path" | "as_str" | "yield_self" | "tap") => {
                if made == Val::Unknown {
                    v
                } else {
                    one_of(vec![v, made])
                }
            }
            Some(_) => Val::Unknown,
            None => Val::Name(format!("{}()", full)),
        }
    }
}
