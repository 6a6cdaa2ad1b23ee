// What the host tells about shell text, paths, patterns and secrets.

import { errnoText } from "./errors";
import { Kind, Reader, Value, Writer } from "./json";
import * as raw from "./raw";
import { inputValue } from "./reads";
import { halt, lastReply, utf8 } from "./text";

/**
 * What shellParse found. A guard treats each of these as "cannot tell", and asks or blocks: `unclear()`, and a word that
 * matters with known false.
 */
@final
export class Shell {
  /** The text is shell and was walked to the end. False as well when the host refused the call. */
  ok: bool = false;
  /** 0, or the Errno of a call that the host refused. */
  errno: i32 = 0;
  /** What is wrong when ok is false. */
  error: string = "";
  /** The grammar that read it: bash or posix. */
  dialect: string = "";
  /** Every command that would run, wrappers and what they wrap. */
  commands: Array<Command> = new Array<Command>();
  /** What would run but is not known statically. */
  unknown: Array<Unknown> = new Array<Unknown>();
  /**
   * Programs of other languages that would run. They are no doubt by themselves: a guard that judges what runs judges
   * their texts, or asks.
   */
  unknownPrograms: Array<Program> = new Array<Program>();
  /** There is more than is told here. */
  truncated: bool = false;
  /** Names of the functions that the text defines. */
  functions: Array<string> = new Array<string>();

  /** Whether it cannot be told what the text would run. */
  unclear(): bool {
    if (!this.ok || this.truncated || this.unknown.length > 0) return true;
    for (let i = 0; i < this.commands.length; i++) {
      if (this.commands[i].name.length == 0) return true;
    }
    return false;
  }
}

/** One simple command that would run. */
@final
export class Command {
  /** Last path element of the command word; "" when it is not known. */
  name: string = "";
  /** The command word and its arguments after expansion. */
  words: Array<Word> = new Array<Word>();
  /** Its source text, cut. */
  raw: string = "";
  /** NAME=value before it. */
  assigns: Array<Assign> = new Array<Assign>();
  /** Its redirections. */
  redirects: Array<Redirect> = new Array<Redirect>();
  /** The number of its pipeline, from 1; 0 outside of one. */
  pipe: i32 = 0;
  /** Index of the command whose output it reads, or -1. */
  stdinFrom: i32 = -1;
  /** The text on its standard input, where that stands in the text that was parsed. */
  stdin: Word | null = null;
  /** Index of the innermost wrapper that runs it, or -1. */
  parent: i32 = -1;
  /** Wrappers round it, outermost first. */
  via: Array<string> = new Array<string>();
  /** Constructs round it: substitution, background, function:NAME... */
  context: Array<string> = new Array<string>();
  /** Where it runs, after a cd in the text; null when that is where the text was started. */
  cwd: Word | null = null;
  /** It runs on another host or in a container. */
  remote: bool = false;
  /** It calls a function of the text; the commands of its body follow. */
  isFunction: bool = false;
  /** It calls a function that is already running. */
  recursive: bool = false;
  /** More arguments follow that are not known. */
  argsOpen: bool = false;

  /** The words as one line. */
  line(): string {
    const texts = new Array<string>();
    for (let i = 0; i < this.words.length; i++) texts.push(this.words[i].text);
    return texts.join(" ");
  }

  /** Whether an argument before `--` is one of the long options, or a bundle of short ones that holds short. */
  hasFlag(short: string, long: Array<string>): bool {
    for (let i = 1; i < this.words.length; i++) {
      const w = this.words[i].text;
      if (w == "--") return false;
      if (w.startsWith("--")) {
        if (long.includes(w.substring(2).split("=")[0])) return true;
      } else if (w.length > 1 && w.startsWith("-") && short.length && w.indexOf(short) > 0) {
        return true;
      }
    }
    return false;
  }
}

/** A word after quote removal and expansion. */
@final
export class Word {
  /** Parts that are not known stand as their source text. */
  text: string = "";
  /** text is exactly what the command gets, apart from ~ and patterns. */
  known: bool = false;
  /** It has a pattern that the shell would expand. */
  glob: bool = false;
  /** It begins with ~ or $HOME, both written ~. */
  tilde: bool = false;
  /** Where it is not known: indexes of the commands whose output is in it. */
  from: Array<i32> | null = null;
}

/** NAME=value before a command, or given to env. */
@final
export class Assign {
  name: string = "";
  value: Word = new Word();
}

/** A redirection. */
@final
export class Redirect {
  /** The operator, such as `>`. */
  op: string = "";
  /** The descriptor. */
  fd: i32 = -1;
  /** The file, descriptor or text. */
  target: Word = new Word();
}

