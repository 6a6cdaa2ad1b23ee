//! What functions of texts and lists return.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::escapes;
use super::value::{concat, join_path, one_of, pattern, Val, ANY, HOLE, HOME};
use protected_files::search::Case;

/// The texts with one between them.
pub fn joined(list: &[Val], with: &str) -> Val {
    let mut v = Val::text("");
    for (i, part) in list.iter().enumerate() {
        if i > 0 && !with.is_empty() {
            v = concat(&v, &Val::text(with));
        }
        let part = match part {
            Val::List(inner) => joined(inner, with),
            p => p.clone(),
        };
        v = concat(&v, &part);
    }
    v
}

/// A text with %s in it.
pub fn format_percent(t: &str, args: &[Val]) -> Val {
    let mut v = Val::text("");
    let mut plain = String::new();
    let mut n = 0;
    let mut c = t.chars().peekable();
    while let Some(ch) = c.next() {
        if ch != '%' {
            plain.push(ch);
            continue;
        }
        if c.peek() == Some(&'%') {
            c.next();
            plain.push('%');
            continue;
        }
        let mut verb = ' ';
        for x in c.by_ref() {
            if x.is_ascii_alphabetic() {
                verb = x;
                break;
            }
        }
        v = concat(&v, &Val::text(core::mem::take(&mut plain)));
        let one = match (verb, args.get(n)) {
            ('c', Some(Val::Num(x))) => char_of(*x),
            (_, Some(x)) => x.clone(),
            (_, None) => Val::text(HOLE),
        };
        v = concat(&v, &one);
        n += 1;
    }
    concat(&v, &Val::text(plain))
}

/// A text with {} in it.
fn format_braces(t: &str, args: &[Val], named: &[(String, Val)]) -> Val {
    let mut v = Val::text("");
    let mut n = 0;
    let mut rest = t;
    while let Some(at) = rest.find('{') {
        v = concat(&v, &Val::text(&rest[..at]));
        let end = match rest[at..].find('}') {
            Some(end) => at + end,
            None => break,
        };
        let key = rest[at + 1..end].split(&[':', '!'][..]).next().unwrap_or("");
        let one = match key.parse::<usize>() {
            Ok(i) => args.get(i).cloned(),
            Err(_) if key.is_empty() => {
                n += 1;
                args.get(n - 1).cloned()
            }
            Err(_) => named.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()),
        };
        v = concat(&v, &one.unwrap_or_else(|| Val::text(HOLE)));
        rest = &rest[end + 1..];
    }
    concat(&v, &Val::text(rest))
}

fn char_of(n: i64) -> Val {
    u32::try_from(n).ok().and_then(char::from_u32).map_or(Val::Unknown, Val::text)
}

/// The names that a pattern stands for.
pub fn globbed(t: &str) -> Val {
    let mut all = Vec::new();
    for one in t.split_whitespace() {
        match (one.find('{'), one.find('}')) {
            (Some(a), Some(b)) if a < b => all.extend(one[a + 1..b].split(',').map(|m| Val::Text(pattern(&format!("{}{}{}", &one[..a], m, &one[b + 1..]))))),
            _ => all.push(Val::Text(pattern(one))),
        }
    }
    Val::List(all)
}

/// A part of a text or a list: from, to, step.
pub fn sliced(v: &Val, parts: &[Option<Val>]) -> Val {
    let num = |i: usize| match parts.get(i) {
        Some(Some(Val::Num(n))) => Ok(Some(*n)),
        Some(Some(_)) => Err(()),
        _ => Ok(None),
    };
    let (from, to, step) = match (num(0), num(1), num(2)) {
        (Ok(a), Ok(b), Ok(c)) => (a, b, c.unwrap_or(1)),
        _ => return if *v == Val::Net { Val::Net } else { Val::Unknown },
    };
    let bounds = |len: usize| -> Vec<usize> {
        let len = len as i64;
        let fix = |n: i64| (if n < 0 { len + n } else { n }).max(0).min(len);
        if step < 0 {
            let from = from.map_or(len - 1, |n| fix(n).min(len - 1));
            let to = to.map_or(-1, fix);
            (to + 1..=from).rev().step_by(step.unsigned_abs().max(1) as usize).map(|n| n as usize).collect()
        } else {
            (from.map_or(0, fix)..to.map_or(len, fix)).step_by(step.max(1) as usize).map(|n| n as usize).collect()
        }
    };
    match v {
        Val::Text(t) => {
            let c: Vec<char> = t.chars().collect();
            Val::Text(bounds(c.len()).into_iter().map(|n| c[n]).collect())
        }
        Val::List(l) => Val::List(bounds(l.len()).into_iter().map(|n| l[n].clone()).collect()),
        Val::Net => Val::Net,
        _ => Val::Unknown,
    }
}

