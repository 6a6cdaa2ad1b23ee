package ownfiles

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/files"
)

// Whatever links a tree has, nothing is told that lies outside of what the rule names.
func TestNoLinkLeadsOut(t *testing.T) {
	told := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(20260301, seed))
		w := newWorld(t, map[string]string{"~/p/.git/x": "fine", "~/p/n0": "fine", "~/.ssh/n1": "secret", "~/o/n2": "secret"})
		dirs, all := []string{"~/p", "~/.ssh", "~/o", "~"}, []string{"~/p/n0", "~/.ssh/n1", "~/o/n2"}
		for i := range 30 {
			dir := dirs[rng.IntN(len(dirs))]
			at := dir + "/n" + string(rune('a'+i%26)) + string(rune('0'+i/26))
			secret := "secret"
			if real, err := filepath.EvalSymlinks(w.at(dir)); err == nil && inAny([]string{w.at("~/p")}, real) {
				secret = "fine"
			}
			switch rng.IntN(4) {
			case 0:
				if os.MkdirAll(w.at(at), 0o700) == nil {
					dirs = append(dirs, at)
				}
			case 1:
				_ = os.WriteFile(w.at(at), []byte(secret), 0o600)
			default:
				target := w.at(all[rng.IntN(len(all))])
				if rng.IntN(2) == 0 {
					target = w.at(dirs[rng.IntN(len(dirs))])
				}
				if rel, err := filepath.Rel(w.at(dir), target); err == nil && rng.IntN(2) == 0 {
					target = rel
				}
				_ = os.Symlink(target, w.at(at))
				dirs = append(dirs, at)
			}
			all = append(all, at)
		}
		var names []string
		for _, a := range all {
			names = append(names, filepath.Base(a))
		}
		r := w.teller(w.commands(strings.Join(names, " ")), nil)
		for _, d := range dirs {
			for _, n := range names {
				got := read(r, files.Script, filepath.Join(w.at(d), n))
				if got == "secret" {
					t.Fatalf("seed %d: %s/%s", seed, d, n)
				}
				if got == "fine" {
					told++
				}
			}
		}
	}
	if told < 100 {
		t.Errorf("only %d reads were told: the property shows nothing", told)
	}
}

// A directory or a file that is swapped with a link while it is looked at does not lead out either.
func TestSwappedLinks(t *testing.T) {
	w := newWorld(t, map[string]string{"~/p/d/run.sh": "fine", "~/p/run.sh": "fine", "~/.ssh/run.sh": "secret",
		"~/p/d.link": "-> ~/.ssh", "~/p/run.sh.link": "-> ~/.ssh/run.sh"})
	swap := func(a, b string) {
		_ = syscall.Rename(w.at(a), w.at(a)+".x")
		_ = syscall.Rename(w.at(b), w.at(a))
		_ = syscall.Rename(w.at(a)+".x", w.at(b))
	}
	stop := make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				swap("~/p/d", "~/p/d.link")
				swap("~/p/run.sh", "~/p/run.sh.link")
			}
		}
	})
	r := w.teller(w.commands("sh run.sh"), nil)
	fine := 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		for _, at := range []string{"~/p/d/run.sh", "~/p/run.sh"} {
			switch read(r, files.Script, w.at(at)) {
			case "secret":
				t.Fatalf("%s was told", at)
			case "fine":
				fine++
			}
		}
	}
	close(stop)
	done.Wait()
	if fine == 0 {
		t.Error("nothing was told at all")
	}
}

// A name counts where it stands as a word of its own.
func TestSays(t *testing.T) {
	for text, want := range map[string]bool{
		"sh .env": true, "./.env": true, ". .env;": true, ".env": true, "sh .env.": true, `"X/.env"`: true, "<.env": true,
		"process.env": false, ".env.local": false, "x.env": false, ".environ": false, "-.env": false, "": false,
		".env-old":            false,
		"process.env sh .env": true, "é.env": false,
	} {
		if got := says([]byte(text), ".env", ".-"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