/** Something that would run and is not known. */
@final
export class Unknown {
  /** name, code, script or limit. */
  what: string = "";
  /** Its source text, cut. */
  raw: string = "";
  /** Index of the command that it belongs to, or -1. */
  command: i32 = -1;
  /** Of code: it is known but for words in it, and what it runs is among the commands. */
  partial: bool = false;
}

/** A program of another language: what an interpreter gets as an argument, on its standard input or in a file. */
@final
export class Program {
  /** python, perl, javascript, awk, sql, make, crontab, native... */
  language: string = "";
  /** The program, where it is at hand. */
  text: string = "";
  /** Parts of text are not known and stand as their source text. */
  partial: bool = false;
  /** The file that holds it. */
  file: string = "";
  /** Its source text, cut. */
  raw: string = "";
  /** Index of its command, or -1. */
  command: i32 = -1;
}

/** Tells every command that a shell text of at most 64 KiB would run. */
export function shellParse(text: string): Shell {
  const t = utf8(text);
  const code = raw.shell_parse(t.at, t.n);
  const shell = new Shell();
  if (code < 0) {
    shell.errno = code;
    shell.error = errnoText(code);
    return shell;
  }
  const r = lastReply().reader();
  if (r.object()) while (r.member()) {
    if (r.is("ok")) shell.ok = r.isTrue();
    else if (r.is("error")) shell.error = r.text();
    else if (r.is("dialect")) shell.dialect = r.text();
    else if (r.is("truncated")) shell.truncated = r.isTrue();
    else if (r.is("functions")) shell.functions = r.texts();
    else if (r.is("commands")) { if (r.array()) while (r.element()) shell.commands.push(readCommand(r)); }
    else if (r.is("unknown")) { if (r.array()) while (r.element()) shell.unknown.push(readUnknown(r)); }
    else if (r.is("unknown_programs")) { if (r.array()) while (r.element()) shell.unknownPrograms.push(readProgram(r)); }
    else r.skip();
  }
  if (!r.ended()) halt("shell_parse: the reply cannot be read");
  return shell;
}

function readCommand(r: Reader): Command {
  const c = new Command();
  if (r.object()) while (r.member()) {
    if (r.is("name")) c.name = r.text();
    else if (r.is("words")) { if (r.array()) while (r.element()) c.words.push(readWord(r)); }
    else if (r.is("raw")) c.raw = r.text();
    else if (r.is("assigns")) { if (r.array()) while (r.element()) c.assigns.push(readAssign(r)); }
    else if (r.is("redirects")) { if (r.array()) while (r.element()) c.redirects.push(readRedirect(r)); }
    else if (r.is("pipe")) c.pipe = <i32>r.int(0);
    else if (r.is("stdin_from")) c.stdinFrom = index(r);
    else if (r.is("stdin")) c.stdin = readWord(r);
    else if (r.is("parent")) c.parent = index(r);
    else if (r.is("via")) c.via = r.texts();
    else if (r.is("context")) c.context = r.texts();
    else if (r.is("cwd")) c.cwd = readWord(r);
    else if (r.is("remote")) c.remote = r.isTrue();
    else if (r.is("function")) c.isFunction = r.isTrue();
    else if (r.is("recursive")) c.recursive = r.isTrue();
    else if (r.is("args_open")) c.argsOpen = r.isTrue();
    else r.skip();
  }
  return c;
}

function readWord(r: Reader): Word {
  const w = new Word();
  if (r.object()) while (r.member()) {
    if (r.is("text")) w.text = r.text();
    else if (r.is("known")) w.known = r.isTrue();
    else if (r.is("glob")) w.glob = r.isTrue();
    else if (r.is("tilde")) w.tilde = r.isTrue();
    else if (r.is("from")) {
      const from = new Array<i32>();
      if (r.array()) while (r.element()) from.push(index(r));
      w.from = from;
    } else r.skip();
  }
  return w;
}

function readAssign(r: Reader): Assign {
  const a = new Assign();
  if (r.object()) while (r.member()) {
    if (r.is("name")) a.name = r.text();
    else if (r.is("value")) a.value = readWord(r);
    else r.skip();
  }
  return a;
}

function readRedirect(r: Reader): Redirect {
  const to = new Redirect();
  if (r.object()) while (r.member()) {
    if (r.is("op")) to.op = r.text();
    else if (r.is("fd")) to.fd = <i32>r.int(-1);
    else if (r.is("target")) to.target = readWord(r);
    else r.skip();
  }
  return to;
}

function readUnknown(r: Reader): Unknown {
  const u = new Unknown();
  if (r.object()) while (r.member()) {
    if (r.is("what")) u.what = r.text();
    else if (r.is("raw")) u.raw = r.text();
    else if (r.is("command")) u.command = index(r);
    else if (r.is("partial")) u.partial = r.isTrue();
    else r.skip();
  }
  return u;
}