fn reversed(v: &Val) -> Val {
    match v {
        Val::Text(t) => Val::Text(t.chars().rev().collect()),
        Val::List(l) => Val::List(l.iter().rev().cloned().collect()),
        v => v.clone(),
    }
}

/// The characters whose numbers are in a list.
fn chars_of(v: &Val) -> Val {
    let all: Option<String> = v
        .elements()
        .iter()
        .flat_map(Val::elements)
        .map(|n| match n {
            Val::Num(n) => u32::try_from(n).ok().and_then(char::from_u32),
            Val::Text(t) => t.chars().next(),
            _ => None,
        })
        .collect();
    all.map_or(Val::Unknown, Val::Text)
}

/// Applies a function of texts to each text that a value may be.
fn each(v: &Val, f: fn(&str) -> Option<String>) -> Val {
    match v {
        Val::Net => Val::Net,
        Val::OneOf(all) => one_of(all.iter().map(|v| each(v, f)).collect()),
        v => match v.known() {
            Some(t) => f(&t).map_or(Val::Unknown, Val::Text),
            None => Val::Unknown,
        },
    }
}

/// A text with characters of one list as those of another.
fn translated(t: &str, from: &str, to: &str) -> String {
    let (from, to) = (ranges(from), ranges(to));
    t.chars()
        .filter_map(|c| match from.iter().position(|f| *f == c) {
            Some(i) => to.get(i).or_else(|| to.last()).copied(),
            None => Some(c),
        })
        .collect()
}

fn ranges(t: &str) -> Vec<char> {
    let c: Vec<char> = t.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < c.len() {
        if i + 2 < c.len() && c[i + 1] == '-' && c[i] < c[i + 2] && (c[i + 2] as u32) < 0x250 {
            out.extend((c[i]..=c[i + 2]).filter(|x| x.is_ascii()));
            i += 3;
        } else {
            out.push(c[i]);
            i += 1;
        }
    }
    out
}

