use belay_hook::testing::{Effect, Host};
use belay_hook::{self as hook, analysis, config, input, json::Value, Artifact, Kind, Level, Scopes};

#[test]
fn reads() {
    let doc = r#"{"tool":"exec","args":{"a/b":[1,2.50,{"x":"\u00e9\n\ud83d\ude00"}],"big":123456789012345678901234567890},"on":true,"nil":null}"#;
    let got = Host::new(doc).config(r#"{"max":3,"on":false}"#).run(|| {
        assert_eq!(input::text("/tool").as_deref(), Some("exec"));
        assert_eq!(input::text("/on"), None);
        assert_eq!(input::get("/on").as_deref(), Some("true"));
        assert_eq!(input::kind("/nil"), Some(Kind::Null));
        assert!(!input::has("/none"));
        assert_eq!(input::get("/args/a~1b/1").as_deref(), Some("2.50"));
        assert_eq!(input::text("/args/a~1b/2/x").as_deref(), Some("é\n😀"));
        assert_eq!(input::int("/args/big"), None);
        assert_eq!(input::keys("/args"), ["a/b", "big"]);
        assert_eq!(input::keys("/tool"), Vec::<String>::new());
        assert_eq!(input::len("/args/a~1b"), 3);
        assert_eq!(config::int("/max"), Some(3));
        assert_eq!(config::bool("/on"), Some(false));
        assert_eq!(hook::pointer(&["args", "a/b", "~"]), "/args/a~1b/~0");
        assert_eq!(input::value(""), Value::parse(doc));
    });
    assert_eq!(got.status, 0);
}

#[test]
fn effects() {
    let got = Host::new("{}").run(|| {
        hook::log(Level::Warn, "careful");
        hook::request_approval("push \"it\"?", Some(60));
        hook::rewrite("/args/n", "1");
        hook::rewrite_text("/args/t", "x");
        hook::remove("/args/r");
        hook::redact("/args/p", "password");
        hook::annotate_text("class", "hard");
        hook::clamp_scopes(Scopes { fs_read: Some(vec!["/w/**".into()]), net: Some(vec![]), ..Scopes::default() });
        hook::retry("again", 2);
        hook::put_artifact(Artifact { name: "r", media_type: "text/plain", text: "\u{1}", meta: Value::Null });
    });
    assert_eq!(
        got.effects,
        [
            Effect::Other("request_approval", r#"{"reason":"push \"it\"?","ttl_s":60}"#.into()),
            Effect::Rewrite("/args/n".into(), "1".into()),
            Effect::RewriteText("/args/t".into(), "x".into()),
            Effect::Remove("/args/r".into()),
            Effect::Redact("/args/p".into(), "password".into()),
            Effect::Annotate("class".into(), r#""hard""#.into()),
            Effect::Other("clamp_scopes", r#"{"fs_read":["/w/**"],"net":[]}"#.into()),
            Effect::Other("retry", r#"{"instruction":"again","max":2}"#.into()),
            Effect::Other("put_artifact", r#"{"name":"r","media_type":"text/plain","text":"\u0001"}"#.into()),
        ]
    );
    assert_eq!(got.logs, [(2, "careful".to_string())]);
}

#[test]
fn a_failure_drops_effects() {
    let got = Host::new("{}").run(|| -> hook::Result {
        hook::block("stop");
        analysis::shell_parse("ls")?;
        Ok(())
    });
    assert_eq!((got.status, got.effects.len(), got.failed.as_deref()), (1, 0, Some("not offered by this host")));
}

// What the host says beside an errno reaches the author, and the record.
#[test]
fn refused() {
    let pending = r#"{"reason":"a person has to approve it","approval":{"id":"7"}}"#;
    let host = Host::new("{}")
        .refuse_with("request_tool_call", -6, pending)
        .refuse_with("mint_lease", -2, r#"{"error":"wider than its parent"}"#)
        .refuse("http_request", -4);
    let got = host.run(|| -> hook::Result {
        let r = hook::request_tool_call("{}").unwrap_err();
        assert_eq!(r, hook::Errno::Pending);
        assert_eq!((r.document.as_str(), r.reason().as_deref()), (pending, Some("a person has to approve it")));
        let r = hook::mint_lease("{}").unwrap_err();
        assert_eq!(r.to_string(), "not granted, or not legal in this phase: wider than its parent");
        // The document of a call before is not this one's.
        let r = hook::http_request("{}").unwrap_err();
        assert_eq!((r.document.as_str(), r.to_string().as_str()), ("", "a quota of this turn is spent"));
        assert_eq!(hook::check_lease("{}").unwrap_err(), hook::Errno::Unavailable);
        hook::request_tool_call("{}")?;
        Ok(())
    });
    assert_eq!(got.failed.as_deref(), Some("waits for a person: a person has to approve it"));
}

#[test]
fn shell() {
    let reply = r#"{"ok":true,"dialect":"bash","commands":[{"name":"rm","words":[{"text":"rm","known":true},{"text":"-rf","known":true},
        {"text":"~","known":true,"tilde":true}],"raw":"rm -rf ~","pipe":0,"stdin_from":-1,"via":["sudo"],"parent":0,
        "redirects":[{"op":">","fd":1,"target":{"text":"/x","known":true}}]},
        {"name":"sh","words":[{"text":"sh","known":true}],"raw":"sh","pipe":2,"stdin_from":0,"parent":-1,"function":true,
        "stdin":{"text":"$X","known":false,"from":[0]}}],
        "unknown":[{"what":"code","raw":"$X","command":-1},{"what":"code","raw":"sh","command":1,"partial":true}],"truncated":false}"#;
    Host::new("{}").reply("shell_parse", reply).run(|| {
        let s = analysis::shell_parse("sudo rm -rf ~").unwrap();
        assert!(s.ok && !s.truncated);
        let c = &s.commands[0];
        assert_eq!((c.name.as_str(), c.line().as_str(), c.stdin_from), ("rm", "rm -rf ~", None));
        assert!(c.has_flag('r', &["recursive"]) && c.has_flag('f', &[]) && !c.has_flag('v', &["verbose"]));
        assert!(c.args()[1].tilde && c.redirects[0].target.text == "/x");
        assert_eq!((s.unknown[0].what.as_str(), s.unknown[0].command, s.unknown[0].partial), ("code", None, false));
        assert_eq!((s.unknown[1].command, s.unknown[1].partial), (Some(1), true));
        assert_eq!((c.parent, c.pipe, c.function, c.stdin.is_none()), (Some(0), 0, false, true));
        let sh = &s.commands[1];
        assert_eq!((sh.parent, sh.pipe, sh.function), (None, 2, true));
        assert_eq!(sh.stdin.as_ref().map(|w| w.from.clone()), Some(vec![0]));
    });
}

#[test]
fn unknown_programs() {
    let reply = r#"{"ok":true,"commands":[],"unknown":[],"truncated":false,"unknown_programs":[
        {"what":"program","language":"awk","text":"$X","partial":true,"raw":"awk $X","command":1},
        {"what":"program","language":"python","file":"x.py","raw":"python x.py","command":2}]}"#;
    Host::new("{}").reply("shell_parse", reply).run(|| {
        let (s, list) = analysis::shell_parse_with_programs("awk $X; python x.py").unwrap();
        assert!(s.ok && s.unknown.is_empty());
        assert_eq!(list, analysis::unknown_programs("awk $X; python x.py").unwrap());
        assert_eq!((list[0].language.as_str(), list[0].text.as_str(), list[0].partial, list[0].command), ("awk", "$X", true, Some(1)));
        assert_eq!((list[1].file.as_str(), list[1].text.as_str()), ("x.py", ""));
    });
}

