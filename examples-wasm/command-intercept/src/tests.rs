use super::*;
use hook::testing::Host;

fn run(action: &str, config: &str) -> Vec<String> {
    let got = Host::new(action).config(config).run(pre_tool);
    assert_eq!(got.status, 0);
    got.effects.iter().map(|e| format!("{:?}", e)).collect()
}

#[test]
fn without_configuration_nothing_happens() {
    let call = r#"{"tool":"glob","native_tool":"Glob","args":{"pattern":"**/*.py"}}"#;
    for config in [
        "{}",
        r#"{"version":1,"tools":{}}"#,
        r#"{"version":1,"enabled":false,"tools":{"Glob":{"transformers":[{"name":"exclude_directories"}]}}}"#,
        r#"{"version":1,"tools":{"Glob":{"enabled":false,"transformers":[{"name":"exclude_directories"}]}}}"#,
        r#"{"version":1,"tools":{"Grep":{"transformers":[{"name":"exclude_directories"}]}}}"#,
    ] {
        assert!(run(call, config).is_empty(), "{}", config);
    }
}

/// A matcher for what the patterns here consist of: one pair of braces, `**/`, `*`, `?`, `[!...]`.
fn matches(pattern: &str, path: &str) -> bool {
    if let Some(open) = pattern.find('{') {
        let close = open + pattern[open..].find('}').unwrap();
        return pattern[open + 1..close]
            .split(',')
            .any(|p| matches(&format!("{}{}{}", &pattern[..open], p, &pattern[close + 1..]), path));
    }
    let (p, s): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    fn go(p: &[char], s: &[char]) -> bool {
        match p {
            [] => s.is_empty(),
            ['*', '*', '/', rest @ ..] => {
                go(rest, s) || s.iter().enumerate().any(|(i, c)| *c == '/' && go(rest, &s[i + 1..]))
            }
            ['*', '*'] => !s.is_empty(),
            ['*', rest @ ..] => go(rest, s) || (!s.is_empty() && s[0] != '/' && go(p, &s[1..])),
            ['?', rest @ ..] => !s.is_empty() && s[0] != '/' && go(rest, &s[1..]),
            ['[', '!', rest @ ..] => {
                let end = rest.iter().position(|c| *c == ']').unwrap();
                !s.is_empty() && s[0] != '/' && !rest[..end].contains(&s[0]) && go(&rest[end + 1..], &s[1..])
            }
            [c, rest @ ..] => s.first() == Some(c) && go(rest, &s[1..]),
        }
    }
    go(&p, &s)
}

#[test]
fn a_pattern_without_directories_fits_all_other_names() {
    let names = [".venv", ".git", "node_modules", "__pycache__", "node", "build"];
    for (pattern, place) in [("**/*.py", ""), ("src/**/*.py", "src/"), ("**/*.{py,ts}", "")] {
        let made = glob::without(pattern, &names).unwrap();
        for name in names {
            let path = format!("{}{}/deep/a.py", place, name);
            assert!(matches(pattern, &path), "{} {}", pattern, path);
            assert!(!matches(&made, &path), "{} {}", pattern, path);
        }
        // Every beginning of an excluded name, that with another letter, and longer names stay.
        for name in names {
            for end in 1..=name.len() {
                for other in [name[..end].to_string(), format!("{}x", &name[..end]), format!("{}-", &name[..end - 1])] {
                    if names.contains(&other.as_str()) || other == "." || other == ".." {
                        continue;
                    }
                    let path = format!("{}{}/deep/a.py", place, other);
                    assert!(matches(&made, &path), "{} {}: {}", pattern, path, made);
                }
            }
        }
        assert!(matches(&made, &format!("{}a.py", place)) && !matches(&made, &format!("{}a.js", place)));
        assert!(glob::is_without(&made));
    }
    for pattern in ["*.py", "src/*/**/*.py", "**/a/**/b", "**/{a,{b,c}}", "**.py"] {
        assert_eq!(glob::without(pattern, &names), None, "{}", pattern);
    }
}

#[test]
fn names_fit_patterns() {
    for (pattern, name, want) in [
        ("*.egg-info", "a.egg-info", true),
        ("*.egg-info", "a.egg-infos", false),
        (".venv", ".venv", true),
        (".venv", ".venv2", false),
        ("cmake-build-*", "cmake-build-debug", true),
    ] {
        assert_eq!(glob::fits(pattern, name), want, "{} {}", pattern, name);
    }
}

#[test]
fn unknown_transformers_fail() {
    let config = r#"{"version":1,"tools":{"Glob":{"transformers":[{"name":"exclude_files"}]}}}"#;
    let got = Host::new(r#"{"tool":"glob","native_tool":"Glob","args":{}}"#).config(config).run(pre_tool);
    assert_ne!(got.status, 0);
}
