//! What a program does itself to files, as the commands that do the same.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::lang::Lang;
use super::reader::Reader;
use super::value::{join_path, quoted, Val, ANY, HOLE};

/// Modules whose functions are about files.
const MODULES: &[&str] = &[
    "os", "shutil", "fs", "fsp", "fsPromises", "promises", "fse", "fs-extra", "FileUtils", "File", "Dir", "IO", "Pathname", "Deno", "Bun", "posix", "nt", "io", "codecs", "pathlib", "Path", "Files", "FileSystem", "lfs", "tarfile", "zipfile", "gzip", "bz2",
    "send2trash", "path", "file", "Sys", "list", "rimraf", "del", "File.Path", "File.Copy", "Filesystem", "base", "System", "Ftools", "kotlin", "java", "org", "nio", "shelljs", "sh", "FileManager", "NSFileManager", "dir", "fileinput", "linecache", "pd", "pandas", "json", "yaml", "configparser", "dotenv", "builtins", "Marshal", "YAML",
];

impl Reader<'_> {
    /// A function of files; `None` for other functions.
    pub fn files(&mut self, full: &str, last: &str, recv: &Option<Val>, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        let module = full.trim_end_matches('!').trim_end_matches(last).trim_end_matches('.');
        let top = module.split(&['.', '('][..]).next().unwrap_or("");
        let owner = module.rsplit('.').next().unwrap_or("");
        let bare = module.is_empty() && recv.is_none();
        let ours = bare && self.lang.bare_functions() || MODULES.contains(&top) || MODULES.contains(&owner) || MODULES.contains(&module);
        if let Some(v) = recv {
            return self.on_value(last, v, args, named);
        }
        // What a module made: tarfile.open(...).add(...)
        if (module.contains("tarfile") || module.contains("zipfile") || module.contains("ZipFile")) && matches!(last, "add" | "write" | "addfile") {
            self.told.paths("cat", &args[..1.min(args.len())]);
            return Some(Val::Unknown);
        }
        // open is there without a module.
        if bare && matches!(last, "open" | "fopen" | "file" | "rimraf" | "rimrafSync" | "del" | "move" | "copy") || ours {
            return self.by_name(full, last, module, args, named);
        }
        None
    }

    fn by_name(&mut self, full: &str, last: &str, module: &str, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        let option = |names: &[&str]| named.iter().find(|(k, _)| names.contains(&k.as_str())).map(|(_, v)| v.clone());
        let flag = |name: &str| args.iter().any(|a| a.member(name).is_some()) || option(&[name]).map_or(false, |v| !matches!(v, Val::Name(ref n) if n == "False" || n == "false" || n == "FALSE"));
        let plain: Vec<Val> = args.iter().filter(|a| !matches!(a, Val::Map(_) | Val::Function(_))).cloned().collect();
        let first = plain.first().cloned();
        let base = match last {
            l if l.ends_with("Sync") => &l[..l.len() - 4],
            l => l,
        };
        let deep = base == "rmdir" && plain.get(1).and_then(Val::known).map_or(false, |t| t == "s") || base == "delete" && plain.get(1).and_then(Val::known).map_or(false, |t| t == "rf") || flag("recursive") || flag("force") && base == "rm" || plain.iter().skip(1).any(|a| matches!(a, Val::Name(n) if matches!(n.as_str(), "TRUE" | "true" | "T")));
        let deletes_deep = matches!(base, "rmtree" | "remove_tree" | "rm_rf" | "rm_r" | "rimraf" | "emptyDir" | "emptydir" | "deleteRecursively" | "remove_entry_secure" | "remove_entry" | "remove_dir" | "delete_all" | "rmtree_p" | "deleteDirectory" | "cleanDirectory" | "removeItem" | "deltree" | "remove_dir_all" | "removeDir" | "rmdirRecurse" | "recursive_rm" | "deleteTree" | "send2trash")
            || base == "remove" && matches!(module, "fse" | "fs-extra") || base == "del" || base == "rm" && matches!(module, "sh" | "shelljs");
        if deletes_deep || deep && matches!(base, "rm" | "rmdir" | "unlink" | "remove" | "delete") {
            let it = self.lookup("_");
            for p in plain.iter().chain(if plain.is_empty() { it.as_ref() } else { None }).filter(|p| !matches!(p, Val::Num(_) | Val::Name(_))) {
                self.told.delete_tree(p);
            }
            if let Some(Val::Name(n)) = plain.first() {
                if !n.contains('(') && !matches!(n.as_str(), "TRUE" | "true") {
                    self.told.delete_tree(&Val::Unknown);
                }
            }
            return Some(Val::Unknown);
        }
        match base {
            "rm" | "unlink" | "remove" | "delete" | "rm_f" | "safe_unlink" | "deleteIfExists" | "file.remove" | "removeFile" | "erase" | "deleteOnExit" | "removedirs" | "rmdir" | "delete_file" | "removeDirectory" | "rmdirs" => {
                // A directory that is deleted so is empty, or the call fails.
                let command = if matches!(base, "rmdir" | "removedirs" | "rmdirs") { "rmdir" } else { "rm -f" };
                let paths = if plain.is_empty() && self.lang == Lang::Perl { vec![self.lookup("_").unwrap_or(Val::Unknown)] } else { plain };
                self.told.paths(command, &paths);
            }
            "rename" | "renames" | "move" | "mv" | "replace" | "moveItem" | "file.rename" | "renameTo" if plain.len() > 1 && (base != "replace" || module == "os" || module == "Files") => self.told.paths("mv", &plain[..2]),
            "copy" | "copy2" | "copyfile" | "copyFile" | "copytree" | "cp" | "cp_r" | "cpR" | "copyItem" | "copy_file" | "copy_stream" | "copyDir" | "install" | "file.copy" | "cp_lr" if plain.len() > 1 => self.told.paths("cp -r", &plain[..2]),
            "symlink" | "ln_s" | "ln_sf" | "link" | "ln" | "createSymbolicLink" | "makeLink" | "file.symlink" | "ln_s!" if plain.len() > 1 => self.told.paths("ln -sf", &plain[..2]),
            "truncate" | "ftruncate" => self.told.paths("truncate -s 0", &plain[..1.min(plain.len())]),
            "chdir" | "cd" | "setwd" | "uchdir" => {
                if let Some(Val::Text(t)) = &first {
                    if !t.starts_with(HOLE) {
                        self.told.push(format!("cd {}", quoted(t)));
                    }
                }
            }
            "chmod" | "chmod_R" | "lchmod" | "Sys.chmod" | "fchmod" | "setPosixFilePermissions" => self.chmod(&plain, base == "chmod_R"),
            "chown" | "chown_R" | "lchown" | "chgrp" | "fchown" => self.chown(&plain, base == "chown_R", named),
            "open" | "fopen" | "sysopen" | "popen_file" | "file" | "openSync" | "createWriteStream" | "createReadStream" | "AtomicFile" | "new" if !plain.is_empty() => return self.opens(full, last, &plain, named),
            "writeFile" | "outputFile" | "write" | "writeTextFile" | "file_put_contents" | "binwrite" | "write_file" | "writeLines" | "writeString" | "spew" | "writeFileString" | "outputJson" | "writelines" | "cat_file" | "writefile"
                if plain.len() > 1 =>
            {
                let (p, text) = if matches!(base, "writeLines" | "writefile") { (&plain[1], &plain[0]) } else { (&plain[0], &plain[1]) };
                let append = plain.iter().skip(2).any(|a| matches!(a, Val::Name(n) if n.contains("APPEND"))) || option(&["mode", "append"]).map_or(false, |m| m.known().as_deref() != Some("w"));
                if !matches!(p, Val::Name(_)) {
                    let text = match text {
                        Val::List(l) => super::texts::joined(l, "\n"),
                        t => t.clone(),
                    };
                    self.told.write(p, &text, append);
                }
            }
            "appendFile" | "append" if plain.len() > 1 && matches!(plain[0], Val::Text(_)) => self.told.write(&plain[0], &plain[1], true),
            "touch" | "mknod" | "mkfifo" => {}
            "readFile" | "read" | "file_get_contents" | "readlines" | "readLines" | "readTextFile" | "foreach" | "binread" | "read_file" | "slurp" | "load" | "parsefile" | "fread" | "getline" | "getlines" | "load_dotenv" | "read_csv" | "read_text" | "scan" | "readtext"
            | "readString" | "readAllLines" | "readAllBytes" | "lines" | "stream" | "stream!" | "input" | "read_lines" | "readLines!" | "readfile" | "readFileString" | "show_source" | "highlight_file" | "dotenv_values" | "load_file" | "safe_load_file" | "readline_file" | "contentsOfFile" | "readRDS"
                if !plain.is_empty() =>
            {
                if base == "load_dotenv" || matches!(plain[0], Val::Name(_) | Val::Num(_)) {
                    return None;
                }
                if let Val::File(p, _) = &plain[0] {
                    return Some(Val::Content(p.clone()));
                }
                if plain[0] == Val::Net {
                    return Some(Val::Net);
                }
                if matches!(plain[0].known().as_deref(), Some("/dev/stdin" | "php://stdin" | "-")) {
                    return Some(self.given.stdin.clone().unwrap_or(Val::Unknown));
                }
                self.told.paths("cat", &plain[..1]);
                for a in args.iter() {
                    if let Val::Function(k) = a {
                        self.call_function(*k, vec![Val::Unknown, Val::Content(Box::new(plain[0].clone()))]);
                    }
                }
                return Some(Val::Content(Box::new(plain[0].clone())));
            }
            "add" | "addFile" if module.contains("tar") || module.contains("zip") => self.told.paths("cat", &plain[..1.min(plain.len())]),
            "make_archive" if plain.len() > 2 => self.told.paths("cp -r", &[plain[2].clone(), Val::text("archive")]),
            "mkfs" => {}
            _ => return None,
        }
        Some(Val::Unknown)
    }

    /// open in its forms: a file, and in Perl and Ruby a command.
    fn opens(&mut self, full: &str, last: &str, plain: &[Val], named: &[(String, Val)]) -> Option<Val> {
        if self.lang == Lang::Perl && last == "open" {
            return self.perl_open(plain);
        }
        if full == "Bun.file" {
            self.told.paths("cat", &plain[..1]);
            return Some(Val::File(Box::new(plain[0].clone()), false));
        }
        if last == "file" && !matches!(self.lang, Lang::Php | Lang::R) || last == "new" && !full.contains("File") {
            return None;
        }
        let p = plain[0].clone();
        if let Val::Text(t) = &p {
            if self.lang == Lang::Ruby && t.starts_with('|') {
                self.told.line(&Val::text(&t[1..]));
                return Some(Val::Unknown);
            }
            if t.contains("://") && !t.starts_with("file:") {
                return Some(if t.starts_with("php://stdin") { self.given.stdin.clone().unwrap_or(Val::Unknown) } else { Val::Net });
            }
        }
        let mode = plain.get(1).and_then(Val::known).or_else(|| named.iter().find(|(k, _)| k == "mode").and_then(|(_, v)| v.known())).unwrap_or_default();
        let flags = matches!(plain.get(1), Some(Val::Name(n)) if n.contains("O_W") || n.contains("O_RDWR")) || plain.get(1) == Some(&Val::Unknown) && full.starts_with("os.");
        let writes = flags || mode.contains(&['w', 'a', '+', 'x'][..]) || last == "createWriteStream";
        let known = matches!(p, Val::Text(_) | Val::OneOf(_));
        if writes && known {
            self.told.write(&p, &Val::Unknown, mode.contains('a') || mode.contains('+'));
            return Some(Val::File(Box::new(p), true));
        }
        if known && !matches!(p.known().as_deref(), Some("/dev/null" | "/dev/stdin" | "-")) {
            self.told.paths("cat", core::slice::from_ref(&p));
        }
        if p.known().as_deref() == Some("/dev/stdin") {
            return Some(self.given.stdin.clone().unwrap_or(Val::Unknown));
        }
        Some(Val::File(Box::new(p), writes))
    }

    fn perl_open(&mut self, plain: &[Val]) -> Option<Val> {
        let handle = match plain.first() {
            Some(Val::Name(n)) => n.clone(),
            _ => String::new(),
        };
        let spec = plain.get(1)?.or_hole();
        let spec = spec.trim();
        let (mode, rest) = match (plain.get(2), spec.find(|c: char| !"<>+|&-".contains(c))) {
            (Some(p), _) => (spec.to_string(), Some(p.clone())),
            (None, Some(at)) => (spec[..at].to_string(), Some(Val::text(spec[at..].trim()))),
            (None, None) => (spec.to_string(), None),
        };
        let p = rest?;
        if plain.len() == 2 && spec.ends_with('|') {
            let line = p.as_text().map(|t| Val::text(t.trim_end_matches('|').trim()))?;
            self.told.line(&line);
            let v = self.told.output(&line);
            self.bind(&handle, v.clone());
            return Some(v);
        }
        if mode.contains('|') {
            if plain.len() > 3 {
                self.told.words(&plain[2..]);
            } else {
                self.told.line(&p);
            }
            if mode.starts_with('|') {
                let f = Val::File(Box::new(Val::Map(vec![("to".into(), p)])), true);
                self.bind(&handle, f.clone());
                return Some(f);
            }
            return Some(self.told.output(&p));
        }
        if mode.contains('&') {
            self.told.shell = true; // a descriptor is handed on
            return Some(Val::Unknown);
        }
        if mode.contains('>') || mode.contains('+') {
            self.told.write(&p, &Val::Unknown, mode.contains(">>") || mode.contains('+'));
            let f = Val::File(Box::new(p), true);
            self.bind(&handle, f.clone());
            return Some(f);
        }
        self.told.paths("cat", core::slice::from_ref(&p));
        let f = Val::File(Box::new(p), false);
        self.bind(&handle, f.clone());
        Some(f)
    }

    /// Methods of paths and files: Path("x").unlink(), open("x").read().
    fn on_value(&mut self, last: &str, v: &Val, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
        if let Val::File(p, writes) = v {
            return Some(match last {
                "read" | "readlines" | "readline" | "each_line" | "lines" | "getlines" | "text" | "json" | "readAsText" | "toString" | "each" | "stream" | "arrayBuffer" | "string" => Val::Content(p.clone()),
                "add" | "addfile" | "addFile" => {
                    self.told.paths("cat", &args[..1.min(args.len())]);
                    Val::Unknown
                }
                "write" | "writelines" | "puts" | "print" | "end" | "printf" | "<<" | "write_all" if *writes => {
                    if let Some(text) = args.first() {
                        self.told.written(v, text);
                    }
                    Val::Unknown
                }
                _ => v.clone(),
            });
        }
        if let Val::Content(_) = v {
            return match last {
                "read" | "strip" | "decode" | "toString" | "trim" | "encode" | "chomp" | "text" | "replace" | "to_s" => Some(v.clone()),
                _ => None,
            };
        }
        if !matches!(v, Val::Text(_) | Val::OneOf(_)) {
            return None;
        }
        let base = last.trim_end_matches('!').trim_end_matches('?');
        match base {
            "unlink" | "delete" if args.is_empty() || !matches!(args.first(), Some(Val::Text(_))) => {
                self.told.paths("rm -f", core::slice::from_ref(v));
            }
            "rmtree" | "deleteRecursively" | "deleteDir" | "remove_tree" | "rm_rf" | "removeRecursively" => self.told.delete_tree(v),
            "rmdir" => self.told.paths("rmdir", core::slice::from_ref(v)),
            "rename" | "replace" | "move" | "renameTo" if args.len() == 1 => self.told.paths("mv", &[v.clone(), args[0].clone()]),
            "copy" | "copyTo" | "copy_into" | "copyRecursively" if args.len() == 1 => self.told.paths("cp -r", &[v.clone(), args[0].clone()]),
            "chmod" => self.chmod(&[v.clone(), args.first().cloned().unwrap_or(Val::Unknown)], false),
            "symlink_to" | "hardlink_to" | "make_symlink" | "link_to" if !args.is_empty() => self.told.paths("ln -sf", &[args[0].clone(), v.clone()]),
            "write_text" | "write_bytes" | "setText" | "writeText" | "write" | "spurt" | "binwrite" if !args.is_empty() => self.told.write(v, &args[0], false),
            "appendText" | "append" if !args.is_empty() && self.lang == Lang::Calls => self.told.write(v, &args[0], true),
            "read_text" | "read_bytes" | "readText" | "readLines" | "readlines" | "getText" | "bytes" | "read" | "eachLine" | "readBytes" | "slurp" | "text" | "each_line" | "binread" => {
                if base == "bytes" && self.lang == Lang::Ruby {
                    return None;
                }
                self.told.paths("cat", core::slice::from_ref(v));
                return Some(Val::Content(Box::new(v.clone())));
            }
            "open" => return self.opens("Path.open", "open", &core::iter::once(v.clone()).chain(args.iter().cloned()).collect::<Vec<_>>(), named),
            "touch" | "mkdir" | "mkpath" | "exists" | "is_file" => {}
            "children" | "each_child" | "entries" | "listFiles" | "iterdir" => return Some(Val::List(vec![join_path(v, &Val::text(ANY))])),
            "parent" | "dirname" | "with_name" | "with_suffix" => return Some(Val::Unknown),
            "joinpath" | "+" => return args.first().map(|a| join_path(v, a)),
            _ => return None,
        }
        Some(Val::Unknown)
    }

    fn chmod(&mut self, args: &[Val], deep: bool) {
        let mode = args.iter().find(|a| matches!(a, Val::Num(_))).cloned();
        let mode = match mode {
            Some(Val::Num(n)) => format!("{:o}", n),
            _ => match args.iter().find_map(|a| a.known().filter(|t| t.chars().all(|c| "01234567ugoarwxstX+-=,".contains(c)) && !t.is_empty())) {
                Some(t) => t,
                None => return,
            },
        };
        let paths: Vec<Val> = args.iter().filter(|a| matches!(a, Val::Text(_) | Val::List(_) | Val::OneOf(_)) && a.known().as_deref() != Some(mode.as_str())).cloned().collect();
        self.told.paths(&format!("chmod {}{}", if deep { "-R " } else { "" }, mode), &paths);
    }

    fn chown(&mut self, args: &[Val], deep: bool, named: &[(String, Val)]) {
        let ids: Vec<String> = args.iter().filter_map(|a| if let Val::Num(n) = a { Some(n.to_string()) } else { None }).collect();
        let mut paths: Vec<Val> = args.iter().filter(|a| matches!(a, Val::Text(_) | Val::List(_) | Val::OneOf(_))).cloned().collect();
        let owner = if !ids.is_empty() {
            ids.join(":")
        } else if let Some((_, Val::Text(u))) = named.iter().find(|(k, _)| k == "user") {
            u.clone()
        } else if paths.len() > 1 && matches!(self.lang, Lang::Python | Lang::Php) {
            paths.remove(1).or_hole()
        } else if paths.len() > 2 {
            let u = paths.remove(0).or_hole();
            paths.remove(0);
            u
        } else {
            "nobody".into()
        };
        self.told.paths(&format!("chown {}{}", if deep { "-R " } else { "" }, quoted(&owner)), &paths);
    }
}
