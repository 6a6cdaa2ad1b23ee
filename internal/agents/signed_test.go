//go:build agents

package agents_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rewriter is a hook that puts another command in the place of the one that is asked about, and gives it a
// permission. granter gives the permission alone.
const (
	rewriter = `(module
  (import "belay_v1" "rewrite" (func $rewrite (param i32 i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "grant" (func $grant (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "/args/command")
  (data (i32.const 32) "\"echo rewritten > ran.txt\"")
  (data (i32.const 96) "another command")
  (func (export "pre_tool") (result i32)
    (drop (call $rewrite (i32.const 0) (i32.const 13) (i32.const 32) (i32.const 26) (i32.const 0)))
    (drop (call $grant (i32.const 96) (i32.const 15)))
    (i32.const 0)))
`
	granter = `(module
  (import "belay_v1" "grant" (func $grant (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "it may run")
  (func (export "pre_tool") (result i32)
    (drop (call $grant (i32.const 0) (i32.const 10)))
    (i32.const 0)))
`
)

// signed builds a hook of WebAssembly text, signs it, and binds it as trusted by that signature.
func (h *host) signed(name, text string, mutates bool, capabilities ...string) {
	h.t.Helper()
	h.stop()
	dir := h.t.TempDir()
	hook := filepath.Join(dir, name)
	if err := os.MkdirAll(hook, 0o755); err != nil {
		h.t.Fatal(err)
	}
	manifest := fmt.Sprintf(
		"name: %s\nversion: 0.1.0\ndescription: Of a test.\nabi: 1\nphases: [pre_tool]\ncapabilities:\n",
		name)
	if mutates {
		manifest = strings.Replace(manifest, "capabilities:", "mutates: [pre_tool]\ncapabilities:", 1)
	}
	for _, c := range capabilities {
		manifest += "  - {name: \"" + c + "\", reason: to be tried}\n"
	}
	for file, text := range map[string]string{"hook.wat": text, "belay.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(hook, file), []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"trust", "init"}, {"trust", "generate-key", filepath.Join(dir, "release")}, {"hook", "build", hook},
		{"hook", "sign", "--key", filepath.Join(dir, "release.key"), filepath.Join(hook, name+".wasm")},
		{"trust", "add-key", filepath.Join(dir, "release.pub"), "--hook", name},
		{"hook", "install", filepath.Join(hook, name+".wasm"), "--trusted", "--priority", "150"},
	} {
		cmd := exec.Command(filepath.Join(h.bin, "belay"), append(args, "--state", h.state)...)
		cmd.Env = append(os.Environ(), "BELAY_KEY_PASSWORD=secret of a test")
		if out, err := cmd.CombinedOutput(); err != nil {
			h.t.Fatalf("belay %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	h.start()
}

// refuser blocks where Codex is about to ask its person, and nowhere else.
const refuser = `(module
  (import "belay_v1" "input_get" (func $input_get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "/metadata/caller/event")
  (data (i32.const 64) "not even if a person says yes")
  (func (export "pre_tool") (result i32)
    ;; the length of PermissionRequest, and no other event of pre_tool has so long a name
    (if (i32.ge_s (call $input_get (i32.const 0) (i32.const 22) (i32.const 256) (i32.const 256)) (i32.const 17))
      (then (drop (call $block (i32.const 64) (i32.const 29)))))
    (i32.const 0)))
`