/// What a function returns that makes a text of others; `None` for other functions.
pub fn returned(full: &str, recv: Option<&Val>, args: &[Val], named: &[(String, Val)]) -> Option<Val> {
    let last = full.rsplit('.').next().unwrap_or(full);
    let module = &full[..full.len() - last.len()];
    let a = |i: usize| args.get(i).cloned().unwrap_or(Val::Unknown);
    let text = |i: usize| args.get(i).and_then(Val::known);
    // The text that the function is about: what it is called on, or its first argument.
    let it = recv.cloned().unwrap_or_else(|| a(0));
    let rest = if recv.is_some() { args } else { args.get(1..).unwrap_or(&[]) };
    let code = |v: &Val| -> String { v.known().unwrap_or_default().lowered() };
    let v = match last {
        "join" if matches!(module, "os.path." | "path." | "posixpath." | "File." | "Path." | "filepath.") || matches!(last, "joinpath") => {
            let mut v = a(0);
            for b in args.iter().skip(1) {
                v = join_path(&v, b);
            }
            v
        }
        "new" if module == "Pathname." || module == "URI." => it,
        "joinpath" | "file.path" => {
            let mut v = it;
            for b in rest {
                v = join_path(&v, b);
            }
            v
        }
        "path" if full == "file.path" => {
            let mut v = a(0);
            for b in &args[1.min(args.len())..] {
                v = join_path(&v, b);
            }
            v
        }
        "join" | "implode" | "mkString" | "Join" => match (recv, args.first(), args.get(1)) {
            (Some(Val::Text(sep)), Some(list), _) => joined(&list.elements(), sep), // Python
            (Some(list @ Val::List(_)), sep, _) => joined(&list.elements(), &sep.and_then(Val::known).unwrap_or_else(|| if sep.is_some() { "".into() } else { default_separator(full) })),
            (None, Some(Val::Text(sep)), Some(_)) => joined(&args[1..].iter().flat_map(Val::elements).collect::<Vec<_>>(), sep), // Perl, PHP
            (None, Some(list @ Val::List(_)), sep) => joined(&list.elements(), &sep.and_then(Val::known).unwrap_or_default()),
            (Some(Val::Net), ..) => Val::Net,
            (_, Some(Val::Net), _) | (_, _, Some(Val::Net)) => Val::Net,
            _ => Val::Unknown,
        },
        "table.concat" | "concat" => match &it {
            Val::List(l) if recv.is_none() => joined(l, &text(1).unwrap_or_default()),
            v => {
                let mut v = v.clone();
                for b in rest {
                    v = concat(&v, b);
                }
                v
            }
        },
        "paste0" | "string" | "str_c" => joined(args, ""),
        "paste" => joined(args, &named.iter().find(|(k, _)| k == "sep").and_then(|(_, v)| v.known()).unwrap_or_else(|| " ".into())),
        "chr" | "Char" | "char" | "unichr" if recv.is_none() || matches!(recv, Some(Val::Num(_))) => match &it {
            Val::Num(_) if recv.is_none() && args.len() > 1 => chars_of(&Val::List(args.to_vec())),
            Val::Num(n) => char_of(*n),
            _ => Val::Unknown,
        },
        "fromCharCode" | "fromCodePoint" | "intToUtf8" | "rawToChar" | "toChars" => {
            let all: Vec<Val> = args.iter().flat_map(Val::elements).collect();
            chars_of(&Val::List(all))
        }
        "raw" if full == "as.raw" => it,
        "bytes" | "bytearray" | "Buffer.from" | "from" | "Bytes" | "StringIO" | "BytesIO" if recv.is_none() => match (&it, args.get(1).map(code)) {
            (Val::List(_), _) if module != "Array." => chars_of(&it),
            (v, Some(c)) if c == "base64" || c == "base64url" => each(v, escapes::base64),
            (v, Some(c)) if c == "hex" => each(v, escapes::hex),
            (Val::Text(_) | Val::Net, _) => it,
            _ => return None,
        },
        "pack" => pack(&it, rest, recv.is_some() && matches!(recv, Some(Val::List(_)))),
        "unpack" | "unpack1" => match recv {
            Some(v) => unpack(v, &text(0).unwrap_or_default()),
            None => unpack(&a(1), &text(0).unwrap_or_default()),
        },
        "b64decode" | "urlsafe_b64decode" | "standard_b64decode" | "decodebytes" | "decodestring" | "atob" | "base64_decode" | "decode64" | "strict_decode64" | "urlsafe_decode64"
        | "decode_base64" | "a2b_base64" | "decode_b64" | "FromBase64String" | "base64decode" => each(&it, escapes::base64),
        "b32decode" => each(&it, escapes::base32),
        "fromhex" | "unhexlify" | "hex2bin" | "a2b_hex" | "b16decode" | "hex2bytes" => each(&a(0), escapes::hex),
        "str_rot13" | "rot13" => each(&it, |t| Some(escapes::rot13(t))),
        "unquote" | "unquote_plus" | "decodeURIComponent" | "decodeURI" | "unescape" | "urldecode" | "rawurldecode" | "uri_unescape" => each(&it, |t| Some(escapes::percent(t))),
        "decode" | "getdecoder" if recv.is_some() || module == "codecs." || module == "base64." || full.contains("Base64") => {
            let how = if recv.is_some() { args.first().map(code) } else { args.get(1).map(code) };
            match how.as_deref() {
                Some("rot13" | "rot_13") => each(&it, |t| Some(escapes::rot13(t))),
                Some("hex" | "hex_codec") => each(&it, escapes::hex),
                Some("base64" | "base64_codec") => each(&it, escapes::base64),
                Some("unicode_escape" | "unicode-escape") => each(&it, |t| Some(escapes::undone(t, super::lang::Lang::Python))),
                _ if module.contains("base64") || module.contains("Base64") => each(&it, escapes::base64),
                _ => it,
            }
        }
        "reverse" | "reversed" | "strrev" | "rev" | "reverse!" => reversed(&it),
        "sub" if matches!(recv, Some(Val::Text(_))) && args.iter().all(|a| matches!(a, Val::Num(_))) => {
            let n = |i: usize| match args.get(i) {
                Some(Val::Num(n)) => Some(*n),
                _ => None,
            };
            sliced(&it, &[n(0).map(|n| Val::Num(n - 1)), n(1).map(Val::Num)])
        }
        "replace" | "replaceAll" | "gsub" | "sub" | "str_replace" | "gsub!" | "sub!" | "delete" if recv.is_some() || last == "str_replace" => {
            let (v, from, to) = if recv.is_some() { (it, a(0), a(1)) } else { (a(2), a(0), a(1)) };
            let to = if last == "delete" { Val::text("") } else { to };
            match (v, from.known(), to.as_text()) {
                (Val::Net, ..) => Val::Net,
                (Val::Text(t), Some(f), Some(to)) if !f.is_empty() => Val::Text(t.replace(&f, &to)),
                (Val::Text(_) | Val::OneOf(_), _, _) => Val::Unknown,
                _ => return None,
            }
        }
        "chartr" => match (text(0), text(1), text(2)) {
            (Some(f), Some(t), Some(x)) => Val::Text(translated(&x, &f, &t)),
            _ => Val::Unknown,
        },
        "tr" | "strtr" | "tr!" => match (it.known(), rest.first().and_then(Val::known), rest.get(1).and_then(Val::known)) {
            (Some(t), Some(f), Some(to)) => Val::Text(translated(&t, &f, &to)),
            _ => Val::Unknown,
        },
        "upper" | "toUpperCase" | "upcase" | "uc" | "strtoupper" | "toupper" => each(&it, |t| Some(t.uppered())),
        "lower" | "toLowerCase" | "downcase" | "lc" | "strtolower" | "tolower" => each(&it, |t| Some(t.lowered())),
        "strip" | "trim" | "chomp" | "rstrip" | "lstrip" | "trimEnd" | "trimStart" | "chop" | "squeeze" | "rtrim" | "ltrim" => match it {
            Val::Text(t) => Val::text(t.trim()),
            v => v,
        },
        "split" | "explode" | "strsplit" | "chars" | "str_split" | "list" | "unlist" | "Array" => match (&it, rest.first().and_then(Val::known)) {
            (Val::Text(t), Some(sep)) if last == "explode" => Val::List(sep.split(t.as_str()).map(Val::text).collect()),
            (Val::Text(t), Some(sep)) if sep.is_empty() => Val::List(t.chars().map(Val::text).collect()),
            (Val::Text(t), Some(sep)) if recv.is_some() || last == "strsplit" => Val::List(t.split(sep.as_str()).map(Val::text).collect()),
            (Val::Text(sep), Some(t)) => Val::List(if sep.is_empty() { t.chars().map(Val::text).collect() } else { t.split(sep.as_str()).map(Val::text).collect() }),
            (Val::Text(t), None) if matches!(last, "chars" | "list" | "str_split" | "Array") => Val::List(t.chars().map(Val::text).collect()),
            (Val::Text(t), None) if rest.is_empty() => Val::List(t.split_whitespace().map(Val::text).collect()),
            (Val::List(_) | Val::Net, _) => it,
            _ => return None,
        },
        "format" | "sprintf" | "Format" | "printf" if recv.is_none() || last == "format" => match &it {
            Val::Text(t) if t.contains('%') => format_percent(t, rest),
            Val::Text(t) => format_braces(t, rest, named),
            _ => return None,
        },
        "expanduser" | "expand_path" | "path.expand" | "expandvars" | "untildify" | "expand" if !matches!(it, Val::Unknown) => match it {
            Val::Text(t) => Val::Text(homely(&t)),
            v => v,
        },
        "home" | "homedir" | "home_dir" | "user_home!" | "user_home" | "getHomeDirectory" | "tempdir" | "gettempdir" | "tmpdir" | "mkdtemp" | "mktmpdir" | "mkdtempSync" | "tmpnam" | "mktemp"
        | "TemporaryDirectory" | "NamedTemporaryFile" | "tempfile" => {
            if last.contains("home") || last.contains("Home") {
                Val::text(HOME)
            } else {
                Val::text("/tmp/made")
            }
        }
        "abspath" | "realpath" | "normpath" | "resolve" | "realpathSync" | "absolute" | "as_posix" | "fspath" | "str" | "to_s" | "toString" | "String" | "Path" | "PurePath" | "PosixPath" | "Pathname"
        | "encode" | "strdup" | "freeze" | "to_str" | "valueOf" | "quote" | "shellescape" | "escapeshellarg" | "escape" | "list2cmdline" | "File" | "URI" | "of" | "get_path" | "Paths.get" | "asBytes"
        | "compile" | "b" | "to_a" | "to_list" | "tuple" | "iter" | "sorted" | "sort" | "set" | "array" | "c" | "Vector" | "promisify" | "values" | "array_values" | "parse" | "dedent" | "flatten" | "uniq" | "compact" | "unref" | "text" | "unsafe" | "expression" | "quotemeta" | "abspath!" | "toFile" | "toPath" | "Array.from" =>
        {
            match (last, &it) {
                ("resolve" | "Path" | "of" | "Pathname" | "File", Val::Text(_)) if !rest.is_empty() && rest.iter().all(|r| matches!(r, Val::Text(_))) => {
                    let mut v = it.clone();
                    for b in rest {
                        v = join_path(&v, b);
                    }
                    v
                }
                ("c" | "Vector" | "array" | "tuple" | "set", _) if recv.is_none() && module.is_empty() => Val::List(args.to_vec()),
                ("c" | "b" | "of" | "compile" | "parse" | "text" | "unsafe" | "escape" | "quote" | "values", v) if matches!(v, Val::Unknown | Val::Name(_)) => return None,
                (_, v) => v.clone(),
            }
        }
        "map" | "collect" | "each_slice" | "array_map" => {
            let (f, list) = if recv.is_some() { (a(0), it) } else if matches!(a(0), Val::Name(_) | Val::Text(_)) { (a(0), a(1)) } else { return None };
            let name = match &f {
                Val::Name(n) | Val::Text(n) => n.rsplit('.').next().unwrap_or("").to_string(),
                _ => return None,
            };
            match name.as_str() {
                "chr" | "Char" | "fromCharCode" | "String" | "str" | "pack" => Val::List(list.elements().iter().flat_map(Val::elements).map(|v| chars_of(&Val::List([v].into()))).collect()),
                "to_s" | "to_i" | "strip" => list,
                _ => return None,
            }
        }
        "glob" | "iglob" | "globSync" | "rglob" => match (recv, &it) {
            (Some(dir), _) => {
                let deep = if last == "rglob" { "**/" } else { "" };
                let t = text(0).unwrap_or_else(|| "*".into());
                match join_path(dir, &Val::text(format!("{}{}", deep, t))) {
                    Val::Text(t) => Val::List([Val::Text(pattern(&t))].into()),
                    _ => Val::Unknown,
                }
            }
            (None, Val::Text(t)) => globbed(t),
            _ => Val::Unknown,
        },
        "listdir" | "scandir" | "iterdir" | "readdirSync" | "readdir" | "ls" | "ls!" | "list_files" | "list.files" | "files" | "children" | "entries" | "list_dir" | "opendir" | "each_child" | "dir_ls"
            if matches!(it, Val::Text(_) | Val::OneOf(_)) && (recv.is_none() || last != "files") =>
        {
            let full_names = matches!(last, "iterdir" | "children" | "scandir" | "each_child" | "dir_ls") || named.iter().any(|(k, _)| k.starts_with("full"));
            if full_names {
                Val::List([join_path(&it, &Val::text(ANY))].into())
            } else {
                Val::List([Val::text(ANY)].into())
            }
        }
        "walk" | "find" if matches!(it, Val::Text(_)) && module != "" => {
            let here = it.clone();
            Val::List([Val::List([here.clone(), Val::List([Val::text(ANY)].into()), Val::List([Val::text(ANY)].into())].into())].into())
        }
        _ => return None,
    };
    Some(v)
}