function readProgram(r: Reader): Program {
  const p = new Program();
  if (r.object()) while (r.member()) {
    if (r.is("language")) p.language = r.text();
    else if (r.is("text")) p.text = r.text();
    else if (r.is("partial")) p.partial = r.isTrue();
    else if (r.is("file")) p.file = r.text();
    else if (r.is("raw")) p.raw = r.text();
    else if (r.is("command")) p.command = index(r);
    else r.skip();
  }
  return p;
}

/** Reads the index of a command: -1 where there is none. */
function index(r: Reader): i32 {
  const n = r.int(-1);
  return n < 0 || n > i32.MAX_VALUE ? -1 : <i32>n;
}

/**
 * The command line of a tool call: `/args/command` or `/args/cmd`, as a string, or as an array of words, which are quoted
 * and joined. null when there is nothing of the kind, or something else stands there. A guard uses inputLines, which
 * finds commands of other tools, too.
 */
export function inputCommand(): string | null {
  const command = inputValue("/args/command");
  if (command.some) return commandLine(command);
  return commandLine(inputValue("/args/cmd"));
}

function commandLine(v: Value): string | null {
  if (v.kind == Kind.Text) return v.source;
  const words = v.texts();
  if (v.kind != Kind.Array || words.length == 0 || words.length != v.items().length) return null;
  for (let i = 0; i < words.length; i++) words[i] = "'" + words[i].replaceAll("'", "'\\''") + "'";
  return words.join(" ");
}

/** One text that a tool call would run. */
@final
export class Line {
  constructor(
    /** As inputCommand returns it. */
    public text: string,
    /** It may be of another language than the shell's. */
    public code: bool,
  ) {}
}

/** What a tool call would run. */
@final
export class Lines {
  /** At least one, or more is true. */
  lines: Array<Line> = new Array<Line>();
  /** The tool is known to run another language: what its code does cannot be told from it. */
  foreign: bool = false;
  /** There is more than is told here, or something that cannot be read. */
  more: bool = false;
}

/**
 * Everything that a tool call would run: of a tool that runs commands, and of one that the host judges as such by what
 * the call carries. null when there is nothing of the kind.
 */
export function inputLines(): Lines | null {
  const found = new Lines();
  const judged = inputValue("/judged");
  if (!judged.some) {
    const line = inputCommand();
    if (line === null) return null;
    found.lines.push(new Line(line, false));
    return found;
  }
  found.foreign = judged.get("foreign").isTrue();
  found.more = judged.get("more").isTrue();
  addLines(found, judged.get("commands").texts(), false);
  addLines(found, judged.get("code").texts(), true);
  return found.lines.length == 0 && !found.more ? null : found;
}

function addLines(found: Lines, places: Array<string>, code: bool): void {
  for (let i = 0; i < places.length; i++) {
    const line = commandLine(inputValue(places[i]));
    if (line === null) found.more = true;
    else found.lines.push(new Line(line, code));
  }
}

/** One path in the forms that a rule can be written against. */
@final
export class Path {
  /** Absolute where the directory is known, cleaned. */
  path: string = "";
  /** Where it leads with symbolic links followed, as far as they may be looked at; "" otherwise. */
  resolved: string = "";
  /** Every form for comparing. A rule looks at all of them. */
  keys: Array<string> = new Array<string>();
  /** resolved, partial, absent, unknown or loop. */
  links: string = "";
  /** Spellings that hide something, such as percent or invisible. */
  notes: Array<string> = new Array<string>();
}

/** The paths that pathResolve replies. */
@final
export class Paths {
  private list: Array<Path> = new Array<Path>();

  constructor(
    /** 0, or the Errno of a call that the host refused. */
    public errno: i32,
  ) {}

  /** One for each path that was asked about. Ends the hook when the host refused the call. */
  get results(): Array<Path> {
    granted("path_resolve", this.errno);
    return this.list;
  }

  read(r: Reader): void {
    if (r.object()) while (r.member()) {
      if (r.is("results")) { if (r.array()) while (r.element()) this.list.push(readPath(r)); }
      else r.skip();
    }
  }
}

/** Resolves up to 64 paths; relative ones against cwd, or the invocation's working directory. */
export function pathResolve(paths: Array<string>, cwd: string = ""): Paths {
  const w = new Writer().object().key("paths").texts(paths);
  if (cwd.length) w.key("cwd").text(cwd);
  const t = utf8(w.end().toString());
  const code = raw.path_resolve(t.at, t.n);
  const found = new Paths(code < 0 ? code : 0);
  if (code < 0) return found;
  const r = lastReply().reader();
  found.read(r);
  if (!r.ended()) halt("path_resolve: the reply cannot be read");
  return found;
}

