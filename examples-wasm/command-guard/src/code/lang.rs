//! Languages, in what matters for reading their texts.

/// A family of languages that are read in one way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lang {
    Python,
    Js,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
    Julia,
    Elixir,
    Awk,
    /// Java, Groovy, Scala, Kotlin, Swift and others with calls in parentheses.
    Calls,
}

impl Lang {
    /// The family of a language, as the host calls it.
    pub fn of(language: &str) -> Option<Lang> {
        Some(match language {
            "python" | "xonsh" => Lang::Python,
            "javascript" | "typescript" | "applescript" => Lang::Js,
            "perl" => Lang::Perl,
            "ruby" | "crystal" => Lang::Ruby,
            "php" => Lang::Php,
            "lua" => Lang::Lua,
            "r" => Lang::R,
            "julia" => Lang::Julia,
            "elixir" => Lang::Elixir,
            "awk" => Lang::Awk,
            "java" | "groovy" | "nim" | "d" | "rust" | "pike" | "scala" | "kotlin" | "swift" | "go" | "csharp" | "c" | "dart" | "haskell" | "ocaml"
            | "prolog" | "octave" | "matlab" | "gnuplot" | "erlang" | "m4" => Lang::Calls,
            _ => return None,
        })
    }

    /// Whether # begins a comment.
    pub fn hash_comment(self) -> bool {
        !matches!(self, Lang::Js | Lang::Lua | Lang::Calls)
    }

    /// Whether // begins a comment, and /* one that ends.
    pub fn slash_comment(self) -> bool {
        matches!(self, Lang::Js | Lang::Php | Lang::Calls)
    }

    /// Whether a slash may begin a pattern.
    pub fn has_patterns(self) -> bool {
        matches!(self, Lang::Js | Lang::Ruby | Lang::Perl | Lang::Awk)
    }

    /// Whether a text in double quotes holds expressions.
    pub fn interpolates(self) -> bool {
        matches!(self, Lang::Perl | Lang::Ruby | Lang::Php | Lang::Julia | Lang::Elixir | Lang::Calls)
    }

    /// Whether names of variables begin with a mark.
    pub fn has_sigils(self) -> bool {
        matches!(self, Lang::Perl | Lang::Php)
    }

    /// Whether a dot puts texts together.
    pub fn dot_joins(self) -> bool {
        matches!(self, Lang::Perl | Lang::Php)
    }

    /// Whether a call may go without parentheses.
    pub fn bare_calls(self) -> bool {
        matches!(self, Lang::Perl | Lang::Ruby | Lang::Lua | Lang::Elixir | Lang::Awk | Lang::Php | Lang::Calls)
    }

    /// Whether functions of files and programs need no module before them.
    pub fn bare_functions(self) -> bool {
        !matches!(self, Lang::Python | Lang::Js | Lang::Lua)
    }

    /// A program that runs texts of the language.
    pub fn program(self) -> &'static str {
        match self {
            Lang::Python => "python3",
            Lang::Js => "node",
            Lang::Perl => "perl",
            Lang::Ruby => "ruby",
            Lang::Php => "php",
            Lang::Lua => "lua",
            Lang::R => "Rscript",
            Lang::Julia => "julia",
            Lang::Elixir => "elixir",
            Lang::Awk => "awk",
            Lang::Calls => "groovy",
        }
    }
}
