//! Packages that are named on the command line. What a lockfile or the project itself names is no new package.

use alloc::format;
use alloc::string::String;

use crate::getopt::Args;
use crate::hook::analysis::Command;
use crate::text::Text;

pub fn judge(t: &Text, c: &Command) -> Option<String> {
    let script = t.programs.iter().any(|p| p.text.contains("install.packages(") || p.text.contains("Pkg.add("));
    (installs(c) || script && matches!(c.name.as_str(), "Rscript" | "R" | "julia")).then(|| format!("{} would install packages", c.name))
}

fn installs(c: &Command) -> bool {
    let name = c.name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    let values = match name {
        "pip" | "python" => "rceift",
        "brew" | "npm" | "pnpm" | "yarn" => "C",
        _ => "ctnp",
    };
    let args = Args::read(
        c.args(),
        values,
        &["requirement", "constraint", "index-url", "prefix", "target", "registry", "version", "git", "path", "file", "name", "root", "repository", "filter", "python", "group", "environment", "workspace"],
    );
    let verb = args.operand(0);
    let named = |from: usize| args.operands.iter().skip(from).any(|w| !is_own(&w.text));
    if args.has(&["dry-run", "help", "h", "simulate", "download-only"]) {
        return false;
    }
    match name {
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" => match verb {
            "add" | "install" | "i" | "in" | "ins" | "isntall" | "global" => named(1),
            "dlx" | "x" | "create" => true,
            _ => false,
        },
        "bunx" | "uvx" => true,
        "npx" => args.has(&["y", "yes", "p", "package"]) || args.operand(0).trim_start_matches('@').contains('@'),
        "pip" | "pipx" | "pipenv" | "conda" | "mamba" | "micromamba" | "gem" | "luarocks" | "opam" | "cabal" | "brew" | "port" | "snap" | "flatpak" | "choco"
        | "winget" | "scoop" | "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "zypper" | "pkg" | "tdnf" | "microdnf" | "urpmi" | "raco" | "tlmgr" | "easy_install" => {
            matches!(verb, "install" | "in" | "reinstall") && named(1) || (name == "pipx" && verb == "run") || name == "easy_install" && named(0)
        }
        "python" | "py" | "pypy" => {
            let at = c.args().iter().position(|w| w.text == "pip");
            at.map_or(false, |at| {
                let rest = Args::read(&c.args()[at + 1..], "rceift", &["requirement", "constraint", "index-url"]);
                rest.operand(0) == "install" && rest.operands.iter().skip(1).any(|w| !is_own(&w.text))
            })
        }
        "uv" => match verb {
            "add" => named(1),
            "pip" | "tool" => matches!(args.operand(1), "install" | "run") && named(2),
            _ => false,
        },
        "poetry" | "pdm" | "rye" | "hatch" | "cargo" | "deno" | "bundle" | "bundler" | "mix" | "pixi" | "flutter" | "dart" => match verb {
            "add" => named(1),
            "install" => name == "cargo" && (named(1) || args.has(&["git"])) && !args.has(&["path"]) || name == "deno" && named(1),
            "pub" => args.operand(1) == "add" && named(2),
            _ => false,
        },
        "go" => matches!(verb, "get" | "install") && named(1),
        "composer" => matches!(verb, "require" | "global") && named(1),
        "apk" => verb == "add" && named(1),
        "pacman" | "yay" | "paru" => c.args().iter().any(|w| w.text.starts_with("-S") && !w.text.contains(&['s', 'i', 'l', 'c'][..])) && named(0),
        "dpkg" | "rpm" => args.has(&["i", "install", "U", "upgrade"]) && !args.has(&["q", "query"]) && named(0),
        "nix-env" => args.has(&["i", "install", "iA"]),
        "nix" => verb == "profile" && matches!(args.operand(1), "install" | "add"),
        "cpan" | "cpanm" => named(0),
        "dotnet" => (verb == "add" || verb == "tool") && (args.operands.iter().any(|w| w.text == "package" || w.text == "install")),
        "helm" => verb == "plugin" && args.operand(1) == "install",
        "gh" => verb == "extension" && args.operand(1) == "install",
        "kubectl" => verb == "krew" && args.operand(1) == "install",
        "code" | "codium" | "cursor" => args.has(&["install-extension"]),
        _ => false,
    }
}

/// A part of the project: a path, or its own modules.
fn is_own(word: &str) -> bool {
    word.starts_with('.') || word.starts_with('/') || word.starts_with('~') || word.starts_with("file:")
}

#[cfg(test)]
mod tests {
    #[test]
    fn named_packages() {
        super::super::tests::judges(
            super::judge,
            &[
                ("npm install left-pad", true),
                ("npm i -D typescript", true),
                ("npm install", false),
                ("npm ci", false),
                ("npm run install", false),
                ("yarn add x", true),
                ("yarn", false),
                ("pip install requests", true),
                ("pip3 install -r requirements.txt", false),
                ("pip install -e .", false),
                ("python3 -m pip install requests", true),
                ("uv add httpx", true),
                ("uv sync", false),
                ("poetry install", false),
                ("cargo install ripgrep", true),
                ("cargo install --path .", false),
                ("cargo add serde", true),
                ("go install ./...", false),
                ("go get example.com/x", true),
                ("apt-get install -y jq", true),
                ("apt-get update", false),
                ("apk add --no-cache git", true),
                ("brew install jq", true),
                ("gem install rake", true),
                ("bundle install", false),
                ("pacman -Sy jq", true),
                ("pacman -Ss jq", false),
                ("npx eslint .", false),
                ("npx -y cowsay", true),
                ("composer require x/y", true),
            ],
        );
    }
}