function readPath(r: Reader): Path {
  const p = new Path();
  if (r.object()) while (r.member()) {
    if (r.is("path")) p.path = r.text();
    else if (r.is("resolved")) p.resolved = r.text();
    else if (r.is("keys")) p.keys = r.texts();
    else if (r.is("links")) p.links = r.text();
    else if (r.is("notes")) p.notes = r.texts();
    else r.skip();
  }
  return p;
}

/** The first match of a pattern in a text. */
@final
export class Match {
  /** Index in texts. */
  text: i32 = 0;
  /** Index in patterns. */
  pattern: i32 = 0;
  /** Offsets in the text, in bytes of UTF-8. */
  start: i32 = 0;
  end: i32 = 0;
}

/** Which patterns match which texts. */
@final
export class Matches {
  private list: Array<Match> = new Array<Match>();

  constructor(
    /** 0, or the Errno of a call that the host refused. */
    public errno: i32,
  ) {}

  /** Ends the hook when the host refused the call. */
  get matches(): Array<Match> {
    granted("pattern_match", this.errno);
    return this.list;
  }

  /** Whether there is one. Ends the hook when the host refused the call. */
  get any(): bool {
    return this.matches.length > 0;
  }

  read(r: Reader): void {
    if (r.object()) while (r.member()) {
      if (r.is("matches")) { if (r.array()) while (r.element()) this.list.push(readMatch(r)); }
      else r.skip();
    }
  }
}

/** Which RE2 patterns match anywhere in which texts; at most 64 of each. */
export function matchRE2(patterns: Array<string>, texts: Array<string>, ignoreCase: bool = false): Matches {
  return match("re2", patterns, texts, ignoreCase);
}

/** Which globs match which texts as a whole; at most 64 of each. */
export function matchGlob(patterns: Array<string>, texts: Array<string>, ignoreCase: bool = false): Matches {
  return match("glob", patterns, texts, ignoreCase);
}

function match(kind: string, patterns: Array<string>, texts: Array<string>, ignoreCase: bool): Matches {
  const w = new Writer().object().key("kind").text(kind).key("patterns").texts(patterns).key("texts").texts(texts);
  if (ignoreCase) w.key("ignore_case").bool(true);
  const t = utf8(w.end().toString());
  const code = raw.pattern_match(t.at, t.n);
  const found = new Matches(code < 0 ? code : 0);
  if (code < 0) return found;
  const r = lastReply().reader();
  found.read(r);
  if (!r.ended()) halt("pattern_match: the reply cannot be read");
  return found;
}

function readMatch(r: Reader): Match {
  const m = new Match();
  if (r.object()) while (r.member()) {
    if (r.is("text")) m.text = <i32>r.int(0);
    else if (r.is("pattern")) m.pattern = <i32>r.int(0);
    else if (r.is("start")) m.start = <i32>r.int(0);
    else if (r.is("end")) m.end = <i32>r.int(0);
    else r.skip();
  }
  return m;
}

/** A secret in a text. */
@final
export class Secret {
  /** Such as github-token or private-key. */
  kind: string = "";
  /** Offsets in the text, in bytes of UTF-8. */
  start: i32 = 0;
  end: i32 = 0;
}

/** The secrets of a text, by place, not overlapping. */
@final
export class Secrets {
  private list: Array<Secret> = new Array<Secret>();
  private cut: bool = false;

  constructor(
    /** 0, or the Errno of a call that the host refused. */
    public errno: i32,
  ) {}

  /** Ends the hook when the host refused the call. */
  get secrets(): Array<Secret> {
    granted("find_secrets", this.errno);
    return this.list;
  }

  /** Whether there are more. Ends the hook when the host refused the call. */
  get truncated(): bool {
    granted("find_secrets", this.errno);
    return this.cut;
  }

  read(r: Reader): void {
    if (r.object()) while (r.member()) {
      if (r.is("secrets")) { if (r.array()) while (r.element()) this.list.push(readSecret(r)); }
      else if (r.is("truncated")) this.cut = r.isTrue();
      else r.skip();
    }
  }
}

/** Kinds and places of the secrets in a text of at most 256 KiB. */
export function findSecrets(text: string): Secrets {
  const t = utf8(text);
  const code = raw.find_secrets(t.at, t.n);
  const found = new Secrets(code < 0 ? code : 0);
  if (code < 0) return found;
  const r = lastReply().reader();
  found.read(r);
  if (!r.ended()) halt("find_secrets: the reply cannot be read");
  return found;
}

function readSecret(r: Reader): Secret {
  const s = new Secret();
  if (r.object()) while (r.member()) {
    if (r.is("kind")) s.kind = r.text();
    else if (r.is("start")) s.start = <i32>r.int(0);
    else if (r.is("end")) s.end = <i32>r.int(0);
    else r.skip();
  }
  return s;
}

/** What was refused must not pass for "nothing found". */
function granted(call: string, errno: i32): void {
  if (errno < 0) halt(call + ": " + errnoText(errno));
}
