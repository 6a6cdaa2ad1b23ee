// The SDK against a host in node. scripts/test-sdk builds tests/unit.ts and runs this.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Host, load } from "../testing/host.mjs";

const unit = load(process.env.BELAY_UNIT);
const logged = (got) => got.logs.map((l) => l.text);

test("what a call would run, by the vectors that all SDKs share", () => {
  const vectors = JSON.parse(readFileSync(new URL("../../abi/testdata/commands.json", import.meta.url), "utf8"));
  assert.ok(vectors.length >= 20);
  for (const { document, ...want } of vectors) {
    const got = new Host(document).run(unit, "pre_tool");
    assert.equal(got.status, 0);
    assert.deepEqual(JSON.parse(got.logs[0].text), want, JSON.stringify(document));
  }
});

const parse = (text) => new Host({ text }).run(unit, "pre_plan");

test("JSON is taken apart and put together again", () => {
  for (const [text, want = text] of [
    ["null"], ["true"], ["false"], ["0"], ["-1.50e+3"], ['""'], ["[]"], ["{}"], ["[[],{}]"],
    ['{"a":1,"":[true,null,"x"]}'], [' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'],
    ['"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"', '"é😀/\\u0008\\u000c\\n\\r\\t\\"\\\\"'],
    ['"\\u0000\\u001f"'], ['{"a\\u0062":1}', '{"ab":1}'], ["[".repeat(200) + "]".repeat(200)],
  ]) {
    const got = parse(text);
    assert.equal(got.status, 0, text);
    assert.equal(logged(got)[0], want);
  }
});

test("what is not JSON is no value", () => {
  for (const text of [
    "", " ", "nul", "nulll", "tru", "01", "1.", ".5", "-", "+1", "1e", "'a'", '"', '"\\"', '"\\x"', '"\\u12"', '"\\u123g"',
    '"\\ud800"', '"\\ud800\\u0041"', '"\\udc00"', '"a\nb"', "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", '{"a"', '{"a":',
    '{"a":1', '{"a":1,', '{"a":1,}', "{1:2}", '{"a" 1}', "[]]", "{}{}", "1 2", "[}", "{]",
    "[".repeat(201) + "]".repeat(201), "[".repeat(100000),
  ]) {
    const got = parse(text);
    assert.deepEqual([got.status, got.trap, got.failed], [1, "", "not JSON"], text);
  }
});

test("integers that do not fit are not integers", () => {
  for (const [text, want] of [
    ["42", "42"], ["-42", "-42"], ["0", "0"], ["999999999999999999", "999999999999999999"],
    ["9999999999999999999999", "-1"], ["1.0", "-1"], ["1e3", "-1"], ['"1"', "-1"],
  ]) {
    assert.equal(logged(parse(text))[1], want, text);
  }
});

test("what is refused does not pass for nothing found", () => {
  const ask = (ask, errno) => new Host({ ask }).refuse(ask, errno).run(unit, "post_tool");
  for (const call of ["path_resolve", "pattern_match", "find_secrets", "state_get"]) {
    const got = ask(call, -2);
    assert.notEqual(got.trap, "", call);
    assert.equal(got.failed, call + ": not granted, or not legal in this phase");
  }
  const shell = ask("shell_parse", -5);
  assert.equal(shell.status, 0); // unclear
  assert.deepEqual(logged(shell), ["beyond a size limit"]);
  assert.equal(ask("state_get", -1).status, 0); // absent is no refusal
  assert.equal(new Host({ ask: "errno" }).refuse("find_secrets", -2).run(unit, "post_tool").status, 0);
});

test("a path that is none ends the hook", () => {
  const got = new Host({ ask: "input_get" }).run(unit, "post_tool");
  assert.equal(got.failed, "input_get no pointer: malformed argument");
});

test("a hook that breaks says where", () => {
  const spawn = (doc) => new Host(doc).run(unit, "spawn");
  assert.match(spawn({ how: "throw" }).failed, /^no such child \(unit\.ts:\d+:\d+\)$/);
  assert.match(spawn({ how: "range", list: [1, 2, 3] }).failed, /^Index out of range \(.*\d+:\d+\)$/);
  assert.equal(spawn({}).failed, "gave up");
  assert.notEqual(spawn({}).trap, "");
});

test("a failure drops the effects, and state is text", () => {
  const probe = load(new URL("../../abi/testdata/probes/assemblyscript/assemblyscript.wasm", import.meta.url));
  const got = new Host({}).run(probe, "spawn");
  assert.deepEqual([got.status, got.failed, got.blocked, got.effects], [1, "on purpose", "", []]);
  const refused = new Host({}).refuse("reply", -3).run(probe, "pre_plan");
  assert.deepEqual([refused.status, refused.effects], [1, []]);
  assert.deepEqual(new Host({}).run(probe, "pre_plan").effects, [{ call: "reply", value: '{"text":"no model needed"}' }]);
});