/// What a call would run, by the vectors that all SDKs share.
#[test]
fn commands() {
    let vectors = Value::parse(include_str!("../../abi/testdata/commands.json")).unwrap();
    assert!(vectors.items().len() >= 20);
    for vector in vectors.items() {
        let doc = vector.get("document").unwrap().to_json();
        Host::new(&doc).run(|| {
            let want = vector.get("command").unwrap().as_text();
            assert_eq!(analysis::input_command().as_deref(), want, "{doc}");
            let want = vector.get("lines").filter(|lines| **lines != Value::Null).map(|want| {
                let line = |l: &Value| analysis::Line { text: l.get("text").unwrap().as_text().unwrap().into(), code: l.is_true("code") };
                let lines = want.list("lines").iter().map(line).collect();
                analysis::Lines { lines, foreign: want.is_true("foreign"), more: want.is_true("more") }
            });
            assert_eq!(analysis::input_lines(), want, "{doc}");
        });
    }
}

#[test]
fn state() {
    let got = Host::new("{}").state("n", b"1").run(|| -> hook::Result {
        let n: u32 = String::from_utf8(hook::state_get("n")?).unwrap().parse().unwrap();
        hook::state_put("n", (n + 1).to_string().as_bytes())?;
        assert_eq!(hook::state_get("none"), Err(hook::Errno::Absent));
        Ok(())
    });
    assert_eq!(got.state["n"], b"2");
}

#[test]
fn json_is_strict() {
    for bad in ["", "{", "[1,]", "01", "1.", "\"\\x\"", "\"\n\"", "\"\\ud800\"", "nul", "1 2", "{\"a\" 1}", "\"\\u00g0\""] {
        assert_eq!(Value::parse(bad), None, "{bad}");
    }
    assert_eq!(Value::parse(&"[".repeat(100_000)), None);
    let ok = r#"{"a":[1,-2.5e+10,"\"\\\u0001",{}],"b":[]}"#;
    assert_eq!(Value::parse(ok).unwrap().to_json(), ok);
}

fn nothing() {}
hook::export!(pre_tool => nothing, audit => nothing);