fn default_separator(full: &str) -> String {
    if full == "join" {
        return String::new();
    }
    String::new()
}

fn homely(t: &str) -> String {
    for p in ["~", "$HOME", "${HOME}"] {
        if let Some(rest) = t.strip_prefix(p).filter(|r| r.is_empty() || r.starts_with('/')) {
            return format!("{}{}", HOME, rest);
        }
    }
    t.to_string()
}

/// pack of Perl and Ruby.
fn pack(form: &Val, rest: &[Val], list_first: bool) -> Val {
    let (form, data): (String, Vec<Val>) = if list_first {
        (rest.first().and_then(Val::known).unwrap_or_default(), form.elements())
    } else {
        (form.known().unwrap_or_default(), rest.iter().flat_map(Val::elements).collect())
    };
    match form.chars().next() {
        Some('H') => each(&data.first().cloned().unwrap_or(Val::Unknown), escapes::hex),
        Some('c' | 'C' | 'U' | 'W') => chars_of(&Val::List(data)),
        Some('A' | 'a') => data.first().cloned().unwrap_or(Val::Unknown),
        _ => Val::Unknown,
    }
}

fn unpack(v: &Val, form: &str) -> Val {
    match form.chars().next() {
        Some('m') => each(v, escapes::base64),
        Some('u') => Val::Unknown,
        _ => Val::Unknown,
    }
}
