//! What openssl shows of keys.

use belay_hook::analysis::Word;

use super::Names;

/// What openssl shows: of a certificate nothing is secret, and a key may be used.
pub(super) fn shown(n: &mut Names<'_>, args: &[Word]) {
    let has = |list: &[&str]| args.iter().any(|w| list.contains(&w.text.as_str()));
    let sub = args.first().map_or("", |w| w.text.as_str());
    let shows = match sub {
        "rsa" | "pkey" | "ec" | "dsa" | "pkcs8" => !has(&["-pubout", "-pubin", "-text_pub"]) && (!has(&["-noout"]) || has(&["-text"])),
        "pkcs12" => !has(&["-export", "-nokeys"]) && !has(&["-noout"]),
        "x509" | "req" | "crl" | "verify" | "s_client" | "s_server" | "s_time" | "ocsp" | "ts" | "pkcs7" | "ca" | "genrsa" | "genpkey" | "gendsa" | "ecparam"
        | "dhparam" | "rand" | "version" | "ciphers" | "list" | "passwd" | "speed" | "crl2pkcs7" | "cms" | "smime" | "spkac" | "pkeyutl" | "rsautl" => false,
        _ => true,
    };
    if !shows {
        return;
    }
    let mut i = 1;
    while i < args.len() {
        let t = args[i].text.as_str();
        match t {
            "-in" | "-inkey" if sub != "dgst" || t == "-in" => {
                if let Some(w) = args.get(i + 1) {
                    n.word(w);
                }
                i += 2;
            }
            "-out" | "-sign" | "-verify" | "-prverify" | "-signature" | "-hmac" | "-k" | "-K" | "-iv" | "-S" | "-md" | "-passin" | "-passout" | "-pass" | "-kfile"
            | "-inform" | "-outform" | "-keyform" | "-engine" | "-config" | "-mac" | "-macopt" | "-sigopt" => i += 2,
            _ => {
                if !t.starts_with('-') {
                    n.word(&args[i]);
                }
                i += 1;
            }
        }
    }
}
